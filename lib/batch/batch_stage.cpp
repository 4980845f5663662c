// How a batch stage works: its thread gets items into the memory of a batch, by spans, calls the body, and goes on to
// the next batch while the stream is at it. The oldest batch is finished first: what was made is put, then the tasks
// end.
//
//   B1  A batch's tasks end after what was made of them is put: so no tunnel ends in between (termination.hpp T1).
//   B2  Memory of a batch is used again, and the stage left, only when the stream has done all that was given it.
#include "hiway/batch/batch_stage.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "hiway/error.hpp"
#include "hiway/inlet/span.hpp"
#include "hiway/outlet/get.hpp"
#include "hiway/outlet/span.hpp"
#include "lib/arena.hpp"
#include "lib/batch/emulated_stream.hpp"

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

void BatchStage::place(Arena& memory, Backend* device) {
  if (device == nullptr && own_device_ == nullptr) own_device_ = make_backend("simt");
  device_ = device != nullptr ? device : own_device_.get();
  places_.assign(options_.in_flight, {});
  std::string const what = title_ + ": its batches";
  for (Place& place : places_) {
    if (from_) place.got = memory.place_raw(bytes_of(what, {options_.max_items, from_->item_bytes}), what);
    for (End const& end : into_)
      place.made.push_back(memory.place_raw(bytes_of(what, {end.capacity, end.item_bytes}), what));
  }
}

/// One run of a batch stage.
class BatchRun {
 public:
  BatchRun(BatchStage const& stage, OutletView const* from, InletView const* into)
      : stage_(stage),
        from_(from),
        into_(into),
        batches_(stage.places_.size()),
        stream_(*stage.device_, stage.title_) {}

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
    std::size_t items = 0;   ///< that were got
    std::uint64_t upto = 0;  ///< launches of the stream, its own included
    std::vector<detail::BatchSize> made{};
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
    std::size_t const bytes = stage_.from_->item_bytes;
    std::byte* const at = place_of(batch).got + batch.items * bytes;
    std::size_t const some = detail::get_pieces(m_, *from_, at, stage_.options_.max_items - batch.items, bytes);
    detail::note_result(m_, *from_, some != 0);
    if (some != 0 && batch.items == 0) first_came_ = Clock::now();
    batch.items += some;
    return some != 0;
  }
  [[nodiscard]] bool is_enough(UnderWay const& batch) const {
    if (batch.items >= stage_.options_.min_items) return batch.items != 0;
    return batch.items != 0 && Clock::now() - first_came_ >= stage_.options_.max_wait;
  }

  void call_body(UnderWay& batch) {
    BatchStage::Place const& place = place_of(batch);
    detail::RawBatch const got{.data = place.got, .items = batch.items, .capacity = stage_.options_.max_items};
    batch.made.assign(stage_.into_.size(), {});
    std::vector<detail::RawBatch> made;
    for (std::size_t i = 0; i < batch.made.size(); ++i)
      made.push_back({.data = place.made[i], .capacity = stage_.into_[i].capacity, .made = &batch.made[i]});
    stage_.body_(&got, made.data(), Stream(stream_));
    for (detail::BatchSize const& size : batch.made)
      if (!size.is_set) throw MisuseError("the body returned without the size of a batch that it makes: call resize");
    batch.upto = stream_.launched();
    source_has_ended_ = from_ == nullptr && std::ranges::all_of(batch.made, [](detail::BatchSize const& size) {
                          return size.on_device == nullptr && size.items == 0;
                        });
    ++under_way_;
  }

  /// Puts what was made, then ends the tasks: B1. False if the stream has not come so far.
  bool finish_oldest() {
    if (under_way_ == 0) return false;
    UnderWay& batch = batches_[oldest_];
    if (stream_.ended() < batch.upto) return false;
    for (std::size_t i = 0; i < batch.made.size(); ++i) {
      detail::put_pieces(m_, into_[i], place_of(batch).made[i], items_made(batch, i), stage_.into_[i].item_bytes);
    }
    if (from_ != nullptr) detail::end_own_tasks(m_, *from_, batch.items);
    batch.items = 0;
    oldest_ = (oldest_ + 1) % batches_.size();
    --under_way_;
    return true;
  }
  [[nodiscard]] std::size_t items_made(UnderWay const& batch, std::size_t inlet) const {
    detail::BatchSize const& size = batch.made[inlet];
    if (size.on_device == nullptr) return size.items;
    std::size_t const capacity = stage_.into_[inlet].capacity;
    if (*size.on_device <= capacity) return *size.on_device;
    throw MisuseError("a batch of " + std::to_string(*size.on_device) +
                      " items was made on the device, and its tunnel holds " + std::to_string(capacity));
  }

  [[nodiscard]] bool is_over() const {
    if (under_way_ != 0) return false;
    return from_ == nullptr ? source_has_ended_ : batches_[oldest_].items == 0 && detail::stage_ended(m_, *from_);
  }
  /// While a batch is under way, or waits for more items, the thread naps but shortly.
  void wait(unsigned misses) const {
    bool const is_idle = under_way_ == 0 && batches_[oldest_].items == 0;
    leave_if_aborted(m_, from_ != nullptr ? *from_->control : *into_->control);
    m_.relax(is_idle ? misses : std::min(misses, misses_awake(this_thread_context().wait)));
  }
  [[nodiscard]] BatchStage::Place const& place_of(UnderWay const& batch) const {
    return stage_.places_[static_cast<std::size_t>(&batch - batches_.data())];
  }

  using Clock = std::chrono::steady_clock;

  StageThread m_{};
  BatchStage const& stage_;
  OutletView const* from_;
  InletView const* into_;
  std::vector<UnderWay> batches_;  ///< a ring; `under_way_` from `oldest_` on, and then the one that is collected
  std::size_t oldest_ = 0;
  std::size_t under_way_ = 0;
  Clock::time_point first_came_{};  ///< of the batch that is collected
  bool source_has_ended_ = false;   ///< the body of a stage that gets nothing has made nothing
  EmulatedStream stream_;           ///< last: what it does uses the batches (B2)
};

void BatchStage::run(OutletView const* from, InletView const* into) { BatchRun(*this, from, into).run(); }

}  // namespace hiway
