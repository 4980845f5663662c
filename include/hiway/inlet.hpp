// Inlet<T>: where items go into a tunnel. A copyable handle that owns nothing; stages get one for each tunnel in
// into(...).
//
// A put takes its ticket, then reads its own lane's closed bit and the unit's closed word, then commits; where slots
// carry tags, it commits while these reads are under way (termination.hpp T5). Converged lanes share a claim, also for
// spans of different lengths. Lanes of one claim part when it is granted: those that got room commit and leave, the
// others wait (docs/adr/0009).
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "hiway/branches.hpp"
#include "hiway/grouping/team.hpp"
#include "hiway/grouping/warp_group.hpp"
#include "hiway/item.hpp"
#include "hiway/machine/on_this_device.hpp"
#include "hiway/relay.hpp"
#include "hiway/ring.hpp"
#include "hiway/termination.hpp"
#include "hiway/trace.hpp"

namespace hiway {

/// What an inlet points at. Built by the pipeline, one for each stage and tunnel.
struct InletView {
  Ring ring;
  Ring const* spill = nullptr;  ///< where a put into a full ring goes; null: it waits
  Relays* relays = nullptr;     ///< an outbox's, at the host
  Control* control = nullptr;
  EndWords* end = nullptr;
  Word<std::uint32_t>* throttled = nullptr;  ///< of puts that enter a cycle that may spill (docs/adr/0013); or null
  InletPort* ports = nullptr;                ///< one per block; or a CPU thread's own; or an open inlet's only one
  InletView const* branches = nullptr;       ///< a CPU thread's further branches (branches.hpp)
  Word<std::uint32_t>* closed_executors = nullptr;
  std::uint32_t stage = no_id;
  std::uint32_t tunnel = no_id;
  std::uint32_t home = 0;  ///< the shard of block 0, or of this thread
  std::uint32_t further_branches = 0;
  bool open = false;         ///< belongs to the user's own threads or kernels, which close it once
  bool past_caches = false;  ///< a CPU thread's spans are written past its caches
};

namespace detail {

/// Tells whether a put comes too late; read after its ticket (T5). These loads and the slot's are under way together.
struct Lateness {
  std::uint32_t closed_lanes;  ///< of the lane's warp
  std::uint32_t ended;
};
template <class Machine>
HIWAY_DEVICE inline Lateness read_lateness(Machine m, InletView const& v) {
  m.fence_behind_ticket();  // T5
  InletPort& port = v.open ? *v.ports : v.ports[m.block_index()];
  unsigned const thread = v.open ? 0 : m.thread_in_block();
  std::uint32_t const closed_lanes = m.load(port.closed_lanes[thread / 32], Order::relaxed);
  return {closed_lanes, m.load(v.end->closed, Order::relaxed)};
}
/// Refuses the put of a lane that holds a ticket, if it is late.
template <class Machine>
HIWAY_DEVICE inline void refuse_late_put(Machine m, InletView const& v, std::uint64_t ticket, Lateness late) {
  unsigned const thread = v.open ? 0 : m.thread_in_block();
  bool const closed = (late.closed_lanes >> (thread % 32) & 1u) != 0;
  if (!closed && late.ended == 0) return;
  raise(m, *v.control, closed ? FaultKind::put_after_close : FaultKind::put_after_end, v.stage, v.tunnel, ticket);
}
template <class Machine>
HIWAY_DEVICE inline void refuse_late_put(Machine m, InletView const& v, std::uint64_t ticket) {
  refuse_late_put(m, v, ticket, read_lateness(m, v));
}

/// The cycle that the tunnel leads into has enough to do: puts wait as they do for room.
template <class Machine>
HIWAY_DEVICE inline bool is_throttled(Machine m, InletView const& v) {
  return v.throttled != nullptr && m.load(*v.throttled, Order::relaxed) != 0;
}

// How a CPU thread of a stage spends its time (trace.hpp). Called after a put, before a wait for room, and after it.
HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline void note_put(Machine, [[maybe_unused]] InletView const& v) {
  if constexpr (RoleOf<Machine>::keeps_trace) {
    if (v.ports->trace != nullptr) v.ports->trace->put(v.tunnel);
  }
}
HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline void note_full(Machine, [[maybe_unused]] InletView const& v) {
  if constexpr (RoleOf<Machine>::keeps_trace) {
    if (v.ports->trace != nullptr) v.ports->trace->begin_put(v.tunnel);
  }
}
HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline void note_room(Machine, [[maybe_unused]] InletView const& v, [[maybe_unused]] unsigned misses) {
  if constexpr (RoleOf<Machine>::keeps_trace) {
    if (misses != 0 && v.ports->trace != nullptr) v.ports->trace->end_put(v.tunnel);
  }
}

/// What a CPU thread does for the monitors after a put. It tells the other side of a run at once, and of a single item
/// if nothing is under way. Other items are told together with later ones: each telling takes the word's cache line
/// from whoever polls it from across.
template <class Machine>
HIWAY_DEVICE inline void help_to_leave(Machine m, InletView const& v, bool run) {
  if constexpr (RoleOf<Machine>::helps_monitors) {
    if (v.relays == nullptr || v.ring.tagged) return;
    Relays& r = *v.relays;
    if (run || m.load(r.tells.to, Order::relaxed) == m.load_across(*r.hears.word, Order::relaxed))
      tell_if_free(m, r.tells);
  }
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
  help_to_leave(m, v, false);
  return true;
}

/// The one of a CPU thread's branches that has most room.
template <class Machine>
HIWAY_DEVICE inline InletView const& roomiest(Machine m, InletView const& v) {
  if constexpr (RoleOf<Machine>::has_branches) {
    if (v.further_branches != 0) {
      return choose_branch(
          v, [&](InletView const& branch) { return is_throttled(m, branch) ? 0 : room_about(m, branch.ring); });
    }
  }
  return v;
}

template <class Machine, class Write>
HIWAY_DEVICE inline bool try_put(Machine m, InletView const& all, std::uint32_t group, bool need, Write&& write,
                                 Credits credits = Credits::doubtful) {
  InletView const& v = roomiest(m, all);
  refuse_if_over(m, v);
  bool done = put_once(m, v, home_ring(m, v), group, need && !is_throttled(m, v), credits, write);
  if (has_spill(v.spill)) done = put_once(m, v, *v.spill, group, need && !done, Credits::doubtful, write) || done;
  if (need && !done) leave_if_aborted(m, *v.control, v.tunnel);
  return done;
}

/// What a lane does between two tries of a put that waits for room.
template <class Machine>
HIWAY_DEVICE inline void wait_for_room(Machine m, InletView const& v, unsigned misses) {
  if (misses == 0) note_full(m, v);
  bool const spilled = has_spill(v.spill);
  // T5 also for a put that gets no ticket: after the end no credit is given.
  if (spilled || m.load(v.end->closed, Order::relaxed) != 0)
    raise(m, *v.control, spilled ? FaultKind::spill_exhausted : FaultKind::put_after_end, v.stage, v.tunnel, 0);
  if constexpr (RoleOf<Machine>::helps_monitors) {
    bool heard = false;
    for_each_branch(m, v, [&](InletView const& branch) {
      heard = (branch.relays != nullptr && hear_if_free(m, branch.relays->hears)) || heard;
    });
    if (heard) return;
  }
  m.relax(misses);
}

/// Whether a waiting put takes its ticket before there is room: where slots carry tags and it has nowhere else to put.
template <class Write>
HIWAY_DEVICE inline bool takes_ticket_first(InletView const& v) {
  if constexpr (may_be_tagged<std::remove_cvref_t<Write>>) {
    return v.ring.by_tags() && !has_spill(v.spill) && v.further_branches == 0;
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
  for (bool taken = false;; wait_for_room(m, v, misses++)) {
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

/// Puts one item for the calling lane, with whichever lanes are converged; waits for room.
template <class Machine, class Write>
HIWAY_DEVICE inline void put(Machine m, InletView const& v, Write&& write) {
  if (takes_ticket_first<Write>(v)) return put_tagged(m, v, together(m, v), true, write);
  unsigned misses = 0;
  for (; !try_put(m, v, together(m, v), true, write, after_misses(misses)); ++misses) wait_for_room(m, v, misses);
  note_room(m, v, misses);
}

/// Puts for every lane of `group` with `need`, all lanes of `group` together; waits for room.
template <class Machine, class Write>
HIWAY_DEVICE inline void put_together(Machine m, InletView const& v, std::uint32_t group, bool need, Write&& write) {
  if (takes_ticket_first<Write>(v)) return put_tagged(m, v, group, need, write);
  for (unsigned misses = 0;; ++misses) {
    if (try_put(m, v, group, need, write, after_misses(misses))) need = false;
    if (m.ballot(group, need) == 0) return;
    if (need) wait_for_room(m, v, misses);
  }
}

/// Counts one executor (thread or block) of a stage as closed.
template <class Machine>
HIWAY_DEVICE inline void count_closed(Machine m, InletView const& v) {
  m.fetch_add(*v.closed_executors, 1u, Order::acq_rel);
}

template <class Machine>
HIWAY_DEVICE inline void close_branch(Machine m, InletView const& v) {
  InletPort& port = v.open ? *v.ports : v.ports[m.block_index()];
  unsigned const thread = v.open ? 0 : m.thread_in_block();
  std::uint32_t const bit = 1u << (thread % 32);
  if ((m.fetch_or(port.closed_lanes[thread / 32], bit, Order::acq_rel) & bit) != 0) return;
  std::uint32_t const lanes = v.open ? 1 : m.block_threads();
  if (m.fetch_add(port.closed_count, 1u, Order::acq_rel) + 1 == lanes) count_closed(m, v);
}
template <class Machine>
HIWAY_DEVICE inline void close(Machine m, InletView const& v) {
  for_each_branch(m, v, [&](InletView const& branch) { close_branch(m, branch); });
}

/// Claims up to `n` tickets; called by a team's first lane. Waits for room.
template <class Machine>
HIWAY_DEVICE inline Claimed claim_room(Machine m, InletView const& v, std::uint32_t n) {
  refuse_if_over(m, v);
  for (unsigned misses = 0;; ++misses) {
    Claimed c{.run = {}, .whose = home_of(m, v)};
    if (!is_throttled(m, v)) c.run = claim_put_run(m, ring_of(v, c.whose), n);
    if (c.run.count == 0 && has_spill(v.spill)) {
      c.whose = of_spill;
      c.run = claim_put_run(m, *v.spill, n);
    }
    if (c.run.count != 0) {
      refuse_late_put(m, v, c.run.first);
      note_room(m, v, misses);
      return c;
    }
    leave_if_aborted(m, *v.control, v.tunnel);
    wait_for_room(m, v, misses);
  }
}

/// Puts one item for a whole team: `fill(std::byte* slot)` in all its lanes. Waits for room.
template <class Team, class Fill>
HIWAY_DEVICE inline void put_by_team(Team team, InletView const& all, Fill&& fill) {
  auto const m = team.m;
  InletView const& v = roomiest(m, all);
  Claimed const c = claim_together(team, *v.control, 1, [&](std::uint32_t n) {
    Claimed const found = claim_room(m, v, n);
    (void)begin_put(m, ring_of(v, found.whose), found.run.first, *v.control);
    return found;
  });
  Ring const ring = ring_of(v, c.whose);
  std::uint64_t const ticket = c.run.first;
  fill(ring.item(ticket));
  team.sync();  // E2
  if (team.rank() != 0) return;
  leave_if_aborted(m, *v.control);  // E4
  end_put(m, ring, ticket);
  note_put(m, v);
  help_to_leave(m, v, false);
}

/// Puts `n` items for a whole team: `copy(Several)` in all its lanes, each for its own items. Waits for room.
template <class Team, class Copy>
HIWAY_DEVICE inline void put_span_by_team(Team team, InletView const& all, std::size_t n, Copy&& copy) {
  auto const m = team.m;
  for (std::size_t done = 0; done != n;) {
    InletView const& v = roomiest(m, all);
    Claimed const c = claim_together(team, *v.control, at_most(n - done, most_of_team),
                                     [&](std::uint32_t most) { return claim_room(m, v, most); });
    copy_by_team(team, ring_of(v, c.whose), c.run, done, ClaimKind::put, *v.control, copy);
    if (team.rank() == 0) help_to_leave(m, v, true);
    done += c.run.count;
  }
}

/// Tries once to put up to `wanted` items of each lane of `group`, all lanes together: `copy(Several)` in those that
/// found room. Returns how many of the lane's items it put; `done`: how many of its span were put before.
template <class Machine, class Copy>
HIWAY_DEVICE inline std::uint32_t put_some(Machine m, InletView const& v, Ring const& ring, std::uint32_t group,
                                           std::uint32_t wanted, std::size_t done, Credits credits, Copy&& copy) {
  Run const run = claim_put_runs(m, ring, group, wanted, credits, v.control);
  if (run.count == 0) return 0;
  refuse_late_put(m, v, run.first);
  copy_granted(m, ring, run, done, ClaimKind::put, *v.control, copy);
  return run.count;
}

/// Puts `n` items of the calling lane, with whichever lanes are converged; waits for room.
template <class Machine, class Copy>
HIWAY_DEVICE inline void put_span(Machine m, InletView const& v, std::size_t n, Copy&& copy) {
  std::size_t done = 0;
  for (unsigned misses = 0; done != n;) {
    std::uint32_t const group = together(m, v);
    std::uint32_t const wanted = at_most(n - done, most_of_lane);
    std::uint32_t some =
        put_some(m, v, home_ring(m, v), group, is_throttled(m, v) ? 0 : wanted, done, after_misses(misses), copy);
    if (has_spill(v.spill))
      some += put_some(m, v, *v.spill, group, wanted - some, done + some, Credits::doubtful, copy);
    done += some;
    if (some != 0) {
      note_room(m, v, misses);
      misses = 0;
    } else {
      leave_if_aborted(m, *v.control, v.tunnel);
      wait_for_room(m, v, misses++);
    }
  }
}

/// Writes items of a span into their slots.
template <class T>
struct WriteItems {
  static constexpr std::size_t bytes = sizeof(T);
  T const* items;
  HIWAY_DEVICE void operator()(Several const& some) const {
    for (unsigned k = 0; k < some.count; ++k) item_in<T>(some.slot(k)) = items[some.item(k)];
  }
};

/// Puts up to `n` items of the calling thread, in order; returns how many found room.
template <class T, class Machine>
inline std::size_t put_run(Machine m, InletView const& v, Ring const& ring, T const* items, std::size_t n) {
  constexpr std::size_t most = std::size_t{1} << 20;
  Run const run = claim_put_run(m, ring, static_cast<std::uint32_t>(n < most ? n : most));
  if (run.count != 0) refuse_late_put(m, v, run.first);
  commit_put_run(m, ring, run, *v.control, [&](std::byte* slot, std::uint32_t i, std::uint32_t count) {
    if (v.past_caches) {
      copy_past_caches(slot, items + i, count * sizeof(T));
    } else {
      std::memcpy(slot, items + i, count * sizeof(T));
    }
  });
  if (run.count == 0) return 0;
  note_put(m, v);
  help_to_leave(m, v, true);
  return run.count;
}

}  // namespace detail

/// Where items go into a tunnel. A copyable handle that owns nothing; stages get one for each tunnel in into(...).
template <class T>
class Inlet {
  static_assert(std::is_trivially_copyable_v<T>,
                "hiway: Inlet<T>: T must be trivially copyable (it is moved as bytes between devices)");

 public:
  using value_type = T;

  Inlet() = default;
  HIWAY_DEVICE explicit Inlet(InletView const& view) : view_(view) {}

  /// Puts `item`. *Waits* until the tunnel has room. When the run aborts it throws Unwind; if an exception is already
  /// in flight, it drops the item and returns. *Threads*: any number at once.
  /// *Errors*: put_after_close, put_after_end, spill_exhausted end the run with an error that names stage and tunnel.
  void put_h(T const& item) const {
    on_this_thread([&](auto m) { detail::put(m, view_, WriteItem<T>{item}); });
  }
  HIWAY_DEVICE void put_d(T const& item) const {
    on_this_device([&](auto m) { detail::put(m, view_, WriteItem<T>{item}); });
  }
  HIWAY_DEVICE void put(T const& item) const {
    anywhere([&](auto m) { detail::put(m, view_, WriteItem<T>{item}); });
  }

  /// Puts `item` if there is room now, in the spill pool too. May return false although there is room, while another
  /// claim is in flight; never waits for room. When the run aborts it does as put does. A full pool is no error here: a
  /// stage of a cycle that only tries again may wait for itself, and put would report that.
  [[nodiscard]] bool try_put_h(T const& item) const {
    return on_this_thread(
        [&](auto m) { return detail::try_put(m, view_, detail::together(m, view_), true, WriteItem<T>{item}); }, true);
  }
  [[nodiscard]] HIWAY_DEVICE bool try_put_d(T const& item) const {
    return on_this_device(
        [&](auto m) { return detail::try_put(m, view_, detail::together(m, view_), true, WriteItem<T>{item}); }, true);
  }
  [[nodiscard]] HIWAY_DEVICE bool try_put(T const& item) const {
    return anywhere(
        [&](auto m) { return detail::try_put(m, view_, detail::together(m, view_), true, WriteItem<T>{item}); }, true);
  }

  /// Puts every item of `items`, in order. *Waits* like put of one. Lanes may put different numbers, or none; converged
  /// lanes share a claim. On a device not for items above 256 bytes.
  void put_h(std::span<T const> items) const {
    on_this_thread([&](auto m) { put_all(m, items); });
  }
  HIWAY_DEVICE void put_d(std::span<T const> items) const {
    on_this_device([&](auto m) { put_all(m, items); });
  }
  HIWAY_DEVICE void put(std::span<T const> items) const {
    anywhere([&](auto m) { put_all(m, items); });
  }

  /// Puts an item that `fill(T& slot)` writes directly into its slot: for large items, of which a lane has no copy.
  /// `fill` must write every byte that matters, and must not put or get. *Waits* like put.
  template <class Fill>
  void put_in_place_h(Fill&& fill) const {
    on_this_thread([&](auto m) { put_filled(m, fill); });
  }
  HIWAY_NO_SPACE_CHECK template <class Fill>
  HIWAY_DEVICE void put_in_place_d(Fill&& fill) const {
    on_this_device([&](auto m) { put_filled(m, fill); });
  }
  HIWAY_NO_SPACE_CHECK template <class Fill>
  HIWAY_DEVICE void put_in_place(Fill&& fill) const {
    anywhere([&](auto m) { put_filled(m, fill); });
  }

  // For a whole warp or block: all its lanes make the call together. A CPU thread is a warp and a block of one.

  /// Puts one item, which is equal in all lanes; each lane writes a part of it. *Waits* like put.
  HIWAY_DEVICE void put_warp_d(T const& item) const {
    on_this_device([&](auto m) { put_together(WarpTeam<decltype(m)>{m}, item); });
  }
  HIWAY_DEVICE void put_warp(T const& item) const {
    anywhere([&](auto m) { put_together(WarpTeam<decltype(m)>{m}, item); });
  }
  HIWAY_DEVICE void put_block_d(T const& item) const {
    on_this_device([&](auto m) { put_together(BlockTeam<decltype(m)>{m}, item); });
  }
  HIWAY_DEVICE void put_block(T const& item) const {
    anywhere([&](auto m) { put_together(BlockTeam<decltype(m)>{m}, item); });
  }

  /// Puts every item of `items`, in order. All lanes pass the same span, in memory that all of them read, and copy it
  /// side by side. *Waits* like put. Not for items above 256 bytes.
  HIWAY_DEVICE void put_warp_d(std::span<T const> items) const {
    on_this_device([&](auto m) { put_all_together(WarpTeam<decltype(m)>{m}, items); });
  }
  HIWAY_DEVICE void put_warp(std::span<T const> items) const {
    anywhere([&](auto m) { put_all_together(WarpTeam<decltype(m)>{m}, items); });
  }
  HIWAY_DEVICE void put_block_d(std::span<T const> items) const {
    on_this_device([&](auto m) { put_all_together(BlockTeam<decltype(m)>{m}, items); });
  }
  HIWAY_DEVICE void put_block(std::span<T const> items) const {
    anywhere([&](auto m) { put_all_together(BlockTeam<decltype(m)>{m}, items); });
  }

  /// Puts one item: `fill(T& slot)`, called in all lanes, writes it directly into its slot, each lane its part.
  HIWAY_NO_SPACE_CHECK template <class Fill>
  HIWAY_DEVICE void put_in_place_warp_d(Fill&& fill) const {
    on_this_device([&](auto m) { fill_together(WarpTeam<decltype(m)>{m}, fill); });
  }
  HIWAY_NO_SPACE_CHECK template <class Fill>
  HIWAY_DEVICE void put_in_place_warp(Fill&& fill) const {
    anywhere([&](auto m) { fill_together(WarpTeam<decltype(m)>{m}, fill); });
  }
  HIWAY_NO_SPACE_CHECK template <class Fill>
  HIWAY_DEVICE void put_in_place_block_d(Fill&& fill) const {
    on_this_device([&](auto m) { fill_together(BlockTeam<decltype(m)>{m}, fill); });
  }
  HIWAY_NO_SPACE_CHECK template <class Fill>
  HIWAY_DEVICE void put_in_place_block(Fill&& fill) const {
    anywhere([&](auto m) { fill_together(BlockTeam<decltype(m)>{m}, fill); });
  }

  /// Says that this thread or lane puts no more into the tunnel before its stage returns. Calling it again does
  /// nothing. The inlet of a stage closes when every thread, or every lane of every block, has closed or returned.
  void close_h() const {
    on_this_thread([&](auto m) { detail::close(m, view_); });
  }
  HIWAY_DEVICE void close_d() const {
    on_this_device([&](auto m) { detail::close(m, view_); });
  }
  HIWAY_DEVICE void close() const {
    anywhere([&](auto m) { detail::close(m, view_); });
  }

  /// Ends the run with an error that says `message` and names the stage, or the tunnel of an open end. Does not return.
  /// For a user's own kernels, where the free fail_d does not know the run.
  void fail_h(char const* message) const {
    on_this_thread([&](auto m) { detail::fail_at(m, view_, message); });
  }
  HIWAY_DEVICE void fail_d(char const* message) const {
    on_this_device([&](auto m) { detail::fail_at(m, view_, message); });
  }

  /// For the library's own loops.
  HIWAY_DEVICE InletView const& view() const { return view_; }

 private:
  static constexpr void refuse_spans_of_large_items() {
    static_assert(!stays_in_slot<T>,
                  "hiway: Inlet<T>: no spans of items above 256 bytes on a device: put each with put_in_place_d, "
                  "put_in_place_warp_d or put_in_place_block_d");
  }
  template <class Machine>
  HIWAY_DEVICE void put_all(Machine m, std::span<T const> items) const {
    refuse_spans_of_large_items();
    detail::put_span(m, view_, items.size(), detail::WriteItems<T>{items.data()});
  }
  HIWAY_NO_SPACE_CHECK HIWAY_DEVICE void put_all(StageThread m, std::span<T const> items) const {
    for (unsigned misses = 0; !items.empty();) {
      InletView const& v = detail::roomiest(m, view_);
      detail::refuse_if_over(m, v);
      std::size_t n = 0;
      if (!detail::is_throttled(m, v)) n = detail::put_run(m, v, detail::home_ring(m, v), items.data(), items.size());
      if (n == 0 && has_spill(v.spill)) n = detail::put_run(m, v, *v.spill, items.data(), items.size());
      items = items.subspan(n);
      if (n != 0) {
        detail::note_room(m, view_, misses);
        misses = 0;
      } else if (!items.empty()) {
        leave_if_aborted(m, *view_.control, view_.tunnel);
        detail::wait_for_room(m, view_, misses++);
      }
    }
  }
  template <class Team>
  HIWAY_DEVICE void put_all_together(Team team, std::span<T const> items) const {
    refuse_spans_of_large_items();
    detail::put_span_by_team(team, view_, items.size(), detail::WriteItems<T>{items.data()});
  }
  HIWAY_NO_SPACE_CHECK template <class Machine, class Fill>
  HIWAY_DEVICE void put_filled(Machine m, Fill&& fill) const {
    detail::put(m, view_, [&](std::byte* slot) { fill(item_in<T>(slot)); });
  }
  template <class Team>
  HIWAY_DEVICE void put_together(Team team, T const& item) const {
    detail::put_by_team(team, view_,
                        [&](std::byte* slot) { copy_bytes(slot, &item, sizeof(T), team.rank(), team.size()); });
  }
  HIWAY_NO_SPACE_CHECK template <class Team, class Fill>
  HIWAY_DEVICE void fill_together(Team team, Fill&& fill) const {
    detail::put_by_team(team, view_, [&](std::byte* slot) { fill(item_in<T>(slot)); });
  }

  InletView view_{};
};

}  // namespace hiway
