// search<World>: many schedules of one world, and what to print of them.
//
// A world is made anew for each schedule, in place:
//   struct World {
//     static constexpr std::array warps = {1u, 2u};       // lanes of each warp; a CPU thread is a warp of one
//     void run(unsigned warp, ExploreMachine m);          // each lane's code; throws Failure
//     void check() const;                                 // after the last lane has returned; throws Failure
//   };
// HIWAY_SCHEDULES=N: schedules per test (short tier: 100,000). HIWAY_DELAYS=D: what is enumerated (short tier: 2).
// HIWAY_SEED=...: this one schedule only.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <string>

#include "tests/explore/explore_machine.hpp"
#include "tests/explore/explorer.hpp"
#include "tests/explore/strategies.hpp"

namespace hiway::explore {

inline unsigned most_delays() {
  char const* const n = std::getenv("HIWAY_DELAYS");
  return n != nullptr ? static_cast<unsigned>(std::stoul(n)) : 2;
}
inline std::uint64_t schedules_wanted() {
  if (char const* const n = std::getenv("HIWAY_SCHEDULES")) return std::stoull(n);
#ifdef HIWAY_SANITIZED
  return 5'000;
#else
  return 100'000;
#endif
}

/// Every test's explorer: its stacks are mapped once.
inline Explorer& the_explorer() {
  static Explorer explorer;
  return explorer;
}

/// One schedule of a new world.
template <class World>
Outcome run_once(Strategy& strategy) {
  static std::optional<World> world;
  world.emplace();
  return the_explorer().run<ExploreMachine>(*world, strategy);
}

/// What a search found: the first failure, or none.
struct Found {
  std::uint64_t enumerated = 0;
  bool all_enumerated = false;
  std::uint64_t random = 0;
  std::uint64_t pct = 0;
  unsigned most_points = 0;
  bool failed = false;
  Outcome failure;
  std::string seed;
  [[nodiscard]] std::uint64_t schedules() const { return enumerated + random + pct; }
};

inline constexpr unsigned enumerates = 1;
inline constexpr unsigned walks = 2;
inline constexpr unsigned ranks = 4;

/// Schedules of `World` until one fails: all with few delays, but no more than `schedules`; then as many as are
/// left, and at least a quarter of `schedules` each, by random walk and by PCT.
template <class World>
Found search(std::uint64_t schedules, unsigned strategies = enumerates | walks | ranks) {
  Found found;
  auto const fails = [&](Strategy& strategy) {
    Outcome const outcome = run_once<World>(strategy);
    found.most_points = std::max(found.most_points, outcome.points);
    if (!outcome.failed) return false;
    found.failed = true;
    found.failure = outcome;
    found.seed = strategy.seed();
    return true;
  };
  if ((strategies & enumerates) != 0) {
    Delays delays(most_delays());
    do {
      ++found.enumerated;
      if (fails(delays)) return found;
      found.all_enumerated = !delays.advance();
    } while (!found.all_enumerated && found.enumerated < schedules);
  }
  std::uint64_t const left = std::max(schedules - found.enumerated, schedules / 2);
  std::uint64_t const each = (strategies & (walks | ranks)) == (walks | ranks) ? (left + 1) / 2 : left;
  if ((strategies & walks) != 0) {
    for (std::uint64_t seed = 1; seed <= each; ++seed) {
      RandomWalk walk(seed);
      ++found.random;
      if (fails(walk)) return found;
    }
  }
  if ((strategies & ranks) != 0) {
    for (std::uint64_t seed = 1; seed <= each; ++seed) {
      Pct pct(seed, std::max(found.most_points, 50u));
      ++found.pct;
      if (fails(pct)) return found;
    }
  }
  return found;
}

inline std::string test_name() {
  auto const* const info = testing::UnitTest::GetInstance()->current_test_info();
  return std::string(info->test_suite_name()) + "." + info->name();
}

/// The line that a failure prints.
inline std::string replay_line(Found const& found) {
  return test_name() + ": " + found.failure.why + " (schedule " + std::to_string(found.schedules()) + ", " +
         std::to_string(found.failure.points) + " points); replay: HIWAY_SEED=" + found.seed +
         " hiway_explore_tests --gtest_filter=" + test_name();
}

/// Runs a failure's seed again: it must come to the same.
template <class World>
void expect_replay(Found const& found) {
  Outcome const again = run_once<World>(*strategy_of(found.seed));
  EXPECT_TRUE(again.failed);
  EXPECT_EQ(again.why, found.failure.why);
  EXPECT_EQ(again.trace, found.failure.trace) << "another schedule than the one that failed";
  EXPECT_EQ(again.points, found.failure.points);
}

/// No schedule of `World` may fail.
template <class World>
void expect_no_failure() {
  if (char const* const seed = std::getenv("HIWAY_SEED")) {
    Outcome const outcome = run_once<World>(*strategy_of(seed));
    std::printf("[ explore  ] %s: HIWAY_SEED=%s, %u points, trace %016llx\n", test_name().c_str(), seed, outcome.points,
                static_cast<unsigned long long>(outcome.trace));
    EXPECT_FALSE(outcome.failed) << outcome.why;
    return;
  }
  auto const began = std::chrono::steady_clock::now();
  Found const found = search<World>(schedules_wanted());
  std::chrono::duration<double, std::micro> const took = std::chrono::steady_clock::now() - began;
  auto const count = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
  std::printf(
      "[ explore  ] %llu schedules, %d failed: %s%llu with at most %u delays, random:1..%llu, pct:1..%llu; "
      "at most %u points, %.1f us each\n",
      count(found.schedules()), found.failed ? 1 : 0, found.all_enumerated ? "all " : "the first ",
      count(found.enumerated), most_delays(), count(found.random), count(found.pct), found.most_points,
      took.count() / static_cast<double>(found.schedules()));
  if (!found.failed) return;
  ADD_FAILURE() << replay_line(found);
  expect_replay<World>(found);
}

/// `World` has a planted bug. Each of `strategies` alone must find it, and the seed must make the same schedule again.
template <class World>
void expect_found(std::initializer_list<unsigned> strategies = {enumerates, walks, ranks},
                  std::uint64_t schedules = 100'000) {
  for (unsigned const strategy : strategies) {
    Found const found = search<World>(schedules, strategy);
    ASSERT_TRUE(found.failed) << "not found in " << found.schedules() << " schedules of strategy " << strategy;
    std::printf("[ explore  ] planted, found: %s\n", replay_line(found).c_str());
    expect_replay<World>(found);
  }
}

}  // namespace hiway::explore
