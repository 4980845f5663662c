// Schedule: runs the tasks under given capacities, each as early as possible. It makes no choices: every task that can
// run does, and no task that runs hinders another. So the tasks left over are those that no schedule can run: there is
// a cycle in their waits.
#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "hiway/plan/plan.hpp"
#include "lib/plan/dependences.hpp"
#include "lib/plan/expand.hpp"

namespace hiway::plan {

/// `later` runs after `earlier`.
struct Wait {
  std::uint32_t earlier;  ///< tasks
  std::uint32_t later;
  Cause cause;
  std::uint32_t channel;    ///< as in Dependence
  std::int64_t enough = 0;  ///< room: with this capacity it does not wait
};

/// *Lifetime*: `tasks` and `dependences` outlive it.
class Schedule {
 public:
  Schedule(Tasks const& tasks, Dependences const& dependences);

  /// Runs the tasks; true when all ran, with a makespan below `late`. Stops as soon as it is late.
  bool run(Capacities const& capacities, std::int64_t late = std::numeric_limits<std::int64_t>::max());

  // Of the last run:
  /// The longest chain of costs among the tasks that ran.
  [[nodiscard]] std::int64_t makespan() const { return makespan_; }
  /// When tasks were left over: a cycle of waits; the first wait's `earlier` is the last wait's `later`. When all tasks
  /// ran, or the run was late: a chain as long as the makespan.
  [[nodiscard]] std::vector<Wait> chain();

  /// Of all runs.
  [[nodiscard]] std::int64_t runs() const { return runs_; }
  [[nodiscard]] std::int64_t steps() const { return steps_; }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  /// What a node waited for last: an edge, or room in a channel.
  struct Via {
    std::uint32_t node = none;
    std::uint32_t channel = none;
    Cause cause = Cause::flow;
  };
  struct Node {
    std::int64_t start = 0;
    std::uint32_t waits = 0;  ///< dependences that are not met yet; room in one channel counts as one
    bool done = false;
    Via via;
  };
  /// Room is given back in the readers' order: what counts is how many readers have run, from the first on without a
  /// gap.
  struct ChannelState {
    std::uint32_t readers_done = 0;
    std::uint32_t writers_admitted = 0;
    std::int64_t released_at = 0;  ///< when the last of those readers ended
    std::uint32_t released_by = none;
  };

  void reset();
  void finish(std::uint32_t node);
  void release(std::uint32_t channel, Capacities const& capacities);
  void admit_writers(std::uint32_t channel, Capacities const& capacities);
  void met(std::uint32_t node);
  void find_blockers();
  [[nodiscard]] std::vector<Wait> waits_along(std::vector<std::uint32_t> const& nodes_backwards) const;
  [[nodiscard]] std::int64_t enough_room(std::uint32_t channel, std::uint32_t reader, std::uint32_t writer) const;

  Tasks const& tasks_;
  Dependences const& dependences_;
  std::vector<std::uint32_t> first_read_;  // the channels that task t reads: reads_[first_read_[t]] to
  std::vector<std::uint32_t> reads_;       // reads_[first_read_[t + 1] - 1]
  std::vector<Node> fresh_;                // as a run starts

  std::vector<Node> nodes_;
  std::vector<ChannelState> channels_;
  std::vector<std::uint32_t> ready_;
  std::size_t tasks_done_ = 0;
  std::int64_t late_ = 0;
  std::int64_t makespan_ = 0;
  std::uint32_t last_task_ = none;  // it ends at makespan_
  std::int64_t runs_ = 0;
  std::int64_t steps_ = 0;
};

}  // namespace hiway::plan
