// Results of a yielding kernel that find no room in the tunnel: rule L2 of launch/slice.hpp.
#pragma once
#include <cstdint>

#include "hiway/inlet/put.hpp"
#include "hiway/item.hpp"
#include "hiway/launch/slice.hpp"
#include "hiway/outlet/tasks.hpp"

namespace hiway::detail {

/// Puts `item` for each lane of `group` with `need`, all lanes together; waits for room until the slice is over. True
/// in a lane whose item is held instead. A resident kernel, of which `held` is null, waits as long as it takes.
template <class Machine, class O>
HIWAY_DEVICE inline bool put_or_hold(Machine m, std::uint32_t group, bool need, InletView const& v, O const& item,
                                     Held<O>* held, SliceClock<Machine> const& clock) {
  if (held == nullptr) {
    put_together(m, v, group, need, WriteItem<O>{item});
    return false;
  }
  for (unsigned misses = 0;; ++misses) {
    if (try_put(m, v, group, need, WriteItem<O>{item}, after_misses(misses))) need = false;
    if (m.ballot(group, need) == 0) return false;
    if (clock.is_over(m, group)) break;
    if (need) wait_for_room(m, v, misses);
  }
  if (need) {
    copy_bytes(held->item, reinterpret_cast<std::byte const*>(&item), sizeof(O));
    m.store(held->is_there, 1u, Order::relaxed);
  }
  return need;
}

/// At the beginning of a launch: puts what the last one held, and ends its tasks. False if some of it is held again.
template <class Machine, class O>
HIWAY_DEVICE inline bool put_held(Machine m, std::uint32_t group, OutletView const& from, InletView const& into,
                                  Held<O>& held, SliceClock<Machine> const& clock) {
  bool const had = m.load(held.is_there, Order::relaxed) != 0;
  if (m.ballot(group, had) == 0) return true;
  ItemRoom<O> item;
  if (had) {
    copy_bytes(item.bytes, held.item, sizeof(O));
    m.store(held.is_there, 0u, Order::relaxed);
  }
  bool const holds = put_or_hold(m, group, had, into, item.item(), &held, clock);
  end_tasks(m, from, group, had && !holds);
  return m.ballot(group, holds) == 0;
}

}  // namespace hiway::detail
