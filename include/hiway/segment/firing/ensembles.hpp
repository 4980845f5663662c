// Ensembles, one after the other: how a node of most kinds fires (scheduler.hpp S2).
#pragma once
#include <cstdint>

#include "hiway/segment/ensemble.hpp"
#include "hiway/segment/firing/firing.hpp"
#include "hiway/segment/firing/several.hpp"
#include "hiway/segment/firing/signals.hpp"
#include "hiway/segment/lanes.hpp"
#include "hiway/segment/node.hpp"
#include "hiway/segment/region_marks.hpp"
#include "hiway/segment/replica_state.hpp"
#include "hiway/segment/scheduler.hpp"

namespace hiway::segment {

/// One firing of a node of module M.
template <class State, unsigned M>
class EnsembleFiring {
  using F = typename State::template ModuleAt<M>;
  using Fn = Function<F>;
  using MarksOf = typename State::MarksOf;
  using Reading = typename State::Reading;

 public:
  HIWAY_DEVICE EnsembleFiring(State& replica, unsigned node)
      : r_(replica),
        node_(node),
        row_(replica.rows[node]),
        width_(row_.width),
        s_(replica.states[node]),
        partly_(replica.activity.is_flushed(node) || row_.loop != 0 ||
                (State::Source::is_range && node == replica.root)),
        may_share_(shares && replica.activity.is_flushed(node) && row_.loop == 0) {}

  HIWAY_DEVICE void fire() {
    if constexpr (shares) {
      if (may_share_ && s_.count < r_.lanes.size() && SeveralFiring<State, M>(r_, node_).fire()) return;
    }
    fire_alone();
  }

 private:
  /// Whether lanes that this node cannot fill may take other nodes' items (scheduler.hpp S4).
  static constexpr bool shares = !MarksOf::exist && State::Program::may_share(M) && Firing<Fn::kind>::shares_lanes;

  HIWAY_DEVICE void fire_alone() {
    std::uint32_t const began = r_.counting.now(r_.lanes);
    OfOne<State, F> e(r_, node_, r_.template function_of<M>(row_));
    [[maybe_unused]] Reading marks = r_.marks.read(node_);
    bool finished = true;
    for (;;) {
      Due const due = due_of(e, marks);
      if (MarksOf::is_one(marks) && due.items == 0) {
        detail::pass_mark(e, marks);
        if (r_.activity.any(row_.children) || r_.is_late()) break;
        continue;
      }
      std::uint32_t const k = items_of_next(e, due);
      if (k == 0) break;
      finished = ensemble(e, marks, s_.suspended != 0 ? s_.suspended : k);
      if (!finished || must_leave()) break;
    }
    e.leave(s_, marks);
    r_.counting.firing(r_.lanes, node_, began);
    if (finished && row_.loop == 0) Scheduler<State>(r_).settle(node_, s_.count);
  }

  /// What is due now. It waits for a full ensemble if no mark is behind it.
  HIWAY_DEVICE Due due_of(OfOne<State, F>& e, Reading const& marks) const {
    Due const due{r_.due_of(node_, marks, s_.count), !MarksOf::is_one(marks)};
    if constexpr (State::has_regions) {
      if (row_.is_dense && due.items != 0) return RegionMarks<State>(r_).due_in_dense(e, marks, s_.count);
    }
    return due;
  }
  /// How many items the next new ensemble has; 0: it waits.
  HIWAY_DEVICE std::uint32_t items_of_next(OfOne<State, F> const& e, Due const& due) const {
    std::uint32_t const whole = due.items < width_ ? due.items : width_;
    std::uint32_t const k = with_room(e, whole);
    return whole < width_ && !partly_ && due.waits ? 0 : k;
  }
  /// How many of `k` items may be taken: each signal that they raise needs room, and so does each item that stays in
  /// the loop.
  HIWAY_DEVICE std::uint32_t with_room(OfOne<State, F> const& e, std::uint32_t k) const {
    if constexpr (Fn::raises) k = k < e.free_marks() ? k : e.free_marks();
    if (row_.loop != 0) {
      detail::unrolled<Fn::channels>([&](auto c) {
        auto const& t = e.to[c];
        if (!t.is_sink() && t.room == 0 && t.free < k) k = t.free;
      });
    }
    return k;
  }
  /// Works on an ensemble of `k` items. Returns whether it is finished.
  HIWAY_DEVICE bool ensemble(OfOne<State, F>& e, Reading& marks, std::uint32_t k) {
    bool const resumed = s_.suspended != 0;
    if constexpr (State::has_regions) RegionMarks<State>(r_).begin_ensemble(e, marks, s_, k);
    Worked const worked = Firing<Fn::kind>::template ensemble<M>(e, s_, k);
    r_.counting.ensemble(r_.lanes, node_, k, k == width_, resumed, worked.finished, worked.put, false);
    if (!worked.finished) {
      s_.suspended = k;
      return false;
    }
    s_.suspended = 0;
    r_.take(node_, s_, k);
    MarksOf::take(marks, k);
    if constexpr (State::has_regions) RegionMarks<State>(r_).end_ensemble(e, marks);
    detail::unrolled<Fn::channels>([&](auto c) {
      if (e.to[c].node == node_) e.to[c].free += k;
    });
    return true;
  }
  HIWAY_DEVICE bool must_leave() {
    return r_.activity.any(row_.children) || (s_.count < r_.lanes.size() && (row_.loop != 0 || may_share_)) ||
           r_.is_late();
  }

  State& r_;
  unsigned node_;
  NodeRow const& row_;
  std::uint32_t width_;
  QueueState s_;
  bool partly_;  ///< an ensemble that is not full need not wait
  bool may_share_;
};

/// Kinds that fire ensemble after ensemble.
struct FiresEnsembles {
  static constexpr bool shares_lanes = false;
  template <unsigned M, class State>
  HIWAY_DEVICE static void fire(State& r, unsigned node) {
    EnsembleFiring<State, M>(r, node).fire();
  }
};

}  // namespace hiway::segment
