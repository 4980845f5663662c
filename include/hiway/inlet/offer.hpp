// Offers: puts of CPU threads that end no run (Inlet::offer_h). A service's clients may offer while another thread
// closes their inlet: each item is then in the tunnel, or the offer was `closed`.
//
//   word               written by          read by
//   InletPort::offers  offers, the close   the same: 2 for each try under way, and 1 once the inlet is closed
//
//   O1  No try begins while the word is odd. So from the close on it only falls, and it becomes 1 once: by the close if
//       no try is under way, else as the last one leaves. That thread closes the end (close_end)
//   O2  A try leaves by a release after its ticket, and the thread that closes the end acquires that: the gate opens
//       after the tickets of all offers (termination.hpp T3)
//   O3  So the tunnel has not ended while a try is under way, and none is refused as late, but a misuse: a put inside a
//       cycle without a task
#pragma once
#include <chrono>
#include <cstdint>

#include "hiway/fault.hpp"
#include "hiway/inlet/close.hpp"
#include "hiway/inlet/notice.hpp"
#include "hiway/inlet/put.hpp"
#include "hiway/inlet/view.hpp"
#include "hiway/machine/stage_thread.hpp"
#include "hiway/machine/time_left.hpp"

namespace hiway {

/// What came of Inlet::offer_h.
enum class Put : std::uint8_t {
  done,    ///< the item is in the tunnel
  full,    ///< there was no room in time
  closed,  ///< the inlet has been closed, or the tunnel has ended
  aborted  ///< the run has failed, or none is under way
};

namespace detail {

/// Admits one try, if the inlet is not closed.
template <class Machine>
[[nodiscard]] bool admit_offer(Machine m, InletPort& port) {
  std::uint32_t seen = m.load(port.offers, Order::relaxed);
  while ((seen & closed_to_offers) == 0) {
    if (m.compare_exchange(port.offers, seen, seen + one_offer, Order::relaxed)) return true;  // O1
  }
  return false;
}
template <class Machine>
void leave_offer(Machine m, InletView const& v, InletPort& port) {
  std::uint32_t const before = m.fetch_add(port.offers, 0u - one_offer, Order::acq_rel);  // O2
  if (before == one_offer + closed_to_offers) close_end(m, v, port);                      // O1
}

/// One try. *Throws* Unwind.
template <class Machine, class Write>
Put offer_once(Machine m, InletView const& all, Write&& write, Credits credits) {
  InletView const& v = roomiest(m, all);
  leave_if_aborted(m, *v.control, v.tunnel);
  if (m.load(v.end->closed, Order::relaxed) != 0 || !admit_offer(m, *v.ports)) return Put::closed;
  struct UnderWay {
    Machine m;
    InletView const& v;
    ~UnderWay() { leave_offer(m, v, *v.ports); }
  } const under_way{m, v};
  return try_put_at(m, v, together(m, v), true, write, credits) ? Put::done : Put::full;
}

template <class Machine, class Write>
Put offer(Machine m, InletView const& v, Write&& write, std::chrono::nanoseconds timeout) try {
  Put result = offer_once(m, v, write, Credits::likely);
  unsigned misses = 0;
  for (TimeLeft time(timeout); result == Put::full && time.is_left(); ++misses) {
    if (misses == 0) note_full(m, v);
    if (!hear_of_room(m, v)) (void)time.relax(misses);
    result = offer_once(m, v, write, Credits::doubtful);
  }
  note_room(m, v, misses);
  return result;
} catch (Unwind const&) {
  return Put::aborted;
}

}  // namespace detail
}  // namespace hiway
