// Admission: which puts from outside may begin, at an open inlet of CPU threads. While clients put, another thread may
// close their inlet (offers alone), or drain or pause the pipeline: each item is then in the tunnel, or the put is
// refused.
//
// An inlet has several stripes, and a thread puts through the one that its number says: many threads seldom meet.
//
//   word                     written by                                     read by
//   InletStripe::puts        puts and offers, close, drain, pause, resume   the same: bits, and puts under way
//   InletPort::closed_count  where a stripe is counted                      the same
//
//   O1  No put or offer begins while the word has one of the bits that refuse. So from the close or drain on its count
//       only falls. Once it is 0, and nothing is staged, the stripe is counted, once; the thread that counts the last
//       stripe closes the end (close_end). The closer tries, and each that leaves last, and where items are staged,
//       the monitor (tend_stripes)
//   O2  A put leaves by a release after its ticket, or after it has staged its item, and the thread that counts the
//       stripe acquires that, and then that nothing is staged: the gate opens after the tickets of all
//       (termination.hpp T3)
//   O3  So the tunnel has not ended while an admitted put is under way, and none is refused as late, but a misuse: a
//       put inside a cycle without a task
//   O4  A put, not an offer, after the inlet's own close is a misuse, and ends the run
//   O5  A put that stages its item holds the stripe's staging alone (staging_held): it is then the thread of the
//       staging's rules P1 to P3. It waits for nothing meanwhile but for the turn of a slot
#pragma once
#include <cstdint>

#include "hiway/fault.hpp"
#include "hiway/inlet/view.hpp"
#include "hiway/machine/machine.hpp"
#include "hiway/machine/stage_thread.hpp"
#include "hiway/termination/words.hpp"

namespace hiway::detail {

inline constexpr std::uint32_t inlet_stripes = 16;

// The word InletStripe::puts.
inline constexpr std::uint32_t inlet_closed = 1;
inline constexpr std::uint32_t inlet_drained = 2;  ///< and closed, from outside
inline constexpr std::uint32_t inlet_paused = 4;
inline constexpr std::uint32_t inlet_refuses = inlet_closed | inlet_drained | inlet_paused;
inline constexpr std::uint32_t stripe_counted = 8;
inline constexpr std::uint32_t staging_held = 16;
inline constexpr std::uint32_t one_put = 32;

/// The calling thread's, of an open inlet that has some.
template <class Machine>
[[nodiscard]] InletStripe& stripe_of(Machine m, InletPort& port) {
  return port.stripes[m.thread_number() % port.stripe_count];
}

/// Adds `put` if the word has none of the bits `unless`; else those that it has.
template <class Machine>
[[nodiscard]] std::uint32_t ask(Machine m, InletStripe& stripe, std::uint32_t put, std::uint32_t unless) {
  std::uint32_t seen = m.load(stripe.puts, MemoryOrder::relaxed);
  while ((seen & unless) == 0) {
    if (m.compare_exchange(stripe.puts, seen, seen + put, MemoryOrder::acquire)) return 0;  // O1, O5
  }
  return seen & unless;
}
/// Whether a put may begin; else the bits say why not.
template <class Machine>
[[nodiscard]] std::uint32_t ask_to_put(Machine m, InletStripe& stripe) {
  return ask(m, stripe, one_put, inlet_refuses);
}
/// Whether a put may begin that stages its item; `staging_held`: another one does.
template <class Machine>
[[nodiscard]] std::uint32_t ask_to_stage(Machine m, InletStripe& stripe) {
  return ask(m, stripe, staging_held, inlet_refuses | staging_held);
}

/// Closed, nothing is under way, and it has not been counted.
constexpr bool may_be_counted(std::uint32_t puts) {
  return (puts & inlet_closed) != 0 && puts < staging_held && (puts & stripe_counted) == 0;
}

}  // namespace hiway::detail
