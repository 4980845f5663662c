// The lists of the end check, built without a device: which words are counted, which gates come first, and what a
// delegate is told of.
#include "lib/pipeline/end_check.hpp"

#include <gmock/gmock.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace {

using namespace hiway;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Ids = std::vector<std::uint32_t>;

/// The words of one tunnel and of one stage.
struct TunnelWords {
  Word<std::uint64_t> claimed{0}, spilled{0}, drained{0};
  Word<std::uint32_t> open_closed{0}, closing{0};
  EndWords put_end, get_end;
};
struct WordsOfStage {
  StageWords own;
  std::vector<std::unique_ptr<OutletPort>> ports;
  std::vector<std::unique_ptr<Word<std::uint32_t>>> closed;
};

/// A graph with words for all of it. Each tunnel is a unit of its own unless it is given another one.
class Counted {
 public:
  explicit Counted(Home checker = at_host) {
    graph.checker = checker;
    graph.host_all_ended = &host_all_ended;
    graph.checker_all_ended = checker == at_host ? nullptr : &checker_all_ended;
  }
  std::uint32_t tunnel(Home put = at_host, Home get = at_host) {
    TunnelWords& w = tunnel_words.emplace_back();
    CountedTunnel t;
    t.unit = graph.units++;
    t.put_home = put;
    t.get_home = get;
    t.claimed = {&w.claimed, 1, sizeof(Word<std::uint64_t>)};
    t.open_closed = &w.open_closed;
    t.put_end = &w.put_end;
    t.get_end = put == get ? &w.put_end : &w.get_end;
    t.closing = put == get ? nullptr : &w.closing;
    graph.tunnels.push_back(std::move(t));
    return static_cast<std::uint32_t>(graph.tunnels.size() - 1);
  }
  std::uint32_t stage(Ids from, Ids into, bool item_form = false, Home home = at_host, std::uint32_t executors = 3) {
    WordsOfStage& w = stage_words.emplace_back();
    CountedStage s;
    s.home = home;
    s.executors = executors;
    s.item_form = item_form;
    s.words = &w.own;
    for (std::size_t i = 0; i < from.size(); ++i)
      s.outlet_ports.push_back(w.ports.emplace_back(std::make_unique<OutletPort>()).get());
    for (std::size_t i = 0; i < into.size(); ++i)
      s.closed_executors.push_back(w.closed.emplace_back(std::make_unique<Word<std::uint32_t>>()).get());
    s.from = std::move(from);
    s.into = std::move(into);
    graph.stages.push_back(std::move(s));
    return static_cast<std::uint32_t>(graph.stages.size() - 1);
  }
  EndCheckLists lists(Home home = at_host, std::vector<std::vector<UnitNews>> const& told = {}) {
    return EndCheckBuilder(
               graph, home, [this] { return &flags.emplace_back(); }, told)
        .build();
  }

  CountedGraph graph;
  std::deque<TunnelWords> tunnel_words;
  std::deque<WordsOfStage> stage_words;
  std::deque<Word<std::uint32_t>> flags;
  Word<std::uint32_t> host_all_ended{0}, checker_all_ended{0};
};

std::vector<void*> words(std::vector<SumTerm> const& terms, Range range) {
  std::vector<void*> all;
  for (std::uint32_t i = range.begin; i < range.end; ++i) all.push_back(terms[i].first);
  return all;
}
std::vector<std::pair<void*, std::uint32_t>> gates(EndCheckLists const& lists, Range range) {
  std::vector<std::pair<void*, std::uint32_t>> all;
  for (std::uint32_t i = range.begin; i < range.end; ++i) all.emplace_back(lists.gates[i].word, lists.gates[i].needed);
  return all;
}
Ids listed(EndCheckLists const& lists, Range range) {
  return {lists.unit_list.begin() + range.begin, lists.unit_list.begin() + range.end};
}
using Gate = std::pair<void*, std::uint32_t>;

TEST(EndCheck, APutIsCountedWhereItIsClaimedAndATaskWhereItIsGot) {
  Counted c;
  auto const t = c.tunnel();
  c.stage({}, {t});
  c.stage({t}, {});
  EndCheckLists const lists = c.lists();
  UnitRecord const& unit = lists.units[0];
  EXPECT_THAT(words(lists.terms, unit.created), ElementsAre(&c.tunnel_words[0].claimed));
  EXPECT_THAT(words(lists.terms, unit.finished), ElementsAre(&c.stage_words[1].ports[0]->finished));
  EXPECT_EQ(lists.terms[unit.finished.begin].count, 3U) << "one word for each executor";
  EXPECT_EQ(unit.reader_stage, 1U);
  EXPECT_THAT(gates(lists, unit.readers), ElementsAre(Gate(&c.stage_words[1].own.returned, 3)));
}

TEST(EndCheck, WhatIsSpilledIsCreatedAndWhatIsDrainedIsFinished) {
  Counted c;
  auto const t = c.tunnel();
  c.graph.tunnels[t].spilled = &c.tunnel_words[t].spilled;
  c.graph.tunnels[t].drained = &c.tunnel_words[t].drained;
  EndCheckLists const lists = c.lists();
  EXPECT_THAT(words(lists.terms, lists.units[0].created),
              ElementsAre(&c.tunnel_words[t].claimed, &c.tunnel_words[t].spilled));
  EXPECT_THAT(words(lists.terms, lists.units[0].finished), ElementsAre(&c.tunnel_words[t].drained));
}

TEST(EndCheck, ALoopsThreadsAllCloseFirstAndAnItemStageEndsWithWhatItReads) {
  Counted c;
  auto const a = c.tunnel();
  auto const b = c.tunnel();
  auto const d = c.tunnel();
  c.stage({}, {a});
  c.stage({a}, {b}, true);
  c.stage({b}, {d});
  c.stage({d}, {});
  EndCheckLists const lists = c.lists();
  EXPECT_THAT(gates(lists, lists.units[a].gates), ElementsAre(Gate(c.stage_words[0].closed[0].get(), 3)));
  EXPECT_THAT(gates(lists, lists.units[b].gates), IsEmpty()) << "no code of the stage runs after its items";
  EXPECT_THAT(listed(lists, lists.units[b].upstream), ElementsAre(a));
  EXPECT_THAT(gates(lists, lists.units[d].gates), ElementsAre(Gate(c.stage_words[2].closed[0].get(), 3)))
      << "a loop may put after its input has ended";
  EXPECT_THAT(listed(lists, lists.units[d].upstream), IsEmpty());
}

TEST(EndCheck, AStageInsideACycleIsNoGateOfIt) {
  Counted c;
  auto const in = c.tunnel();
  auto const a = c.tunnel();
  auto const b = c.tunnel();
  c.graph.units = 2;
  c.graph.tunnels[b].unit = c.graph.tunnels[a].unit;
  c.stage({}, {in});
  c.stage({in, b}, {a});
  c.stage({a}, {b});
  EndCheckLists const lists = c.lists();
  UnitRecord const& cycle = lists.units[1];
  EXPECT_THAT(gates(lists, cycle.gates), IsEmpty());
  EXPECT_THAT(listed(lists, cycle.upstream), ElementsAre(0U)) << "the cycle itself is not among them";
  EXPECT_THAT(words(lists.terms, cycle.created), SizeIs(2));
}

TEST(EndCheck, OpenEndsAreGatesAndNoOpenReaderReturns) {
  Counted c;
  auto const t = c.tunnel();
  OutletPort port;
  c.graph.tunnels[t].open_inlets = 2;
  c.graph.tunnels[t].open_outlets = {&port};
  c.stage({t}, {});
  EndCheckLists const lists = c.lists();
  EXPECT_THAT(gates(lists, lists.units[0].gates), ElementsAre(Gate(&c.tunnel_words[t].open_closed, 2)));
  EXPECT_THAT(words(lists.terms, lists.units[0].finished),
              ElementsAre(&c.stage_words[0].ports[0]->finished, &port.finished));
  EXPECT_THAT(gates(lists, lists.units[0].readers), IsEmpty());
}

TEST(EndCheck, WhatTheUsersOwnThreadsPutEndsWithWhatTheyGet) {
  Counted c;
  auto const in = c.tunnel();
  auto const again = c.tunnel();
  auto const out = c.tunnel();
  c.graph.tunnels[in].open_inlets = 1;
  c.graph.workers.push_back({{in, again}, {again, out}});
  EndCheckLists const lists = c.lists();
  EXPECT_THAT(gates(lists, lists.units[in].gates), ElementsAre(Gate(&c.tunnel_words[in].open_closed, 1)));
  EXPECT_THAT(gates(lists, lists.units[again].gates), IsEmpty());
  EXPECT_THAT(listed(lists, lists.units[again].upstream), ElementsAre(in));
  EXPECT_THAT(gates(lists, lists.units[out].gates), IsEmpty());
  EXPECT_THAT(listed(lists, lists.units[out].upstream), ElementsAre(in, again));
}

TEST(EndCheck, AStageIsToldOnceAllThatItReadsHasEnded) {
  Counted c(own_device);
  auto const a = c.tunnel(at_host, own_device);
  auto const b = c.tunnel(own_device, own_device);
  c.stage({a, b}, {}, false, own_device);
  EndCheckLists const lists = c.lists(own_device);
  ASSERT_THAT(lists.stages, SizeIs(3)) << "the stage, the host, and the device ask";
  EXPECT_EQ(lists.stages[0].ended, &c.stage_words[0].own.ended);
  EXPECT_THAT(listed(lists, lists.stages[0].units), ElementsAre(a, b));
  EXPECT_EQ(lists.stages[1].ended, &c.host_all_ended);
  EXPECT_TRUE(lists.stages[1].across);
  EXPECT_EQ(lists.stages[2].ended, &c.checker_all_ended);
  EXPECT_EQ(lists.tunnels[0].host, &c.tunnel_words[a].put_end);
  EXPECT_EQ(lists.tunnels[0].device, &c.tunnel_words[a].get_end);
  EXPECT_EQ(lists.tunnels[0].closing, &c.tunnel_words[a].closing);
}

TEST(EndCheck, ADelegateHasWhatLiesAtItsHomeAndTellsTheCheckerOnce) {
  constexpr Home other = own_device + 1;
  Counted c(own_device);
  auto const first = c.tunnel(at_host, own_device);
  auto const across = c.tunnel(own_device, other);
  c.stage({}, {first});
  c.stage({first}, {across}, false, own_device);
  c.stage({across}, {}, false, other, 5);
  EndCheckLists const delegate = c.lists(other);
  EXPECT_TRUE(delegate.delegates);
  EXPECT_THAT(words(delegate.terms, delegate.units[across].finished),
              ElementsAre(&c.stage_words[2].ports[0]->finished));
  EXPECT_THAT(words(delegate.terms, delegate.units[across].created), IsEmpty());
  EXPECT_EQ(delegate.units[first].ended, 1U) << "it has no end of this tunnel";
  EXPECT_EQ(asked_of(delegate.units[first]), 0);
  EXPECT_EQ(asked_of(delegate.units[across]),
            1U << static_cast<unsigned>(Question::finished) | 1U << static_cast<unsigned>(Question::end));
  EXPECT_THAT(c.flags, SizeIs(1)) << "only the readers of the second tunnel are here";
  ASSERT_EQ(delegate.news[across].readers, &c.flags[0]);
  EXPECT_EQ(delegate.news[across].gates, nullptr);

  EndCheckLists const checker = c.lists(own_device, {delegate.news});
  EXPECT_FALSE(checker.delegates);
  EXPECT_THAT(gates(checker, checker.units[across].readers), ElementsAre(Gate(&c.flags[0], 1)));
  EXPECT_THAT(words(checker.terms, checker.units[across].finished), IsEmpty());
  EXPECT_THAT(words(checker.terms, checker.units[first].created), ElementsAre(&c.tunnel_words[first].claimed));
  EXPECT_TRUE(checker.terms[checker.units[first].created.begin].across);
}

}  // namespace
