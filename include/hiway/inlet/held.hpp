// Results of a yielding kernel that find no room in the tunnel: rule L2 of launch/slice.hpp.
#pragma once
#include <cstdint>

#include "hiway/inlet/put.hpp"
#include "hiway/item.hpp"
#include "hiway/launch/slice.hpp"
#include "hiway/outlet/tasks.hpp"

namespace hiway::detail {

/// Keeps the calling lane's result for the next launch.
template <class Machine, class O>
HIWAY_DEVICE inline void hold(Machine m, O const& item, Held<O>& held, Slice const& slice) {
  copy_bytes(held.item, reinterpret_cast<std::byte const*>(&item), sizeof(O));
  m.store(held.is_there, 1u, MemoryOrder::relaxed);
  m.fetch_add(slice.words->held_count, 1u, MemoryOrder::relaxed);
}

/// Puts `item` for each lane of `group` with `need`, all lanes together; waits for room until the slice is over. True
/// in a lane whose item is held instead. A resident kernel, of which `held` is null, waits as long as it takes.
template <class Machine, class O>
HIWAY_DEVICE inline bool put_or_hold(Machine m, std::uint32_t group, bool need, InletView const& v, O const& item,
                                     Held<O>* held, Slice const& slice, SliceClock<Machine>& clock) {
  if (held == nullptr && takes_ticket_first<WriteItem<O>>(v)) {
    put_tagged(m, v, group, need, WriteItem<O>{item});
    return false;
  }
  for (unsigned misses = 0;; ++misses) {
    if (try_put_inside(m, v, group, need, WriteItem<O>{item}, after_misses(misses))) need = false;
    if (m.ballot(group, need) == 0) return false;
    if (!drops_or_fails(v.when_full) && clock.is_over_idle(m, group, misses)) break;
    if (need) need = wait_for_room(m, v, misses);
  }
  if (need) hold(m, item, *held, slice);
  return need;
}

/// At the beginning of a launch: the result that the last one held, if it held one.
template <class Machine, class O>
HIWAY_DEVICE inline bool take_held(Machine m, Slice const& slice, Held<O>& held, O& result) {
  if (m.load(held.is_there, MemoryOrder::relaxed) == 0) return false;
  copy_bytes(&result, held.item, sizeof(O));
  m.store(held.is_there, 0u, MemoryOrder::relaxed);
  m.fetch_add(slice.words->held_count, ~0u, MemoryOrder::relaxed);
  return true;
}

}  // namespace hiway::detail
