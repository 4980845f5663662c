// Flow control of a declared graph, decided without a device: units, spilling, cycles that hold their sources back,
// refusals.
#include "lib/pipeline/flow_plan.hpp"

#include <gmock/gmock.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace hiway;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Ids = std::vector<std::uint32_t>;

/// Tunnels 'a', 'b', ... and stages 's0', 's1', ..., each a node of its own unless it is told to join another.
class Graph {
 public:
  std::uint32_t tunnel(FlowGraph::Tunnel options = {}) {
    options.name = std::string(1, static_cast<char>('a' + graph_.tunnels.size()));
    graph_.tunnels.push_back(std::move(options));
    return static_cast<std::uint32_t>(graph_.tunnels.size() - 1);
  }
  std::uint32_t stage(Ids from, Ids into) {
    auto const id = static_cast<std::uint32_t>(graph_.stages.size());
    return grouped_stage(id, std::move(from), std::move(into));
  }
  std::uint32_t grouped_stage(std::uint32_t node, Ids from, Ids into) {
    auto const id = static_cast<std::uint32_t>(graph_.stages.size());
    graph_.stages.push_back({std::string("s") + std::to_string(id), node, std::move(from), std::move(into)});
    return id;
  }
  std::uint32_t worker(Ids from, Ids into) {
    auto const id = stage(std::move(from), std::move(into));
    graph_.stages.back().is_worker = true;
    return id;
  }
  [[nodiscard]] FlowPlan plan() const { return plan_flow(graph_); }

 private:
  FlowGraph graph_;
};

TEST(FlowPlan, AnEmptyGraphHasNothingToPlan) {
  FlowPlan const plan = Graph().plan();
  EXPECT_EQ(plan.units, 0U);
  EXPECT_THAT(plan.cycles, IsEmpty());
  EXPECT_THAT(plan.problems, IsEmpty());
}

TEST(FlowPlan, ALineWaitsAndEachTunnelEndsByItself) {
  Graph g;
  auto const a = g.tunnel();
  auto const b = g.tunnel();
  g.stage({}, {a});
  auto const middle = g.stage({a}, {b});
  g.stage({b}, {});
  FlowPlan const plan = g.plan();
  EXPECT_EQ(plan.units, 2U);
  EXPECT_NE(plan.tunnels[a].unit, plan.tunnels[b].unit);
  EXPECT_THAT(plan.stages[middle].spills, ElementsAre(false));
  EXPECT_THAT(plan.cycles, IsEmpty());
  EXPECT_THAT(plan.unplanned_cycles, IsEmpty());
  EXPECT_THAT(plan.problems, IsEmpty());
}

TEST(FlowPlan, AStageThatFeedsItselfSpillsAndHoldsItsSourceBack) {
  Graph g;
  auto const a = g.tunnel();
  auto const b = g.tunnel();
  auto const source = g.stage({}, {a});
  auto const loop = g.stage({a, b}, {b});
  FlowPlan const plan = g.plan();
  EXPECT_THAT(plan.stages[source].spills, ElementsAre(false));
  EXPECT_THAT(plan.stages[loop].spills, ElementsAre(true));
  ASSERT_EQ(plan.cycles.size(), 1U);
  EXPECT_THAT(plan.cycles[0].pools, ElementsAre(b));
  EXPECT_THAT(plan.cycles[0].entries, ElementsAre(a));
  EXPECT_EQ(plan.tunnels[a].throttled_by, 0U);
  EXPECT_EQ(plan.tunnels[b].throttled_by, FlowPlan::none);
  EXPECT_THAT(plan.unplanned_cycles, ElementsAre("'b'"));
}

TEST(FlowPlan, TunnelsOfACycleAreOneUnit) {
  Graph g;
  auto const in = g.tunnel();
  auto const there = g.tunnel();
  auto const back = g.tunnel();
  g.stage({}, {in});
  g.stage({in, back}, {there});
  g.stage({there}, {back});
  FlowPlan const plan = g.plan();
  EXPECT_EQ(plan.units, 2U);
  EXPECT_EQ(plan.tunnels[there].unit, plan.tunnels[back].unit);
  EXPECT_NE(plan.tunnels[in].unit, plan.tunnels[back].unit);
  EXPECT_THAT(plan.unplanned_cycles, ElementsAre("'b', 'c'"));
}

TEST(FlowPlan, AGroupIsOneNodeThatMustNotWaitForItself) {
  Graph g;
  auto const in = g.tunnel();
  auto const inner = g.tunnel();
  g.stage({}, {in});
  auto const first = g.grouped_stage(7, {in}, {inner});
  auto const second = g.grouped_stage(7, {inner}, {});
  FlowPlan const plan = g.plan();
  EXPECT_EQ(plan.stages[first].component, plan.stages[second].component);
  EXPECT_THAT(plan.stages[first].spills, ElementsAre(true));
  EXPECT_EQ(plan.units, 2U) << "tunnels of a group end one after the other";
  EXPECT_THAT(plan.unplanned_cycles, IsEmpty()) << "nothing goes round";
}

TEST(FlowPlan, AUserMayAskForSpillingWhereNothingGoesRound) {
  Graph g;
  auto const a = g.tunnel({.name = {}, .when_full = WhenFull::spill});
  auto const source = g.stage({}, {a});
  g.stage({a}, {});
  FlowPlan const plan = g.plan();
  EXPECT_THAT(plan.stages[source].spills, ElementsAre(true));
  EXPECT_TRUE(plan.tunnels[a].spills);
  EXPECT_THAT(plan.cycles, IsEmpty());
}

TEST(FlowPlan, WaitingInsideACycleIsRefusedUnlessItIsSafe) {
  auto const problems_of = [](FlowGraph::Tunnel const& loop) {
    Graph g;
    auto const a = g.tunnel();
    auto const b = g.tunnel(loop);
    g.stage({}, {a});
    g.stage({a, b}, {b});
    return g.plan().problems;
  };
  EXPECT_THAT(problems_of({.name = {}, .when_full = WhenFull::wait}),
              ElementsAre(HasSubstr("tunnel 'b': WhenFull::wait can deadlock inside the cycle or group of 's1';")));
  EXPECT_THAT(problems_of({.name = {}, .when_full = WhenFull::wait, .planned = true}), IsEmpty());
  EXPECT_THAT(problems_of({.name = {}, .when_full = WhenFull::wait, .may_grow = true}), IsEmpty());
  EXPECT_THAT(problems_of({.name = {}, .when_full = WhenFull::wait, .holds_all = true}), IsEmpty());
}

TEST(FlowPlan, ACycleWithAPlanOrRoomToGrowWaits) {
  for (FlowGraph::Tunnel const& loop :
       {FlowGraph::Tunnel{.name = {}, .planned = true}, FlowGraph::Tunnel{.name = {}, .may_grow = true}}) {
    Graph g;
    auto const a = g.tunnel();
    auto const b = g.tunnel(loop);
    g.stage({}, {a});
    auto const turns = g.stage({a, b}, {b});
    FlowPlan const plan = g.plan();
    EXPECT_THAT(plan.stages[turns].spills, ElementsAre(false));
    EXPECT_THAT(plan.cycles, IsEmpty());
    EXPECT_THAT(plan.unplanned_cycles, IsEmpty());
  }
}

TEST(FlowPlan, APlansCapacityMeansNothingInsideAGroup) {
  Graph g;
  auto const in = g.tunnel();
  auto const inner = g.tunnel({.name = {}, .planned = true});
  g.stage({}, {in});
  g.grouped_stage(7, {in}, {inner});
  g.grouped_stage(7, {inner}, {});
  EXPECT_THAT(g.plan().problems, ElementsAre(HasSubstr("stage 's1' is in one group with its reader")));
}

TEST(FlowPlan, ACycleThatNothingEntersIsRefused) {
  Graph g;
  auto const there = g.tunnel();
  auto const back = g.tunnel();
  g.stage({back}, {there});
  g.stage({there}, {back});
  EXPECT_THAT(g.plan().problems, ElementsAre("tunnel 'a', 'b' has no source: nothing enters the cycle from outside"));
}

TEST(FlowPlan, AnOpenInletIsASourceAndIsHeldBack) {
  Graph g;
  auto const loop = g.tunnel({.name = {}, .open_inlets = 1});
  g.stage({loop}, {loop});
  FlowPlan const plan = g.plan();
  EXPECT_THAT(plan.problems, IsEmpty());
  ASSERT_EQ(plan.cycles.size(), 1U);
  EXPECT_THAT(plan.cycles[0].pools, ElementsAre(loop));
  EXPECT_THAT(plan.cycles[0].entries, ElementsAre(loop));
}

TEST(FlowPlan, AWriterThatSpillsIsNotHeldBack) {
  Graph g;
  auto const a = g.tunnel({.name = {}, .when_full = WhenFull::spill});
  auto const b = g.tunnel();
  g.stage({}, {a});
  g.stage({a, b}, {b});
  FlowPlan const plan = g.plan();
  EXPECT_THAT(plan.cycles, IsEmpty());
  EXPECT_EQ(plan.tunnels[a].throttled_by, FlowPlan::none);
}

TEST(FlowPlan, WhatDropsOrFailsNeitherSpillsNorIsHeldBack) {
  for (WhenFull const when_full : {WhenFull::drop_newest, WhenFull::drop_oldest, WhenFull::fail}) {
    Graph g;
    auto const a = g.tunnel({.name = {}, .when_full = when_full, .open_inlets = 1});
    auto const b = g.tunnel({.name = {}, .when_full = when_full});
    auto const c = g.tunnel();
    auto const source = g.stage({}, {a, c});
    auto const turns = g.stage({a, b, c}, {b, c});
    FlowPlan const plan = g.plan();
    EXPECT_THAT(plan.problems, IsEmpty());
    EXPECT_THAT(plan.stages[source].spills, ElementsAre(false, false));
    EXPECT_THAT(plan.stages[turns].spills, ElementsAre(false, true));
    ASSERT_EQ(plan.cycles.size(), 1U);
    EXPECT_THAT(plan.cycles[0].entries, ElementsAre(c));
    EXPECT_EQ(plan.tunnels[a].throttled_by, FlowPlan::none);
  }
}

TEST(FlowPlan, AStageOfTheCycleIsNeverHeldBack) {
  Graph g;
  auto const in = g.tunnel();
  auto const planned = g.tunnel({.name = {}, .planned = true});
  auto const back = g.tunnel();
  g.stage({}, {in});
  g.stage({in, back}, {planned});
  g.stage({planned}, {back});
  FlowPlan const plan = g.plan();
  ASSERT_EQ(plan.cycles.size(), 1U);
  EXPECT_THAT(plan.cycles[0].pools, ElementsAre(back));
  EXPECT_THAT(plan.cycles[0].entries, ElementsAre(in)) << "the writer of 'b' waits, and is inside";
}

TEST(FlowPlan, APoolThatIsFilledFromOutsideHoldsNobodyBack) {
  Graph g;
  auto const outside = g.tunnel({.name = {}, .when_full = WhenFull::spill});
  auto const in = g.tunnel();
  auto const loop = g.tunnel();
  g.stage({}, {outside, in});
  g.stage({outside, in, loop}, {loop});
  FlowPlan const plan = g.plan();
  ASSERT_EQ(plan.cycles.size(), 1U);
  EXPECT_THAT(plan.cycles[0].pools, ElementsAre(loop));
}

TEST(FlowPlan, SpillingThatIsAskedForIsNoSurprise) {
  for (bool const holds_all : {false, true}) {
    Graph g;
    auto const in = g.tunnel();
    auto const loop = g.tunnel({.name = {}, .when_full = WhenFull::spill, .holds_all = holds_all});
    g.stage({}, {in});
    g.stage({in, loop}, {loop});
    FlowPlan const plan = g.plan();
    EXPECT_THAT(plan.unplanned_cycles, IsEmpty());
    EXPECT_EQ(plan.cycles.size(), holds_all ? 0U : 1U) << "where all items have room, no pool fills";
  }
}

TEST(FlowPlan, ATunnelReadInTwoCyclesIsHeldBackByOne) {
  Graph g;
  auto const shared = g.tunnel();
  auto const first = g.tunnel();
  auto const second = g.tunnel();
  auto const other = g.tunnel();
  g.stage({}, {shared, other});
  g.stage({shared, first}, {first});
  g.stage({shared, other, second}, {second});
  FlowPlan const plan = g.plan();
  ASSERT_EQ(plan.cycles.size(), 2U);
  Ids entries = plan.cycles[0].entries;
  entries.insert(entries.end(), plan.cycles[1].entries.begin(), plan.cycles[1].entries.end());
  EXPECT_THAT(entries, testing::UnorderedElementsAre(shared, other));
}

TEST(FlowPlan, WorkersOfOneTunnelAllSpillOrAllWait) {
  Graph g;
  auto const a = g.tunnel({.open_inlets = 1});
  auto const b = g.tunnel();
  auto const inside = g.worker({a, b}, {b});
  EXPECT_THAT(g.plan().problems, IsEmpty());
  EXPECT_THAT(g.plan().stages[inside].spills, ElementsAre(true));
  g.stage({a}, {b});  // has an inlet of its own
  EXPECT_THAT(g.plan().problems, IsEmpty());
  g.worker({a}, {b});
  EXPECT_THAT(g.plan().problems,
              ElementsAre("tunnel 'b' is put inside a cycle by 's0', and from outside by 's2': connect these to a "
                          "tunnel of their own"));
}
TEST(FlowPlan, WorkersOfOneTunnelMaySpillByRequest) {
  Graph g;
  auto const a = g.tunnel({.when_full = WhenFull::spill, .open_inlets = 1});
  g.worker({a}, {a});
  g.worker({}, {a});
  EXPECT_THAT(g.plan().problems, IsEmpty());
}

}  // namespace
