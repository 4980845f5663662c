// A monitor's thread: its duties, one that fails, its naps.
#include "monitors/host_monitor.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <thread>

namespace {

using namespace hiway;
using namespace std::chrono_literals;

bool comes(std::function<bool()> const& condition) {
  auto const until = std::chrono::steady_clock::now() + 20s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::yield();
  }
  return true;
}

/// The monitor's thread.
std::jthread run(HostMonitor& monitor) {
  return std::jthread([&monitor](std::stop_token const& stop) { monitor.run(stop); });
}

TEST(HostMonitor, ADutyThatThrowsIsNotCalledAgainAndTheOthersAre) {
  std::atomic<int> failing = 0;
  std::atomic<int> working = 0;
  std::atomic<int> told = 0;
  auto const fails = [&]() -> bool {
    ++failing;
    throw std::runtime_error("broken");
  };
  Bell bell;
  HostMonitor monitor(
      {fails, [&] { return ++working < 1000; }}, [] { return false; }, [&](std::exception_ptr const&) { ++told; },
      bell);
  for (int runs = 1; runs <= 2; ++runs) {  // in the next run it is called again
    working = 0;
    std::jthread thread = run(monitor);
    EXPECT_TRUE(comes([&] { return working >= 1000; }));
    thread = {};
    EXPECT_EQ(failing, runs);
    EXPECT_EQ(told, runs);
  }
}

TEST(HostMonitor, EndsByItselfWhenAllIsOver) {
  std::atomic<bool> over = false;
  std::atomic<int> steps = 0;
  Bell bell;
  HostMonitor monitor(
      {[&] { return ++steps, false; }}, [&] { return over.load(); }, [](std::exception_ptr const&) {}, bell);
  std::jthread const thread = run(monitor);
  EXPECT_TRUE(comes([&] { return steps > 0; }));
  over = true;
  int last = -1;
  EXPECT_TRUE(comes([&] {  // no step for longer than any nap
    std::this_thread::sleep_for(50ms);
    return std::exchange(last, steps.load()) == steps;
  }));
}

TEST(HostMonitor, RestsAsItIsToldAfterEachRoundThatMovedSomething) {
  std::atomic<int> steps = 0;
  int rests = 0;
  Bell bell;
  HostMonitor monitor(
      {[&] { return ++steps <= 10; }, [] { return false; }}, [&] { return steps > 20; },
      [](std::exception_ptr const&) {}, bell, Wait::automatic, {.rest = [&] { ++rests; }});
  run(monitor).join();
  EXPECT_EQ(rests, 10);
}

TEST(HostMonitor, ANapEndsWhenSomebodyWakesIt) {
  std::atomic<int> steps = 0;
  Bell bell;
  HostMonitor monitor(
      {[&] { return ++steps, false; }}, [] { return false; }, [](std::exception_ptr const&) {}, bell);
  std::jthread const thread = run(monitor);
  std::this_thread::sleep_for(400ms);  // its naps have grown to 8 ms
  int const before = steps;
  for (int i = 0; i < 200; ++i) {
    int const seen = steps;
    monitor.wake();
    ASSERT_TRUE(comes([&] { return steps != seen; }));
  }
  EXPECT_GE(steps - before, 200);
}

TEST(HostMonitor, ABellEndsItsNapsAndThoseThatFollowAreShort) {
  std::atomic<int> steps = 0;
  Bell bell;
  HostMonitor monitor(
      {[&] { return ++steps, false; }}, [] { return false; }, [](std::exception_ptr const&) {}, bell);
  std::jthread const thread = run(monitor);
  std::this_thread::sleep_for(700ms);  // its naps are 10 ms long
  EXPECT_TRUE(comes([&] {
    int const before = steps;
    bell.ring(1);
    std::this_thread::sleep_for(20ms);
    return steps - before >= 20;  // by long naps 3 at most
  }));
}

// A ring costs a put more than it saves while naps are short, so nobody sees these.
TEST(HostMonitor, IsSeenToNapWhenItsNapsAreLongOnly) {
  std::chrono::microseconds short_naps{0};
  for (unsigned n = 1; nap_length(n) < 200us; ++n) short_naps += nap_length(n);
  Bell bell;
  HostMonitor monitor(
      {[] { return false; }}, [] { return false; }, [](std::exception_ptr const&) {}, bell, Wait::sleep);
  auto const began = std::chrono::steady_clock::now();
  std::jthread const thread = run(monitor);
  EXPECT_TRUE(comes([&] { return bell.has_nappers(); }));
  EXPECT_GE(std::chrono::steady_clock::now() - began, short_naps);
}

TEST(HostMonitor, WaitsAsItIsTold) {
  for (Wait const wait : {Wait::automatic, Wait::spin, Wait::yield, Wait::sleep}) {
    std::atomic<unsigned> steps = 0;
    std::atomic<std::uint64_t> naps = 0;
    auto const idles = [&] {
      naps = this_thread_context().naps;
      ++steps;
      return false;
    };
    Bell bell;
    HostMonitor monitor(
        {idles}, [] { return false; }, [](std::exception_ptr const&) {}, bell, wait);
    std::jthread thread = run(monitor);
    bool const naps_at_all = wait == Wait::automatic || wait == Wait::sleep;
    EXPECT_TRUE(comes([&] { return steps > 20 && (naps > 5 || !naps_at_all); }));
    EXPECT_TRUE(naps_at_all || comes([&] { return steps > misses_awake(Wait::automatic) + 10; }));
    thread = {};
    EXPECT_TRUE(naps_at_all || naps == 0) << naps;
    EXPECT_TRUE(wait != Wait::sleep || naps == steps - 1) << "one between any two steps: " << naps << ", " << steps;
  }
}

}  // namespace
