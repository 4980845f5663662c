// The device monitor: a kernel of its own that runs the device's half of every tunnel, relays aborts both ways,
// throttles, and checks for the end. With four warps, each does one part of this work, so no warp waits for another's
// reads across the bus or for another's writes to become visible. With one warp, that warp does everything. The same
// template runs on the emulated device.
#pragma once
#include <cstdint>

#include "delegate.hpp"
#include "drain.hpp"
#include "hiway/launch/slice.hpp"
#include "hiway/relay.hpp"
#include "hiway/termination.hpp"
#include "throttle.hpp"

namespace hiway {

/// What the device tells the host; in pinned host memory, written by the device monitor only.
struct DeviceNotice {
  alignas(64) Word<std::uint32_t> faulted{0};  ///< set after `record`
  Word<std::uint32_t> ended{0};                ///< every unit has ended
  Word<std::uint32_t> alive{0};                ///< the monitor itself runs
  /// How many device stages have all their blocks running: stages in order, up to the first that does not
  Word<std::uint32_t> stages_started{0};
  FaultRecord record;
};

/// The words of every device stage's blocks.
struct StageGates {
  CountGate* started = nullptr;
  CountGate* returned = nullptr;
  std::uint32_t count = 0;  ///< stages
};

/// What the checking warp remembers between rounds.
struct Checked {
  bool ended = false;
  std::uint32_t started = 0;
};

/// Of a monitor that yields: each launch of it stays for a slice (launch/slice.hpp).
struct MonitorSlices {
  std::uint64_t ns = 0;        ///< 0: the monitor is resident
  SliceNews* news = nullptr;   ///< at the host's home
  std::uint32_t launches = 0;  ///< used by the warp that checks only, as is the next
  Checked checked;
};

/// Everything the device monitor works on; at the device's home.
struct MonitorTable {
  Control* control = nullptr;        ///< the device's
  Control* host_control = nullptr;   ///< only `aborted` is read, across
  DeviceNotice* notice = nullptr;    ///< at the host's home
  Relays* relays = nullptr;          ///< of every half-ring at the device
  HeardWord* heard_words = nullptr;  ///< further words of the host's
  Drain* drains = nullptr;
  std::uint32_t relay_count = 0;
  std::uint32_t heard_count = 0;
  std::uint32_t drain_count = 0;
  StageGates stages;
  TerminationTable termination;
  ThrottleTable throttles;
  Word<std::uint32_t> host_aborts{0};  ///< set by the warp that hears, just before it sets the device's `aborted`
  Word<std::uint32_t> over{0};         ///< set when the warp that checks leaves
  MonitorSlices slices;
};

/// The parts of the monitor's work, as bits.
enum MonitorPart : std::uint32_t { checks = 1, tells_puts = 2, tells_gets = 4, hears = 8, all_parts = 15 };
/// The parts of warp `warp`; `warps` is one or four.
HIWAY_DEVICE constexpr std::uint32_t parts_of(unsigned warp, unsigned warps) {
  return warps == 1 ? std::uint32_t{all_parts} : 1u << warp;
}

/// A relay held in its lane's registers. In memory it would be read again after every acquire.
struct HeldRelay {
  Ring ring;
  WordLink link{};  ///< not set: the lane has none
  std::uint64_t to = 0;
};
/// The lane's first relay.
template <class Machine>
HIWAY_DEVICE inline HeldRelay hold(Machine m, MonitorTable& t, Relay Relays::*way) {
  if (m.lane() >= t.relay_count) return {};
  Relay& r = t.relays[m.lane()].*way;
  return {r.ring, r.link, m.load(r.to, Order::relaxed)};
}

/// Whether a warp with these parts tells of the half-ring.
HIWAY_DEVICE inline bool tells_of(std::uint32_t parts, Ring const& ring) {
  return (parts & (ring.part == RingPart::outbox ? MonitorPart::tells_puts : MonitorPart::tells_gets)) != 0;
}

/// For the next launch: how far the lane has come with its first relay, if that is its own.
template <class Machine>
HIWAY_DEVICE inline void give_back(Machine m, MonitorTable& t, Relay Relays::*way, HeldRelay const& held, bool is_own) {
  if (held.link.is_set() && is_own) m.store((t.relays[m.lane()].*way).to, held.to, Order::relaxed);
}

/// One step of every relay that tells and belongs to `parts`, one lane for each. True when something moved.
template <class Machine>
HIWAY_DEVICE inline bool tell_all(Machine m, MonitorTable& t, std::uint32_t parts, HeldRelay& held) {
  unsigned const width = m.count(m.lanes());
  bool moved = false;
  if (held.link.is_set() && tells_of(parts, held.ring)) {
    std::uint64_t const from = held.to;
    held.to = tell(m, held.ring, held.link, from);
    moved = held.to != from;
  }
  for (std::uint32_t i = m.lane() + width; i < t.relay_count; i += width) {
    Relay& relay = t.relays[i].tells;
    if (tells_of(parts, relay.ring)) moved = tell(m, relay) || moved;
  }
  return m.ballot(m.lanes(), moved) != 0;
}

/// One step of every relay that hears, one lane for each; also checks whether the host aborts. Each read across takes
/// the bus's whole latency, so separate lanes keep all of them in flight at once. True when something moved.
template <class Machine>
HIWAY_DEVICE inline bool hear_all(Machine m, MonitorTable& t, HeldRelay& held) {
  unsigned const width = m.count(m.lanes());
  bool moved = false;
  bool const host_aborts = m.load_across(t.host_control->aborted, Order::relaxed) != 0;  // in flight with the others
  if (held.link.is_set()) {
    std::uint64_t const from = held.to;
    held.to = hear(m, held.ring, held.link, from);
    moved = held.to != from;
  }
  for (std::uint32_t i = m.lane() + width; i < t.relay_count; i += width) moved = hear(m, t.relays[i].hears) || moved;
  for (std::uint32_t i = m.lane(); i < t.heard_count; i += width) moved = hear(m, t.heard_words[i]) || moved;
  if (m.ballot(m.lanes(), host_aborts) != 0) {
    by_one_lane(m, [&] {
      m.store(t.host_aborts, 1u, Order::relaxed);
      m.store(t.control->aborted, 1u, Order::release);
    });
  }
  return m.ballot(m.lanes(), moved) != 0;
}

/// True when the run is aborting. Tells the host of a fault on the device.
template <class Machine>
HIWAY_DEVICE inline bool relay_abort(Machine m, MonitorTable& t) {
  if (m.ballot(m.lanes(), is_aborted(m, *t.control)) == 0) return false;
  by_one_lane(m, [&] {
    if (m.load(t.host_aborts, Order::relaxed) != 0) return;
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

/// One round of the checking warp; true when the monitor's life is over.
template <class Machine>
HIWAY_DEVICE inline bool check_all(Machine m, MonitorTable& t, TerminationTable& termination, Checked& so_far,
                                   bool& moved) {
  for (std::uint32_t i = 0; i < t.drain_count; ++i) moved = step(m, t.drains[i], *t.control) || moved;
  if (t.throttles.cycle_count != 0) moved = step(m, t.throttles, m.now_ns()) || moved;
  if (relay_abort(m, t)) return true;
  bool over = false;
  if (!so_far.ended) {
    so_far.ended = (termination.news != nullptr ? delegate_round(m, termination)
                                                : check_round(m, termination, *t.control)) == CheckResult::ended;
    if (so_far.ended && m.lane() == 0) m.store_across(t.notice->ended, 1u, Order::release);
  } else {
    over = gates_reached(m, t.stages.returned, t.stages.count) == t.stages.count;
  }
  if (so_far.started != t.stages.count) {
    so_far.started = gates_reached(m, t.stages.started, t.stages.count);
    if (m.lane() == 0) m.store_across(t.notice->stages_started, so_far.started, Order::release);
  }
  return over;
}

/// Both parts that tell.
inline constexpr std::uint32_t all_tells = MonitorPart::tells_puts | MonitorPart::tells_gets;

/// One round of the warp's relays; true when something moved.
template <class Machine>
HIWAY_DEVICE inline bool relay_all(Machine m, MonitorTable& t, std::uint32_t parts, HeldRelay& told, HeldRelay& heard) {
  bool moved = false;
  if ((parts & all_tells) != 0) moved = tell_all(m, t, parts, told);
  if ((parts & MonitorPart::hears) != 0) moved = hear_all(m, t, heard) || moved;
  return moved;
}

/// The life of one warp of the monitor, which does these parts; all its lanes call it. `room`: near memory for the warp
/// that checks.
template <class Machine>
HIWAY_DEVICE inline void run_device_monitor(Machine m, MonitorTable& t, std::uint32_t parts = all_parts,
                                            CheckRoom room = {}) {
  SliceClock<Machine> const clock(m, Slice{.ns = t.slices.ns});
  Checked so_far = t.slices.checked;
  bool const has_checks = (parts & MonitorPart::checks) != 0;
  bool const has_tells = (parts & all_tells) != 0;
  bool const has_hears = (parts & MonitorPart::hears) != 0;
  // A table that is near would be lost with the launch.
  TerminationTable& termination = has_checks && t.slices.ns == 0 ? bring_near(m, t.termination, room) : t.termination;
  HeldRelay told = has_tells ? hold(m, t, &Relays::tells) : HeldRelay{};
  HeldRelay heard = has_hears ? hold(m, t, &Relays::hears) : HeldRelay{};
  if (has_checks && m.lane() == 0) {
    m.store_across(t.notice->alive, 1u, Order::release);
    if (t.slices.ns != 0) m.store_across(t.slices.news->begun, ++t.slices.launches, Order::relaxed);
  }
  for (unsigned misses = 0;;) {
    bool const over = !has_checks && m.load(t.over, Order::relaxed) != 0;  // in flight with what follows
    bool moved = relay_all(m, t, parts, told, heard);
    if (has_checks) {
      if (check_all(m, t, termination, so_far, moved)) {
        if (m.lane() == 0) {
          m.store(t.over, 1u, Order::relaxed);
          if (t.slices.ns != 0) m.store_across(t.slices.news->over, 1u, Order::relaxed);
        }
        return;
      }
    } else if (m.ballot(m.lanes(), over) != 0) {
      return;
    }
    if (clock.is_over(m, m.lanes())) {
      if (has_tells) give_back(m, t, &Relays::tells, told, tells_of(parts, told.ring));
      if (has_hears) give_back(m, t, &Relays::hears, heard, true);
      if (has_checks) by_one_lane(m, [&] { t.slices.checked = so_far; });
      return;
    }
    if (moved) {
      misses = 0;
      continue;
    }
    // Every tunnel's latency depends on the monitor, so it polls fast. Only a warp that hears backs off, to spare the
    // bus, once nothing has moved for long.
    m.relax(!has_hears || misses < long_wait_misses ? 0 : misses);
    ++misses;
  }
}

}  // namespace hiway
