// Gets whose tickets the caller needs: those of a stage that writes a tunnel with restored order (inlet/at_ticket.hpp).
// It is the tunnel's only reader. What writers at the same home have staged has no ticket until it is moved into the
// ring, and what lies in a hand has lost its own, so these gets claim from the ring alone.
#pragma once
#include <cstdint>

#include "hiway/fault.hpp"
#include "hiway/item.hpp"
#include "hiway/outlet/get.hpp"
#include "hiway/outlet/staged.hpp"
#include "hiway/outlet/view.hpp"
#include "hiway/ring.hpp"

namespace hiway::detail {

/// One claim for all lanes of `group`; a CPU thread then does what may bring items, and claims again.
template <class Machine>
HIWAY_DEVICE inline Grant claim_with_ticket(Machine m, OutletView const& v, std::uint32_t group, Credit credit,
                                            Credits credits) {
  Word<std::uint64_t>* const tally = &port_of(m, v).got;
  Grant grant = claim_get(m, v.ring, group, true, tally, credit, credits, v.control);
  if (!grant.granted && (help_to_come(m, v) || move_all_staged(m, v)))
    grant = claim_get(m, v.ring, group, true, tally, credit, credits, v.control);
  return grant;
}

HIWAY_ITEMS_MAY_LOOK_UNSET
/// One try for all lanes of `group`: `work(T const&)` in each lane that got an item, whose ticket it takes. As
/// work_once.
template <class T, class Machine, class Work>
HIWAY_DEVICE inline bool work_with_ticket(Machine m, OutletView const& v, std::uint32_t group, Credits credits,
                                          std::uint64_t& ticket, Work&& work) {
  constexpr Credit credit = stays_in_slot<T> ? Credit::late : Credit::early;  // I5
  Grant const grant = claim_with_ticket(m, v, group, credit, credits);
  note_result(m, v, grant.granted);
  if (!grant.granted) return false;
  ticket = grant.ticket;
  if constexpr (stays_in_slot<T>) {
    finish_get(m, v.ring, grant.ticket, *v.control, credit, [&](std::byte const* slot) { work(item_in<T>(slot)); });
  } else {
    ItemRoom<T> room;
    finish_get(m, v.ring, grant, *v.control, ReadItem<T>{room.item()});
    work(static_cast<T const&>(room.item()));
  }
  return true;
}
HIWAY_ITEMS_END

}  // namespace hiway::detail
