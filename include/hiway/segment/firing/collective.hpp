// Collectives, and nodes by hand, which suspend by themselves: the function is called by all lanes together.
#pragma once
#include <cstdint>

#include "hiway/item.hpp"
#include "hiway/segment/ensemble.hpp"
#include "hiway/segment/firing/ensembles.hpp"
#include "hiway/segment/firing/firing.hpp"
#include "hiway/segment/lanes.hpp"
#include "hiway/segment/node.hpp"

namespace hiway::segment {

HIWAY_ITEMS_MAY_LOOK_UNSET
template <>
struct Firing<Kind::collective> : FiresEnsembles, OneItemALane<Kind::collective> {
  template <class Ensemble, class F>
  HIWAY_DEVICE static bool work(Ensemble& e, LaneItem<F>& lane) {
    LanesView lanes(e.r.lanes);
    if constexpr (Function<F>::has_state) {
      e.function()(lanes, lane.item, lane.mine, Push<Ensemble>{e, lane.put}, e.r.template state_of<F>(e.node));
    } else {
      e.function()(lanes, lane.item, lane.mine, Push<Ensemble>{e, lane.put});
    }
    return true;
  }
};

template <>
struct Firing<Kind::by_hand> : FiresEnsembles, OneItemALane<Kind::by_hand> {
  template <class Ensemble, class F>
  HIWAY_DEVICE static bool work(Ensemble& e, LaneItem<F>& lane) {
    typename Function<F>::Cursor saved{};
    if (lane.mine && lane.resumed) saved = *lane.kept;
    Progress const progress =
        e.function()(LanesView(e.r.lanes), lane.item, lane.mine, saved, lane.resumed, Push<Ensemble>{e, lane.put});
    if (progress == Progress::suspended && lane.mine) *lane.kept = saved;
    return progress == Progress::finished;
  }
};
HIWAY_ITEMS_END

}  // namespace hiway::segment
