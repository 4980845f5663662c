// Puts of single items.
//
// A put takes its ticket, then reads its own lane's closed bit and the unit's closed word, then commits; where slots
// carry tags, it commits while these reads are under way (termination.hpp T5). Converged lanes share a claim. Lanes of
// one claim part when it is granted: those that got room commit and leave, the others wait (docs/adr/0009).
#pragma once
#include <cstdint>
#include <type_traits>
#include <utility>

#include "hiway/branches.hpp"
#include "hiway/fault.hpp"
#include "hiway/grouping/warp_group.hpp"
#include "hiway/inlet/from_outside.hpp"
#include "hiway/inlet/lateness.hpp"
#include "hiway/inlet/no_room.hpp"
#include "hiway/inlet/notice.hpp"
#include "hiway/inlet/past_staging.hpp"
#include "hiway/inlet/staging.hpp"
#include "hiway/inlet/stripe.hpp"
#include "hiway/inlet/view.hpp"
#include "hiway/item.hpp"
#include "hiway/machine/stage_thread.hpp"
#include "hiway/relay.hpp"
#include "hiway/ring.hpp"

namespace hiway::detail {

/// The cycle that the tunnel leads into has enough to do: puts wait as they do for room.
template <class Machine>
HIWAY_DEVICE inline bool is_throttled(Machine m, InletView const& v) {
  return v.throttled != nullptr && m.load(*v.throttled, MemoryOrder::relaxed) != 0;
}

/// Tries to put once for the lanes of `group` with `need`. True for a lane whose item is in the tunnel.
template <class Machine, class Write>
HIWAY_DEVICE inline bool put_once(Machine m, InletView const& v, Ring const& ring, std::uint32_t group, bool need,
                                  Credits credits, Write&& write) {
  Grant const grant = claim_put(m, ring, group, need, credits, v.control);
  if (!grant.granted) return false;
  Lateness const late = read_lateness(m, v);
  commit_put(m, ring, grant, *v.control, write, [&] { refuse_late_put(m, v, grant.ticket, late); });
  note_put(m, v);
  help_to_leave(m, v, Sent::item);
  return true;
}

/// The one of a CPU thread's branches that has most room.
template <class Machine>
HIWAY_DEVICE inline InletView const& roomiest(Machine m, InletView const& v) {
  if constexpr (RoleOf<Machine>::has_branches) {
    if (v.further_branches != 0) {
      return choose_branch(
          m, v, [&](InletView const& branch) { return is_throttled(m, branch) ? 0 : room_about(m, branch.ring); });
    }
  }
  return v;
}

/// One try at one branch.
template <class Machine, class Write>
HIWAY_DEVICE inline bool try_put_at(Machine m, InletView const& v, std::uint32_t group, bool need, Write&& write,
                                    Credits credits) {
  refuse_if_over(m, v);
  bool done = false;
  if (is_past_staging(m, v)) {
    done = put_once(m, v, home_ring(m, v), group, need && !is_throttled(m, v), credits, write);
    if (has_spill(v.spill)) done = put_once(m, v, *v.spill, group, need && !done, Credits::doubtful, write) || done;
  }
  if (need && !done) leave_if_aborted(m, *v.control, v.tunnel);
  return done;
}
template <class Machine, class Write>
HIWAY_DEVICE inline bool try_put_inside(Machine m, InletView const& all, std::uint32_t group, bool need, Write&& write,
                                        Credits credits) {
  return try_put_at(m, roomiest(m, all), group, need, write, credits);
}
/// One try of the user's at an open inlet of CPU threads; false also while the pipeline is paused.
template <class Machine, class Write>
bool try_from_outside(Machine m, InletView const& v, std::uint32_t group, Write&& write) {
  leave_if_aborted(m, *v.control, v.tunnel);
  InletStripe& stripe = stripe_of(m, *v.ports);
  if (m.load(stripe.puts, MemoryOrder::relaxed) % staging_held == inlet_paused) return false;
  if (stripe.staging != nullptr) {
    Staged const tried = try_stage(m, v, stripe, write);
    refuse_if_closed(m, v, tried.refused);
    return tried.done;
  }
  FromOutside<Machine> const under_way(m, v);
  return try_put_inside(m, v, group, true, write, Credits::doubtful);
}
/// One try of the user's.
template <class Machine, class Write>
HIWAY_DEVICE inline bool try_put(Machine m, InletView const& all, std::uint32_t group, bool need, Write&& write) {
  if constexpr (RoleOf<Machine>::offers_items) {
    if (all.open) return try_from_outside(m, all, group, write);
  }
  return try_put_inside(m, all, group, need, write, Credits::doubtful);
}

/// A CPU thread's step of the relays that tell it of room; true if it has heard of some.
template <class Machine>
HIWAY_DEVICE inline bool hear_of_room([[maybe_unused]] Machine m, [[maybe_unused]] InletView const& v) {
  bool heard = false;
  if constexpr (RoleOf<Machine>::helps_monitors) {
    for_each_branch(m, v, [&](InletView const& branch) {
      heard = (branch.relays != nullptr && hear_if_free(m, branch.relays->hears)) || heard;
    });
  }
  return heard;
}

/// What a lane does between two tries of a put that has found no room for its last `n` items. False: these are dropped,
/// and the put is over.
template <class Machine>
[[nodiscard]] HIWAY_DEVICE inline bool wait_for_room(Machine m, InletView const& v, unsigned misses,
                                                     std::uint64_t n = 1) {
  if (misses == 0) note_full(m, v);
  if (hear_of_room(m, v)) return true;
  FaultKind const fault = fault_without_room(m, v);
  if (fault != FaultKind::none) raise(m, *v.control, fault, v.stage, v.tunnel, 0);
  if (drops_or_fails(v.when_full)) return drop(m, v, misses, n);
  m.relax(misses);
  return true;
}

/// Whether a put takes its ticket before there is room: where slots carry tags, and it waits and has nowhere else to
/// put.
template <class Write>
HIWAY_DEVICE inline bool takes_ticket_first(InletView const& v) {
  if constexpr (may_be_tagged<std::remove_cvref_t<Write>>) {
    return v.ring.by_tags() && !has_spill(v.spill) && v.further_branches == 0 && !drops_or_fails(v.when_full);
  } else {
    return false;
  }
}

/// Puts one item for each lane of `group` with `need`, all lanes together; tickets come before room.
template <class Machine, class Write>
HIWAY_DEVICE inline void put_tagged(Machine m, InletView const& v, std::uint32_t group, bool need, Write&& write) {
  refuse_if_over(m, v);
  unsigned misses = 0;
  Ticket ticket;
  for (bool taken = false;; (void)wait_for_room(m, v, misses++)) {
    if (!taken && (v.throttled == nullptr || m.ballot(group, is_throttled(m, v)) == 0)) {
      ticket = take_ticket(m, v.ring, group, need);
      if (!need) return;
      taken = true;
    }
    if (taken && has_room(m, v.ring, ticket)) break;
    leave_if_aborted(m, *v.control, v.tunnel);
  }
  Lateness const late = read_lateness(m, v);
  commit_tagged(m, v.ring, ticket.number, *v.control, write, [&] { refuse_late_put(m, v, ticket.number, late); });
  note_put(m, v);
  note_room(m, v, misses);
}

/// The converged lanes that put into the same tunnel.
template <class Machine>
HIWAY_PART_OF_CALLER HIWAY_DEVICE inline std::uint32_t together(Machine m, InletView const& v) {
  return converged_on(m, v.ring.words);
}

/// Waits for room in the staging of the calling thread's end.
template <class Machine>
[[gnu::noinline]] void wait_for_slot(Machine m, InletView const& v, Staging& staging) {
  if (readers_make_room(m, v, staging)) return;
  unsigned misses = 0;
  while (staging.is_full(m)) {
    if (move_or_spill_staged(m, staging)) continue;
    leave_if_aborted(m, *v.control, v.tunnel);
    // Others may be at the staging just now, so that nothing was moved, although there is room.
    has_spill(v.spill) && !is_exhausted(m, v) ? m.relax(misses++) : (void)wait_for_room(m, v, misses++);
  }
  staging.look_later(m);
  note_room(m, v, misses);
}

/// Puts one item into the staging of the calling thread's end. What few puts have to do is in functions of its own, so
/// that the compiler puts the rest where the call is.
template <class Machine, class Write>
HIWAY_PART_OF_CALLER inline void put_staged(Machine m, InletView const& v, Staging& staging, Write&& write) {
  if (staging.is_full(m)) wait_for_slot(m, v, staging);
  write(staging.slot<Write>());
  std::uint64_t const put = staging.publish(m);
  if (staging.owner().must_follow(put)) follow_put(m, v, staging, put);
}

/// Puts one item for the calling lane, with whichever lanes are converged, into the tunnel itself; waits for room, or
/// does what TunnelConfig::when_full says.
HIWAY_NO_SPACE_CHECK template <class Machine, class Write>
HIWAY_DEVICE inline void put_unstaged(Machine m, InletView const& v, Write&& write) {
  if (takes_ticket_first<Write>(v)) return put_tagged(m, v, together(m, v), true, write);
  unsigned misses = 0;
  while (!try_put_inside(m, v, together(m, v), true, write, after_misses(misses)))
    if (!wait_for_room(m, v, misses++)) return;
  note_room(m, v, misses);
}

/// The same from outside, into the staging of a stripe.
template <class Machine, class Write>
void put_staged_from_outside(Machine m, InletView const& v, InletStripe& stripe, Write&& write) {
  for (unsigned misses = 0;; ++misses) {
    leave_if_aborted(m, *v.control, v.tunnel);
    Staged const tried = try_stage(m, v, stripe, write);
    if (tried.done) return;
    refuse_if_closed(m, v, tried.refused);
    tried.refused != 0 ? m.relax(misses) : (void)wait_for_room(m, v, misses);
  }
}
/// A put where most are staged by a stage's thread, and this is not to be compiled into each call.
template <class Machine, class Write>
[[gnu::noinline]] void put_apart(Machine m, InletView const& v, Write&& write) {
  if (v.open) {
    leave_if_aborted(m, *v.control, v.tunnel);
    InletStripe& stripe = stripe_of(m, *v.ports);
    if (stripe.staging != nullptr) return put_staged_from_outside(m, v, stripe, write);
  }
  FromOutside<Machine> const under_way(m, v);
  put_unstaged(m, v, write);
}

/// Puts one item for the calling lane; waits for room.
HIWAY_NO_SPACE_CHECK template <class Machine, class Write>
HIWAY_PART_OF_CALLER HIWAY_DEVICE inline void put(Machine m, InletView const& v, Write&& write) {
  if constexpr (RoleOf<Machine>::stages_puts) {
    Staging* const staging = staging_of(m, v);
    staging != nullptr ? put_staged(m, v, *staging, write) : put_apart(m, v, with_own_item(std::as_const(write)));
  } else {
    put_unstaged(m, v, write);
  }
}

/// Puts for every lane of `group` with `need`, all lanes of `group` together; waits for room.
template <class Machine, class Write>
HIWAY_DEVICE inline void put_together(Machine m, InletView const& v, std::uint32_t group, bool need, Write&& write) {
  if (takes_ticket_first<Write>(v)) return put_tagged(m, v, group, need, write);
  put_past_staging(m, v);
  for (unsigned misses = 0;; ++misses) {
    if (try_put_inside(m, v, group, need, write, after_misses(misses))) need = false;
    if (m.ballot(group, need) == 0) return;
    if (need) need = wait_for_room(m, v, misses);
  }
}

}  // namespace hiway::detail
