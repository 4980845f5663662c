// How an inlet closes: each lane or thread sets its bit, and the last one of a block counts the block as closed
// (termination.hpp T3, T5).
#pragma once
#include <cstdint>

#include "hiway/branches.hpp"
#include "hiway/inlet/admission.hpp"
#include "hiway/inlet/staging.hpp"
#include "hiway/inlet/view.hpp"
#include "hiway/machine/machine.hpp"

namespace hiway::detail {

/// Counts one executor (thread or block) of a stage as closed.
template <class Machine>
HIWAY_DEVICE inline void count_closed(Machine m, InletView const& v) {
  m.fetch_add(*v.closed_executors, 1u, Order::acq_rel);
}

/// Sets the calling lane's or thread's bit, and counts it.
HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline void close_end(Machine m, InletView const& v, InletPort& port) {
  unsigned const thread = v.open ? 0 : m.thread_in_block();
  std::uint32_t const bit = 1u << (thread % 32);
  if ((m.fetch_or(port.closed_lanes[thread / 32], bit, Order::acq_rel) & bit) != 0) return;
  std::uint32_t const lanes = v.open ? 1 : m.block_threads();
  if (m.fetch_add(port.closed_count, 1u, Order::acq_rel) + 1 == lanes) count_closed(m, v);
}

/// An admitted put has its ticket, or has given up.
template <class Machine>
void leave_inlet(Machine m, InletView const& v, InletPort& port) {
  std::uint32_t const before = m.fetch_add(port.offers, 0u - one_put, Order::acq_rel);  // O2
  if (before / one_put == 1 && (before & inlet_closed) != 0) close_end(m, v, port);     // O1
}
/// Closes an open inlet of CPU threads from outside. Later puts throw Drained. *Threads*: any.
template <class Machine>
void drain_inlet(Machine m, InletView const& v) {
  if (close_to_puts(m, *v.ports, inlet_closed | inlet_drained)) close_end(m, v, *v.ports);
}

HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline void close_branch(Machine m, InletView const& v) {
  InletPort& port = v.open ? *v.ports : v.ports[m.block_index()];
  if constexpr (RoleOf<Machine>::stages_puts) {
    if (!v.open && port.staging != nullptr) {
      port.staging->owner().end(m);
      empty_staging(m, *port.staging);  // P4
    }
  }
  if constexpr (RoleOf<Machine>::offers_items) {
    if (!close_to_puts(m, port, inlet_closed)) return;
  }
  close_end(m, v, port);
}
template <class Machine>
HIWAY_DEVICE inline void close(Machine m, InletView const& v) {
  for_each_branch(m, v, [&](InletView const& branch) { close_branch(m, branch); });
}

}  // namespace hiway::detail
