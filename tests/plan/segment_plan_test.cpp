// Segments as files describe them. The sizes themselves: tests/segment/sizing_test.cpp.
#include "hiway/plan/segment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "hiway/error.hpp"

namespace {

using namespace hiway::plan;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// spread puts up to 20 for one, keep 1 at most; of both, one remains on average.
std::string file_of(std::string const& spread_more = "") {
  return R"({"segment": {"v": 128, "queue_ns": 2, "nodes": [
  {"name": "spread", "gain_max": 20, "gain_mean": 4, "item_bytes": 8)" +
         spread_more + R"(},
  {"name": "keep", "gain_max": 1, "gain_mean": 0.25, "item_bytes": 8, "interruptible": false, "service_ns": 1}]}})";
}
SegmentPlan planned(std::string const& json, std::optional<std::int64_t> memory = std::nullopt) {
  return plan_segment(read_segment(json).value(), memory);
}
std::string refused(std::string const& json) {
  try {
    (void)planned(json);
  } catch (hiway::ConfigError const& error) {
    return error.what();
  }
  return "accepted";
}

TEST(SegmentPlan, AQueueHoldsTheWorstOfTheNodeThatFillsIt) {
  SegmentPlan const plan = planned(file_of());
  EXPECT_EQ(plan.verdict, Verdict::fits);
  EXPECT_THAT(plan.nodes, ElementsAre("spread", "keep"));
  EXPECT_THAT(plan.min, ElementsAre(20 * 128 + 127, 1 * 128 + 127));
  EXPECT_EQ(plan.min_bytes, (2687 + 255) * 8);
  EXPECT_EQ(plan.best, plan.min);
}

TEST(SegmentPlan, AnInterruptibleNodeNeedsTwoVectors) {
  SegmentPlan const plan = planned(file_of(R"(, "interruptible": true, "cursor_bytes": 16)"));
  EXPECT_THAT(plan.min, ElementsAre(255, 255));
  EXPECT_EQ(plan.min_bytes, 510 * 8 + 16 * 128);
}

TEST(SegmentPlan, MemoryIsSharedOutByTheSquareRootOfTheItems) {
  // 4 items and 1 item come for one of the first node: twice as many slots.
  SegmentPlan const plan = planned(file_of(R"(, "interruptible": true)"), 3000 * 8);
  EXPECT_EQ(plan.verdict, Verdict::fits);
  EXPECT_THAT(plan.best, ElementsAre(2000, 1000));
  EXPECT_EQ(plan.best_bytes, 24000);
}

TEST(SegmentPlan, AnyMemoryIsTaken) {
  EXPECT_EQ(planned(file_of(), std::numeric_limits<std::int64_t>::max()).verdict, Verdict::fits);
}

TEST(SegmentPlan, TooLittleNamesTheNodeThatWouldLowerIt) {
  SegmentPlan const plan = planned(file_of(), 8000);
  EXPECT_EQ(plan.verdict, Verdict::needs_more);
  EXPECT_THAT(plan.best, IsEmpty());
  EXPECT_THAT(plan.why, HasSubstr("23536"));
  EXPECT_THAT(plan.why, HasSubstr("interruptible node spread would lower it to 4080"));
}

TEST(SegmentPlan, ProposesWhatFreesBytesAndSavesTime) {
  SegmentPlan const plan = planned(file_of(), 30000);
  ASSERT_EQ(plan.interrupt.size(), 1);
  EXPECT_EQ(plan.interrupt[0].node, "spread");
  EXPECT_GT(plan.interrupt[0].freed_bytes, 0);
  // Merged, keep runs up to 20 times a firing: 4 * (1 + 2) - 20 * 1 saves nothing.
  EXPECT_THAT(plan.merge, IsEmpty());
  SegmentProgram cheap = read_segment(file_of()).value();
  cheap.nodes[0].gain_max = 5;  // 4 * (1 + 2) - 5 * 1
  SegmentPlan const merging = plan_segment(cheap, 30000);
  ASSERT_EQ(merging.merge.size(), 1);
  EXPECT_EQ(merging.merge[0].node, "keep");
  EXPECT_DOUBLE_EQ(merging.merge[0].saved_ns, 7);
}

TEST(SegmentPlan, AProgramOfTasksIsNoSegment) { EXPECT_FALSE(read_segment(R"({"streams": [], "body": []})")); }

TEST(SegmentPlan, WhatIsWrongIsSaidWithItsPlace) {
  auto const node = [](std::string const& members) { return R"({"segment": {"v": 4, "nodes": [{)" + members + "}]}}"; };
  EXPECT_EQ(refused("{\"segment\": {\"v\": 4}}"), "line 1, column 13: /segment: 'nodes' is missing");
  EXPECT_THAT(refused(R"({"segment": {"v": 4, "nodes": []}})"),
              HasSubstr("column 31: /segment/nodes: a segment has 1 node"));
  EXPECT_THAT(refused(R"({"segment": {"v": 4, "nodes": [], "body": []}})"), HasSubstr("no key 'body' here"));
  EXPECT_THAT(refused(R"({"segment": {"v": 4.5, "nodes": []}})"), HasSubstr("/segment/v: an integer is needed"));
  EXPECT_THAT(refused(node(R"("name": "a", "gain_max": 1, "gain_mean": "1", "item_bytes": 1)")),
              HasSubstr("/segment/nodes/0/gain_mean: an integer is needed, not a text"));
  EXPECT_THAT(refused(node(R"("name": "a", "gain_max": 1, "gain_mean": 1e999, "item_bytes": 1)")),
              HasSubstr("/segment/nodes/0/gain_mean: no double holds this number"));
  EXPECT_THAT(refused(node(R"("name": "a", "gain_max": 1, "gain_mean": 2, "item_bytes": 1)")),
              HasSubstr("its gain lies between 0 and max_gain 1"));
  EXPECT_THAT(refused(node(R"("name": "a", "gain_max": 1, "gain_mean": 1, "item_bytes": 1, "interruptible": 1)")),
              HasSubstr("true or false is needed, not an integer"));
  EXPECT_THAT(refused(R"({"segment": {"v": 4, "nodes": [{"name": "a", "gain_max": 1, "gain_mean": 1, "item_bytes": 1},
  {"name": "a", "gain_max": 1, "gain_mean": 1, "item_bytes": 1}]}})"),
              HasSubstr("line 2, column 3: /segment/nodes/1: there are two nodes 'a'"));
}

}  // namespace
