// Puts at given tickets: how a stage in value form writes a tunnel with restored order (docs/adr/0062). Each result has
// the ticket of the item it was made of, so readers, which take tickets in order, see results in the order of the
// items.
//
//   Q1  Each ticket of the tunnel that the stage gets from comes to one lane, and is put once: a value stage makes a
//       result of every item. prepare() refuses what would take tickets away: other readers, puts that drop the oldest
//   Q2  A put of ticket t waits for the room that the get of ticket t - capacity leaves, as in any ring. The lowest
//       ticket under way has it once readers have got what is before it, and they have credit for all of that
//       (marks.hpp). So no wait is circular, whatever lanes hold higher tickets. Lanes of a group try together, so none
//       keeps another's lower ticket waiting
//   Q3  `claimed` counts these puts before their items are visible (termination.hpp T4), and before their tasks end
//       (T1). The gate of the tunnel opens when the unit that the stage reads has ended, so none comes late
//   Q4  `free` loses as much as `claimed` gains, so it says how much room there is, though no put takes credit from it
#pragma once
#include <cstdint>

#include "hiway/fault.hpp"
#include "hiway/inlet/held.hpp"
#include "hiway/inlet/notice.hpp"
#include "hiway/inlet/put.hpp"
#include "hiway/inlet/view.hpp"
#include "hiway/item.hpp"
#include "hiway/launch/slice.hpp"
#include "hiway/ring.hpp"

namespace hiway {

/// A result, and the ticket of its item.
template <class O>
struct AtTicket {
  ItemRoom<O> result;
  std::uint64_t ticket = 0;
};

namespace detail {

/// Whether the slot of `ticket` is free, and its put may begin (Q2).
template <class Machine>
[[nodiscard]] HIWAY_DEVICE inline bool has_room_at(Machine m, InletView const& v, std::uint64_t ticket) {
  if (is_throttled(m, v)) return false;
  Ring const& ring = v.ring;
  if (ring.is_half()) return ticket < m.load(ring.words->given, MemoryOrder::acquire);  // I4
  return m.load(ring.turn(ticket), MemoryOrder::acquire) == ring.free_turn(ticket);     // A1
}

/// Marks the tickets of `lanes`, which have written their slots; all of them call it. Mostly they follow each other.
template <class Machine>
HIWAY_DEVICE inline void mark_together(Machine m, Ring const& ring, std::uint32_t lanes, std::uint64_t ticket) {
  m.sync_warp(lanes);  // the first lane releases what all have written
  bool const first = m.lane() == m.lowest(lanes);
  std::uint64_t const next = m.shuffle(lanes, ticket, m.lowest(lanes)) + m.count(lanes & lanes_below(m.lane()));
  bool const in_a_row = m.ballot(lanes, ticket == next) == lanes;
  if (!in_a_row) mark_done(m, ring, ticket, 1);
  if (!in_a_row && !ring.is_half()) m.sync_warp(lanes);
  if (!first) return;
  if (in_a_row) mark_done(m, ring, ticket, m.count(lanes));
  if (!ring.is_half()) pass_on(m, ring);
}

/// Puts at its `ticket` for each lane of `group` with `need` for which there is room; all lanes of `group` together.
/// True for a lane whose result is in the tunnel.
template <class Machine, class Write>
HIWAY_DEVICE inline bool try_put_at(Machine m, InletView const& v, std::uint32_t group, bool need, std::uint64_t ticket,
                                    Write&& write) {
  bool const room = need && has_room_at(m, v, ticket);
  std::uint32_t const lanes = m.ballot(group, room);
  if (!room) {
    if (need) leave_if_aborted(m, *v.control, v.tunnel);
    return false;
  }
  Ring const& ring = v.ring;
  if (m.lane() == m.lowest(lanes)) {
    m.fetch_add(ring.words->free, -static_cast<std::int32_t>(m.count(lanes)), MemoryOrder::relaxed);  // Q4
    m.fetch_add(ring.words->claimed, std::uint64_t{m.count(lanes)}, MemoryOrder::relaxed);            // Q3
  }
  m.sync_warp(lanes);  // Q3
  write(ring.item(ticket));
  if (!ring.is_half()) m.store(ring.turn(ticket), ring.full_turn(ticket), MemoryOrder::release);  // R1
  mark_together(m, ring, lanes, ticket);
  note_put(m, v);
  help_to_leave(m, v, Sent::item);
  return true;
}

/// Puts the result of each lane of `group` with `need`, all lanes together; waits for room until the slice is over.
/// True in a lane whose result is held instead, as in put_or_hold.
template <class Machine, class O, class Clock>
HIWAY_DEVICE inline bool put_at_or_hold(Machine m, std::uint32_t group, bool need, InletView const& v, AtTicket<O>& out,
                                        Held<AtTicket<O>>* held, Slice const& slice, Clock& clock) {
  unsigned misses = 0;
  for (;; ++misses) {
    if (try_put_at(m, v, group, need, out.ticket, WriteItem<O>{out.result.item()})) {
      note_room(m, v, misses);
      need = false;
    }
    if (m.ballot(group, need) == 0) return false;
    if (clock.is_over_idle(m, group, misses)) break;
    if (need) (void)wait_for_room(m, v, misses);  // nothing is dropped here
  }
  if (need) hold(m, out, *held, slice);
  return need;
}

}  // namespace detail
}  // namespace hiway
