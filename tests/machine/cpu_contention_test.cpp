// What one thread's yields say to all of them.
#include "lib/cpu_contention.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace {

using hiway::CpuContention;
using Turn = CpuContention::Turn;
using Time = CpuContention::Time;
using namespace std::chrono_literals;

constexpr Time start{1h};
constexpr auto short_yield = 1us;
constexpr auto long_yield = 4ms;

/// One thread yields at `now`, if it may; the yield takes `takes`.
Turn yield_at(CpuContention& cpus, Time now, CpuContention::Time::duration takes) {
  Turn const turn = cpus.turn(now);
  if (turn != Turn::avoid) cpus.yielded(turn, now, now + takes);
  return turn;
}

TEST(CpuContention, ShortYieldsGoOn) {
  CpuContention cpus;
  EXPECT_EQ(yield_at(cpus, start, short_yield), Turn::yield);
  EXPECT_EQ(yield_at(cpus, start + 1s, short_yield), Turn::yield);
  EXPECT_FALSE(cpus.is_known(start + 1s));
}

TEST(CpuContention, AfterALongYieldNobodyYieldsForAWhile) {
  CpuContention cpus;
  EXPECT_EQ(yield_at(cpus, start, long_yield), Turn::yield);
  Time const after = start + long_yield;
  EXPECT_TRUE(cpus.is_known(after));
  EXPECT_EQ(cpus.turn(after), Turn::avoid);
  EXPECT_EQ(cpus.turn(after + CpuContention::avoid_for - 1us), Turn::avoid);
}

TEST(CpuContention, ThenOneThreadTriesAgainAndTheOthersWaitForWhatItFinds) {
  CpuContention cpus;
  yield_at(cpus, start, long_yield);
  Time const later = start + long_yield + CpuContention::avoid_for;
  ASSERT_EQ(cpus.turn(later), Turn::try_again);
  EXPECT_EQ(cpus.turn(later), Turn::avoid);
  cpus.yielded(Turn::try_again, later, later + short_yield);
  EXPECT_EQ(cpus.turn(later), Turn::yield);
  EXPECT_FALSE(cpus.is_known(later));
}

TEST(CpuContention, ATryThatTakesLongKeepsThemFromYielding) {
  CpuContention cpus;
  yield_at(cpus, start, long_yield);
  Time const later = start + long_yield + CpuContention::avoid_for;
  EXPECT_EQ(yield_at(cpus, later, long_yield), Turn::try_again);
  EXPECT_EQ(cpus.turn(later + CpuContention::try_for), Turn::avoid);
}

TEST(CpuContention, AShortYieldThatBeganBeforeSaysNothing) {
  CpuContention cpus;
  Turn const early = cpus.turn(start);
  yield_at(cpus, start, long_yield);
  cpus.yielded(early, start, start + short_yield);
  EXPECT_EQ(cpus.turn(start + long_yield), Turn::avoid);
}

TEST(CpuContention, AThreadThatTriesAndDoesNotComeBackIsNotWaitedFor) {
  CpuContention cpus;
  yield_at(cpus, start, long_yield);
  Time const later = start + long_yield + CpuContention::avoid_for;
  ASSERT_EQ(cpus.turn(later), Turn::try_again);
  EXPECT_EQ(cpus.turn(later + CpuContention::try_for), Turn::try_again);
}

}  // namespace
