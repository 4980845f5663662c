// How a batch stage works: its thread gets items into the memory of a batch, by spans, lets the stream copy them to the
// device, calls the body, and goes on to the next batch while the stream is at it. The oldest batch is finished first:
// what was made and copied back is put, then the tasks end.
//
// Where a tunnel's end is a half-ring at the host, the stream copies large parts from and to its slots (ring_runs.hpp),
// as far as there is room, and not more than half of the ring at once: writers and readers go on meanwhile.
//
//   B1  A batch's tasks end after what was made of them is put: so no tunnel ends in between (termination.hpp T1).
//   B2  Memory of a batch is used again, and the stage left, only when the stream has done all that was given it.
//   B3  The thread waits for room only while it holds no slots that it is to fill: items of other writers lie behind
//       them, and whoever is to make the room may wait for these. With one tunnel to put into, no batch has such slots
//       while an older one has items left to put. Slots that were got are free before their batch waits; what younger
//       batches hold counts among what is under way, for which a planned cycle has room.
#include "hiway/batch/batch_stage.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "hiway/error.hpp"
#include "hiway/inlet/span.hpp"
#include "hiway/outlet/get.hpp"
#include "hiway/outlet/span.hpp"
#include "lib/arena.hpp"
#include "lib/batch/ring_runs.hpp"

namespace hiway {

void detail::set_size(RawBatch const& batch, BatchSize size) {
  if (batch.made->is_set) throw MisuseError("the size of a batch is set twice: resize is called once for each");
  if (size.items > batch.capacity) {
    throw MisuseError("a batch of " + std::to_string(size.items) + " items is made, and its tunnel holds " +
                      std::to_string(batch.capacity));
  }
  *batch.made = size;
}

BatchStage::BatchStage(std::string name, TunnelBase const* from, std::vector<TunnelBase*> const& into,
                       BatchOptions options, Body body)
    : title_("stage '" + name + "'"), options_(options), body_(std::move(body)) {
  auto const refuse = [&](std::string const& why) { throw ConfigError(title_ + ": " + why); };
  auto const end_of = [](TunnelBase const& t) { return End{t.item_bytes(), t.config().capacity_items}; };
  for (TunnelBase const* const t : into) into_.push_back(end_of(*t));
  if (options_.in_flight == 0) refuse("in_flight must be at least 1");
  if (options_.max_wait.count() < 0)
    refuse("max_wait is negative: " + std::to_string(options_.max_wait.count()) + " us");
  if (from == nullptr) return;
  from_ = end_of(*from);
  if (options_.max_items == 0) options_.max_items = from_->capacity;
  if (options_.max_items > from_->capacity) {
    refuse("max_items (" + std::to_string(options_.max_items) + ") is more than tunnel '" + from->name() +
           "' holds, capacity_items (" + std::to_string(from_->capacity) + ")");
  }
  if (options_.min_items > options_.max_items) {
    refuse("min_items (" + std::to_string(options_.min_items) + ") is more than max_items (" +
           std::to_string(options_.max_items) + ")");
  }
}

void BatchStage::place(Arena& host, Arena* on_device) {
  std::string const what = title_ + ": its batches";
  auto const place = [&](std::size_t items, End const& end) {
    std::size_t const bytes = bytes_of(what, {items, end.item_bytes});
    std::byte* const at_host = host.place_raw(bytes, what);
    return Memory{at_host, on_device == nullptr ? at_host : on_device->place_raw(bytes, what)};
  };
  places_.assign(options_.in_flight, {});
  for (Place& p : places_) {
    if (from_) p.got = place(options_.max_items, *from_);
    for (End const& end : into_) p.made.push_back(place(end.capacity, end));
    p.counts = host.place<std::uint32_t>(into_.size());
  }
}

void BatchStage::open_stream(Backend* device) {
  if (stream_) return;
  if (device == nullptr) own_device_ = make_backend("simt");
  stream_ = (device != nullptr ? device : own_device_.get())->open_batch_stream(title_, options_.in_flight);
}

/// One run of a batch stage.
class BatchRun {
 public:
  BatchRun(BatchStage const& stage, OutletView const* from, InletView const* into)
      : stage_(stage), from_(from), into_(into), batches_(stage.places_.size()), stream_(*stage.stream_) {}
  ~BatchRun() { stream_.leave(); }
  BatchRun(BatchRun const&) = delete;
  BatchRun& operator=(BatchRun const&) = delete;

  void run() {
    for (unsigned misses = 0;;) {
      bool const finished = finish_oldest();
      bool const begun = begin_next();
      if (finished || begun) {
        misses = 0;
        continue;
      }
      if (is_over()) return;
      wait(misses++);
    }
  }

 private:
  struct UnderWay {
    std::size_t items = 0;                  ///< that were got
    std::size_t given = 0;                  ///< of them the first ones, whose copies the stream has
    RingRuns got{};                         ///< of them those that lie in the ring
    std::vector<detail::BatchSize> made{};  ///< by inlet
    std::vector<RingRuns> put{};            ///< by inlet, the first ones of them: what lies in the ring already
    bool is_counted = false;                ///< all sizes are known, and the copies to the host given
  };

  /// Takes items into the next batch, and calls the body if they are enough; false if nothing came.
  bool begin_next() {
    if (under_way_ == batches_.size() || source_has_ended_) return false;
    UnderWay& next = batches_[(oldest_ + under_way_) % batches_.size()];
    if (from_ == nullptr) {
      call_body(next);
      return true;
    }
    bool const came = collect(next);
    if (is_enough(next)) call_body(next);
    return came;
  }
  [[nodiscard]] bool collect(UnderWay& batch) {
    std::size_t const most = stage_.options_.max_items - batch.items;
    std::size_t const there = copies_from_ring() ? items_there() : 0;
    if (there != 0 && waits_for_more(batch, there)) return false;
    std::size_t const some = get_some(batch, most, there);
    detail::note_result(m_, *from_, some != 0);
    if (some != 0 && !collects_since_) collects_since_ = Clock::now();
    batch.items += some;
    return some != 0;
  }
  /// From so many bytes on the stream copies from and to rings; on an emulated device from few on, so that both happen.
  [[nodiscard]] std::size_t least_copy() const { return stream_.cuda() == nullptr ? 16 : std::size_t{64} << 10; }
  /// Whether the stream may copy items from the ring.
  [[nodiscard]] bool copies_from_ring() const { return stage_.options_.device >= 0 && RingRuns::may_lie_in(*from_); }
  [[nodiscard]] std::size_t items_there() const {
    static_cast<void>(detail::help_to_come(m_, *from_));
    std::int32_t const there = items_about(m_, from_->ring);
    return there > 0 ? static_cast<std::size_t>(there) : 0;
  }
  /// Leaves few items in the ring while the batch needs more in any case: the thread would have to copy them.
  [[nodiscard]] bool waits_for_more(UnderWay const& batch, std::size_t there) {
    if (there * stage_.from_->item_bytes >= least_copy()) return false;
    if (batch.items + there >= stage_.options_.min_items) return false;
    if (!collects_since_) collects_since_ = Clock::now();
    return !has_waited();
  }
  [[nodiscard]] bool has_waited() const {
    return collects_since_ && Clock::now() - *collects_since_ >= stage_.options_.max_wait;
  }
  [[nodiscard]] std::size_t get_some(UnderWay& batch, std::size_t most, std::size_t there) {
    std::size_t const bytes = stage_.from_->item_bytes;
    BatchStage::Memory const& memory = place_of(batch).got;
    std::size_t const at = batch.items * bytes;
    std::size_t const n = std::min({most, there, may_be_held()});
    if (n == 0 || n * bytes < least_copy()) return detail::get_pieces(m_, *from_, memory.host + at, most, bytes);
    give_copies(batch);
    std::size_t const some = batch.got.take(m_, *from_, stream_, memory.device + at, n);
    batch.given += some;
    return some;
  }
  /// How many items more may stay in the ring while they are copied.
  [[nodiscard]] std::size_t may_be_held() const {
    std::size_t held = 0;
    for (UnderWay const& batch : batches_) held += batch.got.items();
    std::size_t const half = stage_.from_->capacity / 2;
    return held < half ? half - held : 0;
  }
  /// Lets the stream copy what the thread has got itself.
  void give_copies(UnderWay& batch) {
    std::size_t const bytes = stage_.from_->item_bytes;
    BatchStage::Memory const& memory = place_of(batch).got;
    std::size_t const at = batch.given * bytes;
    stream_.copy(BusDirection::to_device, memory.device + at, memory.host + at, (batch.items - batch.given) * bytes);
    batch.given = batch.items;
  }
  [[nodiscard]] bool is_enough(UnderWay const& batch) const {
    return batch.items != 0 && (batch.items >= stage_.options_.min_items || has_waited());
  }

  void call_body(UnderWay& batch) {
    collects_since_.reset();
    BatchStage::Place const& place = place_of(batch);
    detail::RawBatch const got{.data = place.got.device, .items = batch.items, .capacity = stage_.options_.max_items};
    batch.made.assign(stage_.into_.size(), {});
    batch.put.resize(stage_.into_.size());
    std::vector<detail::RawBatch> made;
    for (std::size_t i = 0; i < batch.made.size(); ++i)
      made.push_back({.data = place.made[i].device, .capacity = stage_.into_[i].capacity, .made = &batch.made[i]});
    if (from_ != nullptr) give_copies(batch);
    stream_.begin_body();
    stage_.body_(&got, made.data(), Stream(stream_));
    stream_.end_body();
    fetch(batch);
    source_has_ended_ = from_ == nullptr && std::ranges::all_of(batch.made, [](detail::BatchSize const& size) {
                          return size.on_device == nullptr && size.items == 0;
                        });
    ++under_way_;
  }

  /// Copies what was made to the host, or its count where only that tells how much it is.
  void fetch(UnderWay& batch) {
    BatchStage::Place const& place = place_of(batch);
    batch.is_counted = true;
    for (std::size_t i = 0; i < batch.made.size(); ++i) {
      detail::BatchSize const& size = batch.made[i];
      if (!size.is_set) throw MisuseError("the body returned without the size of a batch that it makes: call resize");
      if (size.on_device == nullptr) {
        fetch_items(batch, i);
      } else {
        stream_.copy(BusDirection::from_device, &place.counts[i], size.on_device, sizeof *size.on_device);
        batch.is_counted = false;
      }
    }
    stream_.mark(number_of(batch));
  }
  /// As many as may be go to the ring at once, the others to the batch's memory.
  void fetch_items(UnderWay& batch, std::size_t inlet) {
    BatchStage::Memory const& made = place_of(batch).made[inlet];
    std::size_t const bytes = stage_.into_[inlet].item_bytes;
    std::size_t const items = batch.made[inlet].items;
    std::size_t at = 0;
    if (may_put_in_ring(batch, inlet, items * bytes))
      at = batch.put[inlet].give(m_, into_[inlet], stream_, made.device, items) * bytes;
    stream_.copy(BusDirection::from_device, made.host + at, made.device + at, items * bytes - at);
  }
  /// Not with several tunnels (B3). What an older batch has not put in the ring yet comes first.
  [[nodiscard]] bool may_put_in_ring(UnderWay const& batch, std::size_t inlet, std::size_t bytes) const {
    InletView const& v = into_[inlet];
    if (stage_.options_.device < 0 || stage_.into_.size() != 1 || bytes < least_copy()) return false;
    if (!RingRuns::may_lie_in(v) || detail::is_throttled(m_, v)) return false;
    for (std::size_t i = 0; i < under_way_; ++i) {
      UnderWay const& older = batches_[(oldest_ + i) % batches_.size()];
      if (&older == &batch) return true;
      if (!older.is_counted || older.put[inlet].items() != older.made[inlet].items) return false;
    }
    return true;
  }
  /// The counts have come.
  void fetch_counted(UnderWay& batch) {
    for (std::size_t i = 0; i < batch.made.size(); ++i) {
      detail::BatchSize& size = batch.made[i];
      if (size.on_device == nullptr) continue;
      size.items = place_of(batch).counts[i];
      if (std::size_t const capacity = stage_.into_[i].capacity; size.items > capacity) {
        throw MisuseError("a batch of " + std::to_string(size.items) +
                          " items was made on the device, and its tunnel holds " + std::to_string(capacity));
      }
      fetch_items(batch, i);
    }
    batch.is_counted = true;
    stream_.mark(number_of(batch));
  }

  /// Puts what was made, then ends the tasks: B1. False if the stream has not come so far.
  bool finish_oldest() {
    if (under_way_ == 0) return false;
    UnderWay& batch = batches_[oldest_];
    if (!stream_.has_passed(oldest_)) return false;
    if (!batch.is_counted) {
      fetch_counted(batch);
      return true;
    }
    if (from_ != nullptr) batch.got.end(m_, from_->ring, ClaimKind::get, *from_->control);
    for (std::size_t i = 0; i < batch.made.size(); ++i) put(batch, i);
    if (from_ != nullptr) detail::end_own_tasks(m_, *from_, batch.items);
    batch.items = batch.given = 0;
    oldest_ = (oldest_ + 1) % batches_.size();
    --under_way_;
    return true;
  }

  void put(UnderWay& batch, std::size_t inlet) {
    InletView const& v = into_[inlet];
    std::size_t const bytes = stage_.into_[inlet].item_bytes;
    std::size_t const in_ring = batch.put[inlet].items();
    batch.put[inlet].end(m_, v.ring, ClaimKind::put, *v.control);
    if (in_ring != 0) {
      detail::note_put(m_, v);
      detail::help_to_leave(m_, v, detail::Sent::span);
    }
    std::byte const* const items = place_of(batch).made[inlet].host + in_ring * bytes;
    detail::put_pieces(m_, v, items, batch.made[inlet].items - in_ring, bytes);
  }

  [[nodiscard]] bool is_over() const {
    if (under_way_ != 0) return false;
    return from_ == nullptr ? source_has_ended_ : batches_[oldest_].items == 0 && detail::stage_ended(m_, *from_);
  }
  /// While a batch is under way, or waits for more items, the thread naps but shortly.
  void wait(unsigned misses) const {
    bool const is_idle = under_way_ == 0 && !collects_since_;
    leave_if_aborted(m_, from_ != nullptr ? *from_->control : *into_->control);
    m_.relax(is_idle ? misses : std::min(misses, misses_awake(this_thread_context().wait)));
  }
  [[nodiscard]] std::size_t number_of(UnderWay const& batch) const {
    return static_cast<std::size_t>(&batch - batches_.data());
  }
  [[nodiscard]] BatchStage::Place const& place_of(UnderWay const& batch) const {
    return stage_.places_[number_of(batch)];
  }

  using Clock = std::chrono::steady_clock;

  StageThread m_{};
  BatchStage const& stage_;
  OutletView const* from_;
  InletView const* into_;
  std::vector<UnderWay> batches_;  ///< a ring; `under_way_` from `oldest_` on, and then the one that is collected
  std::size_t oldest_ = 0;
  std::size_t under_way_ = 0;
  std::optional<Clock::time_point> collects_since_;  ///< the batch that is collected, when its first item was seen
  bool source_has_ended_ = false;                    ///< the body of a stage that gets nothing has made nothing
  BatchStream& stream_;
};

void BatchStage::run(OutletView const* from, InletView const* into) { BatchRun(*this, from, into).run(); }

}  // namespace hiway
