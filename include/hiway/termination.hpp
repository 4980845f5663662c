// When a pipeline has ended. Rules and verdicts of the model check: docs/termination.md. These are the paper's end
// markers, triggered late: counting is always on and costs nothing (a ring's granted tickets are `created`), and a unit
// is checked only once its gate is open.
//
//   unit      a strongly connected set of tunnels (a leads to b when a stage reads a and writes b); checked as a whole
//   created   tickets granted: `claimed` of each ring or outbox, and of each spill pool, at the producers' home
//   finished  tasks ended: one word per reading thread or block, at the consumers' home; what a spill drain moved, at
//             the producers'
//   gate      every outside writer has closed, and every unit read by an inside writer has ended
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
// when neither sum has changed for that time. Unequal sums are then a fault, because items would be lost; equal sums
// are handled as without a time-out.
//
// There is one checker: the device monitor's warp, or the host monitor when nothing of the pipeline is on the device.
// It goes round all units and never waits for one while another is open.
//
// With several devices, the first device's monitor checks. It does not touch what lies at another device, but asks that
// device's monitor, its delegate (monitors/delegate.hpp), by one word each way. Each word lies in the memory of the
// side that polls it if the other side can reach that memory, else in host memory:
//
//   word            written by     read by         bits, from the lowest on
//   question        the checker    the delegate    its number 1, what 2, unit 32
//   answer          the delegate   the checker     the question's number 1, sum 63: as long as rings' turns last
//   UnitNews gates, readers   the delegate   the checker, among its gates
//
//   T8  A delegate acquires the question, then reads or sets what it asks for, and answers by a release. So T2 holds
//       over all homes (no created is asked for before every finished is answered), and T5 at each (closed, then
//       created, by the home's own read-modify-writes). A delegate is asked again only after it has answered the last
//       question, even one whose answer was not waited for (`end`, or a wait left in an abort). So one bit is enough
//       for a question's number, and no question is lost. A delegate is asked only for what lies at its home; the other
//       sums there are 0
#pragma once
#include <cstddef>
#include <cstdint>

#include "hiway/fault.hpp"
#include "hiway/item.hpp"
#include "hiway/machine/machine.hpp"

namespace hiway {

struct PutBoard;
struct GetBoard;

/// A unit's state, one copy for each of its tunnels at each home.
struct EndWords {
  alignas(64) Word<std::uint32_t> closed{0};
  Word<std::uint32_t> ended{0};
  Word<std::uint32_t> throttled{0};  ///< of the tunnel, not the unit; at the producers' home
  // The boards of a stencil tunnel (stencil/scoreboard.hpp), each at its home. They are here because in the views they
  // would cost every stage registers.
  PutBoard const* put_board = nullptr;
  GetBoard const* get_board = nullptr;
};

class ThreadTrace;

/// One reader's count of a tunnel, one per thread or block.
struct alignas(64) OutletPort {
  Word<std::uint64_t> got{0};
  Word<std::uint64_t> finished{0};
  std::int64_t idle_since_ns = 0;  ///< CPU threads: when the last run of items ended (steady clock)
  bool busy = false;               ///< CPU threads: the last get found an item
  std::uint32_t branch = 0;        ///< CPU threads: the branch chosen last (branches.hpp)
  ThreadTrace* trace = nullptr;    ///< CPU threads of stages
};

/// One writer's state of a tunnel, one per thread or block.
struct alignas(64) InletPort {
  Word<std::uint32_t> closed_lanes[32] = {};  ///< a bit for each lane that has closed, one word a warp
  Word<std::uint32_t> closed_count{0};        ///< lanes that have closed
  std::uint32_t branch = 0;                   ///< CPU threads: the branch chosen last (branches.hpp)
  ThreadTrace* trace = nullptr;               ///< CPU threads of stages
};

/// One stage's state at its home.
struct alignas(64) StageWords {
  Word<std::uint32_t> ended{0};     ///< every unit that the stage reads has ended
  Word<std::uint32_t> started{0};   ///< blocks that have started
  Word<std::uint32_t> returned{0};  ///< threads or blocks that have returned
};

/// `count` words of one kind, `stride` bytes apart, to be summed.
struct SumTerm {
  Word<std::uint64_t>* first = nullptr;
  std::uint32_t count = 0;
  std::uint32_t stride = 0;
  bool across = false;  ///< the words' home is not the checker's
};

/// A word that must reach `needed`.
struct CountGate {
  Word<std::uint32_t>* word = nullptr;
  std::uint32_t needed = 0;
  bool across = false;
};

/// Indices [begin, end) into one of the table's lists.
struct Range {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

/// Where the copies of one tunnel's words lie; null if there is no copy.
struct TunnelEnds {
  EndWords* host = nullptr;
  EndWords* device = nullptr;
  Word<std::uint32_t>* closing = nullptr;  ///< at the host; set when the gate opens: batches no longer wait to fill
};

struct UnitRecord {
  Range finished;  ///< in terms
  Range created;   ///< in terms
  Range gates;     ///< in gates: outside writers given as loops, and open inlets
  Range upstream;  ///< in unit_list: read by outside writers given per item, or by inside writers
  Range readers;   ///< in gates: returned counts of the reading stages; empty when an open outlet reads
  Range tunnels;   ///< in tunnels
  std::uint32_t reader_stage = no_id;  ///< the stage named in a fault of this unit
  std::uint32_t tunnel = no_id;        ///< the tunnel named in a fault of this unit
  std::uint32_t gate_open = 0;         ///< used by the checker only
  std::uint32_t ended = 0;             ///< used by the checker only
  // With a time-out, used by the checker only.
  std::uint64_t moved = ~std::uint64_t{0};  ///< both sums together; starts at a value that they never have
  std::uint64_t still_since_ns = 0;         ///< when `moved` last changed
};

/// What the checker asks of a delegate about a unit (T8). finished, created: the sum of those words at its home. close:
/// to set closed, then the sum of created. end: to set ended.
enum class Question : std::uint32_t { finished, created, close, end };

/// A question packed into a word.
struct AskedWord {
  static constexpr unsigned number_bits = 1;
  static constexpr unsigned what_bits = 2;
  static constexpr unsigned unit_bits = 32;
  static_assert(number_bits + what_bits + unit_bits <= 64 && static_cast<unsigned>(Question::end) < 1u << what_bits);

  HIWAY_DEVICE static constexpr std::uint64_t pack(std::uint32_t number, Question what, std::uint32_t unit) {
    return std::uint64_t{unit} << (number_bits + what_bits) | static_cast<std::uint64_t>(what) << number_bits | number;
  }
  /// Also the number of an answer.
  HIWAY_DEVICE static constexpr std::uint32_t number(std::uint64_t word) {
    return static_cast<std::uint32_t>(word & 1u);
  }
  HIWAY_DEVICE static constexpr Question what(std::uint64_t word) {
    return static_cast<Question>(word >> number_bits & ((1u << what_bits) - 1u));
  }
  HIWAY_DEVICE static constexpr std::uint32_t unit(std::uint64_t word) {
    return static_cast<std::uint32_t>(word >> (number_bits + what_bits));
  }
};
/// An answer packed into a word.
struct AnswerWord {
  HIWAY_DEVICE static constexpr std::uint64_t pack(std::uint32_t number, std::uint64_t sum) {
    return sum << 1 | number;
  }
  HIWAY_DEVICE static constexpr std::uint64_t sum(std::uint64_t word) { return word >> 1; }
};

/// The words between the checker and a delegate. Each side keeps a copy of its own, with its own state.
struct DelegateWords {
  Word<std::uint64_t>* question = nullptr;
  Word<std::uint64_t>* answer = nullptr;
  std::uint32_t number = 0;  ///< number of the last question: asked (checker), or answered (delegate)
  std::uint32_t stands = 0;  ///< checker: it has not yet seen the answer to the last question
  std::uint64_t sum = 0;     ///< checker: the sum in the last answer
};

/// Flags a delegate sets once per unit; the checker treats them as gates. Null: nothing of that kind is left to report.
struct UnitNews {
  Word<std::uint32_t>* gates = nullptr;    ///< all of the unit's gates at this device are open
  Word<std::uint32_t>* readers = nullptr;  ///< all blocks that read it here have returned
};

/// A stage whose `ended` word is set when all its units have ended.
struct StageRecordWords {
  Word<std::uint32_t>* ended = nullptr;
  Range units;  ///< in unit_list
  bool across = false;
  std::uint32_t announced = 0;  ///< used by the checker only
};

/// Everything the checker reads, at its home.
struct TerminationTable {
  UnitRecord* units = nullptr;
  std::uint32_t unit_count = 0;
  StageRecordWords* stages = nullptr;
  std::uint32_t stage_count = 0;
  SumTerm* terms = nullptr;
  CountGate* gates = nullptr;
  std::uint32_t* unit_list = nullptr;
  TunnelEnds* tunnels = nullptr;
  std::uint32_t term_count = 0;
  std::uint32_t gate_count = 0;
  std::uint32_t listed_count = 0;  ///< in unit_list
  std::uint32_t tunnel_count = 0;
  bool host_across = false;       ///< the checker runs on the device: host words are across
  std::uint64_t time_out_ns = 0;  ///< 0: no time-out (EndDetection::tracked)
  std::uint32_t rounds = 0;       ///< used by the checker only
  // Used by the checker if there are several devices:
  DelegateWords* delegates = nullptr;
  std::uint8_t* asks = nullptr;      ///< for each delegate and unit: what it is asked, a bit for each Question
  std::uint32_t delegate_count = 0;  ///< 0: there is only one device
  Word<std::uint32_t>* host_aborted = nullptr;  ///< ends the wait for answers
  // Used by a delegate:
  DelegateWords own;
  UnitNews* news = nullptr;  ///< one per unit; not null if this monitor is a delegate of another device's checker
};

namespace detail {

template <class Machine>
HIWAY_DEVICE inline std::uint64_t warp_sum(Machine m, std::uint64_t value) {
  unsigned const width = m.count(m.lanes());
  std::uint64_t sum = 0;
  for (unsigned i = 0; i < width; ++i) sum += m.shuffle(m.lanes(), value, i);
  return sum;
}

/// Which words a sum is over.
enum class Sum : std::uint8_t { finished, created };

/// The sum of a range of terms; the warp's lanes read the words in parallel.
template <class Machine>
HIWAY_DEVICE inline std::uint64_t sum_terms(Machine m, TerminationTable const& table, Range range, Sum kind) {
  unsigned const width = m.count(m.lanes());
  std::uint64_t mine = 0;
  for (std::uint32_t i = range.begin; i < range.end; ++i) {
    SumTerm const& term = table.terms[i];
    for (std::uint32_t k = m.lane(); k < term.count; k += width) {
      auto& word = *reinterpret_cast<Word<std::uint64_t>*>(reinterpret_cast<std::byte*>(term.first) +
                                                           std::size_t{k} * term.stride);
      if (term.across) {
        mine += m.load_across(word, Order::acquire);
      } else if (kind == Sum::created) {
        mine += m.fetch_add(word, std::uint64_t{0}, Order::acq_rel);  // T5
      } else {
        mine += m.load(word, Order::acquire);  // T1
      }
    }
  }
  m.sync_warp(m.lanes());
  return warp_sum(m, mine);
}

template <class Machine>
HIWAY_DEVICE inline bool gates_open(Machine m, TerminationTable const& table, Range range) {
  for (std::uint32_t i = range.begin; i < range.end; ++i) {
    CountGate const& gate = table.gates[i];
    std::uint32_t const count =
        gate.across ? m.load_across(*gate.word, Order::acquire) : m.load(*gate.word, Order::acquire);
    if (m.ballot(m.lanes(), count < gate.needed) != 0) return false;
  }
  return true;
}

template <class Machine>
HIWAY_DEVICE inline bool all_ended(Machine, TerminationTable const& table, Range units) {
  for (std::uint32_t i = units.begin; i < units.end; ++i) {
    if (table.units[table.unit_list[i]].ended == 0) return false;
  }
  return true;
}

/// Sets a word at the host's home or at the checker's. A word across that publishes earlier writes (T7) must follow the
/// check's fence_across(). There is only that one fence, because a fence takes as long as the accesses it waits for.
template <class Machine>
HIWAY_DEVICE inline void set_word(Machine m, Word<std::uint32_t>& word, bool across) {
  if (across) {
    m.store_fenced_across(word, 1u);
  } else {
    m.store(word, 1u, Order::release);
  }
}

/// Sets one of the unit's words in all its copies.
template <class Machine>
HIWAY_DEVICE inline void set_everywhere(Machine m, TerminationTable const& table, UnitRecord const& unit,
                                        Word<std::uint32_t> EndWords::*word) {
  by_one_lane(m, [&] {
    for (std::uint32_t i = unit.tunnels.begin; i < unit.tunnels.end; ++i) {
      TunnelEnds const& ends = table.tunnels[i];
      if (ends.device != nullptr) set_word(m, ends.device->*word, false);
      if (ends.host != nullptr) set_word(m, ends.host->*word, table.host_across);
    }
  });
}

/// Opens the unit's gate, and tells its transfer lines that batches no longer wait to fill.
template <class Machine>
HIWAY_DEVICE inline void open_gate(Machine m, TerminationTable const& table, UnitRecord& unit) {
  by_one_lane(m, [&] {
    unit.gate_open = 1;
    for (std::uint32_t i = unit.tunnels.begin; i < unit.tunnels.end; ++i) {
      if (table.tunnels[i].closing != nullptr) set_word(m, *table.tunnels[i].closing, table.host_across);
    }
  });
}

/// Waits for the answer to the open question, if there is one; false when the host aborts first. A delegate answers
/// whatever else it does.
template <class Machine>
HIWAY_DEVICE inline bool await_answer(Machine m, TerminationTable const& table, DelegateWords& delegate) {
  for (unsigned misses = 1; delegate.stands != 0; ++misses) {
    std::uint64_t const answer = m.load_across(*delegate.answer, Order::acquire);  // T8
    if (AskedWord::number(answer) == delegate.number) {
      delegate.sum = AnswerWord::sum(answer);
      delegate.stands = 0;
      break;
    }
    if (misses % Machine::rounds_a_look_for_errors == 0 && m.load_across(*table.host_aborted, Order::relaxed) != 0)
      return false;
    m.relax(misses);
  }
  return true;
}

/// Calls `step(delegate)` for each delegate that is asked this question, spread over the lanes; true when every call
/// returned true.
template <class Machine, class Step>
HIWAY_DEVICE inline bool of_all_asked(Machine m, TerminationTable const& table, Question what, std::uint32_t unit,
                                      Step&& step) {
  if (table.delegate_count == 0) return true;
  unsigned const width = m.count(m.lanes());
  bool all = true;
  for (std::uint32_t i = m.lane(); i < table.delegate_count; i += width) {
    unsigned const asks = table.asks[std::size_t{i} * table.unit_count + unit];
    if ((asks >> static_cast<unsigned>(what) & 1u) != 0) all = step(table.delegates[i]) && all;
  }
  m.sync_warp(m.lanes());  // T2: what one lane acquired comes before the other lanes' reads
  return m.ballot(m.lanes(), !all) == 0;
}

/// Asks the delegates, each as soon as it has answered its last question; false when the host aborts before that.
template <class Machine>
HIWAY_DEVICE inline bool ask_others(Machine m, TerminationTable const& table, Question what, std::uint32_t unit) {
  return of_all_asked(m, table, what, unit, [&](DelegateWords& delegate) {
    if (!await_answer(m, table, delegate)) return false;  // T8
    delegate.number ^= 1u;
    delegate.stands = 1;
    m.store_across(*delegate.question, AskedWord::pack(delegate.number, what, unit), Order::release);  // T8
    return true;
  });
}

/// A sum over all homes. `all` is false when the host aborted before every delegate had answered.
struct Answered {
  bool all = false;
  std::uint64_t sum = 0;
};
/// The sum of a unit's finished or, for the other questions, created. The checker reads the words at its own home while
/// the delegates read theirs.
template <class Machine>
HIWAY_DEVICE inline Answered sum_everywhere(Machine m, TerminationTable const& table, std::uint32_t unit,
                                            Question what) {
  if (!ask_others(m, table, what, unit)) return {};
  UnitRecord const& u = table.units[unit];
  std::uint64_t const here = what == Question::finished ? sum_terms(m, table, u.finished, Sum::finished)
                                                        : sum_terms(m, table, u.created, Sum::created);
  std::uint64_t theirs = 0;
  bool const all = of_all_asked(m, table, what, unit, [&](DelegateWords& delegate) {
    bool const answered = await_answer(m, table, delegate);
    theirs += delegate.sum;
    return answered;
  });
  return {all, table.delegate_count == 0 ? here : here + warp_sum(m, theirs)};
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

/// Whether the unit's sums have stayed the same for the table's time-out. `moved` is both together: it shows any
/// change, as both only grow. All lanes use one lane's clock, so that they agree.
template <class Machine>
HIWAY_DEVICE inline bool is_still(Machine m, TerminationTable const& table, UnitRecord& unit, std::uint64_t moved) {
  std::uint64_t const now = m.shuffle(m.lanes(), m.now_ns(), 0);
  if (moved == unit.moved) return now - unit.still_since_ns >= table.time_out_ns;
  by_one_lane(m, [&] {
    unit.moved = moved;
    unit.still_since_ns = now;
  });
  return false;
}

}  // namespace detail

/// Memory that only the checker's warp uses.
struct CheckRoom {
  std::byte* begin = nullptr;
  std::size_t bytes = 0;
};

/// Copies the table and its lists to `room` and returns the copy; returns the table itself if the copy does not fit. A
/// round follows many references, and after each acquire a GPU reads its memory anew, while its shared memory is near.
/// All lanes of the warp call it together.
template <class Machine>
HIWAY_DEVICE inline TerminationTable& bring_near(Machine m, TerminationTable& far_table, CheckRoom room) {
  std::byte* at = room.begin;
  std::size_t left = room.bytes;
  bool fits = true;
  auto const take = [&](std::size_t bytes) {
    std::size_t const whole = (bytes + 15) / 16 * 16;
    fits = fits && whole <= left;
    std::byte* const taken = at;
    if (fits) at += whole, left -= whole;
    return taken;
  };
  auto const copy = [&](auto*& list, std::size_t count) {
    std::byte* const taken = take(count * sizeof *list);
    if (!fits) return;
    copy_bytes(taken, list, count * sizeof *list, m.lane(), m.count(m.lanes()));
    list = reinterpret_cast<decltype(list + 0)>(taken);
  };
  TerminationTable near_table = far_table;
  auto* const table = reinterpret_cast<TerminationTable*>(take(sizeof far_table));
  copy(near_table.units, near_table.unit_count);
  copy(near_table.stages, near_table.stage_count);
  copy(near_table.terms, near_table.term_count);
  copy(near_table.gates, near_table.gate_count);
  copy(near_table.unit_list, near_table.listed_count);
  copy(near_table.tunnels, near_table.tunnel_count);
  copy(near_table.delegates, near_table.delegate_count);
  copy(near_table.asks, std::size_t{near_table.unit_count} * near_table.delegate_count);
  if (near_table.news != nullptr) copy(near_table.news, near_table.unit_count);
  if (!fits) return far_table;
  by_one_lane(m, [&] { *table = near_table; });
  return *table;
}

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
    UnitRecord& unit = table.units[u];
    if (unit.ended != 0) continue;
    bool const readers_gone = table.rounds % Machine::rounds_a_look_for_errors == 0 &&
                              unit.readers.begin != unit.readers.end && detail::gates_open(m, table, unit.readers);
    if (unit.gate_open == 0 && detail::gates_open(m, table, unit.gates) &&
        detail::all_ended(m, table, unit.upstream)) {  // T3
      detail::open_gate(m, table, unit);
    }
    if (unit.gate_open == 0 && !readers_gone) {
      all = false;
      continue;
    }
    detail::Answered const all_finished = detail::sum_everywhere(m, table, u, Question::finished);
    if (!all_finished.all) return CheckResult::open;
    detail::Answered const all_created = detail::sum_everywhere(m, table, u, Question::created);  // T2
    if (!all_created.all) return CheckResult::open;
    if (m.ballot(m.lanes(), is_aborted(m, control)) != 0) return CheckResult::faulted;  // T6
    std::uint64_t const finished = all_finished.sum;
    std::uint64_t const created = all_created.sum;
    if (finished > created || (readers_gone && finished < created)) {
      FaultKind const kind = finished > created ? FaultKind::end_task_too_many : FaultKind::items_left;
      by_one_lane(m, [&] {
        record_fault(m, control, kind, unit.reader_stage, unit.tunnel, finished > created ? finished : created);
      });
      return CheckResult::faulted;
    }
    if (table.time_out_ns != 0 && unit.gate_open != 0) {
      if (!detail::is_still(m, table, unit, finished + created)) {
        all = false;
        continue;
      }
      if (finished != created) {
        by_one_lane(m, [&] {
          record_fault(m, control, FaultKind::time_out_too_short, unit.reader_stage, unit.tunnel, created - finished);
        });
        return CheckResult::faulted;
      }
    }
    if (unit.gate_open == 0 || finished != created) {
      all = false;
      continue;
    }
    detail::set_everywhere(m, table, unit, &EndWords::closed);
    // T5; and T7, for the words set across
    m.fence_across();
    detail::Answered const created_again = detail::sum_everywhere(m, table, u, Question::close);  // T5
    if (!created_again.all) return CheckResult::open;
    if (created_again.sum != created) {
      by_one_lane(m, [&] {
        for (unsigned looks = 0; looks < Machine::looks_for_a_late_put && !is_aborted(m, control); ++looks)
          m.relax(looks);
        record_fault(m, control, FaultKind::put_without_task, no_id, unit.tunnel, created);
      });
      return CheckResult::faulted;
    }
    detail::set_everywhere(m, table, unit, &EndWords::ended);
    if (!detail::ask_others(m, table, Question::end, u)) return CheckResult::open;
    by_one_lane(m, [&] { unit.ended = 1; });
  }
  all = detail::announce_stages(m, table) && all;
  return all ? CheckResult::ended : CheckResult::open;
}

}  // namespace hiway
