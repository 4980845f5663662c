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
  m.fetch_add(*v.closed_executors, 1u, MemoryOrder::acq_rel);
}

/// Sets the bit of lane or thread `thread`; true for the first call.
template <class Machine>
HIWAY_DEVICE inline bool set_closed(Machine m, InletPort& port, unsigned thread) {
  std::uint32_t const bit = 1u << (thread % 32);
  return (m.fetch_or(port.closed_lanes[thread / 32], bit, MemoryOrder::acq_rel) & bit) == 0;
}
/// Sets the calling lane's or thread's bit, and counts it.
HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline void close_end(Machine m, InletView const& v, InletPort& port) {
  if (!set_closed(m, port, v.open ? 0 : m.thread_in_block())) return;
  std::uint32_t const lanes = v.open ? 1 : m.block_threads();
  if (m.fetch_add(port.closed_count, 1u, MemoryOrder::acq_rel) + 1 == lanes) count_closed(m, v);
}

/// Counts a stripe if nothing more will come of it (O1). The last one closes the inlet.
template <class Machine>
void count_stripe(Machine m, InletView const& v, InletStripe& stripe) {
  std::uint32_t seen = m.load(stripe.puts, MemoryOrder::acquire);  // O2
  if (stripe.staging != nullptr && may_be_counted(seen) && !stripe.staging->is_empty(m)) return;
  while (may_be_counted(seen)) {
    if (!m.compare_exchange(stripe.puts, seen, seen | stripe_counted, MemoryOrder::relaxed)) continue;
    InletPort& port = *v.ports;
    if (m.fetch_add(port.closed_count, 1u, MemoryOrder::acq_rel) + 1 != port.stripe_count) return;
    if (set_closed(m, port, 0)) count_closed(m, v);
    return;
  }
}
/// An admitted put has its ticket or has staged its item, or has given up. `put`: as it was added.
template <class Machine>
void leave_stripe(Machine m, InletView const& v, InletStripe& stripe, std::uint32_t put) {
  std::uint32_t const before = m.fetch_add(stripe.puts, 0u - put, MemoryOrder::acq_rel);  // O2
  if ((before & inlet_closed) != 0) count_stripe(m, v, stripe);                           // O1
}
/// An admitted put. *Lifetime*: that of the put.
template <class Machine>
struct UnderWay {
  Machine m;
  InletView const& v;
  InletStripe& stripe;
  std::uint32_t put;  ///< as it was added
  ~UnderWay() { leave_stripe(m, v, stripe, put); }
};

/// Admits no more (O1).
template <class Machine>
void close_stripes(Machine m, InletView const& v, std::uint32_t bits) {
  InletPort& port = *v.ports;
  for (std::uint32_t i = 0; i < port.stripe_count; ++i) {
    m.fetch_or(port.stripes[i].puts, bits, MemoryOrder::acq_rel);  // O2
    count_stripe(m, v, port.stripes[i]);
  }
}
/// Closes an open inlet of CPU threads from outside. Later puts throw Drained. *Threads*: any.
template <class Machine>
void drain_inlet(Machine m, InletView const& v) {
  close_stripes(m, v, inlet_closed | inlet_drained);
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
    close_stripes(m, v, inlet_closed);
  } else {
    close_end(m, v, port);
  }
}
template <class Machine>
HIWAY_DEVICE inline void close(Machine m, InletView const& v) {
  for_each_branch(m, v, [&](InletView const& branch) { close_branch(m, branch); });
}

}  // namespace hiway::detail
