// The stall report's findings: set the numbers, read the sentences.
#include "lib/stall_report.hpp"

#include <gmock/gmock.h>

#include <functional>

namespace {

using namespace hiway;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

StageSnapshot stage(std::string name, std::vector<StageSnapshot::From> from, std::vector<StageSnapshot::Into> into) {
  StageSnapshot s;
  s.name = std::move(name);
  s.executors = s.started = s.inside = 1;
  s.from = std::move(from);
  s.into = std::move(into);
  return s;
}
StageSnapshot returned(StageSnapshot s) {
  s.returned = s.executors;
  s.inside = 0;
  for (auto& into : s.into) into.closed = s.executors;
  return s;
}
TunnelSnapshot tunnel(std::string name, std::uint64_t capacity, std::uint64_t put, std::uint64_t got) {
  TunnelSnapshot t;
  t.name = std::move(name);
  t.kind = "cpu_to_cpu memory";
  t.capacity = capacity;
  t.claimed = put;
  t.taken = t.retired = got;
  return t;
}

TEST(StallReport, NamesAStageThatNeverEndsItsTasks) {
  PipelineSnapshot p;
  p.stages = {returned(stage("feed", {}, {{0}})), stage("sum", {{0, {3, 0}}}, {})};
  p.tunnels = {tunnel("numbers", 8, 3, 3)};
  EXPECT_THAT(find_waits(p), ElementsAre("stage 'sum' holds 3 items of tunnel 'numbers' that it got and has not ended: "
                                         "end_task is missing, or its body is still at work"));
}

TEST(StallReport, SaysThatLanesStandInSyncBlockOrMay) {
  PipelineSnapshot p;
  p.stages = {returned(stage("feed", {}, {{0}})), stage("sum", {{0, {3, 0}}}, {})};
  p.stages[1].gpu = true;
  p.tunnels = {tunnel("numbers", 8, 3, 3)};
  std::string const holds = "stage 'sum' holds 3 items of tunnel 'numbers' that it got and has not ended: ";
  EXPECT_THAT(find_waits(p), ElementsAre(holds + "end_task is missing, or its body is still at work, or lanes stand in "
                                                 "sync_block and not all of their block come"));
  p.stages[1].in_sync_block = 0;
  EXPECT_THAT(find_waits(p), ElementsAre(holds + "end_task is missing, or its body is still at work"));
  p.stages[1].in_sync_block = 3;
  EXPECT_THAT(find_waits(p), ElementsAre(holds + "3 of its lanes stand in sync_block until all of their block come: "
                                                 "others wait elsewhere, or are at work"));
}

TEST(StallReport, NamesTheStageAtTheEndOfAChainOfFullTunnelsFirst) {
  PipelineSnapshot p;
  p.stages = {stage("feed", {}, {{0}}), stage("middle", {{0, {5, 4}}}, {{1}}), stage("sink", {{1, {3, 2}}}, {})};
  p.tunnels = {tunnel("a", 1, 6, 5), tunnel("b", 1, 4, 3)};
  EXPECT_THAT(find_waits(p),
              ElementsAre(StartsWith("stage 'sink' holds 1 item of tunnel 'b'"),
                          "tunnel 'a' is full (1 of 1): 'feed' must wait for room until 'middle' gets from it",
                          "tunnel 'b' is full (1 of 1): 'middle' must wait for room until 'sink' gets from it"));
}

TEST(StallReport, NamesACircleOfAFullAndAnEmptyTunnel) {
  PipelineSnapshot p;
  p.stages = {stage("source", {}, {{0}, {1}}), stage("join", {{0}, {1}}, {})};
  p.tunnels = {tunnel("a", 1, 1, 0), tunnel("b", 1, 0, 0)};
  EXPECT_EQ(
      find_waits(p).front(),
      "stages wait for each other: 'source' for room in tunnel 'a' until 'join' gets from it, 'join' for items of "
      "tunnel 'b' until 'source' puts into it");
}

TEST(StallReport, ACircleThroughAStageThatHoldsTasksIsOnlyPossible) {
  PipelineSnapshot p;
  p.stages = {stage("source", {}, {{0}, {1}}), stage("join", {{0}, {1, {4, 3}}}, {})};
  p.tunnels = {tunnel("a", 1, 1, 0), tunnel("b", 1, 4, 4)};
  std::vector<std::string> const found = find_waits(p);
  EXPECT_THAT(found.at(0), StartsWith("stage 'join' holds 1 item of tunnel 'b'"));
  EXPECT_THAT(found.at(1), StartsWith("stages may wait for each other: 'source' for room in tunnel 'a'"));
}

TEST(StallReport, ACircleThroughSeveralStagesIsNamedInTheOrderOfTheWaits) {
  PipelineSnapshot p;
  p.stages = {stage("source", {}, {{0}, {1}}), stage("left", {{0}}, {{2}}), stage("join", {{1}, {2}}, {})};
  p.tunnels = {tunnel("to left", 4, 0, 0), tunnel("to join", 1, 1, 0), tunnel("from left", 4, 0, 0)};
  EXPECT_EQ(
      find_waits(p).front(),
      "stages wait for each other: 'source' for room in tunnel 'to join' until 'join' gets from it, 'join' for "
      "items of tunnel 'from left' until 'left' puts into it, 'left' for items of tunnel 'to left' until 'source' "
      "puts into it");
}

TEST(StallReport, TheSmallestFullTunnelOfACircleIsToGrow) {
  PipelineSnapshot p;
  p.stages = {stage("source", {}, {{0}, {1}, {2}}), stage("join", {{0}, {1}, {2}}, {}), stage("sink", {{3}}, {}),
              stage("feed", {}, {{3}})};
  p.tunnels = {tunnel("a", 4, 4, 0), tunnel("b", 2, 2, 0), tunnel("c", 1, 0, 0), tunnel("not in it", 1, 1, 0)};
  for (TunnelSnapshot& t : p.tunnels) t.may_grow_to = 8;
  EXPECT_EQ(tunnel_to_grow(p), 1U);
  p.tunnels[1].may_grow_to = 2;  // it is as large as it may be
  EXPECT_EQ(tunnel_to_grow(p), 0U);
  p.tunnels[0].may_grow_to = 0;
  EXPECT_EQ(tunnel_to_grow(p), std::nullopt);
  p.tunnels[0].may_grow_to = 8;
  p.aborting = true;
  EXPECT_EQ(tunnel_to_grow(p), std::nullopt);
}

TEST(StallReport, AStageThatWaitsForRoomBesideItselfGrowsToo) {
  PipelineSnapshot p;
  p.stages = {stage("self", {{0, {3, 2}}}, {{0}})};
  p.tunnels = {tunnel("again", 2, 4, 2)};
  p.tunnels[0].may_grow_to = 8;
  EXPECT_EQ(tunnel_to_grow(p), 0U);
  p.tunnels[0].retired = 3;  // one place is free
  EXPECT_EQ(tunnel_to_grow(p), std::nullopt);
}

TEST(StallReport, APutThatDropsWaitsForNothing) {
  PipelineSnapshot p;
  p.stages = {stage("source", {}, {{0}, {1}}), stage("join", {{0}, {1}}, {})};
  p.tunnels = {tunnel("a", 1, 1, 0), tunnel("b", 1, 0, 0)};
  p.tunnels[0].when_full = WhenFull::drop_newest;
  p.tunnels[0].dropped = 7;
  std::string const text = describe_stall(p, "asked");
  EXPECT_THAT(text, HasSubstr("put 1, got 0; dropped 7"));
  EXPECT_THAT(text, Not(HasSubstr("must wait for room")));
  EXPECT_THAT(text, Not(HasSubstr("wait for each other")));
}

TEST(StallReport, APutThatSpillsWaitsForNobody) {
  PipelineSnapshot p;
  p.stages = {stage("source", {}, {{0, 0, true}, {1}}), stage("join", {{0}, {1}}, {})};
  p.tunnels = {tunnel("a", 1, 1, 0), tunnel("b", 1, 0, 0)};
  p.tunnels[0].spills = true;
  p.tunnels[0].spill_claimed = 7;
  p.tunnels[0].spill_capacity = 64;
  std::string const text = describe_stall(p, "asked");
  EXPECT_THAT(text, Not(HasSubstr("room")));
  EXPECT_THAT(text, HasSubstr("spilled 7, 7 of 64 in the pool"));
}

TEST(StallReport, NamesAFullPoolIntoWhichSomebodyMayOnlyTryToPut) {
  PipelineSnapshot p;
  p.stages = {stage("self", {{0, {3, 2}}}, {{0, 0, true}}), stage("other", {{0}}, {}),
              returned(stage("feed", {}, {{0, 0, true}}))};
  p.tunnels = {tunnel("again", 4, 7, 3)};
  p.tunnels[0].spills = true;
  p.tunnels[0].spill_claimed = 64;
  p.tunnels[0].spill_capacity = 64;
  EXPECT_EQ(find_waits(p).front(),
            "tunnel 'again' and its spill pool are full (4 of 4 and 64 of 64): try_put by 'self' is false until 'self' "
            "or 'other' gets from it");
  p.tunnels[0].spill_taken = 1;
  EXPECT_THAT(describe_stall(p, "asked"), Not(HasSubstr("try_put")));
}

TEST(StallReport, NamesTheWritersThatAThrottleHoldsBackAndItsPools) {
  PipelineSnapshot p;
  p.stages = {stage("feed", {}, {{0}}), stage("other", {}, {{0, 0, true}}),
              stage("self", {{0}, {1, {3, 2}}}, {{1, 0, true}})};
  p.tunnels = {tunnel("in", 8, 5, 5), tunnel("again", 1, 1, 0)};
  p.tunnels[0].throttled = true;
  p.tunnels[0].throttled_by = {1};
  p.tunnels[0].open_inlets = 1;
  p.tunnels[1].spills = true;
  p.tunnels[1].spill_claimed = 44;
  p.tunnels[1].spill_taken = 4;
  p.tunnels[1].spill_capacity = 64;
  std::vector<std::string> const found = find_waits(p);
  EXPECT_THAT(found,
              testing::Contains("tunnel 'in' is throttled (40 of 64 spilled in 'again'): 'feed', an open inlet must "
                                "wait until the pools have emptied, or nobody empties them"));
  EXPECT_THAT(found, Not(testing::Contains(HasSubstr("empty and open"))));
  EXPECT_THAT(describe_stall(p, "asked"), HasSubstr("put 5, got 5; throttled; open inlets"));
}

TEST(StallReport, NamesWhoeverHasNotClosedAnEmptyTunnelAndNobodyBehindIt) {
  PipelineSnapshot p;
  p.stages = {stage("feed", {}, {{0}}), stage("middle", {{0, {2, 2}}}, {{1}}), stage("sink", {{1, {2, 2}}}, {})};
  p.tunnels = {tunnel("a", 8, 2, 2), tunnel("b", 8, 2, 2)};
  EXPECT_THAT(find_waits(p), ElementsAre("tunnel 'a' is empty and open: 'middle' must wait until items come or it is "
                                         "closed, by stage 'feed' (0 of 1 threads closed)"));
}

TEST(StallReport, NamesOpenEndsOfTheUser) {
  PipelineSnapshot p;
  p.tunnels = {tunnel("in", 8, 2, 2)};
  p.tunnels[0].open_inlets = 2;
  p.tunnels[0].open_inlets_closed = 1;
  p.tunnels[0].open_outlets = {{2, 1}};
  EXPECT_THAT(find_waits(p), ElementsAre(StartsWith("an open outlet of tunnel 'in' holds 1 item"),
                                         "tunnel 'in' is empty and open: its open outlet must wait until items come or "
                                         "it is closed, by its open inlets (1 of 2 closed)"));
}

TEST(StallReport, NamesItemsThatTheirReaderDoesNotGet) {
  PipelineSnapshot p;
  p.stages = {returned(stage("feed", {}, {{0}})), stage("sum", {{0}}, {})};
  p.tunnels = {tunnel("numbers", 8, 3, 0)};
  EXPECT_THAT(find_waits(p), ElementsAre("tunnel 'numbers' holds 3 items that 'sum' could get and does not"));
}

TEST(StallReport, NamesItemsThatHaveNotCrossedTheBus) {
  PipelineSnapshot p;
  p.stages = {returned(stage("feed", {}, {{0}})), stage("sum", {{0, {4, 4}}}, {})};
  p.tunnels = {tunnel("numbers", 8, 9, 4)};
  p.tunnels[0].crosses = true;
  p.tunnels[0].published = 7;
  p.tunnels[0].arrived = p.tunnels[0].retired = 4;
  EXPECT_THAT(find_waits(p), ElementsAre(StartsWith("5 items of tunnel 'numbers' have not crossed the bus (2 not "
                                                    "published, 3 published)")));
}

TEST(StallReport, NamesAKernelThatHasNotStartedAndAStageThatDoesNotReturn) {
  PipelineSnapshot p;
  p.stages = {stage("waits", {{0}}, {}), stage("lingers", {{1}}, {})};
  p.stages[0].gpu = true;
  p.stages[0].executors = 4;
  p.stages[1].ended = true;
  p.tunnels = {tunnel("a", 8, 0, 0), tunnel("b", 8, 0, 0)};
  p.tunnels[1].ended = true;
  EXPECT_THAT(find_waits(p), ElementsAre("stage 'waits' has not started: 1 of 4 blocks run",
                                         StartsWith("stage 'lingers' has nothing more to get and has not returned")));
}

TEST(StallReport, NamesWhoDoesNotLeaveAnAbortedRunAndNothingElse) {
  PipelineSnapshot p;
  p.stages = {stage("stuck", {{0, {3, 0}}}, {}), returned(stage("gone", {}, {{0}}))};
  p.tunnels = {tunnel("a", 3, 3, 0)};
  p.aborting = true;
  EXPECT_THAT(find_waits(p),
              ElementsAre(StartsWith("the run is aborting, but stage 'stuck' has not left it (1 of 1 threads)")));
}

TEST(StallReport, SaysNothingOfADeviceThatCouldNotBeRead) {
  PipelineSnapshot p;
  p.stages = {stage("gpu", {{0}}, {}), stage("cpu", {{1, {1, 0}}}, {})};
  p.stages[0].gpu = true;
  p.stages[0].started = 0;
  p.tunnels = {tunnel("a", 8, 4, 0), tunnel("b", 8, 1, 1)};
  p.tunnels[0].on_device = true;
  p.device_seen = false;
  EXPECT_THAT(find_waits(p), ElementsAre(StartsWith("stage 'cpu' holds 1 item of tunnel 'b'")));
  EXPECT_THAT(describe_stall(p, "asked"), HasSubstr("the device's words could not be read"));
}

TEST(StallReport, AnythingThatMovesIsProgress) {
  PipelineSnapshot p;
  p.stages = {stage("feed", {}, {{0}}), stage("sum", {{0}}, {})};
  p.tunnels = {tunnel("numbers", 8, 3, 0)};
  p.tunnels[0].open_outlets = {{}};
  Progress const before = progress(p);
  EXPECT_EQ(progress(p), before);
  std::vector<std::function<void(PipelineSnapshot&)>> const changes{
      [](auto& s) { s.stages[0].started = 2; },
      [](auto& s) { s.stages[0].returned = 1; },
      [](auto& s) { s.stages[0].inside = 0; },
      [](auto& s) { s.stages[0].ended = true; },
      [](auto& s) { s.stages[0].into[0].closed = 1; },
      [](auto& s) { s.stages[1].from[0].tasks.got = 1; },
      [](auto& s) { s.stages[1].from[0].tasks.finished = 1; },
      [](auto& s) { s.tunnels[0].capacity = 9; },
      [](auto& s) { s.tunnels[0].claimed = 9; },
      [](auto& s) { s.tunnels[0].taken = 9; },
      [](auto& s) { s.tunnels[0].published = 9; },
      [](auto& s) { s.tunnels[0].arrived = 9; },
      [](auto& s) { s.tunnels[0].retired = 9; },
      [](auto& s) { s.tunnels[0].spill_claimed = 9; },
      [](auto& s) { s.tunnels[0].spill_taken = 9; },
      [](auto& s) { s.tunnels[0].closed = true; },
      [](auto& s) { s.tunnels[0].ended = true; },
      [](auto& s) { s.tunnels[0].open_inlets_closed = 1; },
      [](auto& s) { s.tunnels[0].open_outlets[0].got = 1; },
      [](auto& s) { s.tunnels[0].open_outlets[0].finished = 1; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    PipelineSnapshot after = p;
    changes[i](after);
    EXPECT_NE(progress(after), before) << "change " << i;
  }
}

TEST(StallReport, AStallIsToldOnceAndAgainAfterProgress) {
  StallWatch watch(milliseconds(100));
  StallWatch::Time const start{};
  auto const at = [&](int ms) { return start + milliseconds(ms); };
  EXPECT_FALSE(watch.look(at(0), {1}));
  EXPECT_FALSE(watch.look(at(99), {1}));
  EXPECT_TRUE(watch.look(at(110), {1}));
  EXPECT_EQ(watch.still(), milliseconds(110));
  EXPECT_FALSE(watch.look(at(500), {1})) << "told already";
  EXPECT_FALSE(watch.look(at(600), {2}));
  EXPECT_FALSE(watch.look(at(650), {2}));
  EXPECT_TRUE(watch.look(at(700), {2})) << "a new stall";
}

}  // namespace
