// When a pipeline has ended. Rules and verdicts of the model check: docs/termination.md. These are the paper's end
// markers, triggered late: counting is always on and costs nothing (a ring's granted tickets are `created`), and a unit
// is checked only once its gate is open.
//
//   unit      a strongly connected set of tunnels (a leads to b when a stage reads a and writes b); checked as a whole
//   created   tickets granted: `claimed` of each ring or outbox, and of each spill pool, at the producers' home; and
//             what readers took from writers' stagings (inlet/staging.hpp), at the host
//   finished  tasks ended: one word per reading thread or block, at the consumers' home; what a spill drain moved, at
//             the producers'
//   gate      every outside writer has closed, and every unit read by an inside writer has ended
//
// There is one checker: the device monitor's warp, or the supervisor when nothing of the pipeline is on the device.
// It goes round all units and never waits for one while another is open. For a unit whose gate is open it reads every
// finished, then every created. If the sums are equal, no task is left that could create another. It then closes the
// unit and reads every created again: a put that took its ticket too late to see `closed` is seen here. If nothing has
// come, the unit has ended.
//
//   word              written by                         read by
//   finished[i]       the lanes of one block or a thread  the checker (and their own block, for misuse)
//   claimed           producers                           the checker
//   closed_executors  each thread or block, once          the checker
//   got[i]            like finished                       their own block: one end_task too many
//   closed_lanes      each lane of a writer               its own puts
//   started, returned each block or thread, once          the device monitor; the checker (items left)
//   closing           the checker, at the host            transfer lines
//   EndWords closed   the checker, at both homes          every put, after its ticket
//   EndWords ended    the checker, at both homes          readers
//   EndWords throttled  likewise, one home (throttle.hpp)   puts from outside a cycle, before their ticket
//   stage_ended       the checker, at the stage's home    readers (all outlets of the stage have ended)
//
//   T1  a task's puts take their tickets before the task counts as finished; end_task releases, the check acquires
//   T2  the check reads every finished of the unit first, then every created. Both only grow. If the sums are equal,
//       then at the moment the first created was read every task created so far was finished, so no task was left that
//       could create another
//   T3  outside writers were closed before the first read (the gate), so no ticket comes from outside
//   T4  an item is counted (ticket) before it is visible (turn); transfers across the bus have no counters at all
//   T5  A put takes its ticket, then reads closed. The check sets closed, then reads every created again. One of the
//       two sees the other. This is a store/load pattern: device words are accessed by read-modify-writes, the put's an
//       acquire and the check's acq_rel; host words need a fence on either side. A refused put never commits, except
//       perhaps into a tagged half-ring, in a run that it fails before its stage returns (docs/adr/0035)
//   T6  `aborted` is read after the gate and in every round; a recorded fault wins over an announced end
//   T7  acquiring `ended` makes everything done before it visible: by writers until they closed, by readers in their
//       tasks
//
// With a time-out (EndDetection::time_out: the paper's basic scheme, unsound) a unit whose gate is open is decided only
// when no unit's sums have changed for that time: it is one timer for the pipeline, and runs while gates are closed,
// too. Equal sums are then handled as without a time-out. Unequal ones are a fault, because items would be lost; not
// before the time has passed once more since a gate was opened or a unit ended, as tasks may have waited for that.
//
// T8, for what lies at another device, stands in termination/question.hpp.
#pragma once
#include <cstddef>
#include <cstdint>

#include "hiway/fault.hpp"
#include "hiway/machine/machine.hpp"
#include "hiway/machine/tuning.hpp"
#include "hiway/termination/sums.hpp"
#include "hiway/termination/table.hpp"
#include "hiway/termination/words.hpp"

namespace hiway {

namespace detail {

/// Sets a word at the host's home or at the checker's. A word across that publishes earlier writes (T7) must follow the
/// check's fence_across(). There is only that one fence, because a fence takes as long as the accesses it waits for.
template <class Machine>
HIWAY_DEVICE inline void set_word(Machine m, Word<std::uint32_t>& word, bool across) {
  if (across) {
    m.store_fenced_across(word, 1u);
  } else {
    m.store(word, 1u, MemoryOrder::release);
  }
}

/// Sets one of the unit's words in all its copies.
template <class Machine>
HIWAY_DEVICE inline void set_everywhere(Machine m, TerminationTable const& table, UnitRecord const& unit,
                                        Word<std::uint32_t> EndWords::*word) {
  by_one_lane(m, [&] {
    for (std::uint32_t i = unit.tunnels.begin; i < unit.tunnels.end; ++i) {
      TunnelEnds const& ends = table.tunnels[i];
      if (ends.device != nullptr) m.store(ends.device->*word, 1u, MemoryOrder::release);
      if (ends.host != nullptr) set_word(m, ends.host->*word, table.host_across);
    }
  });
}

/// The time by one lane's clock, so that all lanes agree.
template <class Machine>
HIWAY_DEVICE inline std::uint64_t time_of_all(Machine m) {
  return m.shuffle(m.lanes(), m.now_ns(), 0);
}
/// With a time-out: tasks that have waited for what happened now get their time.
template <class Machine>
HIWAY_DEVICE inline void give_time(Machine m, TerminationTable& table) {
  if (table.time_out_ns == 0) return;
  std::uint64_t const now = time_of_all(m);
  by_one_lane(m, [&] { table.quiet_since_ns = now; });
}

/// Opens the unit's gate, and tells its transfer lines that batches no longer wait to fill.
template <class Machine>
HIWAY_DEVICE inline void open_gate(Machine m, TerminationTable& table, UnitRecord& unit) {
  give_time(m, table);
  by_one_lane(m, [&] {
    unit.gate_open = 1;
    for (std::uint32_t i = unit.tunnels.begin; i < unit.tunnels.end; ++i) {
      if (table.tunnels[i].closing != nullptr) set_word(m, *table.tunnels[i].closing, table.host_across);
    }
  });
}

/// Sets `ended` for each stage of the table whose units have all ended; true when every stage has ended.
template <class Machine>
HIWAY_DEVICE inline bool announce_stages(Machine m, TerminationTable& table) {
  bool all = true;
  for (std::uint32_t s = 0; s < table.stage_count; ++s) {
    StageRecordWords& stage = table.stages[s];
    if (stage.announced != 0) continue;
    if (!all_ended(m, table, stage.units)) {
      all = false;
      continue;
    }
    by_one_lane(m, [&] {
      set_word(m, *stage.ended, stage.across);
      stage.announced = 1;
    });
  }
  return all;
}

/// Whether the sums of all units have stayed the same for the table's time-out, as far as this one's show it. `moved`
/// is both together: it shows any change, as both only grow.
template <class Machine>
HIWAY_DEVICE inline bool is_still(Machine m, TerminationTable& table, UnitRecord& unit, std::uint64_t moved) {
  std::uint64_t const now = time_of_all(m);
  if (moved == unit.moved) return now - table.still_since_ns >= table.time_out_ns;
  by_one_lane(m, [&] {
    unit.moved = moved;
    table.still_since_ns = table.quiet_since_ns = now;
  });
  return false;
}

/// What the check of one unit found. unanswered: the host aborted before every delegate had answered.
enum class UnitCheck : std::uint8_t { open, ended, faulted, unanswered };

/// Records a fault of the unit.
template <class Machine>
HIWAY_DEVICE inline UnitCheck fault_of_unit(Machine m, Control& control, UnitRecord const& unit, FaultKind kind,
                                            std::uint64_t item) {
  by_one_lane(m, [&] { record_fault(m, control, kind, unit.reader_stage, unit.tunnel, item); });
  return UnitCheck::faulted;
}

/// What the sums say. `ended`: the gate is open and no task is left.
template <class Machine>
HIWAY_DEVICE inline UnitCheck judge_sums(Machine m, TerminationTable& table, UnitRecord& unit, Control& control,
                                         std::uint64_t finished, std::uint64_t created, bool readers_gone) {
  if (finished > created || (readers_gone && finished < created)) {
    FaultKind const kind = finished > created ? FaultKind::end_task_too_many : FaultKind::items_left;
    return fault_of_unit(m, control, unit, kind, finished > created ? finished : created);
  }
  if (table.time_out_ns != 0) {
    bool const still = is_still(m, table, unit, finished + created);
    if (!still || unit.gate_open == 0) return UnitCheck::open;
    bool const late = time_of_all(m) - table.quiet_since_ns >= table.time_out_ns;
    if (finished != created && late)
      return fault_of_unit(m, control, unit, FaultKind::time_out_too_short, created - finished);
  }
  if (unit.gate_open == 0 || finished != created) return UnitCheck::open;
  return UnitCheck::ended;
}

/// Closes a unit of which no task is left, looks for a put that came too late, and tells the unit's end.
template <class Machine>
HIWAY_DEVICE inline UnitCheck end_unit(Machine m, TerminationTable& table, std::uint32_t u, Control& control,
                                       std::uint64_t created) {
  UnitRecord& unit = table.units[u];
  set_everywhere(m, table, unit, &EndWords::closed);
  // T5; and T7, for the words set across
  m.fence_across();
  Answered const created_again = sum_everywhere(m, table, u, Question::close);  // T5
  if (!created_again.all) return UnitCheck::unanswered;
  if (created_again.sum != created) {
    by_one_lane(m, [&] {
      for (unsigned looks = 0; looks < TuningOf<Machine>::looks_for_a_late_put && !is_aborted(m, control); ++looks)
        m.relax(looks);
      record_fault(m, control, FaultKind::put_without_task, no_id, unit.tunnel, created);
    });
    return UnitCheck::faulted;
  }
  set_everywhere(m, table, unit, &EndWords::ended);
  if (!ask_others(m, table, Question::end, u)) return UnitCheck::unanswered;
  give_time(m, table);
  by_one_lane(m, [&] { unit.ended = 1; });
  return UnitCheck::ended;
}

/// Checks a unit that has not ended.
template <class Machine>
HIWAY_DEVICE inline UnitCheck check_unit(Machine m, TerminationTable& table, std::uint32_t u, Control& control) {
  UnitRecord& unit = table.units[u];
  bool const readers_gone = table.rounds % TuningOf<Machine>::rounds_a_look_for_errors == 0 &&
                            unit.readers.begin != unit.readers.end && gates_open(m, table, unit.readers);
  if (unit.gate_open == 0 && gates_open(m, table, unit.gates) && all_ended(m, table, unit.upstream))  // T3
    open_gate(m, table, unit);
  if (unit.gate_open == 0 && !readers_gone && table.time_out_ns == 0) return UnitCheck::open;
  Answered const finished = sum_everywhere(m, table, u, Question::finished);
  if (!finished.all) return UnitCheck::unanswered;
  Answered const created = sum_everywhere(m, table, u, Question::created);  // T2
  if (!created.all) return UnitCheck::unanswered;
  if (m.ballot(m.lanes(), is_aborted(m, control)) != 0) return UnitCheck::faulted;  // T6
  UnitCheck const found = judge_sums(m, table, unit, control, finished.sum, created.sum, readers_gone);
  return found == UnitCheck::ended ? end_unit(m, table, u, control, created.sum) : found;
}

}  // namespace detail

/// What one round found.
enum class CheckResult : std::uint8_t { open, ended, faulted };

/// One round of the check over all units that have not ended; all lanes of the warp call it together. `ended` when
/// every unit has ended and every stage has been told. Records put_without_task, end_task_too_many, items_left and
/// time_out_too_short as faults.
template <class Machine>
HIWAY_DEVICE inline CheckResult check_round(Machine m, TerminationTable& table, Control& control) {
  bool all = true;
  by_one_lane(m, [&] { ++table.rounds; });
  for (std::uint32_t u = 0; u < table.unit_count; ++u) {
    if (table.units[u].ended != 0) continue;
    switch (detail::check_unit(m, table, u, control)) {
      case detail::UnitCheck::open: all = false; break;
      case detail::UnitCheck::ended: break;
      case detail::UnitCheck::faulted: return CheckResult::faulted;
      case detail::UnitCheck::unanswered: return CheckResult::open;
    }
  }
  all = detail::announce_stages(m, table) && all;
  return all ? CheckResult::ended : CheckResult::open;
}

}  // namespace hiway
