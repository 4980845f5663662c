// A delegate of the end check: the monitor of a device that is not the checker's. It tells the checker which gates have
// opened at its home, answers the checker's questions, and sets the words that end its tunnels and stages
// (termination/question.hpp T8).
#pragma once
#include <cstdint>

#include "hiway/termination.hpp"

namespace hiway {

namespace detail {

/// Sets the word when `open`, once: afterwards the word is forgotten.
template <class Machine>
HIWAY_DEVICE inline void tell_once(Machine m, Word<std::uint32_t>*& word, bool open) {
  if (!open) return;
  by_one_lane(m, [&] {
    m.store_across(*word, 1u, MemoryOrder::release);
    word = nullptr;
  });
}

/// The answer to the checker's question about one unit at this home.
template <class Machine>
HIWAY_DEVICE inline std::uint64_t answer_to(Machine m, TerminationTable& table, Question what, std::uint32_t u) {
  UnitRecord& unit = table.units[u];
  switch (what) {
    case Question::finished: return sum_terms(m, table, unit.finished, Sum::finished);
    case Question::created: break;
    case Question::close:
      set_everywhere(m, table, unit, &EndWords::closed);
      m.fence_across();  // T5
      break;
    case Question::end:
      set_everywhere(m, table, unit, &EndWords::ended);
      by_one_lane(m, [&] { unit.ended = 1; });
      return 0;
  }
  return sum_terms(m, table, unit.created, Sum::created);
}

}  // namespace detail

/// One round of a delegate; all lanes of the warp call it together. Returns `ended` when the checker has ended every
/// unit that has a part here.
template <class Machine>
HIWAY_DEVICE inline CheckResult delegate_round(Machine m, TerminationTable& table) {
  for (std::uint32_t u = 0; u < table.unit_count; ++u) {
    UnitRecord const& unit = table.units[u];
    if (unit.ended != 0) continue;
    UnitNews& news = table.news[u];
    if (news.gates != nullptr) detail::tell_once(m, news.gates, detail::gates_open(m, table, unit.gates));
    if (news.readers != nullptr) detail::tell_once(m, news.readers, detail::gates_open(m, table, unit.readers));
  }
  DelegateWords& own = table.own;
  std::uint64_t const asked = m.shuffle(m.lanes(), m.lane() == 0 ? own.question.hear(m) : 0, 0);  // T8
  std::uint32_t const number = AskedWord::number(asked);
  if (number != own.number) {
    m.sync_warp(m.lanes());
    std::uint64_t const sum = detail::answer_to(m, table, AskedWord::what(asked), AskedWord::unit(asked));
    by_one_lane(m, [&] {
      own.number = number;
      own.answer.tell(m, AnswerWord::pack(number, sum));  // T8
    });
  }
  bool all = detail::announce_stages(m, table);
  for (std::uint32_t u = 0; u < table.unit_count; ++u) all = all && table.units[u].ended != 0;
  return all ? CheckResult::ended : CheckResult::open;
}

}  // namespace hiway
