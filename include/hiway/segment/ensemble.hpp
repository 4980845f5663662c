// Ensembles: items that the lanes of a replica work on together, of one node or of several.
#pragma once
#include <cstdint>
#include <type_traits>

#include "hiway/segment/lanes.hpp"
#include "hiway/segment/node.hpp"
#include "hiway/segment/region_marks.hpp"
#include "hiway/segment/replica_state.hpp"
#include "hiway/segment/target.hpp"

namespace hiway::segment {

namespace detail {

/// One lane's Emit for each channel of a function.
template <class List>
struct Emits;
template <>
struct Emits<Types<>> {};
template <class T, class... Rest>
struct Emits<Types<T, Rest...>> {
  Emit<T> first;
  Emits<Types<Rest...>> rest;
  template <unsigned C>
  HIWAY_DEVICE auto& get() {
    if constexpr (C == 0) {
      return first;
    } else {
      return rest.template get<C - 1>();
    }
  }
};

}  // namespace detail

/// An ensemble of items of one node.
template <class State, class F>
struct OfOne {
  using Callable = F;
  using Fn = Function<F>;
  using Signal = typename State::Signal;
  static constexpr bool has_regions = State::has_regions;
  static constexpr bool has_scopes = State::has_scopes;
  static constexpr Leads leads = State::Program::template leads<F>;

  State& r;
  unsigned node;
  F const& f;
  Target<State, leads> to[Fn::channels == 0 ? 1 : Fn::channels];
  [[no_unique_address]] std::conditional_t<has_regions, PassedAlong, InRegion> along{};

  HIWAY_DEVICE OfOne(State& replica, unsigned n, F const& function) : r(replica), node(n), f(function) {
    detail::unrolled<Fn::channels>([&](auto c) { to[c] = Target<State, leads>(r, node, c); });
  }
  /// The node function, bound to the parents of the lane's item if it takes any.
  HIWAY_DEVICE decltype(auto) function() const {
    if constexpr (Fn::Parents::count == 0) {
      return (f);
    } else {
      return RegionArena<State>(r).bind(f, node, along.region);
    }
  }
  HIWAY_DEVICE bool must_suspend() const { return r.rows[node].suspends && r.activity.any(r.rows[node].children); }
  /// `last`: it is the last item that the lane's task puts.
  template <unsigned C, class T>
  HIWAY_DEVICE Tally put(T const& item, bool brings, bool other, bool last = true) {
    if constexpr (C == 0) r.counting.step(r.lanes, node);
    if constexpr (has_regions) {
      Tally const tally = to[C].put(r, item, brings, other, along, last);
      if (along.marks != 0) RegionMarks<State>(r).put_along(to[C], along, tally);
      return tally;
    } else {
      return to[C].put(r, item, brings, other, {}, last);
    }
  }
  /// Puts the lane's signal behind the item that the lane `brought` with the last put. `pushed`: the tally of that
  /// put.
  template <unsigned C>
  HIWAY_DEVICE void raise(EmitSignal<Signal> const& signal, Tally const& pushed, bool brought) {
    std::uint32_t const items = to[C].pushed - pushed.all + pushed.before + (brought ? 1 : 0);
    to[C].put_mark(r, signal.value, signal.ok, r.lanes.tally(signal.ok), items);
  }
  /// How many marks every channel has room for.
  [[nodiscard]] HIWAY_DEVICE std::uint32_t free_marks() const {
    std::uint32_t free = ~0u;
    detail::unrolled<Fn::channels>([&](auto c) { free = to[c].marks.free < free ? to[c].marks.free : free; });
    return free;
  }
  /// The first lane writes back what the node has taken and put, for the other lanes to see.
  HIWAY_DEVICE void leave(QueueState const& s, typename State::Reading const& marks) const {
    r.lanes.sync();
    if (r.lanes.rank() == 0) {
      r.states[node] = s;
      r.marks.close(node, marks);
      detail::unrolled<Fn::channels>([&](auto c) { to[c].close(r); });
    }
    r.lanes.sync();
  }
};

/// An ensemble with items of several nodes whose functions have the same type (scheduler.hpp S4).
template <class State, class F>
struct OfSeveral {
  using Callable = F;
  using Fn = Function<F>;

  State& r;
  std::uint32_t nodes;  ///< bits
  unsigned node;        ///< of the lane's item
  F const& f;

  HIWAY_DEVICE F const& function() const { return f; }
  HIWAY_DEVICE bool must_suspend() const {
    auto const m = r.lanes.machine();
    for (std::uint32_t left = nodes; left != 0; left &= left - 1) {
      NodeRow const& row = r.rows[m.lowest(left)];
      if (row.suspends && r.activity.any(row.children)) return true;
    }
    return false;
  }
  template <unsigned C, class T>
  HIWAY_DEVICE Tally put(T const& item, bool brings, bool other, bool last = true) {
    auto const m = r.lanes.machine();
    Tally all;
    for (std::uint32_t left = nodes; left != 0; left &= left - 1) {
      unsigned const n = m.lowest(left);
      Target<State, State::Program::template leads<F>> t(r, n, C);
      if constexpr (C == 0) r.counting.step(r.lanes, n);
      Tally const of_node = t.put(r, item, brings && node == n, other, {}, last);
      all.all += of_node.all;
      all.any = all.any || of_node.any;
      r.lanes.sync();
      if (r.lanes.rank() == 0) t.close(r);
      r.lanes.sync();
    }
    return all;
  }
};

/// The object with which a collective's lanes put items.
template <class Ensemble>
struct Push {
  Ensemble& ensemble;
  std::uint32_t& put;
  std::uint32_t rounds = 0;
  /// All lanes call it; those with `brings` put an item. Returns whether there is room for another push of all lanes.
  template <class T>
  HIWAY_DEVICE bool operator()(T const& item, bool brings) {
    ensemble.r.look_for_abort(rounds);
    ensemble.template put<0>(item, brings, false);
    put += brings ? 1 : 0;
    return !ensemble.must_suspend();
  }
};

}  // namespace hiway::segment
