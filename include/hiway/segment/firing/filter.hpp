// Filters: an item gives at most one item on each channel.
#pragma once
#include <cstdint>
#include <type_traits>
#include <utility>

#include "hiway/item.hpp"
#include "hiway/segment/ensemble.hpp"
#include "hiway/segment/firing/ensembles.hpp"
#include "hiway/segment/firing/firing.hpp"
#include "hiway/segment/lanes.hpp"
#include "hiway/segment/node.hpp"
#include "hiway/segment/region_marks.hpp"
#include "hiway/segment/replica_state.hpp"
#include "hiway/segment/scheduler.hpp"

namespace hiway::segment {

namespace detail {

struct NoSignal {};

}  // namespace detail

/// Whether the regions of the lanes' items are needed: by the function, or for the tags of a child.
template <class State, class F>
[[nodiscard]] HIWAY_DEVICE inline bool needs_regions(OfOne<State, F> const& e) {
  bool needs = Function<F>::Parents::count != 0;
  detail::unrolled<Function<F>::channels>([&](auto c) { needs = needs || e.to[c].tags.of != nullptr; });
  return needs;
}

HIWAY_ITEMS_MAY_LOOK_UNSET
/// Fires a filter inside regions, in any context: its ensembles may span marks, which its puts pass along
/// (region_marks.hpp R1).
template <unsigned M, class State>
HIWAY_DEVICE inline void fire_filter_inside(State& r, unsigned node) {
  using F = typename State::template ModuleAt<M>;
  using Fn = Function<F>;
  using In = typename Fn::In;
  NodeRow const row = r.rows[node];
  RegionMarks<State> regions(r);
  MarkRing const q = regions.marked(node);
  std::uint32_t const width = row.width;
  QueueState s = r.states[node];
  bool const flushes = r.activity.is_flushed(node) || (State::Source::is_range && node == r.root);
  std::uint32_t const began = r.counting.now(r.lanes);
  OfOne<State, F> e(r, node, r.template function_of<M>(row));
  typename State::Reading marks = r.marks.read(node);
  bool const tagged = needs_regions(e);
  for (;;) {
    std::uint32_t const most = s.count < width ? s.count : width;
    Stretch const taken = regions.stretch(q, marks, most, regions.marks_for(e), span_of(row));
    if (taken.items + taken.marks == 0 || (taken.items == most && !flushes && regions.waits(row, marks, most))) break;
    regions.open(e, q, marks, taken);
    if (tagged) e.along.region = regions.region_of(q, s, marks, taken);
    ItemRoom<In> item;
    LaneItem<F> lane{item.item(), r.lanes.rank() < taken.items};
    if (lane.mine) item.item() = r.template read<M, In>(node, s, r.lanes.rank());
    (void)Firing<Fn::kind>::work(e, lane);
    if (taken.items != 0)
      r.counting.ensemble(r.lanes, node, taken.items, taken.items == width, false, true, lane.put, false);
    if (lane.mine) r.counting.item(r.lanes, node, lane.put);
    r.take(node, s, taken.items);
    State::MarksOf::take(marks, taken.items);
    regions.close(e, q, marks, taken);
    if (r.activity.any(row.children) || r.is_late()) break;
  }
  e.leave(s, marks);
  r.counting.firing(r.lanes, node, began);
  Scheduler<State>(r).settle(node, s.count);
}

template <>
struct Firing<Kind::filter> : FiresEnsembles, OneItemALane<Kind::filter> {
  static constexpr bool shares_lanes = true;

  template <unsigned M, class State>
  HIWAY_DEVICE static void fire(State& r, unsigned node) {
    if constexpr (State::has_regions && Function<typename State::template ModuleAt<M>>::items_per_lane == 1) {
      fire_filter_inside<M>(r, node);
    } else {
      FiresEnsembles::fire<M>(r, node);
    }
  }
  template <unsigned M, class Ensemble>
  HIWAY_DEVICE static Worked ensemble(Ensemble& e, QueueState const& s, std::uint32_t k) {
    if constexpr (Ensemble::Fn::items_per_lane > 1) {
      return wide_ensemble<M>(e, s, k);
    } else {
      return OneItemALane<Kind::filter>::ensemble<M>(e, s, k);
    }
  }
  template <class Ensemble, class F>
  HIWAY_DEVICE static bool work(Ensemble& e, LaneItem<F>& lane) {
    if constexpr (Function<F>::emits) {
      put_on_channels(e, lane);
    } else {
      auto&& f = e.function();
      Maybe<typename Function<F>::template Out<0>> out;
      if (lane.mine) out = detail::as_maybe(f(lane.item));
      e.template put<0>(out.value, out.ok, false);
      lane.put += out.ok ? 1 : 0;
    }
    detail::end_task(e.r);
    return true;
  }

 private:
  /// Whether the lane puts into a channel after channel C.
  template <unsigned C, class... Ts>
  HIWAY_DEVICE static bool brings_after(detail::Emits<detail::Types<Ts...>>& out) {
    bool brings = false;
    detail::unrolled<sizeof...(Ts) - 1 - C>([&](auto c) { brings = brings || out.template get<C + 1 + c>().ok; });
    return brings;
  }
  /// A filter with several channels, or one that raises signals.
  template <class Ensemble, class F>
  HIWAY_DEVICE static void put_on_channels(Ensemble& e, LaneItem<F>& lane) {
    using Fn = Function<F>;
    auto&& f = e.function();
    detail::Emits<typename Fn::Outs> out;
    std::conditional_t<Fn::raises, EmitSignal<typename Fn::Raised>, detail::NoSignal> signal;
    if (lane.mine) {
      [&]<std::size_t... C>(std::index_sequence<C...>) {
        if constexpr (Fn::raises) {
          f(lane.item, out.template get<C>()..., signal);
        } else {
          f(lane.item, out.template get<C>()...);
        }
      }
      (std::make_index_sequence<Fn::channels>{});
    }
    detail::unrolled<Fn::channels>([&](auto c) {
      auto const& o = out.template get<c>();
      [[maybe_unused]] Tally const pushed = e.template put<c>(o.value, o.ok, false, !brings_after<c>(out));
      if constexpr (Fn::raises) e.template raise<c>(signal, pushed, o.ok);
      lane.put += o.ok ? 1 : 0;
    });
  }
  /// An ensemble of a filter whose lanes take several items. All loads of a lane are under way before it puts its first
  /// item.
  template <unsigned M, class Ensemble>
  HIWAY_DEVICE static Worked wide_ensemble(Ensemble& e, QueueState const& s, std::uint32_t k) {
    using Fn = typename Ensemble::Fn;
    auto& r = e.r;
    std::uint32_t const lanes = r.lanes.size();
    std::uint32_t const rank = r.lanes.rank();
    Maybe<typename Fn::template Out<0>> out[Fn::items_per_lane];
    detail::KeptTasks<Ensemble::has_scopes, Fn::items_per_lane> tasks;
    auto const make = [&](std::uint32_t i) {
      if (!detail::takes_item<1, typename Fn::In>(r, e.node, s, i * lanes + rank)) return;
      out[i] = detail::as_maybe(e.function()(r.template read<M, typename Fn::In>(e.node, s, i * lanes + rank)));
      tasks.keep(r, i);
    };
    if (k == Fn::items_per_lane * lanes) {
      detail::unrolled<Fn::items_per_lane>(make);
    } else {
      detail::unrolled<Fn::items_per_lane>([&](std::uint32_t i) {
        if (i * lanes + rank < k) make(i);
      });
    }
    std::uint32_t put = 0;
    detail::unrolled<Fn::items_per_lane>([&](auto i) {
      tasks.take_up(r, i);
      e.template put<0>(out[i].value, out[i].ok, false);
      detail::end_task(r);
      put += out[i].ok ? 1 : 0;
    });
    if (rank < k) r.counting.item(r.lanes, e.node, put != 0 ? 1 : 0);
    return {true, put};
  }
};
HIWAY_ITEMS_END

}  // namespace hiway::segment
