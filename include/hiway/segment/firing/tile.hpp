// Tiles: some neighbouring lanes work on one item together.
#pragma once
#include <cstdint>
#include <utility>

#include "hiway/item.hpp"
#include "hiway/segment/firing/ensembles.hpp"
#include "hiway/segment/firing/firing.hpp"
#include "hiway/segment/lanes.hpp"
#include "hiway/segment/node.hpp"

namespace hiway::segment {

HIWAY_ITEMS_MAY_LOOK_UNSET
template <>
struct Firing<Kind::tile> : FiresEnsembles, OneItemALane<Kind::tile> {
  template <class F, class State>
  using TileOf = Tile<decltype(std::declval<State const&>().lanes.machine()), Function<F>::lanes_per_item>;

  template <class Ensemble, class F>
  HIWAY_DEVICE static bool work(Ensemble& e, LaneItem<F>& lane) {
    auto& r = e.r;
    Maybe<typename Function<F>::template Out<0>> out;
    if (lane.mine) out = e.function()(TileOf<F, std::remove_reference_t<decltype(r)>>(r.lanes.machine()), lane.item);
    if (lane.mine) detail::gather_tile<Function<F>::lanes_per_item>(r, out.ok);
    e.template put<0>(out.value, out.ok, false);
    detail::end_task(r);
    lane.put += out.ok ? 1 : 0;
    return true;
  }
  template <class F, class State>
  HIWAY_DEVICE static std::uint32_t made_of_item(State& r, std::uint32_t put) {
    if constexpr (State::Program::shape.counters) {
      return TileOf<F, State>(r.lanes.machine()).sum(put);
    } else {
      return put;
    }
  }
};
HIWAY_ITEMS_END

}  // namespace hiway::segment
