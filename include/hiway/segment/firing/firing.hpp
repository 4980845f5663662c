// Firing: what the lanes of a replica do when the scheduler has chosen a node, by the kind of its function.
//
// Firing<kind> is what a kind is to a replica; FunctionOf<F, kind> (node.hpp) says what it is to everyone else. It has
//
//   fire<M>(r, node)            fires a node of module M. Kinds that inherit FiresEnsembles take one ensemble after the
//                               other (ensembles.hpp), and have
//   ensemble<M>(e, s, k)        works on the first `k` items of the node's queue. Kinds that inherit OneItemALane give
//                               each lane its item, and have
//   work(e, lane)               works on one ensemble, each lane on its item
//
// The last two return whether the ensemble is finished, or suspended.
#pragma once
#include <cstdint>

#include "hiway/item.hpp"
#include "hiway/segment/node.hpp"
#include "hiway/segment/queue.hpp"
#include "hiway/segment/replica_state.hpp"
#include "hiway/segment/tasks.hpp"

namespace hiway::segment {

template <Kind kind>
struct Firing;

/// A lane's part of an ensemble.
template <class F>
struct LaneItem {
  typename Function<F>::In const& item;          ///< not set unless it is `mine`
  bool mine = false;                             ///< the lane has an item to work on
  bool resumed = false;                          ///< the ensemble was suspended
  typename Function<F>::Cursor* kept = nullptr;  ///< where the lane's cursor is kept
  std::uint32_t put = 0;                         ///< items that the lane has put
};

/// What a firing has done with an ensemble.
struct Worked {
  bool finished = true;
  std::uint32_t put = 0;  ///< items that the lane has put
};

HIWAY_ITEMS_MAY_LOOK_UNSET
/// Kinds whose lanes take an item each, or some lanes together.
template <Kind kind>
struct OneItemALane {
  template <unsigned M, class Ensemble>
  HIWAY_DEVICE static Worked ensemble(Ensemble& e, QueueState const& s, std::uint32_t k) {
    using F = typename Ensemble::Callable;
    using Fn = Function<F>;
    using In = typename Fn::In;
    auto& r = e.r;
    std::uint32_t const rank = r.lanes.rank();
    std::uint32_t const place = rank / Fn::lanes_per_item;
    bool const mine = place < k;
    bool const works = mine && detail::takes_item<Fn::lanes_per_item, In>(r, e.node, s, place);
    bool const resumed = s.suspended != 0;
    std::uint32_t before = 0;  // what the lane's item had given before the ensemble was left
    if (resumed && mine) before = r.counting.kept(r.lanes, e.node, rank);
    ItemRoom<In> item;
    if (works) item.item() = r.template read<M, In>(e.node, s, place);
    LaneItem<F> lane{item.item(), works, resumed};
    if constexpr (Fn::can_suspend) lane.kept = r.template cursors_of<typename Fn::Cursor>(e.node) + rank;
    bool const finished = Firing<kind>::work(e, lane);
    if (mine && !finished) detail::keep_in_queue<In>(r, e.node, s, place);
    std::uint32_t const made = Firing<kind>::template made_of_item<F>(r, before + lane.put);
    if (mine && finished) r.counting.item(r.lanes, e.node, made);
    if (mine && !finished) r.counting.keep(r.lanes, e.node, rank, made);
    return {finished, lane.put};
  }
  /// What an item has given, if the lane has `put` so many.
  template <class F, class State>
  HIWAY_DEVICE static std::uint32_t made_of_item(State&, std::uint32_t put) {
    return put;
  }
};
HIWAY_ITEMS_END

}  // namespace hiway::segment
