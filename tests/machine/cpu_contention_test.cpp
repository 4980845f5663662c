// What a thread's yields tell it, and all of them.
#include "lib/cpu_contention.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace {

using hiway::CpuContention;
using Thread = CpuContention::Thread;
using Turn = CpuContention::Turn;
using Time = CpuContention::Time;
using Duration = Time::duration;
using namespace std::chrono_literals;

constexpr Time start{1h};
constexpr auto short_yield = 1us;
constexpr auto long_yield = 4ms;

/// The thread yields at `now`, if it may; the yield takes `takes`.
Turn yield_at(CpuContention& cpus, Thread& thread, Time now, Duration takes) {
  Turn const turn = CpuContention::turn(thread, now);
  if (turn != Turn::avoid) cpus.rested(thread, turn, now, now + takes);
  return turn;
}

/// How long the thread avoids yields after one that takes long, begun at `now`.
Duration avoidance_after_long_yield(CpuContention& cpus, Thread& thread, Time now) {
  EXPECT_NE(yield_at(cpus, thread, now, long_yield), Turn::avoid);
  Duration avoids{};
  while (CpuContention::turn(thread, now + long_yield + avoids) == Turn::avoid) avoids += 50us;
  return avoids;
}

TEST(CpuContention, ShortYieldsGoOn) {
  CpuContention cpus;
  Thread thread;
  EXPECT_EQ(yield_at(cpus, thread, start, short_yield), Turn::yield);
  EXPECT_EQ(yield_at(cpus, thread, start + 1s, short_yield), Turn::yield);
}

TEST(CpuContention, AfterALongYieldTheThreadYieldsNotForAWhileAndThenTries) {
  CpuContention cpus;
  Thread thread;
  EXPECT_EQ(avoidance_after_long_yield(cpus, thread, start), CpuContention::shortest_avoidance);
  EXPECT_EQ(CpuContention::turn(thread, start + 1s), Turn::try_again);
}

TEST(CpuContention, OneThreadsLongYieldKeepsNoOtherFromYielding) {
  CpuContention cpus;
  Thread thread, other;
  yield_at(cpus, thread, start, long_yield);
  EXPECT_EQ(yield_at(cpus, other, start + long_yield, short_yield), Turn::yield);
}

TEST(CpuContention, AShortTryEndsIt) {
  CpuContention cpus;
  Thread thread;
  yield_at(cpus, thread, start, long_yield);
  EXPECT_EQ(yield_at(cpus, thread, start + 1s, short_yield), Turn::try_again);
  EXPECT_EQ(CpuContention::turn(thread, start + 1s), Turn::yield);
}

TEST(CpuContention, TriesOfAnyThreadThatTakeLongDoubleTheTimeUpToALimit) {
  CpuContention cpus;
  Duration expected = CpuContention::shortest_avoidance;
  for (Time now = start; now < start + 20s; now += 1s) {
    Thread another;
    EXPECT_EQ(avoidance_after_long_yield(cpus, another, now), expected);
    expected = std::min<Duration>(2 * expected, CpuContention::longest_avoidance);
  }
}

TEST(CpuContention, AShortTryHalvesWhatWasCounted) {
  CpuContention cpus;
  Thread thread;
  for (Time now = start; now < start + 6s; now += 1s) yield_at(cpus, thread, now, long_yield);
  yield_at(cpus, thread, start + 6s, short_yield);
  EXPECT_EQ(avoidance_after_long_yield(cpus, thread, start + 7s), CpuContention::shortest_avoidance * 8);
}

TEST(CpuContention, AShortYieldThatIsNoTryHalvesNothing) {
  CpuContention cpus;
  Thread thread, other;
  for (Time now = start; now < start + 6s; now += 1s) yield_at(cpus, thread, now, long_yield);
  yield_at(cpus, other, start + 6s, short_yield);
  EXPECT_EQ(avoidance_after_long_yield(cpus, thread, start + 7s), CpuContention::shortest_avoidance * 64);
}

}  // namespace
