// Whether a put comes too late: after its own lane has closed, or after the tunnel's end (termination.hpp T5).
#pragma once
#include <cstdint>

#include "hiway/fault.hpp"
#include "hiway/inlet/view.hpp"
#include "hiway/machine/machine.hpp"
#include "hiway/machine/stage_thread.hpp"
#include "hiway/ring/ring.hpp"

namespace hiway::detail {

/// Tells whether a put comes too late; read after its ticket (T5). These loads and the slot's are under way together.
struct Lateness {
  std::uint32_t closed_lanes;  ///< of the lane's warp
  std::uint32_t ended;
};
/// The word with the bit of the calling lane, or thread, that is set when it has closed; and that bit.
template <class Machine>
HIWAY_DEVICE inline Word<std::uint32_t>& closed_word(Machine m, InletView const& v) {
  return v.open ? v.ports->closed_lanes[0] : v.ports[m.block_index()].closed_lanes[m.thread_in_block() / 32];
}
template <class Machine>
HIWAY_DEVICE inline bool has_closed(Machine m, InletView const& v) {
  unsigned const thread = v.open ? 0 : m.thread_in_block();
  return (m.load(closed_word(m, v), MemoryOrder::relaxed) >> (thread % 32) & 1u) != 0;
}
template <class Machine>
HIWAY_DEVICE inline Lateness read_lateness(Machine m, InletView const& v) {
  m.fence_behind_ticket();  // T5
  std::uint32_t const closed_lanes = m.load(closed_word(m, v), MemoryOrder::relaxed);
  return {closed_lanes, m.load(v.end->closed, MemoryOrder::relaxed)};
}
/// How many of a tunnel's items readers have taken where writers had staged them (inlet/staging.hpp).
inline std::uint64_t count_taken(Staging* first);
/// The number of the put's item in its tunnel. What was taken from stagings had no ticket.
HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline std::uint64_t item_number(Machine, [[maybe_unused]] InletView const& v, std::uint64_t ticket) {
  if constexpr (RoleOf<Machine>::takes_staged) ticket += count_taken(v.end->staged);
  return ticket;
}

/// Refuses the put of a lane that holds a ticket, if it is late.
template <class Machine>
HIWAY_DEVICE inline void refuse_late_put(Machine m, InletView const& v, std::uint64_t ticket, Lateness late) {
  unsigned const thread = v.open ? 0 : m.thread_in_block();
  bool const closed = (late.closed_lanes >> (thread % 32) & 1u) != 0;
  if (!closed && late.ended == 0) return;
  raise(m, *v.control, closed ? FaultKind::put_after_close : FaultKind::put_after_end, v.stage, v.tunnel,
        item_number(m, v, ticket));
}
template <class Machine>
HIWAY_DEVICE inline void refuse_late_put(Machine m, InletView const& v, std::uint64_t ticket) {
  refuse_late_put(m, v, ticket, read_lateness(m, v));
}
/// Records the fault of a thread that holds `run`, or got no ticket, if that comes after the end; true if it does. The
/// thread whose items these are may be another.
template <class Machine>
inline bool record_if_late(Machine m, InletView const& v, Run run) {
  if (read_lateness(m, v).ended == 0) return false;
  record_fault(m, *v.control, FaultKind::put_after_end, v.stage, v.tunnel, run.first);
  return true;
}

}  // namespace hiway::detail
