// Signals: a node hears the first signal of its queue, and passes it on.
#pragma once
#include <cstdint>

#include "hiway/segment/ensemble.hpp"
#include "hiway/segment/lanes.hpp"
#include "hiway/segment/node.hpp"
#include "hiway/segment/region_marks.hpp"

namespace hiway::segment::detail {

/// The first lane calls the node's `on`; its outputs are put. Returns whether to pass the signal on.
template <class State, class F>
HIWAY_DEVICE inline bool hear_and_put(OfOne<State, F>& e, typename State::Signal& signal, std::uint32_t& put) {
  using Fn = Function<F>;
  bool const first = e.r.lanes.rank() == 0;
  bool passes = true;
  Emits<typename Fn::Outs> out;
  if (first) {
    if constexpr (Fn::has_state) {
      passes = hear(e.function(), signal, out, &e.r.template state_of<F>(e.node));
    } else {
      passes = hear(e.function(), signal, out, static_cast<NoState*>(nullptr));
    }
  }
  if constexpr (Fn::puts_at_signals) {
    unrolled<Fn::channels>([&](auto c) {
      auto const& o = out.template get<c>();
      e.template put<c>(o.value, o.ok, false);
      put += o.ok ? 1 : 0;
    });
  }
  return e.r.lanes.any(first && passes);
}

/// The node hears the first signal of its queue, and passes it on. All items before it are done; no child is active.
template <class State, class F>
HIWAY_DEVICE inline void pass_mark(OfOne<State, F>& e, typename State::Reading& marks) {
  if constexpr (State::has_regions) {
    RegionMarks<State>(e.r).pass_due(e, marks);
  } else if constexpr (State::MarksOf::exist) {
    using Fn = Function<F>;
    auto& r = e.r;
    typename State::Signal signal = r.marks_of(e.node)[marks.head].signal;
    bool passes = true;
    std::uint32_t put = 0;
    if constexpr (Fn::hears) passes = hear_and_put(e, signal, put);
    r.counting.signal(r.lanes, e.node, put);
    r.marks.drop(e.node, marks);
    if (!passes) return;
    unrolled<Fn::channels>([&](auto c) {
      e.to[c].put_mark(r, signal, r.lanes.rank() == 0, Tally{0, 1, false}, e.to[c].pushed);
    });
  }
}

}  // namespace hiway::segment::detail
