// The device monitor: one warp, in a kernel of its own, that runs the device's half of every tunnel, relays aborts both
// ways, throttles, and checks for the end. The same template runs on the emulated device.
#pragma once
#include <cstdint>

#include "hiway/termination.hpp"
#include "relay.hpp"
#include "throttle.hpp"

namespace hiway {

/// What the device tells the host; in pinned host memory, written by the device monitor only.
struct DeviceNotice {
  alignas(64) Word<std::uint32_t> faulted{0};  ///< set after `record`
  Word<std::uint32_t> ended{0};                ///< every unit has ended
  Word<std::uint32_t> alive{0};                ///< the monitor itself runs
  Word<std::uint32_t> stages_started{
      0};  ///< device stages whose blocks all run, in their order, up to the first that does not
  FaultRecord record;
};

/// Everything the device monitor works on; at the device's home.
struct MonitorTable {
  Control* control = nullptr;       ///< the device's
  Control* host_control = nullptr;  ///< only `aborted` is read, across
  DeviceNotice* notice = nullptr;   ///< at the host's home
  OutboxRelay* outboxes = nullptr;
  InboxRelay* inboxes = nullptr;
  Drain* drains = nullptr;
  CountGate* started = nullptr;   ///< every device stage's blocks
  CountGate* returned = nullptr;  ///< likewise
  std::uint32_t outbox_count = 0;
  std::uint32_t inbox_count = 0;
  std::uint32_t drain_count = 0;
  std::uint32_t stage_count = 0;
  TerminationTable termination;
  ThrottleTable throttles;
};

/// What lies across of as many relays as there are lanes; each lane has a relay's.
struct Across {
  std::uint64_t arrived = 0;
  std::uint64_t retired = 0;
  std::uint32_t host_aborts = 0;
};

/// Looks at what lies across for the relays from `first` on: all at once, since each look takes the bus's whole latency.
/// What has changed is acquired (M2, M3).
template <class Machine>
HIWAY_DEVICE inline Across look_across(Machine m, MonitorTable& t, std::uint32_t first) {
  Across seen;
  std::uint32_t const mine = first + m.lane();
  bool news = false;
  if (mine < t.inbox_count) seen.arrived = m.load_across_ahead(*t.inboxes[mine].arrived);
  if (mine < t.outbox_count) seen.retired = m.load_across_ahead(*t.outboxes[mine].retired);
  seen.host_aborts = m.load_across_ahead(t.host_control->aborted);
  if (mine < t.inbox_count) news = seen.arrived != t.inboxes[mine].admitted_to;
  if (mine < t.outbox_count) news = news || seen.retired != t.outboxes[mine].credited_to;
  if (m.ballot(m.lanes(), news || seen.host_aborts != 0) != 0) m.acquire_across_ahead();
  return seen;
}

/// One step of every relay; true when something moved.
template <class Machine>
HIWAY_DEVICE inline bool step_relays(Machine m, MonitorTable& t, std::uint32_t& host_aborts) {
  std::uint32_t const all = m.lanes();
  unsigned const width = m.count(all);
  bool moved = false;
  std::uint32_t first = 0;
  do {
    Across const seen = look_across(m, t, first);
    host_aborts |= m.ballot(all, seen.host_aborts != 0);
    for (unsigned i = 0; i < width && first + i < t.inbox_count; ++i)
      moved = step(m, t.inboxes[first + i], m.shuffle(all, seen.arrived, i)) || moved;
    for (unsigned i = 0; i < width && first + i < t.outbox_count; ++i)
      moved = step(m, t.outboxes[first + i], m.shuffle(all, seen.retired, i)) || moved;
    first += width;
  } while (first < t.inbox_count || first < t.outbox_count);
  return moved;
}

/// Relays aborts; true when the run is aborting. `host_aborts`: not 0 when the host does.
template <class Machine>
HIWAY_DEVICE inline bool relay_abort(Machine m, MonitorTable& t, std::uint32_t host_aborts) {
  if (host_aborts != 0) {
    by_one_lane(m, [&] { m.store(t.control->aborted, 1u, Order::release); });
    return true;
  }
  if (m.ballot(m.lanes(), is_aborted(m, *t.control)) == 0) return false;
  by_one_lane(m, [&] {
    while (m.load(t.control->ready, Order::acquire) == 0) m.relax(0);  // its writer never waits
    t.notice->record = t.control->record;
    m.store_across(t.notice->faulted, 1u, Order::release);
  });
  return true;
}

/// How many of the gates, from the first on, have reached their count.
template <class Machine>
HIWAY_DEVICE inline std::uint32_t gates_reached(Machine m, CountGate const* gates, std::uint32_t count) {
  std::uint32_t reached = 0;
  while (reached < count &&
         m.ballot(m.lanes(), m.load(*gates[reached].word, Order::acquire) < gates[reached].needed) == 0)
    ++reached;
  return reached;
}

/// The monitor's whole life; all lanes of its one warp call it.
template <class Machine>
HIWAY_DEVICE inline void run_device_monitor(Machine m, MonitorTable& t) {
  bool ended = false;
  std::uint32_t started = 0;
  if (m.lane() == 0) m.store_across(t.notice->alive, 1u, Order::release);
  for (unsigned misses = 0;;) {
    std::uint32_t host_aborts = 0;
    bool moved = step_relays(m, t, host_aborts);
    for (std::uint32_t i = 0; i < t.drain_count; ++i) moved = step(m, t.drains[i], *t.control) || moved;
    if (t.throttles.cycle_count != 0) moved = step(m, t.throttles, m.now_ns()) || moved;
    if (relay_abort(m, t, host_aborts)) return;
    if (!ended) {
      ended = check_round(m, t.termination, *t.control) == CheckResult::ended;
      if (ended && m.lane() == 0) m.store_across(t.notice->ended, 1u, Order::release);
    } else if (gates_reached(m, t.returned, t.stage_count) == t.stage_count) {
      return;
    }
    if (started != t.stage_count) {
      started = gates_reached(m, t.started, t.stage_count);
      if (m.lane() == 0) m.store_across(t.notice->stages_started, started, Order::release);
    }
    if (moved) {
      misses = 0;
      continue;
    }
    // Everybody's latency hangs on the monitor: it polls fast until all has been still for long, then spares the bus.
    m.relax(misses < long_wait_misses ? 0 : misses);
    ++misses;
  }
}

}  // namespace hiway
