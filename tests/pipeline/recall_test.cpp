// What the device monitor does about kernels that yield, by a warp of one thread: whom it calls, and whom it sends
// away.
#include "monitors/recall.hpp"

#include <gtest/gtest.h>

#include "hiway/machine/thread_machine.hpp"

namespace {

using namespace hiway;

/// A kernel of two blocks between two tunnels.
class Recall : public testing::Test {
 protected:
  Recall() {
    from_.free.bits = 0;
    into_.free.bits = 4;
    ends_[0].ring.words = &from_;
    ends_[1].ring.words = &into_;
    kernel_.news = &news_;
    kernel_.words = &words_;
    kernel_.blocks = 2;
    kernel_.stages = {0, 1};
    kernel_.outlets = {0, 1};
    kernel_.inlets = {1, 2};
    table_ = {.kernels = &kernel_, .stages = stages_, .ends = ends_, .kernel_count = 1, .idle_ns = 0};
  }
  bool round() { return recall_round(ThreadMachine{}, table_); }
  /// All blocks of the launch leave.
  void leave() { ++words_.launch.bits; }

  RingWords from_, into_;
  StageWords stage_;
  StageWords* stages_[1] = {&stage_};
  WatchedEnd ends_[2];
  SliceNews news_;
  SliceWords words_;
  YieldingKernel kernel_;
  RecallTable table_;
};

TEST_F(Recall, CallsForItemsThatThereIsRoomFor) {
  leave();
  EXPECT_TRUE(round());
  EXPECT_EQ(news_.next.bits, 0U);
  from_.avail.bits = 1;
  into_.free.bits = 0;
  EXPECT_FALSE(round()) << "an item is left";
  EXPECT_EQ(news_.next.bits, 0U);
  into_.free.bits = 1;
  EXPECT_FALSE(round());
  EXPECT_EQ(news_.next.bits, 2U);
}

TEST_F(Recall, CallsOnceUntilTheLaunchHasLeft) {
  leave();
  from_.avail.bits = 1;
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(round());
  EXPECT_EQ(news_.next.bits, 2U);
  leave();
  EXPECT_FALSE(round());
  EXPECT_EQ(news_.next.bits, 3U);
}

TEST_F(Recall, CallsForResultsThatAreHeld) {
  leave();
  words_.held_count.bits = 1;
  EXPECT_FALSE(round());
  EXPECT_EQ(news_.next.bits, 2U);
}

TEST_F(Recall, CallsForBlocksThatHaveNotReturned) {
  leave();
  stage_.ended.bits = 1;
  stage_.returned.bits = 1;
  EXPECT_FALSE(round());
  EXPECT_EQ(news_.next.bits, 2U);
  stage_.returned.bits = 2;
  leave();
  EXPECT_TRUE(round());
  EXPECT_EQ(news_.next.bits, 2U);
}

// The launch said itself that the next one may start.
TEST_F(Recall, DoesNotCallWhoComesAnyway) {
  words_.found.bits = 1;
  from_.avail.bits = 1;
  leave();
  EXPECT_FALSE(round());
  EXPECT_EQ(news_.next.bits, 0U);
  leave();
  EXPECT_FALSE(round());
  EXPECT_EQ(news_.next.bits, 3U);
}

TEST_F(Recall, HearsOfLaunchesThatNobodyAskedFor) {
  leave();
  news_.launched.bits = 2;
  EXPECT_TRUE(round());
  hear_of_launches(ThreadMachine{}, table_);
  EXPECT_FALSE(round()) << "it is there";
  leave();
  EXPECT_TRUE(round());
}

TEST_F(Recall, SendsAwayWhereNothingMoves) {
  round();
  EXPECT_EQ(words_.sent_away.bits, 0U) << "the first look";
  from_.taken.bits = 2;
  round();
  EXPECT_EQ(words_.sent_away.bits, 0U) << "it moves";
  round();
  EXPECT_EQ(words_.sent_away.bits, 1U);
}

// What rested before they came is not their rest.
TEST_F(Recall, LeavesTimeToLaunchesThatNobodyAskedFor) {
  round();
  leave();
  news_.launched.bits = 2;
  hear_of_launches(ThreadMachine{}, table_);
  round();
  EXPECT_EQ(words_.sent_away.bits, 0U);
  round();
  EXPECT_EQ(words_.sent_away.bits, 2U);
}

}  // namespace
