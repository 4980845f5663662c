// Same-module firing: lanes that one node cannot fill take items of other nodes of the same function type
// (scheduler.hpp S4).
#pragma once
#include <cstdint>

#include "hiway/item.hpp"
#include "hiway/segment/ensemble.hpp"
#include "hiway/segment/firing/firing.hpp"
#include "hiway/segment/node.hpp"
#include "hiway/segment/queue.hpp"
#include "hiway/segment/replica_state.hpp"
#include "hiway/segment/scheduler.hpp"

namespace hiway::segment {

/// One firing of several nodes of module M. `first`: the node that the scheduler has chosen.
template <class State, unsigned M>
class SeveralFiring {
  using F = typename State::template ModuleAt<M>;
  using Fn = Function<F>;
  using In = typename Fn::In;

 public:
  HIWAY_DEVICE SeveralFiring(State& replica, unsigned first) : r_(replica), first_(first), node_(first) {}

  HIWAY_ITEMS_MAY_LOOK_UNSET
  /// Returns false, without firing, if no other node has items that it may work on.
  HIWAY_DEVICE bool fire() {
    std::uint32_t const began = r_.counting.now(r_.lanes);
    share_out();
    if (nodes_ == 1u << first_) return false;
    ItemRoom<In> item;
    LaneItem<F> lane{item.item(), mine_};
    std::uint32_t before = 0;
    if (mine_) {
      QueueState const s = r_.states[node_];
      if constexpr (State::has_scopes) lane.mine = detail::takes_item<1, In>(r_, node_, s, place_);
      if (lane.mine) item.item() = r_.template read<M, In>(node_, s, place_);
      lane.resumed = s.suspended != 0;
      if constexpr (Fn::can_suspend) lane.kept = r_.template cursors_of<typename Fn::Cursor>(node_) + place_;
      if (lane.resumed) before = r_.counting.kept(r_.lanes, node_, place_);
    }
    OfSeveral<State, F> e{r_, nodes_, node_, r_.template function_of<M>(r_.rows[node_])};
    bool const finished = Firing<Fn::kind>::work(e, lane);
    if (mine_ && !finished) detail::keep_in_queue<In>(r_, node_, r_.states[node_], place_);
    if (mine_ && finished) r_.counting.item(r_.lanes, node_, before + lane.put);
    if (mine_ && !finished) r_.counting.keep(r_.lanes, node_, place_, before + lane.put);
    r_.lanes.sync();
    write_back({finished, lane.put});
    r_.counting.firing(r_.lanes, first_, began);
    return true;
  }
  HIWAY_ITEMS_END

 private:
  /// Gives each lane an item: first of `first`, then of the other nodes whose children have room. A suspended ensemble
  /// stays whole.
  HIWAY_DEVICE void share_out() {
    auto const m = r_.lanes.machine();
    std::uint32_t const lanes = r_.lanes.size();
    std::uint32_t const rank = r_.lanes.rank();
    std::uint32_t filled = 0;
    for (std::uint32_t left = 1u << first_ | (r_.program.modules[M] & ~(1u << first_)), n = first_; left != 0;
         n = m.lowest(left)) {
      left &= ~(1u << n);
      QueueState const s = r_.states[n];
      NodeRow const& row = r_.rows[n];
      std::uint32_t k = s.suspended != 0 ? s.suspended : s.count;
      bool const may = k != 0 && row.loop == 0 && !r_.activity.any(row.children) &&
                       (s.suspended == 0 || k <= lanes - filled) && filled != lanes;
      if (may) {
        if (k > lanes - filled) k = lanes - filled;
        if (rank >= filled && rank < filled + k) {
          mine_ = true;
          node_ = n;
          place_ = rank - filled;
        }
        filled += k;
        nodes_ |= 1u << n;
      }
      if (left == 0) break;
    }
  }
  HIWAY_DEVICE void write_back(Worked const& worked) {
    auto const m = r_.lanes.machine();
    std::uint32_t const lanes = r_.lanes.size();
    for (std::uint32_t left = nodes_; left != 0; left &= left - 1) {
      unsigned const node = m.lowest(left);
      std::uint32_t const k = r_.lanes.tally(mine_ && node_ == node).all;
      QueueState s = r_.states[node];
      bool const again = s.suspended != 0;
      s.suspended = worked.finished ? 0 : k;
      if (worked.finished) r_.take(node, s, k);
      r_.lanes.sync();
      if (r_.lanes.rank() == 0) r_.states[node] = s;
      r_.lanes.sync();
      r_.counting.ensemble(r_.lanes, node, k, k == lanes, again, worked.finished, node_ == node ? worked.put : 0, true);
      // Only active nodes settle; the others of the ensemble need not be active.
      if (worked.finished && r_.activity.any(1u << node)) Scheduler<State>(r_).settle(node, s.count);
    }
  }

  State& r_;
  unsigned first_;
  std::uint32_t nodes_ = 0;  ///< bits of the nodes that take part
  unsigned node_;            ///< of the lane's item
  std::uint32_t place_ = 0;  ///< of the lane's item among its node's
  bool mine_ = false;        ///< the lane has an item
};

}  // namespace hiway::segment
