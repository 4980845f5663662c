#include <gtest/gtest.h>

#include "monitors/flush_policy.hpp"

namespace {

using namespace hiway;
using namespace std::chrono_literals;

constexpr FlushState waiting{.pending_items = 3, .batch_items = 8, .age = 10us, .flush_after = 50us, .closing = false};

TEST(FlushPolicy, WaitsForCompany) { EXPECT_EQ(decide_flush(waiting), FlushDecision::wait); }

TEST(FlushPolicy, NothingPendingNeverLeaves) {
  FlushState s = waiting;
  s.pending_items = 0;
  s.age = 1s;
  s.closing = true;
  EXPECT_EQ(decide_flush(s), FlushDecision::wait);
}

TEST(FlushPolicy, LeavesAtTheThreshold) {
  FlushState s = waiting;
  s.pending_items = 7;
  EXPECT_EQ(decide_flush(s), FlushDecision::wait);
  s.pending_items = 8;
  EXPECT_EQ(decide_flush(s), FlushDecision::flush);
}

TEST(FlushPolicy, LeavesWhenOldEnough) {
  FlushState s = waiting;
  s.age = 49us;
  EXPECT_EQ(decide_flush(s), FlushDecision::wait);
  s.age = 50us;
  EXPECT_EQ(decide_flush(s), FlushDecision::flush);
}

TEST(FlushPolicy, LeavesWhenNoCompanyWillCome) {
  FlushState s = waiting;
  s.closing = true;
  EXPECT_EQ(decide_flush(s), FlushDecision::flush);
}

}  // namespace
