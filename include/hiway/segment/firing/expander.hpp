// Expanders: an item gives any number of items, one after another.
//
// With Refill::lanes, each lane takes an item whenever it is free, and a node that is left keeps each lane's item with
// its cursor. With Refill::ensembles, and in the dense context of a region, the lanes take items together.
#pragma once
#include <cstdint>

#include "hiway/item.hpp"
#include "hiway/segment/ensemble.hpp"
#include "hiway/segment/firing/ensembles.hpp"
#include "hiway/segment/firing/firing.hpp"
#include "hiway/segment/firing/signals.hpp"
#include "hiway/segment/lanes.hpp"
#include "hiway/segment/node.hpp"
#include "hiway/segment/replica_state.hpp"
#include "hiway/segment/scheduler.hpp"

namespace hiway::segment {

namespace detail {

/// What is saved of a lane when its node is left with the lane's item unfinished.
template <class F, bool has_scopes>
struct LaneOf {
  SlotOf<typename Function<F>::In, has_scopes> item;
  typename Function<F>::Cursor cursor;
};

}  // namespace detail

HIWAY_ITEMS_MAY_LOOK_UNSET
/// One firing of an expander of module M whose lanes each take an item whenever they are free.
template <class State, unsigned M>
class LaneFiring {
  using F = typename State::template ModuleAt<M>;
  using Fn = Function<F>;
  using Lane = detail::LaneOf<F, State::has_scopes>;
  using MarksOf = typename State::MarksOf;

 public:
  HIWAY_DEVICE LaneFiring(State& replica, unsigned node)
      : r_(replica),
        row_(replica.rows[node]),
        s_(replica.states[node]),
        of_range_(replica.takes_range(node)),
        partly_(replica.activity.is_flushed(node) || of_range_),
        began_(replica.counting.now(replica.lanes)),
        e_(replica, node, replica.template function_of<M>(row_)),
        marks_(replica.marks.read(node)),
        kept_(replica.template cursors_of<Lane>(node)) {}

  HIWAY_DEVICE void fire() {
    std::uint32_t const lanes = r_.lanes.size();
    resume();
    std::uint32_t rounds = 0;
    for (;;) {
      r_.look_for_abort(rounds);
      if constexpr (State::has_regions) e_.along.region = static_cast<std::uint16_t>(marks_.now);
      auto&& f = e_.function();
      bool const blocked = r_.activity.any(row_.children);
      if (blocked && (row_.suspends || idle_.all == lanes)) break;
      std::uint32_t const due = r_.due_of(e_.node, marks_, s_.count);
      if (is_at_mark(due)) {
        detail::pass_mark(e_, marks_);
        continue;
      }
      if (idle_.all != 0 && !blocked) {
        if (waits_for(due)) break;
        if (take(f, idle_.all < due ? idle_.all : due) == Lanes::too_many_idle) continue;
      }
      put_next(f);
      if (idle_.all == lanes && s_.count == 0 && !MarksOf::is_one(marks_)) break;
    }
    leave();
  }

 private:
  enum class Lanes { busy, too_many_idle };

  /// All items before the first mark are done.
  [[nodiscard]] HIWAY_DEVICE bool is_at_mark(std::uint32_t due) const {
    return MarksOf::is_one(marks_) && due == 0 && idle_.all == r_.lanes.size();
  }
  /// The idle lanes wait until there is an item for each of them; `due` are there.
  [[nodiscard]] HIWAY_DEVICE bool waits_for(std::uint32_t due) const {
    return idle_.all > due && !partly_ && !MarksOf::is_one(marks_);
  }
  /// The lanes go on with the items that were kept.
  HIWAY_DEVICE void resume() {
    std::uint32_t const rank = r_.lanes.rank();
    live_ = rank < s_.suspended;
    if (live_) own_ = kept_[rank];
    if constexpr (State::has_scopes) live_ = live_ && detail::takes_slot(r_, own_.item);
    if (live_) made_ = r_.counting.kept(r_.lanes, e_.node, rank);
    idle_ = r_.lanes.idle(live_);
  }
  /// The lane begins with the `k`-th item.
  template <class Bound>
  HIWAY_DEVICE void begin(Bound const& f, std::uint32_t k) {
    using In = typename Fn::In;
    if constexpr (State::has_scopes) {
      own_.item = r_.template slot_of<In>(e_.node, s_, k);
      if (!detail::takes_slot(r_, own_.item)) return;
    } else {
      own_.item = r_.template read<M, In>(e_.node, s_, k);
    }
    own_.cursor = f.start(item_of(own_.item));
    live_ = f.more(item_of(own_.item), own_.cursor);
    if (!live_) detail::end_task(r_);
  }
  /// The first `n` idle lanes take an item each. Returns whether so many of them are idle again that they take others
  /// before any lane puts.
  template <class Bound>
  HIWAY_DEVICE Lanes take(Bound const& f, std::uint32_t n) {
    // Newest items first: they are still in the caches. With marks the order must be kept.
    constexpr bool in_order = MarksOf::exist;
    if (!live_ && idle_.before < n) {
      bool const from_head = of_range_ || in_order;
      begin(f, from_head ? idle_.before : s_.count - 1 - idle_.before);
      made_ = 0;
    }
    if constexpr (State::Source::is_range) {
      if (of_range_) r_.intake.window += n;
    }
    if (in_order && !of_range_) s_.head = detail::wrap(s_.head + n, row_.queue_slots);
    s_.count -= n;
    MarksOf::take(marks_, n);
    taken_ += n;
    if (n == 0 || s_.count == 0) return Lanes::busy;
    idle_ = r_.lanes.idle(live_);  // items that give nothing have left lanes idle
    return idle_.all * 4 > r_.lanes.size() ? Lanes::too_many_idle : Lanes::busy;
  }
  /// Each live lane makes and puts an output.
  template <class Bound>
  HIWAY_DEVICE void put_next(Bound const& f) {
    Maybe<typename Fn::template Out<0>> out;
    if (live_) {
      out = detail::as_maybe(f.next(item_of(own_.item), own_.cursor));
      live_ = f.more(item_of(own_.item), own_.cursor);
      put_ += out.ok ? 1 : 0;
      made_ += out.ok ? 1 : 0;
      if (!live_) r_.counting.item(r_.lanes, e_.node, made_);
    }
    e_.template put<0>(out.value, out.ok, false, !live_);
    if (!live_) detail::end_task(r_);
    idle_ = r_.lanes.idle(live_);
  }
  /// The lanes keep the items that are not finished.
  HIWAY_DEVICE void leave() {
    std::uint32_t const lanes = r_.lanes.size();
    s_.suspended = lanes - idle_.all;
    if (s_.suspended != 0) r_.lanes.sync();  // all lanes have read what was kept before
    if (live_) {
      std::uint32_t const place = r_.lanes.rank() - idle_.before;
      if constexpr (State::has_scopes) detail::keep_in_slot(r_, own_.item);
      kept_[place] = own_;
      r_.counting.keep(r_.lanes, e_.node, place, made_);
    }
    e_.leave(s_, marks_);
    r_.counting.ensemble(r_.lanes, e_.node, taken_, taken_ == lanes, false, s_.suspended == 0, put_, false);
    r_.counting.firing(r_.lanes, e_.node, began_);
    Scheduler<State>(r_).settle(e_.node, s_.count + s_.suspended);
  }

  State& r_;
  NodeRow const& row_;
  QueueState s_;
  bool of_range_;
  bool partly_;
  [[maybe_unused]] std::uint32_t began_;
  OfOne<State, F> e_;
  [[maybe_unused]] typename State::Reading marks_;
  Lane* kept_;         ///< what is kept of the lanes
  Lane own_;           ///< of the lane
  bool live_ = false;  ///< the lane's item is not finished
  Tally idle_;         ///< of the lanes that are not live
  std::uint32_t taken_ = 0;
  std::uint32_t put_ = 0;   ///< items that the lane has put
  std::uint32_t made_ = 0;  ///< of them, by its current item
};

template <>
struct Firing<Kind::expander> : FiresEnsembles, OneItemALane<Kind::expander> {
  static constexpr bool shares_lanes = true;

  template <unsigned M, class State>
  HIWAY_DEVICE static void fire(State& r, unsigned node) {
    if constexpr (!State::Program::refills_lanes) {
      FiresEnsembles::fire<M>(r, node);
    } else {
      if constexpr (State::has_regions) {
        if (r.rows[node].is_dense) {
          FiresEnsembles::fire<M>(r, node);
          return;
        }
      }
      LaneFiring<State, M>(r, node).fire();
    }
  }
  template <class Ensemble, class F>
  HIWAY_DEVICE static bool work(Ensemble& e, LaneItem<F>& lane) {
    using Fn = Function<F>;
    auto& r = e.r;
    auto&& f = e.function();
    typename Fn::Cursor cursor;
    bool live = false;
    if (lane.mine) {
      if (lane.resumed) {
        cursor = *lane.kept;
      } else {
        cursor = f.start(lane.item);
      }
      live = f.more(lane.item, cursor);
    }
    if (!live) detail::end_task(r);
    bool any = r.lanes.any(live);
    std::uint32_t rounds = 0;
    while (any) {
      r.look_for_abort(rounds);
      if (e.must_suspend()) {
        if (lane.mine) *lane.kept = cursor;
        return false;
      }
      Maybe<typename Fn::template Out<0>> out;
      if (live) {
        out = detail::as_maybe(f.next(lane.item, cursor));
        live = f.more(lane.item, cursor);
      }
      any = e.template put<0>(out.value, out.ok, live, !live).any;
      if (!live) detail::end_task(r);
      lane.put += out.ok ? 1 : 0;
    }
    return true;
  }
};
HIWAY_ITEMS_END

}  // namespace hiway::segment
