// What a check reads: gates, and sums of finished and created over all homes. The lanes of the checker's warp read
// words in parallel. What lies at another device is asked of its delegate, which reads meanwhile (question.hpp T8).
//
//   T1  the load of a finished acquires: a task's puts took their tickets before it counted as finished
//   T2  lanes meet after they have read: what one of them acquired comes before the others' later reads
//   T5  created is read by a read-modify-write, which sees every ticket taken before it
#pragma once
#include <cstddef>
#include <cstdint>

#include "hiway/fault.hpp"
#include "hiway/machine/machine.hpp"
#include "hiway/machine/tuning.hpp"
#include "hiway/termination/question.hpp"
#include "hiway/termination/table.hpp"

namespace hiway::detail {

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
        mine += m.load_across(word, MemoryOrder::acquire);
      } else if (kind == Sum::created) {
        mine += m.fetch_add(word, std::uint64_t{0}, MemoryOrder::acq_rel);  // T5
      } else {
        mine += m.load(word, MemoryOrder::acquire);  // T1
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
        gate.across ? m.load_across(*gate.word, MemoryOrder::acquire) : m.load(*gate.word, MemoryOrder::acquire);
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

/// Waits for the answer to the open question, if there is one; false when the host aborts first. A delegate answers
/// whatever else it does.
template <class Machine>
HIWAY_DEVICE inline bool await_answer(Machine m, TerminationTable const& table, DelegateWords& delegate) {
  for (unsigned misses = 1; delegate.stands != 0; ++misses) {
    std::uint64_t const answer = delegate.answer.hear(m);  // T8
    if (AskedWord::number(answer) == delegate.number) {
      delegate.sum = AnswerWord::sum(answer);
      delegate.stands = 0;
      break;
    }
    if (misses % TuningOf<Machine>::rounds_a_look_for_errors == 0 &&
        m.load_across(*table.host_aborted, MemoryOrder::relaxed) != 0)
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
    delegate.question.tell(m, AskedWord::pack(delegate.number, what, unit));  // T8
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

}  // namespace hiway::detail
