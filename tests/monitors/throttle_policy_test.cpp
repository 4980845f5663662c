#include "monitors/throttle_policy.hpp"

#include <gtest/gtest.h>

namespace {

using namespace hiway;

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t patience = throttle_patience_ns;

/// Pools of 3,200 items together.
constexpr PoolsSeen pools(std::uint32_t percent, std::uint64_t taken, std::uint64_t now_ns) {
  return {.fullest_percent = percent, .taken = taken, .capacity = 3200, .now_ns = now_ns};
}
bool throttled(ThrottleState const& s) { return s.throttle == Throttle::throttled; }

TEST(ThrottlePolicy, HoldsBackAboveOneHalfUntilBelowOneQuarter) {
  ThrottleState s;
  s = decide_throttle(s, pools(50, 0, 0));
  EXPECT_FALSE(throttled(s));
  s = decide_throttle(s, pools(51, 0, ms));
  EXPECT_TRUE(throttled(s));
  s = decide_throttle(s, pools(25, 1000, 2 * ms));
  EXPECT_TRUE(throttled(s));
  s = decide_throttle(s, pools(24, 1001, 3 * ms));
  EXPECT_FALSE(throttled(s));
  s = decide_throttle(s, pools(50, 2000, 4 * ms));
  EXPECT_FALSE(throttled(s));
  s = decide_throttle(s, pools(60, 2000, 5 * ms));
  EXPECT_TRUE(throttled(s));
  EXPECT_EQ(s.times, 2u);
}

TEST(ThrottlePolicy, GoesOnWhileAnItemIsTakenNowAndThen) {
  ThrottleState s = decide_throttle({}, pools(90, 0, 0));
  std::uint64_t now = 0;
  for (std::uint64_t taken = 1; taken <= 100; ++taken) {
    now += patience - 1;
    s = decide_throttle(s, pools(90, taken, now));
    ASSERT_TRUE(throttled(s)) << taken;
  }
  EXPECT_FALSE(throttled(decide_throttle(s, pools(90, 100, now + patience))));
}

TEST(ThrottlePolicy, TimeBeforeItThrottledDoesNotCount) {
  ThrottleState s = decide_throttle({}, pools(50, 7, 0));
  s = decide_throttle(s, pools(60, 7, 10 * patience));
  s = decide_throttle(s, pools(60, 7, 11 * patience - 1));
  EXPECT_TRUE(throttled(s));
}

TEST(ThrottlePolicy, WhatWasInVainRestsTwiceAsLongEachTime) {
  ThrottleState s;
  std::uint64_t now = 0;
  std::uint64_t taken = 0;
  for (std::uint64_t rest = 101; rest < 100'000; rest *= 2) {
    s = decide_throttle(s, pools(80, taken, now));
    ASSERT_TRUE(throttled(s));
    now += patience;
    s = decide_throttle(s, pools(80, taken, now));
    ASSERT_FALSE(throttled(s));
    s = decide_throttle(s, pools(80, taken + rest - 1, now));
    ASSERT_FALSE(throttled(s)) << rest;
    taken += rest;
  }
}

TEST(ThrottlePolicy, OneThatEmptiedThePoolsEndsTheRests) {
  ThrottleState s = decide_throttle({}, pools(80, 0, 0));
  s = decide_throttle(s, pools(80, 0, patience));         // in vain: rests until 101
  s = decide_throttle(s, pools(80, 101, patience));       // again
  s = decide_throttle(s, pools(20, 3000, 2 * patience));  // not in vain
  s = decide_throttle(s, pools(80, 3000, 2 * patience));
  s = decide_throttle(s, pools(80, 3000, 3 * patience));  // in vain: as at first
  EXPECT_FALSE(throttled(decide_throttle(s, pools(80, 3100, 3 * patience))));
  EXPECT_TRUE(throttled(decide_throttle(s, pools(80, 3101, 3 * patience))));
}

// A stage that takes from its own tunnel only while items come from outside: as many as it likes, it waits seldom.
TEST(ThrottlePolicy, DelaysARunThatItDoesNotHelpSeldom) {
  ThrottleState s;
  std::uint64_t now = 0;
  for (std::uint64_t taken = 0; taken < 1'000'000'000;) {
    s = decide_throttle(s, pools(80, taken, now));
    throttled(s) ? now += patience : taken += 10;
  }
  EXPECT_LT(s.times, 30u);
}

}  // namespace
