// BatchGets: how items come from a tunnel into a batch, and to its device.
#pragma once
#include <chrono>
#include <cstddef>
#include <optional>

#include "hiway/machine/stage_thread.hpp"
#include "hiway/outlet/view.hpp"
#include "lib/batch/scoped_items.hpp"
#include "lib/batch/under_way.hpp"

namespace hiway {

/// *Threads*: the stage's.
class BatchGets {
 public:
  BatchGets(OutletView const& from, BatchEnd end, BatchOptions const& options, BatchStream& stream,
            BatchesUnderWay& batches)
      : from_(from),
        end_(end),
        options_(options),
        stream_(stream),
        batches_(batches),
        copies_from_ring_(options.device >= 0 && RingRuns::may_lie_in(from) && !end.has_scopes) {
    if (end_.has_scopes) arrivals_.emplace(from_, end_);
  }

  /// Gets what there is into the batch; false if nothing came.
  bool collect(UnderWay& batch);
  [[nodiscard]] bool is_enough(UnderWay const& batch) const {
    return batch.items != 0 && (batch.items >= options_.min_items || has_waited() || (arrivals_ && arrivals_->any()));
  }
  /// A batch waits for more items.
  [[nodiscard]] bool is_collecting() const { return collects_since_.has_value(); }
  /// Gives the stream what it has not yet of the batch, before its body.
  void end_collecting(UnderWay& batch);

  /// Slots whose items are copied are free from now on. Whether there were any.
  bool free_slots();
  /// The same for a batch whose items are all copied.
  void end_slots(UnderWay& batch) { batch.got.end(m_, from_.ring, ClaimKind::get, *from_.control); }

 private:
  using Clock = std::chrono::steady_clock;

  bool collect_scoped(UnderWay& batch);
  void drop(UnderWay& batch);
  [[nodiscard]] std::size_t items_there() const;
  bool free_own_slots(UnderWay& batch);
  [[nodiscard]] bool waits_for_more(UnderWay const& batch, std::size_t there);
  [[nodiscard]] bool has_waited() const {
    return collects_since_ && Clock::now() - *collects_since_ >= options_.max_wait;
  }
  [[nodiscard]] std::size_t get_some(UnderWay& batch, std::size_t most, std::size_t there);
  [[nodiscard]] std::size_t may_be_held() const;
  void give_copies(UnderWay& batch);

  StageThread m_{};
  OutletView const& from_;
  BatchEnd end_;
  BatchOptions const& options_;
  BatchStream& stream_;
  BatchesUnderWay& batches_;
  bool copies_from_ring_;
  std::optional<ScopedArrivals> arrivals_{};         ///< of a tunnel with scopes
  bool marks_own_ = false;                           ///< the copies so far of the batch that is collected are marked
  std::optional<Clock::time_point> collects_since_;  ///< the batch that is collected, when its first item was seen
};

}  // namespace hiway
