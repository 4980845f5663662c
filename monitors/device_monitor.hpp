// The device monitor: a kernel of its own that runs the device's half of every tunnel, relays aborts both ways,
// throttles, has kernels that yield come back, and checks for the end. With a warp for each part of this work none
// waits for another's reads across the bus or for another's writes to become visible. With one warp, that warp does
// everything. The same template runs on the emulated device.
#pragma once
#include <cstdint>

#include "delegate.hpp"
#include "drain.hpp"
#include "hiway/launch/slice.hpp"
#include "hiway/relay.hpp"
#include "hiway/termination.hpp"
#include "recall.hpp"
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

/// The parts of the monitor's work, as bits.
enum MonitorPart : std::uint32_t {
  checks = 1,
  tells_puts = 2,
  tells_gets = 4,
  hears = 8,
  recalls = 16,
  all_parts = 31
};
inline constexpr unsigned monitor_parts = 5;

/// What the checking warp remembers between rounds.
struct Checked {
  bool ended = false;
  std::uint32_t started = 0;
  // Of a monitor that yields: what was seen when something moved last, and when.
  std::uint32_t moves = 0;
  std::uint32_t units = 0;
  std::uint64_t quiet_since_ns = 0;
  std::uint32_t next = 0;   ///< the launch that may start, as it has said
  std::uint32_t asked = 0;  ///< rounds that it has asked the other warps for
  /// Rounds since it has been quiet for long: in the first one it asks, and in the third one it leaves.
  std::uint32_t calls = 0;
};

/// Of kernels that yield. If all do, the monitor does, too: each launch of it stays for a slice (launch/slice.hpp), or
/// until nothing has moved for some time while all kernels are away.
struct MonitorSlices {
  std::uint64_t ns = 0;                                  ///< 0: the monitor is resident
  std::uint64_t idle_ns = 0;                             ///< how long nothing must have moved
  SliceNews* news = nullptr;                             ///< at the host's home
  Word<std::uint32_t> launch{1};                         ///< the launch that is on the device, or the next one
  Word<std::uint32_t> left{0};                           ///< warps that have left
  Word<std::uint32_t> moves{0};                          ///< how often the other warps have moved something
  Word<std::uint32_t> asked{0};                          ///< rounds that the warp that checks has asked the others for
  Word<std::uint32_t> answered[monitor_parts - 1] = {};  ///< by each of them: the last one that it has made
  RecallTable recall;                                    ///< kernels that yield
  Checked checked;                                       ///< used by the warp that checks only
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
  Word<std::uint32_t> leave_after{0};  ///< the last launch that is to leave; written by the warp that checks
  MonitorSlices slices;
};

/// The parts of warp `warp`; `warps` is one or monitor_parts.
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
  return {r.ring, r.link, m.load(r.to, MemoryOrder::relaxed)};
}

/// Whether a warp with these parts tells of the half-ring.
HIWAY_DEVICE inline bool tells_of(std::uint32_t parts, Ring const& ring) {
  return (parts & (ring.part == RingPart::outbox ? MonitorPart::tells_puts : MonitorPart::tells_gets)) != 0;
}

/// For the next launch: how far the lane has come with its first relay, if that is its own.
template <class Machine>
HIWAY_DEVICE inline void give_back(Machine m, MonitorTable& t, Relay Relays::*way, HeldRelay const& held, bool is_own) {
  if (held.link.is_set() && is_own) m.store((t.relays[m.lane()].*way).to, held.to, MemoryOrder::relaxed);
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
  bool const host_aborts =
      m.load_across(t.host_control->aborted, MemoryOrder::relaxed) != 0;  // in flight with the others
  if (held.link.is_set()) {
    std::uint64_t const from = held.to;
    held.to = hear(m, held.ring, held.link, from);
    moved = held.to != from;
  }
  for (std::uint32_t i = m.lane() + width; i < t.relay_count; i += width) moved = hear(m, t.relays[i].hears) || moved;
  for (std::uint32_t i = m.lane(); i < t.heard_count; i += width) moved = hear(m, t.heard_words[i]) || moved;
  if (m.ballot(m.lanes(), host_aborts) != 0) {
    by_one_lane(m, [&] {
      m.store(t.host_aborts, 1u, MemoryOrder::relaxed);
      m.store(t.control->aborted, 1u, MemoryOrder::release);
    });
  }
  return m.ballot(m.lanes(), moved) != 0;
}

/// True when the run is aborting. Tells the host of a fault on the device.
template <class Machine>
HIWAY_DEVICE inline bool relay_abort(Machine m, MonitorTable& t) {
  if (m.ballot(m.lanes(), is_aborted(m, *t.control)) == 0) return false;
  by_one_lane(m, [&] {
    if (m.load(t.host_aborts, MemoryOrder::relaxed) != 0) return;
    while (m.load(t.control->ready, MemoryOrder::acquire) == 0) m.relax(0);  // its writer never waits
    t.notice->record = t.control->record;
    m.store_across(t.notice->faulted, 1u, MemoryOrder::release);
  });
  return true;
}

/// How many of the gates, from the first on, have reached their count.
template <class Machine>
HIWAY_DEVICE inline std::uint32_t gates_reached(Machine m, CountGate const* gates, std::uint32_t count) {
  std::uint32_t reached = 0;
  while (reached < count &&
         m.ballot(m.lanes(), m.load(*gates[reached].word, MemoryOrder::acquire) < gates[reached].needed) == 0)
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
    if (so_far.ended && m.lane() == 0) m.store_across(t.notice->ended, 1u, MemoryOrder::release);
  } else {
    over = gates_reached(m, t.stages.returned, t.stages.count) == t.stages.count;
  }
  if (so_far.started != t.stages.count) {
    so_far.started = gates_reached(m, t.stages.started, t.stages.count);
    if (m.lane() == 0) m.store_across(t.notice->stages_started, so_far.started, MemoryOrder::release);
  }
  return over;
}

/// Both parts that tell.
inline constexpr std::uint32_t all_tells = MonitorPart::tells_puts | MonitorPart::tells_gets;
/// Every launch.
inline constexpr std::uint32_t for_good = ~0u;

/// Which launch of the monitor it is, and of how many warps.
struct Launched {
  std::uint32_t launch;
  std::uint32_t warps;
};

/// How many units' gates have opened, and units have ended.
template <class Machine>
HIWAY_DEVICE inline std::uint32_t steps_to_the_end(Machine, TerminationTable const& termination) {
  std::uint32_t steps = 0;
  for (std::uint32_t u = 0; u < termination.unit_count; ++u)
    steps += termination.units[u].gate_open + termination.units[u].ended;
  return steps;
}

/// What a monitor that yields has found to do. still: nothing just now, but something may come, or may not be seen yet.
enum class Business : std::uint8_t { some, still, none };

/// Asks the other warps of the monitor for a whole round.
template <class Machine>
HIWAY_DEVICE inline void ask_for_a_round(Machine m, MonitorTable& t, Checked& so_far) {
  ++so_far.asked;
  if (m.lane() == 0) m.store(t.slices.asked, so_far.asked, MemoryOrder::release);
}
/// Whether they have made it.
template <class Machine>
HIWAY_DEVICE inline bool have_all_looked(Machine m, MonitorTable& t, Checked const& so_far, unsigned warps) {
  bool missing = false;
  for (std::uint32_t w = m.lane(); w < warps - 1; w += m.count(m.lanes()))
    missing = m.load(t.slices.answered[w], MemoryOrder::acquire) != so_far.asked || missing;
  m.sync_warp(m.lanes());
  return m.ballot(m.lanes(), missing) == 0;
}

/// By the checking warp of a monitor that yields, in each round. What comes from the host after `none`, the host itself
/// sees (lib/pipeline/run_kernels.hpp). What moved before, has been seen: each other warp has made a whole round since
/// it was asked, and found nothing, and this one after that.
template <class Machine>
HIWAY_DEVICE inline Business look_for_business(Machine m, MonitorTable& t, TerminationTable const& termination,
                                               Checked& so_far, unsigned warps, bool moved) {
  std::uint64_t const now = m.shuffle(m.lanes(), m.now_ns(), 0);
  bool const all_looked = have_all_looked(m, t, so_far, warps);
  std::uint32_t const moves = m.shuffle(m.lanes(), m.load(t.slices.moves, MemoryOrder::relaxed), 0);
  std::uint32_t const units = steps_to_the_end(m, termination);
  if (moved || so_far.ended || moves != so_far.moves || units != so_far.units) {
    so_far.moves = moves;
    so_far.units = units;
    so_far.quiet_since_ns = now;
    so_far.calls = 0;
    return Business::some;
  }
  if (!all_looked || now - so_far.quiet_since_ns < t.slices.idle_ns) return Business::still;
  if (so_far.calls == 0) ask_for_a_round(m, t, so_far);
  return ++so_far.calls > 2 ? Business::none : Business::still;
}

/// One round of the warp's relays, and of calls for kernels; true when something moved, or a kernel is there.
template <class Machine>
HIWAY_DEVICE inline bool relay_all(Machine m, MonitorTable& t, std::uint32_t parts, HeldRelay& told, HeldRelay& heard) {
  bool moved = false;
  if ((parts & all_tells) != 0) moved = tell_all(m, t, parts, told);
  if ((parts & MonitorPart::hears) != 0) moved = hear_all(m, t, heard) || moved;
  if ((parts & MonitorPart::recalls) != 0 && t.slices.recall.kernel_count != 0)
    moved = !recall_round(m, t.slices.recall) || moved;
  return moved;
}

/// The monitor is to come back after this launch.
template <class Machine>
HIWAY_DEVICE inline void note_next(Machine m, MonitorTable& t, Checked& so_far, std::uint32_t launch) {
  if (so_far.next == launch + 1) return;
  so_far.next = launch + 1;
  if (m.lane() == 0) m.store_across(t.slices.news->next, launch + 1, MemoryOrder::relaxed);
}

/// One round of the checking warp. The last launch that is to leave.
template <class Machine>
HIWAY_DEVICE inline std::uint32_t check_or_leave(Machine m, MonitorTable& t, TerminationTable& termination,
                                                 Checked& so_far, Launched launched, bool& moved) {
  bool const over = check_all(m, t, termination, so_far, moved);
  std::uint32_t leave_after = over ? for_good : 0;
  if (!over && t.slices.ns != 0) {
    Business const business = look_for_business(m, t, termination, so_far, launched.warps, moved);
    if (business == Business::some) note_next(m, t, so_far, launched.launch);
    if (business == Business::none) leave_after = launched.launch;
  }
  if (leave_after != 0 && m.lane() == 0) {
    m.store(t.leave_after, leave_after, MemoryOrder::relaxed);
    if (over && t.slices.ns != 0) m.store_across(t.slices.news->over, 1u, MemoryOrder::relaxed);
  }
  return leave_after;
}

/// A warp that does not check, after a round before which it has read `asked`: for look_for_business().
template <class Machine>
HIWAY_DEVICE inline void note_round(Machine m, MonitorTable& t, std::uint32_t part, bool moved, std::uint32_t asked,
                                    std::uint32_t& answered) {
  if (t.slices.ns == 0 || m.lane() != 0) return;
  if (moved) m.fetch_add(t.slices.moves, 1u, MemoryOrder::relaxed);
  if (asked != answered) m.store(t.slices.answered[m.lowest(part) - 1], asked, MemoryOrder::release);
  answered = asked;
}

/// Says that the warp leaves: L4 of launch/slice.hpp.
template <class Machine>
HIWAY_DEVICE inline void leave_launch(Machine m, MonitorTable& t, Launched launched) {
  if (t.slices.ns == 0) return;
  by_one_lane(m, [&] {
    if (m.fetch_add(t.slices.left, 1u, MemoryOrder::acq_rel) + 1 == launched.warps)
      leave_last(m, t.slices.launch, t.slices.left, *t.slices.news);
  });
}

/// The life of one warp of the monitor, which does these parts, in one launch; all its lanes call it. `room`: near
/// memory for the warp that checks.
template <class Machine>
HIWAY_DEVICE inline void run_device_monitor(Machine m, MonitorTable& t, std::uint32_t parts = all_parts,
                                            CheckRoom room = {}) {
  if (parts == MonitorPart::recalls && t.slices.recall.kernel_count == 0) return;
  std::uint32_t const launch = m.load(t.slices.launch, MemoryOrder::relaxed);
  Launched const launched{launch, parts == all_parts ? 1u : monitor_parts};
  Slice const slice{.ns = t.slices.ns};
  SliceClock<Machine> clock(m, slice);
  Checked so_far = t.slices.checked;
  bool const has_checks = (parts & MonitorPart::checks) != 0;
  bool const has_tells = (parts & all_tells) != 0;
  bool const has_hears = (parts & MonitorPart::hears) != 0;
  TerminationTable& termination = has_checks ? bring_near(m, t.termination, room) : t.termination;
  HeldRelay told = has_tells ? hold(m, t, &Relays::tells) : HeldRelay{};
  HeldRelay heard = has_hears ? hold(m, t, &Relays::hears) : HeldRelay{};
  if (has_checks && m.lane() == 0) m.store_across(t.notice->alive, 1u, MemoryOrder::release);
  if ((parts & MonitorPart::recalls) != 0) hear_of_launches(m, t.slices.recall);
  if (has_checks && t.slices.ns != 0) ask_for_a_round(m, t, so_far);
  std::uint32_t answered = 0;
  for (unsigned misses = 0;;) {
    // In flight with what follows.
    std::uint32_t leave_after = has_checks ? 0 : m.load(t.leave_after, MemoryOrder::relaxed);
    std::uint32_t const asked = has_checks ? 0 : m.load(t.slices.asked, MemoryOrder::acquire);
    bool moved = relay_all(m, t, parts, told, heard);
    if (has_checks) {
      leave_after = check_or_leave(m, t, termination, so_far, launched, moved);
    } else {
      note_round(m, t, parts, moved, asked, answered);
    }
    if (m.ballot(m.lanes(), leave_after >= launch) != 0) break;
    if (clock.is_over(m, m.lanes())) {
      if (has_checks) note_next(m, t, so_far, launch);
      break;
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
  if (has_tells) give_back(m, t, &Relays::tells, told, tells_of(parts, told.ring));
  if (has_hears) give_back(m, t, &Relays::hears, heard, true);
  if (has_checks && t.slices.ns != 0) {
    take_back(m, termination, t.termination);
    by_one_lane(m, [&] { t.slices.checked = so_far; });
  }
  leave_launch(m, t, launched);
}

}  // namespace hiway
