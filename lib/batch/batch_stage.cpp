// How a batch stage works: its thread gets items into the memory of a batch, by spans, lets the stream copy them to the
// device, calls the body, and goes on to the next batch while the stream is at it. The oldest batch is finished first:
// what was made and copied back is put, then the tasks end.
//
//   under_way.hpp    the batches of a run
//   batch_gets.hpp   from the tunnel into a batch, up to the body
//   batch_puts.hpp   from the body on into tunnels
//
// Where a tunnel's end is a half-ring at the host, the stream copies large parts from and to its slots (ring_runs.hpp),
// as far as there is room, and not more than half of the ring at once: writers and readers go on meanwhile. Small parts
// are copied by the thread; not where the slots lie on the device, because there is a kernel or another batch stage at
// the other end.
//
//   B1  A batch's tasks end after what was made of them is put: so no tunnel ends in between (termination.hpp T1).
//   B2  Memory of a batch is used again, and the stage left, only when the stream has done all that was given it.
//   B3  The thread holds slots that it is to fill only while the stream copies to them. While it waits for room, it
//       holds none. Items of other writers may lie behind such slots, and the stage that makes room may wait for those
//       items. A batch gets such slots when it is the oldest, for one tunnel after another; or, with one tunnel to put
//       into, after all items of older batches have theirs. Slots that were got are free when they are copied.
//       What younger batches hold counts among what is under way, for which a planned cycle has room.
#include "hiway/batch/batch_stage.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "hiway/error.hpp"
#include "hiway/inlet.hpp"
#include "hiway/outlet.hpp"
#include "lib/arena.hpp"
#include "lib/batch/batch_gets.hpp"
#include "lib/batch/batch_puts.hpp"
#include "lib/batch/under_way.hpp"

namespace hiway {

void detail::set_size(RawBatch const& batch, BatchSize size) {
  if (batch.made->is_set) throw MisuseError("the size of a batch is set twice: resize is called once for each");
  if (size.items > batch.capacity) {
    throw MisuseError("a batch of " + std::to_string(size.items) + " items is made, and its tunnel holds " +
                      std::to_string(batch.capacity));
  }
  *batch.made = size;
}

namespace {

BatchEnd end_of(TunnelBase const& t) {
  return {.item_bytes = t.value_bytes(),
          .capacity = t.config().capacity_items,
          .has_scopes = t.scopes() != nullptr,
          .slot_bytes = t.item_bytes(),
          .scope_at = t.scope_at()};
}

}  // namespace

BatchStage::BatchStage(std::string name, TunnelBase const* from, std::vector<TunnelBase*> const& into,
                       BatchOptions options, Body body)
    : title_("stage '" + name + "'"), options_(options), body_(std::move(body)) {
  auto const refuse = [&](std::string const& why) { throw ConfigError(title_ + ": " + why); };
  for (TunnelBase const* const t : into) {
    into_.push_back(end_of(*t));
    if (t->scopes() != nullptr && from != nullptr && t->scopes() != from->scopes()) {
      refuse("tunnel '" + t->name() + "' has other scopes than tunnel '" + from->name() +
             "': what is made belongs to the scope of what was got");
    }
  }
  if (options_.in_flight == 0) refuse("in_flight must be at least 1");
  if (options_.max_wait.count() < 0)
    refuse("max_wait is negative: " + std::to_string(options_.max_wait.count()) + " us");
  if (from == nullptr && options_.capture)
    refuse("capture is for a stage that gets batches: one that gets nothing makes another batch each time");
  if (from == nullptr && options_.one_to_one) refuse("one_to_one is for a stage that gets batches");
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

void BatchStage::take_slots(std::vector<bool> const& from, std::vector<bool> const& into) {
  if (from_) from_->on_device = from.front();
  for (std::size_t i = 0; i < into_.size(); ++i) into_[i].on_device = into[i];
}

void BatchStage::place(Arena& host, Arena* on_device) {
  std::string const what = title_ + ": its batches";
  auto const place = [&](std::size_t items, BatchEnd const& end) {
    std::size_t const bytes = bytes_of(what, {items, end.item_bytes});
    std::byte* const at_host = end.on_device ? nullptr : host.place_raw(bytes, what);
    return BatchMemory{at_host, on_device == nullptr ? at_host : on_device->place_raw(bytes, what)};
  };
  places_.clear();
  places_.resize(options_.in_flight);
  for (BatchPlace& p : places_) {
    if (from_) p.got = place(options_.max_items, *from_);
    for (BatchEnd const& end : into_) p.made.push_back(place(end.capacity, end));
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
  BatchRun(BatchStage& stage, OutletView const* from, InletView const* into)
      : stage_(stage),
        from_(from),
        into_(into),
        stream_(*stage.stream_),
        batches_(stage.places_, stage.options_),
        puts_({into, stage.into_}, stage.options_, stream_, batches_) {
    if (from_ != nullptr) gets_.emplace(*from_, *stage.from_, stage.options_, stream_, batches_);
    made_.resize(stage.into_.size());
    stream_.enter();
  }
  ~BatchRun() { stream_.leave(); }
  BatchRun(BatchRun const&) = delete;
  BatchRun& operator=(BatchRun const&) = delete;

  void run() {
    for (unsigned misses = 0;;) {
      bool const freed = gets_ && gets_->free_slots();
      bool const given = puts_.give_next();
      bool const finished = finish_oldest();
      bool const begun = begin_next();
      if (freed || given || finished || begun) {
        misses = 0;
        continue;
      }
      if (is_over()) return;
      wait(misses++);
    }
  }

 private:
  /// Takes items into the next batch, and calls the body if they are enough; false if nothing came.
  bool begin_next() {
    if (batches_.is_full() || source_has_ended_) return false;
    UnderWay& next = batches_.next();
    if (!gets_) {
      call_body(next);
      return true;
    }
    bool const came = gets_->collect(next);
    if (gets_->is_enough(next)) {
      gets_->end_collecting(next);
      call_body(next);
    }
    return came;
  }

  void call_body(UnderWay& batch) {
    BatchPlace& place = *batch.place;
    detail::RawBatch const got{.data = place.got.device, .items = batch.items, .capacity = stage_.options_.max_items};
    batch.sizes.assign(stage_.into_.size(), {});
    batch.made.assign(stage_.into_.size(), {});
    for (std::size_t i = 0; i < made_.size(); ++i)
      made_[i] = {.data = place.made[i].device, .capacity = stage_.into_[i].capacity, .made = &batch.sizes[i]};
    auto const body = [&] { stage_.body_(&got, made_.data(), Stream(stream_)); };
    if (has_scopes()) batch.scopes.begin_body(m_, *from_);
    stream_.begin_body();
    if (stage_.options_.capture) {
      place.captured.give(stream_, batch.items, batch.sizes, body);
    } else {
      body();
    }
    stream_.end_body();
    if (has_scopes()) batch.scopes.end_body(m_);
    puts_.fetch(batch);
    source_has_ended_ = from_ == nullptr && std::ranges::all_of(batch.sizes, [](detail::BatchSize const& size) {
                          return size.on_device == nullptr && size.items == 0;
                        });
    batches_.begin_next();
  }

  /// Puts what was made, then ends the tasks: B1. False if the stream has not come so far, or there is no room.
  bool finish_oldest() {
    if (batches_.size() == 0) return false;
    UnderWay& batch = batches_[0];
    if (!batch.is_counted || !stream_.has_passed(batch.number)) return false;
    if (gets_) gets_->end_slots(batch);
    if (PutProgress const put = puts_.put_some(batch); put != PutProgress::all) return put == PutProgress::some;
    if (has_scopes()) batch.scopes.end(m_, *from_);
    if (from_ != nullptr) detail::end_own_tasks(m_, *from_, batch.items);
    batches_.end_oldest();
    return true;
  }

  [[nodiscard]] bool has_scopes() const { return stage_.from_ && stage_.from_->has_scopes; }
  [[nodiscard]] bool is_over() {
    if (batches_.size() != 0) return false;
    return from_ == nullptr ? source_has_ended_ : batches_.next().items == 0 && detail::stage_ended(m_, *from_);
  }
  /// While a batch is under way, or waits for more items, the thread naps but shortly.
  void wait(unsigned misses) const {
    bool const is_idle = batches_.size() == 0 && !(gets_ && gets_->is_collecting());
    leave_if_aborted(m_, from_ != nullptr ? *from_->control : *into_->control);
    m_.relax(is_idle ? misses : std::min(misses, misses_awake(this_thread_context().wait)));
  }

  StageThread m_{};
  BatchStage& stage_;
  OutletView const* from_;
  InletView const* into_;
  BatchStream& stream_;
  BatchesUnderWay batches_;
  std::optional<BatchGets> gets_;  ///< of a stage that gets any
  BatchPuts puts_;
  std::vector<detail::RawBatch> made_{};  ///< by the batch whose body is called; by inlet
  bool source_has_ended_ = false;         ///< the body of a stage that gets nothing has made nothing
};

void BatchStage::run(OutletView const* from, InletView const* into) { BatchRun(*this, from, into).run(); }

}  // namespace hiway
