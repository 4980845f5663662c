// What a put that finds no room does where TunnelConfig::when_full drops items or ends the run. A put that finds room
// never comes here. Nor does a try_put or an offer: these say that there was no room.
//
//   word     written by  read by
//   dropped  puts        the report; of WhenFull::drop_oldest the end check, as finished
//
//   D1  A put that drops the oldest item claims it as a reader would, so each item is got once or dropped once. No
//       item is worked on in its slot, so a put finds room or something to drop, and waits for nothing but claims and
//       copies that are under way. What a reader has taken, also into its hand, is not dropped
//   D2  `dropped` counts the claimed items after their turns were acquired, and releases. A put took its ticket before
//       it released the turn, so the check sees `created` of all that it sees as dropped (termination.hpp T2). Nothing
//       comes of a dropped item, so its task has ended (T1)
//   D3  drop_newest drops an item that has no ticket. It was not created, and the check knows nothing of it
#pragma once
#include <cstdint>

#include "hiway/config.hpp"
#include "hiway/fault.hpp"
#include "hiway/inlet/lateness.hpp"
#include "hiway/inlet/notice.hpp"
#include "hiway/inlet/view.hpp"
#include "hiway/ring.hpp"

namespace hiway::detail {

/// What is wrong with a put that has found no room; none: it waits, or drops. Few kernels drop, and all compile this.
template <class Machine>
HIWAY_DEVICE inline FaultKind fault_without_room(Machine m, InletView const& v) {
  if (has_spill(v.spill)) return FaultKind::spill_exhausted;
  // T5 also for a put that gets no ticket: after the end no credit is given.
  if (m.load(v.end->closed, MemoryOrder::relaxed) != 0) return FaultKind::put_after_end;
  if (!drops_or_fails(v.when_full)) return FaultKind::none;
  if (has_closed(m, v)) return FaultKind::put_after_close;
  return v.when_full == WhenFull::fail ? FaultKind::tunnel_full : FaultKind::none;
}

/// Drops the oldest item of a whole ring; false: there is none, or others are about to take it.
template <class Machine>
HIWAY_DEVICE inline bool drop_oldest(Machine m, Ring const& shared, Control& control) {
  Ring ring = in_own_registers(m, shared);
  ring.part = RingPart::whole;                                        // known where it is compiled
  Run const run = claim_get_run(m, ring, 1, nullptr, Credit::early);  // D1
  if (run.count == 0) return false;
  (void)begin_get(m, ring, run.first, control);
  end_get(m, ring, run.first, Credit::early);
  m.fetch_add(ring.words->dropped, std::uint64_t{1}, MemoryOrder::release);  // D2
  return true;
}

/// For a put that has found no room for its last `n` items. True: it tries again; false: they are dropped.
template <class Machine>
HIWAY_DEVICE inline bool drop(Machine m, InletView const& v, unsigned misses, std::uint64_t n) {
  if (v.when_full == WhenFull::drop_oldest) {
    if (!drop_oldest(m, v.ring, *v.control)) m.relax(misses);
    return true;
  }
  m.fetch_add(v.ring.words->dropped, n, MemoryOrder::relaxed);  // D3
  note_room(m, v, 1);
  return false;
}

}  // namespace hiway::detail
