// Outlet<T>: where items come out of a tunnel. A copyable handle that owns nothing; stages get one for each tunnel in
// from(...).
//
// Every item got is a task until end_task; its puts come before that. end_task counts at once, in the word of the block
// (or thread).
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

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

/// What an outlet points at. Built by the pipeline, one for each stage and tunnel.
struct OutletView {
  Ring ring;
  Ring const* spill = nullptr;  ///< read when the ring is empty; only if producers and consumers share a home
  Relays* relays = nullptr;     ///< an inbox's, at the host
  Control* control = nullptr;
  EndWords* end = nullptr;
  OutletPort* ports = nullptr;                 ///< one per block; or a CPU thread's own; or an open outlet's only one
  OutletView const* branches = nullptr;        ///< a CPU thread's further branches (branches.hpp)
  Word<std::uint32_t>* stage_ended = nullptr;  ///< every tunnel that the stage reads has ended
  std::uint32_t stage = no_id;
  std::uint32_t tunnel = no_id;
  std::uint32_t home = 0;  ///< the shard of block 0, or of this thread
  std::uint32_t further_branches = 0;
  bool open = false;   ///< belongs to the user's own threads or kernels
  bool alone = false;  ///< no other warp, or thread, reads the tunnel
};

namespace detail {

template <class Machine>
HIWAY_DEVICE inline OutletPort& port_of(Machine m, OutletView const& v) {
  return v.open ? *v.ports : v.ports[m.block_index()];
}

/// The converged lanes that get from the same tunnel.
template <class Machine>
HIWAY_PART_OF_CALLER HIWAY_DEVICE inline std::uint32_t together(Machine m, OutletView const& v) {
  return converged_on(m, v.ring.words);
}

/// `control` as in claim_get; null unless all that a block claims with the outlet's tally is of one ring.
template <class Machine, class Read>
HIWAY_DEVICE inline bool get_from(Machine m, OutletView const& v, Ring const& ring, std::uint32_t group, bool need,
                                  Credit credit, Read&& read, Credits credits, Control* control) {
  Grant const grant = claim_get(m, ring, group, need, &port_of(m, v).got, credit, credits, control);
  if (!grant.granted) return false;
  if (credit == Credit::late) {  // each lane may take as long as it likes
    finish_get(m, ring, grant.ticket, *v.control, credit, read);
  } else {
    finish_get(m, ring, grant, *v.control, read);
  }
  return true;
}

/// A CPU thread that finds nothing does the monitors' steps here; true when items have come.
template <class Machine>
HIWAY_DEVICE inline bool help_to_come(Machine m, OutletView const& v) {
  if constexpr (RoleOf<Machine>::helps_monitors) {
    if (v.relays == nullptr) return false;
    tell_if_free(m, v.relays->tells);
    return hear_if_free(m, v.relays->hears);
  } else {
    return false;
  }
}

/// Of a CPU thread's branches one with items, as far as that is known.
template <class Machine>
HIWAY_DEVICE inline OutletView const& fullest(Machine m, OutletView const& v) {
  if constexpr (RoleOf<Machine>::has_branches) {
    if (v.further_branches != 0)
      return choose_branch(v, [&](OutletView const& branch) { return items_about(m, branch.ring) > 0 ? 1 : 0; });
  }
  return v;
}

/// One try for the lanes of `group` with `need`; all lanes of `group` together. True for a lane that got an item.
/// `elsewhere`: when the home shard is empty, try another one, too. `next`: as in TagReader, kept between tries where
/// that pays.
template <class Machine, class Read>
HIWAY_DEVICE inline bool get_once(Machine m, OutletView const& all, std::uint32_t group, bool need, Credit credit,
                                  Read&& read, Credits credits, bool elsewhere, std::uint32_t& next) {
  constexpr Credits doubtful = Credits::doubtful;
  OutletView const& v = fullest(m, all);
  refuse_if_over(m, v);
  if constexpr (may_be_tagged<std::remove_cvref_t<Read>>) {
    if (v.ring.by_tags()) {
      bool const got = get_tagged(m, v.ring, group, need, TagReader{&port_of(m, v).got, next, v.alone}, read);
      if (!got) (void)help_to_come(m, v);
      return got;
    }
  }
  bool got = get_from(m, v, home_ring(m, v), group, need, credit, read, credits, v.control);
  if (!got && help_to_come(m, v)) got = get_from(m, v, v.ring, group, need, credit, read, credits, v.control);
  if (v.ring.shards > 1 && elsewhere && m.ballot(group, got) == 0) {
    Ring const other = shard(v.ring, find_shard(m, v.ring, group, home_of(m, v)));
    got = get_from(m, v, other, group, need, credit, read, doubtful, nullptr);
  }
  if (has_spill(v.spill)) got = get_from(m, v, *v.spill, group, need && !got, credit, read, doubtful, v.control) || got;
  return got;
}
template <class Machine, class Read>
HIWAY_DEVICE inline bool get_once(Machine m, OutletView const& all, std::uint32_t group, bool need, Credit credit,
                                  Read&& read, Credits credits = Credits::doubtful) {
  std::uint32_t next = 0;
  return get_once(m, all, group, need, credit, read, credits, true, next);
}

/// Notes when a CPU thread ran out of items, for RunReport::end_detection_us, and how it spends its time.
inline void note_get(OutletView const& v, bool got) {
  OutletPort& port = *v.ports;
  if (port.busy && !got) port.idle_since_ns = std::chrono::steady_clock::now().time_since_epoch().count();
  port.busy = got;
  if (port.trace == nullptr) return;
  if (got) {
    port.trace->got(v.tunnel);
  } else {
    port.trace->missed(v.tunnel);
  }
}
HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline void note_result(Machine, [[maybe_unused]] OutletView const& v, [[maybe_unused]] bool got) {
  if constexpr (RoleOf<Machine>::keeps_trace) {
    if (!v.open) note_get(v, got);
  }
}

HIWAY_ITEMS_MAY_LOOK_UNSET
/// One try for all lanes of `group`: `work(T const&)` in each lane that got an item. It looks beyond the home shard
/// only after a miss: a look there disturbs that shard's own readers.
template <class T, class Machine, class Work>
HIWAY_DEVICE inline bool work_once(Machine m, OutletView const& v, std::uint32_t group, Credits credits,
                                   std::uint32_t& next, Work&& work) {
  bool const elsewhere = credits == Credits::doubtful;
  bool got = false;
  auto const begin = [&](T const& item) {
    note_result(m, v, true);
    work(item);
  };
  if constexpr (stays_in_slot<T>) {
    auto const read = [&](std::byte const* slot) { begin(item_in<T>(slot)); };
    got = get_once(m, v, group, true, Credit::late, read, credits, elsewhere, next);  // I5
  } else {
    ItemRoom<T> room;
    got = get_once(m, v, group, true, Credit::early, ReadItem<T>{room.item()}, credits, elsewhere, next);
    if (got) begin(room.item());
  }
  if (!got) note_result(m, v, false);
  return got;
}
HIWAY_ITEMS_END

template <class Machine>
HIWAY_DEVICE inline void count_finished_in(Machine m, OutletView const& v, std::uint64_t n) {
  OutletPort& port = port_of(m, v);
  std::uint64_t const finished = m.fetch_add(port.finished, n, Order::acq_rel) + n;  // T1; acquires the siblings' got
  if (finished > m.load(port.got, Order::relaxed))
    raise(m, *v.control, FaultKind::end_task_too_many, v.stage, v.tunnel, finished);
}
/// Counts `n` tasks of the calling lane's block as ended.
template <class Machine>
HIWAY_DEVICE inline void count_finished(Machine m, OutletView const& v, std::uint64_t n) {
  if constexpr (RoleOf<Machine>::has_branches) {
    for (std::uint32_t i = 0; i < v.further_branches; ++i) {  // B1
      OutletPort& port = *v.branches[i].ports;                // this thread's own
      std::uint64_t const open = m.load(port.got, Order::relaxed) - m.load(port.finished, Order::relaxed);
      std::uint64_t const some = open < n ? open : n;
      if (some != 0) count_finished_in(m, v.branches[i], some);
      n -= some;
    }
    if (n == 0) return;
  }
  count_finished_in(m, v, n);
}

/// Ends one task of each lane of `group` with `need`; all lanes of `group` together. The release comes after the
/// tickets of all of them (T1).
template <class Machine>
HIWAY_DEVICE inline void end_tasks(Machine m, OutletView const& v, std::uint32_t group, bool need) {
  std::uint32_t const ending = m.ballot(group, need);
  m.sync_warp(group);
  if (ending != 0 && m.lane() == m.lowest(group)) count_finished(m, v, m.count(ending));
}

/// Ends `tasks` tasks of each lane of `group`, possibly none; all lanes of `group` together.
template <class Machine>
HIWAY_DEVICE inline void end_several_tasks(Machine m, OutletView const& v, std::uint32_t group, std::uint64_t tasks) {
  std::uint64_t const all = sum_lanes(m, group, tasks).all;
  m.sync_warp(group);  // T1
  if (all != 0 && m.lane() == m.lowest(group)) count_finished(m, v, all);
}

template <class Machine>
HIWAY_DEVICE inline bool tunnel_ended(Machine m, OutletView const& v) {
  bool ended = m.load_ahead(v.end->ended) != 0;
  if constexpr (RoleOf<Machine>::has_branches) {
    for (std::uint32_t i = 0; i < v.further_branches; ++i) ended = m.load_ahead(v.branches[i].end->ended) != 0 && ended;
  }
  bool const aborted = m.load_ahead(v.control->aborted) != 0;
  if (!ended && !aborted) return false;
  m.acquire_ahead();
  if (!ended) leave_run(m, *v.control, v.tunnel);
  return true;
}

template <class Machine>
HIWAY_DEVICE inline bool stage_ended(Machine m, OutletView const& v) {
  if (m.load(*v.stage_ended, Order::acquire) != 0) return true;
  leave_if_aborted(m, *v.control, v.tunnel);
  return false;
}

/// After this many looks at a tag the loop checks whether the tunnel has ended; the check takes as long as a look.
inline constexpr unsigned looks_at_tags = 4;

/// The persistent loop of `group`: get, body, end_task, back off, until the tunnel has ended.
HIWAY_NO_SPACE_CHECK template <class T, class Machine, class Body>
HIWAY_DEVICE inline void for_each(Machine m, OutletView const& v, std::uint32_t group, Body&& body) {
  std::uint32_t next = 0;
  for (unsigned misses = 0;;) {
    bool const got = work_once<T>(m, v, group, after_misses(misses), next, body);
    end_tasks(m, v, group, got);
    if (m.ballot(group, got) != 0) {
      misses = 0;
      continue;
    }
    if (v.ring.by_tags() && (misses + 1) % looks_at_tags != 0) {
      ++misses;
      continue;
    }
    if (m.ballot(group, tunnel_ended(m, v)) != 0) {
      m.sync_warp(group);
      return;
    }
    m.relax(misses++);
  }
}

/// What a team's try found.
enum class Found : std::uint8_t { nothing, item, ended };

/// Claims up to `n` tickets, or none; called by a team's first lane for all.
template <class Machine>
HIWAY_DEVICE inline Claimed claim_items(Machine m, OutletView const& v, std::uint32_t n, Credit credit) {
  refuse_if_over(m, v);
  Claimed c{.run = {}, .whose = home_of(m, v)};
  auto const claim = [&] { c.run = claim_get_run(m, ring_of(v, c.whose), n, &port_of(m, v).got, credit); };
  claim();
  if (c.run.count == 0 && help_to_come(m, v)) claim();
  if (c.run.count == 0 && v.ring.shards > 1) {
    c.whose = find_shard(m, v.ring, 1u << m.lane(), c.whose);
    claim();
  }
  if (c.run.count == 0 && has_spill(v.spill)) {
    c.whose = of_spill;
    claim();
  }
  note_result(m, v, c.run.count != 0);
  c.ended = c.run.count == 0 && tunnel_ended(m, v);
  return c;
}

/// One try of a team for one item: `work(std::byte const* slot)` in all its lanes, with the item in its slot.
template <class Team, class Work>
HIWAY_DEVICE inline Found work_together(Team team, OutletView const& all, Work&& work) {
  auto const m = team.m;
  OutletView const& v = fullest(m, all);
  Claimed const c = claim_together(team, *v.control, 1, [&](std::uint32_t n) {
    Claimed const found = claim_items(m, v, n, Credit::late);
    if (found.run.count != 0) (void)begin_get(m, ring_of(v, found.whose), found.run.first, *v.control);
    return found;
  });
  if (c.run.count == 0) return c.ended ? Found::ended : Found::nothing;
  Ring const ring = ring_of(v, c.whose);
  std::uint64_t const ticket = c.run.first;
  work(static_cast<std::byte const*>(ring.item(ticket)));
  team.sync();  // E2
  if (team.rank() == 0) end_get(m, ring, ticket, Credit::late);
  return Found::item;
}

/// The same, but waits for an item or the end. True for an item.
template <class Team, class Work>
HIWAY_DEVICE inline bool await_together(Team team, OutletView const& v, Work&& work) {
  for (unsigned misses = 0;; team.m.relax(misses++)) {
    Found const found = work_together(team, v, work);
    if (found != Found::nothing) return found == Found::item;
  }
}

/// One try of a team for up to `n` items: `copy(Several)` in all its lanes, each for its own items. Afterwards every
/// lane sees all of the items.
template <class Team, class Copy>
HIWAY_DEVICE inline Claimed get_span_by_team(Team team, OutletView const& all, std::size_t n, Copy&& copy) {
  OutletView const& v = fullest(team.m, all);
  Claimed const c = claim_together(team, *v.control, at_most(n, most_of_team),
                                   [&](std::uint32_t most) { return claim_items(team.m, v, most, Credit::early); });
  if (c.run.count != 0) copy_by_team(team, ring_of(v, c.whose), c.run, 0, ClaimKind::get, *v.control, copy);
  return c;
}

/// Ends `tasks` tasks that the team got.
template <class Team>
HIWAY_DEVICE inline void end_task_together(Team team, OutletView const& v, std::uint64_t tasks = 1) {
  team.sync();  // E2
  if (team.rank() == 0) count_finished(team.m, v, tasks);
}

/// Tries once to get up to `wanted` items for each lane of `group`, all lanes together: `copy(Several)` in those that
/// got any. Returns how many the lane got; `done`: how many it had got before. `control` as in get_from.
template <class Machine, class Copy>
HIWAY_DEVICE inline std::uint32_t get_some(Machine m, OutletView const& v, Ring const& ring, std::uint32_t group,
                                           std::uint32_t wanted, std::uint32_t done, Credits credits, Control* control,
                                           Copy&& copy) {
  Run const run = claim_get_runs(m, ring, group, wanted, &port_of(m, v).got, credits, control);
  if (run.count != 0) copy_granted(m, ring, run, done, ClaimKind::get, *v.control, copy);
  return run.count;
}

/// One try for up to `n` items of the calling lane, with whichever lanes are converged; returns how many it got.
template <class Machine, class Copy>
HIWAY_DEVICE inline std::uint32_t get_span(Machine m, OutletView const& v, std::size_t n, Credits credits,
                                           Copy&& copy) {
  std::uint32_t const group = together(m, v);
  std::uint32_t const wanted = at_most(n, most_of_lane);
  std::uint32_t got = get_some(m, v, home_ring(m, v), group, wanted, 0, credits, v.control, copy);
  constexpr Credits doubtful = Credits::doubtful;
  if (v.ring.shards > 1 && m.ballot(group, got != 0) == 0) {
    Ring const other = shard(v.ring, find_shard(m, v.ring, group, home_of(m, v)));
    got = get_some(m, v, other, group, wanted, 0, doubtful, nullptr, copy);
  }
  if (has_spill(v.spill)) got += get_some(m, v, *v.spill, group, wanted - got, got, doubtful, v.control, copy);
  return got;
}

HIWAY_ITEMS_MAY_LOOK_UNSET
/// Reads items of a span from their slots. Loads of small items are all under way before the first has come: a slot may
/// lie across the bus.
template <class T>
struct ReadItems {
  static constexpr std::size_t bytes = sizeof(T);
  T* items;
  HIWAY_DEVICE void operator()(Several const& some) const {
    constexpr unsigned at_once = sizeof(T) <= 16 ? most_at_once : 1;
    for (unsigned k = 0; k < some.count; k += at_once) {
      ItemRoom<T> room[at_once];
      for (unsigned i = 0; i < at_once; ++i) {
        if (k + i < some.count) room[i].item() = item_in<T>(static_cast<std::byte const*>(some.slot(k + i)));
      }
      for (unsigned i = 0; i < at_once; ++i) {
        if (k + i < some.count) items[some.item(k + i)] = room[i].item();
      }
    }
  }
};
HIWAY_ITEMS_END

/// Gets up to `n` items for the calling thread, in order; returns how many.
template <class T, class Machine>
HIWAY_DEVICE inline std::size_t get_run(Machine m, OutletView const& v, Ring const& ring, T* items, std::size_t n) {
  constexpr std::size_t most = std::size_t{1} << 20;
  Run const run =
      claim_get_run(m, ring, static_cast<std::uint32_t>(n < most ? n : most), &port_of(m, v).got, Credit::early);
  finish_get_run(m, ring, run, *v.control, [&](std::byte const* slot, std::uint32_t i, std::uint32_t count) {
    std::memcpy(items + i, slot, count * sizeof(T));
  });
  return run.count;
}

}  // namespace detail

/// Where items come out of a tunnel. A copyable handle that owns nothing; stages get one for each tunnel in from(...).
template <class T>
class Outlet {
  static_assert(std::is_trivially_copyable_v<T>,
                "hiway: Outlet<T>: T must be trivially copyable (it is moved as bytes between devices)");

 public:
  using value_type = T;

  Outlet() = default;
  HIWAY_DEVICE explicit Outlet(OutletView const& view) : view_(view) {}

  /// Gets an item if there is one; never waits for one, but backs off by itself after repeated misses: a CPU thread
  /// whose gets have all missed for 50 ms sleeps for 1 ms in each, after 100 ms for 2 ms.
  /// Each item got is a task: end_task says that its work, puts included, is done.
  [[nodiscard]] bool get_h(T& item) const {
    return on_this_thread([&](auto m) { return get_with(m, item); });
  }
  [[nodiscard]] HIWAY_DEVICE bool get_d(T& item) const {
    return on_this_device([&](auto m) { return get_with(m, item); });
  }
  [[nodiscard]] HIWAY_DEVICE bool get(T& item) const {
    return anywhere([&](auto m) { return get_with(m, item); });
  }

  /// Gets an item. *Waits* until there is one; false when the tunnel has ended.
  [[nodiscard]] bool next_h(T& item) const {
    return on_this_thread([&](auto m) { return next_with(m, item); });
  }
  [[nodiscard]] HIWAY_DEVICE bool next_d(T& item) const {
    return on_this_device([&](auto m) { return next_with(m, item); });
  }
  [[nodiscard]] HIWAY_DEVICE bool next(T& item) const {
    return anywhere([&](auto m) { return next_with(m, item); });
  }

  /// Gets as many items as there are, at most items.size(), in order; returns how many. Never waits, like get of one.
  /// Lanes may ask for different numbers, or for none; converged lanes share a claim, and each gets at most 4,096. On a
  /// device not for items above 256 bytes.
  [[nodiscard]] std::size_t get_h(std::span<T> items) const {
    return on_this_thread([&](auto m) { return get_all(m, items); });
  }
  [[nodiscard]] HIWAY_DEVICE std::size_t get_d(std::span<T> items) const {
    return on_this_device([&](auto m) { return get_all(m, items); });
  }
  [[nodiscard]] HIWAY_DEVICE std::size_t get(std::span<T> items) const {
    return anywhere([&](auto m) { return get_all(m, items); });
  }
  /// The same, but *waits* until there is one; 0 when the tunnel has ended or `items` is empty.
  [[nodiscard]] std::size_t next_h(std::span<T> items) const {
    return on_this_thread([&](auto m) { return next_all(m, items); });
  }
  [[nodiscard]] HIWAY_DEVICE std::size_t next_d(std::span<T> items) const {
    return on_this_device([&](auto m) { return next_all(m, items); });
  }
  [[nodiscard]] HIWAY_DEVICE std::size_t next(std::span<T> items) const {
    return anywhere([&](auto m) { return next_all(m, items); });
  }

  /// Ends the tasks of `tasks` items that were got. *Errors*: ending more than were got ends the run
  /// (end_task_too_many).
  void end_task_h(std::size_t tasks = 1) const {
    on_this_thread([&](auto m) { detail::count_finished(m, view_, tasks); });
  }
  HIWAY_DEVICE void end_task_d() const {
    on_this_device([&](auto m) { detail::end_tasks(m, view_, detail::together(m, view_), true); });
  }
  HIWAY_DEVICE void end_task() const {
    anywhere([&](auto m) { detail::end_tasks(m, view_, detail::together(m, view_), true); });
  }
  HIWAY_DEVICE void end_task_d(std::size_t tasks) const {
    on_this_device([&](auto m) { detail::end_several_tasks(m, view_, detail::together(m, view_), tasks); });
  }
  HIWAY_DEVICE void end_task(std::size_t tasks) const {
    anywhere([&](auto m) { detail::end_several_tasks(m, view_, detail::together(m, view_), tasks); });
  }

  /// True when this tunnel brings no more: its writers have closed and its tasks are ended.
  [[nodiscard]] bool has_ended_h() const {
    return on_this_thread([&](auto m) { return detail::tunnel_ended(m, view_); }, true);
  }
  [[nodiscard]] HIWAY_DEVICE bool has_ended_d() const {
    return on_this_device([&](auto m) { return detail::tunnel_ended(m, view_); }, true);
  }
  [[nodiscard]] HIWAY_DEVICE bool has_ended() const {
    return anywhere([&](auto m) { return detail::tunnel_ended(m, view_); }, true);
  }

  /// True when no outlet of this stage brings more.
  [[nodiscard]] bool is_terminate_h() const {
    return on_this_thread([&](auto m) { return detail::stage_ended(m, view_); }, true);
  }
  [[nodiscard]] HIWAY_DEVICE bool is_terminate_d() const {
    return on_this_device([&](auto m) { return detail::stage_ended(m, view_); }, true);
  }
  [[nodiscard]] HIWAY_DEVICE bool is_terminate() const {
    return anywhere([&](auto m) { return detail::stage_ended(m, view_); }, true);
  }

  /// Calls `body(item)` for every item and ends its task, until the tunnel has ended: the whole persistent loop.
  template <class Body>
  void for_each_h(Body&& body) const {
    on_this_thread([&](auto m) { detail::for_each<T>(m, view_, detail::together(m, view_), body); });
  }
  HIWAY_NO_SPACE_CHECK template <class Body>
  HIWAY_DEVICE void for_each_d(Body&& body) const {
    on_this_device([&](auto m) { detail::for_each<T>(m, view_, detail::together(m, view_), body); });
  }
  HIWAY_NO_SPACE_CHECK template <class Body>
  HIWAY_DEVICE void for_each(Body&& body) const {
    anywhere([&](auto m) { detail::for_each<T>(m, view_, detail::together(m, view_), body); });
  }

  // For a whole warp or block: all its lanes make the call together, and an item is one task. A CPU thread is a warp
  // and a block of one.

  /// Calls `body(item)` in all lanes together for one item after another, and ends its task, until the tunnel has
  /// ended: the whole persistent loop. A large item stays in its slot, which all lanes read; each lane has a copy of a
  /// small one.
  HIWAY_NO_SPACE_CHECK template <class Body>
  HIWAY_DEVICE void for_each_warp_d(Body&& body) const {
    on_this_device([&](auto m) { for_each_together(WarpTeam<decltype(m)>{m}, body); });
  }
  HIWAY_NO_SPACE_CHECK template <class Body>
  HIWAY_DEVICE void for_each_warp(Body&& body) const {
    anywhere([&](auto m) { for_each_together(WarpTeam<decltype(m)>{m}, body); });
  }
  HIWAY_NO_SPACE_CHECK template <class Body>
  HIWAY_DEVICE void for_each_block_d(Body&& body) const {
    on_this_device([&](auto m) { for_each_together(BlockTeam<decltype(m)>{m}, body); });
  }
  HIWAY_NO_SPACE_CHECK template <class Body>
  HIWAY_DEVICE void for_each_block(Body&& body) const {
    anywhere([&](auto m) { for_each_together(BlockTeam<decltype(m)>{m}, body); });
  }

  /// Gets one item for all lanes, if there is one: into each lane's own `item`, or into one in shared or device memory
  /// that all lanes name. Every lane has the same result.
  [[nodiscard]] HIWAY_DEVICE bool get_warp_d(T& item) const {
    return on_this_device([&](auto m) { return get_together(WarpTeam<decltype(m)>{m}, item); });
  }
  [[nodiscard]] HIWAY_DEVICE bool get_warp(T& item) const {
    return anywhere([&](auto m) { return get_together(WarpTeam<decltype(m)>{m}, item); });
  }
  [[nodiscard]] HIWAY_DEVICE bool get_block_d(T& item) const {
    return on_this_device([&](auto m) { return get_together(BlockTeam<decltype(m)>{m}, item); });
  }
  [[nodiscard]] HIWAY_DEVICE bool get_block(T& item) const {
    return anywhere([&](auto m) { return get_together(BlockTeam<decltype(m)>{m}, item); });
  }

  /// The same, but *waits*; false when the tunnel has ended.
  [[nodiscard]] HIWAY_DEVICE bool next_warp_d(T& item) const {
    return on_this_device([&](auto m) { return next_together(WarpTeam<decltype(m)>{m}, item); });
  }
  [[nodiscard]] HIWAY_DEVICE bool next_warp(T& item) const {
    return anywhere([&](auto m) { return next_together(WarpTeam<decltype(m)>{m}, item); });
  }
  [[nodiscard]] HIWAY_DEVICE bool next_block_d(T& item) const {
    return on_this_device([&](auto m) { return next_together(BlockTeam<decltype(m)>{m}, item); });
  }
  [[nodiscard]] HIWAY_DEVICE bool next_block(T& item) const {
    return anywhere([&](auto m) { return next_together(BlockTeam<decltype(m)>{m}, item); });
  }

  /// Gets as many items as there are, at most items.size(), in order. All lanes pass the same span, in memory that all
  /// of them reach, and copy into it side by side. Every lane has the same result, the number got, and sees all items.
  /// Never waits, like get; at most 65,536 at once. Not for items above 256 bytes.
  [[nodiscard]] HIWAY_DEVICE std::size_t get_warp_d(std::span<T> items) const {
    return on_this_device([&](auto m) { return get_all_together(WarpTeam<decltype(m)>{m}, items); });
  }
  [[nodiscard]] HIWAY_DEVICE std::size_t get_warp(std::span<T> items) const {
    return anywhere([&](auto m) { return get_all_together(WarpTeam<decltype(m)>{m}, items); });
  }
  [[nodiscard]] HIWAY_DEVICE std::size_t get_block_d(std::span<T> items) const {
    return on_this_device([&](auto m) { return get_all_together(BlockTeam<decltype(m)>{m}, items); });
  }
  [[nodiscard]] HIWAY_DEVICE std::size_t get_block(std::span<T> items) const {
    return anywhere([&](auto m) { return get_all_together(BlockTeam<decltype(m)>{m}, items); });
  }
  /// The same, but *waits* until there is one; 0 when the tunnel has ended or `items` is empty.
  [[nodiscard]] HIWAY_DEVICE std::size_t next_warp_d(std::span<T> items) const {
    return on_this_device([&](auto m) { return next_all_together(WarpTeam<decltype(m)>{m}, items); });
  }
  [[nodiscard]] HIWAY_DEVICE std::size_t next_warp(std::span<T> items) const {
    return anywhere([&](auto m) { return next_all_together(WarpTeam<decltype(m)>{m}, items); });
  }
  [[nodiscard]] HIWAY_DEVICE std::size_t next_block_d(std::span<T> items) const {
    return on_this_device([&](auto m) { return next_all_together(BlockTeam<decltype(m)>{m}, items); });
  }
  [[nodiscard]] HIWAY_DEVICE std::size_t next_block(std::span<T> items) const {
    return anywhere([&](auto m) { return next_all_together(BlockTeam<decltype(m)>{m}, items); });
  }

  /// Ends the tasks of `tasks` items that all lanes got together.
  HIWAY_DEVICE void end_task_warp_d(std::size_t tasks = 1) const {
    on_this_device([&](auto m) { detail::end_task_together(WarpTeam<decltype(m)>{m}, view_, tasks); });
  }
  HIWAY_DEVICE void end_task_warp(std::size_t tasks = 1) const {
    anywhere([&](auto m) { detail::end_task_together(WarpTeam<decltype(m)>{m}, view_, tasks); });
  }
  HIWAY_DEVICE void end_task_block_d(std::size_t tasks = 1) const {
    on_this_device([&](auto m) { detail::end_task_together(BlockTeam<decltype(m)>{m}, view_, tasks); });
  }
  HIWAY_DEVICE void end_task_block(std::size_t tasks = 1) const {
    anywhere([&](auto m) { detail::end_task_together(BlockTeam<decltype(m)>{m}, view_, tasks); });
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
  HIWAY_DEVICE OutletView const& view() const { return view_; }

 private:
  HIWAY_NO_SPACE_CHECK template <class Team, class Body>
  HIWAY_DEVICE void for_each_together(Team team, Body&& body) const {
    if constexpr (stays_in_slot<T>) {
      auto const work = [&](std::byte const* slot) { body(item_in<T>(slot)); };
      while (detail::await_together(team, view_, work)) detail::end_task_together(team, view_);
    } else {  // the slot is left before the body, which may put into the same ring (ring.hpp I5)
      ItemRoom<T> room;
      auto const read = [&](std::byte const* slot) { copy_item(room.item(), item_in<T>(slot)); };
      while (detail::await_together(team, view_, read)) {
        body(static_cast<T const&>(room.item()));
        detail::end_task_together(team, view_);
      }
    }
  }
  template <class Team>
  HIWAY_DEVICE bool get_together(Team team, T& item) const {
    bool const got = detail::work_together(team, view_, [&](std::byte const* slot) {
                       detail::copy_together(team, item, item_in<T>(slot));
                     }) == detail::Found::item;
    pause_unless(team.m, got);
    return got;
  }
  template <class Team>
  HIWAY_DEVICE bool next_together(Team team, T& item) const {
    return detail::await_together(team, view_,
                                  [&](std::byte const* slot) { detail::copy_together(team, item, item_in<T>(slot)); });
  }
  static constexpr void refuse_spans_of_large_items() {
    static_assert(!stays_in_slot<T>,
                  "hiway: Outlet<T>: no spans of items above 256 bytes on a device: work on each in its slot with "
                  "for_each_d, for_each_warp_d or for_each_block_d, or get one by one");
  }
  template <class Team>
  HIWAY_DEVICE std::size_t get_all_together(Team team, std::span<T> items) const {
    refuse_spans_of_large_items();
    std::size_t const n =
        detail::get_span_by_team(team, view_, items.size(), detail::ReadItems<T>{items.data()}).run.count;
    pause_unless(team.m, n != 0);
    return n;
  }
  template <class Team>
  HIWAY_DEVICE std::size_t next_all_together(Team team, std::span<T> items) const {
    refuse_spans_of_large_items();
    if (items.empty()) return 0;
    for (unsigned misses = 0;; team.m.relax(misses++)) {
      auto const claimed = detail::get_span_by_team(team, view_, items.size(), detail::ReadItems<T>{items.data()});
      if (claimed.run.count != 0 || claimed.ended) return claimed.run.count;
    }
  }
  template <class Machine>
  HIWAY_DEVICE std::size_t next_all(Machine m, std::span<T> items) const {
    for (;;) {
      if (std::size_t const n = get_all(m, items); n != 0 || items.empty()) return n;
      if (detail::tunnel_ended(m, view_)) return 0;
    }
  }
  template <class Machine>
  HIWAY_DEVICE std::size_t get_all(Machine m, std::span<T> items) const {
    refuse_spans_of_large_items();
    std::size_t const n =
        detail::get_span(m, view_, items.size(), after_misses(m.misses(misses_)), detail::ReadItems<T>{items.data()});
    after_get(m, n != 0);
    return n;
  }
  HIWAY_NO_SPACE_CHECK HIWAY_DEVICE std::size_t get_all(StageThread m, std::span<T> items) const {
    OutletView const& v = detail::fullest(m, view_);
    detail::refuse_if_over(m, v);
    auto const take = [&](Ring const& ring) { return detail::get_run(m, v, ring, items.data(), items.size()); };
    std::size_t n = take(detail::home_ring(m, v));
    if (n == 0 && detail::help_to_come(m, v)) n = take(v.ring);
    if (n == 0 && v.ring.shards > 1)
      n = take(shard(v.ring, find_shard(m, v.ring, 1u << m.lane(), detail::home_of(m, v))));
    if (has_spill(v.spill)) n += detail::get_run(m, v, *v.spill, items.data() + n, items.size() - n);
    after_get(m, n != 0);
    return n;
  }
  template <class Machine>
  HIWAY_DEVICE void after_get(Machine m, bool got) const {
    detail::note_result(m, view_, got);
    if (!got) leave_if_aborted(m, *view_.control, view_.tunnel);
    pause_unless(m, got);
  }
  template <class Machine>
  HIWAY_DEVICE void pause_unless(Machine m, bool got) const {
    unsigned& misses = m.misses(misses_);
    if (got) {
      misses = 0;
    } else {
      m.relax(misses++);
    }
  }
  template <class Machine>
  HIWAY_DEVICE bool get_with(Machine m, T& item) const {
    Credits const credits = after_misses(m.misses(misses_));
    bool const got = detail::get_once(m, view_, detail::together(m, view_), true, Credit::early, ReadItem<T>{item},
                                      credits, true, next_);
    after_get(m, got);
    return got;
  }
  template <class Machine>
  HIWAY_DEVICE bool next_with(Machine m, T& item) const {
    while (!get_with(m, item)) {
      if (detail::tunnel_ended(m, view_)) return false;
    }
    return true;
  }

  OutletView view_{};
  mutable unsigned misses_ = 0;     // where the machine keeps no count
  mutable std::uint32_t next_ = 0;  // TagReader::next
};

}  // namespace hiway
