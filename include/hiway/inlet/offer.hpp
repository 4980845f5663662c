// Offers: puts of CPU threads that end no run (Inlet::offer_h). A service's clients may offer while another thread
// closes their inlet, or drains or pauses the pipeline: each item is then in the tunnel, or the offer was `closed` or
// `full` (admission.hpp).
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

/// One try where nothing is staged.
template <class Machine, class Write>
Staged try_past(Machine m, InletView const& v, InletStripe& stripe, Write&& write, Credits credits) {
  if (std::uint32_t const refused = ask_to_put(m, stripe); refused != 0) return {.refused = refused};
  UnderWay<Machine> const under_way{m, v, stripe, one_put};
  return {.done = try_put_at(m, v, together(m, v), true, write, credits)};
}

/// One try. *Throws* Unwind.
template <class Machine, class Write>
Put offer_once(Machine m, InletView const& all, Write&& write, Credits credits) {
  InletView const& v = roomiest(m, all);
  leave_if_aborted(m, *v.control, v.tunnel);
  if (m.load(v.end->closed, MemoryOrder::relaxed) != 0) return Put::closed;
  InletStripe& stripe = stripe_of(m, *v.ports);
  Staged const put =
      stripe.staging != nullptr ? try_stage(m, v, stripe, write) : try_past(m, v, stripe, write, credits);
  if (put.done) return Put::done;
  return (put.refused & inlet_closed) != 0 ? Put::closed : Put::full;
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
