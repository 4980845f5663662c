// Admission: which puts from outside may begin, at an open inlet of CPU threads. While clients put, another thread may
// close their inlet (offers alone), or drain or pause the pipeline: each item is then in the tunnel, or the put is
// refused.
//
//   word               written by                                     read by
//   InletPort::offers  puts and offers, close, drain, pause, resume   the same: bits, and `one_put` for each under way
//
//   O1  No put or offer begins while the word has a bit. So from the close or drain on its count only falls, and it
//       becomes 0 once: by the close if none is under way, else as the last one leaves. That thread closes the end
//       (close_end)
//   O2  A put leaves by a release after its ticket, and the thread that closes the end acquires that: the gate opens
//       after the tickets of all (termination.hpp T3)
//   O3  So the tunnel has not ended while an admitted put is under way, and none is refused as late, but a misuse: a
//       put inside a cycle without a task
//   O4  A put, not an offer, after the inlet's own close is not admitted, and goes on: it is refused as a misuse
#pragma once
#include <cstdint>

#include "hiway/fault.hpp"
#include "hiway/inlet/view.hpp"
#include "hiway/machine/machine.hpp"
#include "hiway/machine/stage_thread.hpp"
#include "hiway/termination/words.hpp"

namespace hiway::detail {

// The word InletPort::offers.
inline constexpr std::uint32_t inlet_closed = 1;
inline constexpr std::uint32_t inlet_drained = 2;  ///< and closed, from outside
inline constexpr std::uint32_t inlet_paused = 4;
inline constexpr std::uint32_t one_put = 8;

/// Whether a put may begin; else the bits say why not.
template <class Machine>
[[nodiscard]] std::uint32_t ask_to_put(Machine m, InletPort& port) {
  std::uint32_t seen = m.load(port.offers, Order::relaxed);
  while (seen % one_put == 0) {
    if (m.compare_exchange(port.offers, seen, seen + one_put, Order::relaxed)) return 0;  // O1
  }
  return seen % one_put;
}

/// Whether nothing is under way, and the inlet was not closed.
constexpr bool may_close_now(std::uint32_t before) { return (before & ~inlet_paused) == 0; }

/// Admits no more. True for the first call if none is under way; else the last of them closes the end (O1).
template <class Machine>
bool close_to_puts(Machine m, InletPort& port, std::uint32_t bits) {
  return may_close_now(m.fetch_or(port.offers, bits, Order::acq_rel));  // O2
}

}  // namespace hiway::detail
