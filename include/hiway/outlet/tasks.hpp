// Tasks: every item got is one until end_task; its puts come before that. end_task counts at once, in the word of the
// block (or thread); while the hand of a tunnel's only reader holds items, it counts with a later one (hand.hpp).
// Whether a tunnel, or a stage, has ended (termination.hpp T1, T7).
#pragma once
#include <cstdint>

#include "hiway/branches.hpp"
#include "hiway/fault.hpp"
#include "hiway/grouping/lane_sums.hpp"
#include "hiway/machine/stage_thread.hpp"
#include "hiway/outlet/hand.hpp"
#include "hiway/outlet/staged.hpp"
#include "hiway/outlet/view.hpp"

namespace hiway::detail {

/// Ends of tasks that are counted with later ones: the thread's hand holds items, which others cannot take.
template <class Machine>
inline bool defer_ends(Machine m, OutletView const& v, std::uint64_t n) {
  Hand* const hand = hand_of(m, v);
  if (hand == nullptr || hand->is_shared() || hand->held(m) == 0) return false;
  hand->defer_ends(n);
  return true;
}

HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline void count_finished_in(Machine m, OutletView const& v, std::uint64_t n) {
  OutletPort& port = port_of(m, v);
  if constexpr (RoleOf<Machine>::keeps_hand) {
    if (defer_ends(m, v, n)) return;
    if (Hand* const hand = hand_of(m, v); hand != nullptr) n += hand->take_ends();
  }
  if constexpr (RoleOf<Machine>::stages_puts) {
    if (port.staged != nullptr) empty_all_of_thread(m, port.staged->writes);  // P4
  }
  // T1; acquires the siblings' got
  std::uint64_t const finished = m.fetch_add(port.finished, n, MemoryOrder::acq_rel) + n;
  if (finished > m.load(port.got, MemoryOrder::relaxed))
    raise(m, *v.control, FaultKind::end_task_too_many, v.stage, v.tunnel, finished);
}
/// Counts `n` tasks of the calling lane's block as ended.
template <class Machine>
HIWAY_DEVICE inline void count_finished(Machine m, OutletView const& v, std::uint64_t n) {
  if constexpr (RoleOf<Machine>::has_branches) {
    for (std::uint32_t i = 0; i < v.further_branches; ++i) {  // B1
      OutletPort& port = *v.branches[i].ports;                // this thread's own
      std::uint64_t const open = m.load(port.got, MemoryOrder::relaxed) - m.load(port.finished, MemoryOrder::relaxed);
      std::uint64_t const some = open < n ? open : n;
      if (some != 0) count_finished_in(m, v.branches[i], some);
      n -= some;
    }
    if (n == 0) return;
  }
  count_finished_in(m, v, n);
}

/// The same, not compiled into each call.
template <class Machine>
[[gnu::noinline]] void count_finished_apart(Machine m, OutletView const& v, std::uint64_t n) {
  count_finished(m, v, n);
}
/// A CPU thread's call ends `n` tasks.
template <class Machine>
inline void end_own_tasks(Machine m, OutletView const& v, std::uint64_t n) {
  if (!defer_ends(m, v, n)) count_finished_apart(m, v, n);
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
  if (m.load(*v.stage_ended, MemoryOrder::acquire) != 0) return true;
  leave_if_aborted(m, *v.control, v.tunnel);
  return false;
}

}  // namespace hiway::detail
