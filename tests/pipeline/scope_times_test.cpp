// How many scopes were opened, how they ended, and how long each was open (lib/scope/times.hpp).
#include "lib/scope/times.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

namespace {

using hiway::ScopesReport;
using hiway::detail::PlaceWait;
using hiway::detail::ScopeOutcome;
using hiway::detail::ScopeRecord;
using hiway::detail::ScopeTimes;
using hiway::detail::TimeBuckets;
using namespace std::chrono_literals;

/// Opens a scope and ends it as if it had been open for so long.
void one(ScopeTimes& times, std::uint32_t place, std::int64_t ns, ScopeOutcome outcome = ScopeOutcome::well) {
  times.end(place, times.open() - ns / 4 * 4, outcome);
}

TEST(TimeBuckets, AreOffByASixteenthAtMost) {
  for (std::uint64_t ns = 0; ns < std::uint64_t{1} << 43; ns += 1 + ns / 7) {
    TimeBuckets buckets;
    buckets.add(ns);
    TimeBuckets::Sums sums{};
    buckets.add_to(sums);
    for (double const fraction : {0.0, 0.5, 1.0}) {
      auto const seen = static_cast<double>(TimeBuckets::quantile(sums, fraction));
      ASSERT_NEAR(seen, static_cast<double>(ns), static_cast<double>(ns) / 16) << ns;
    }
  }
}
TEST(TimeBuckets, TakeTheLongestTimes) {
  TimeBuckets buckets;
  buckets.add(~std::uint64_t{0});
  TimeBuckets::Sums sums{};
  buckets.add_to(sums);
  EXPECT_GT(TimeBuckets::quantile(sums, 0.5), std::uint64_t{1} << 42);
}
TEST(TimeBuckets, HaveQuantilesOfAllLines) {
  TimeBuckets few;
  TimeBuckets many;
  for (std::uint64_t i = 1; i <= 100; ++i) few.add(1000 * i);
  for (std::uint64_t i = 101; i <= 1000; ++i) many.add(1000 * i);
  TimeBuckets::Sums sums{};
  few.add_to(sums);
  many.add_to(sums);
  EXPECT_NEAR(static_cast<double>(TimeBuckets::quantile(sums, 0.05)), 50'000, 50'000 / 16.0);
  EXPECT_NEAR(static_cast<double>(TimeBuckets::quantile(sums, 0.5)), 500'000, 500'000 / 16.0);
  EXPECT_NEAR(static_cast<double>(TimeBuckets::quantile(sums, 0.99)), 990'000, 990'000 / 16.0);
  EXPECT_EQ(TimeBuckets::quantile({0, 0}, 0.5), 0U);
}

TEST(ScopeTimes, CountOutcomes) {
  ScopeTimes times;
  times.begin_run(false);
  for (int i = 0; i < 10; ++i) one(times, 1, 1000);
  for (int i = 0; i < 3; ++i) one(times, 1, 1000, ScopeOutcome::failed);
  for (int i = 0; i < 2; ++i) one(times, 1, 1000, ScopeOutcome::cancelled);
  static_cast<void>(times.open());
  ScopesReport const r = times.report();
  EXPECT_EQ(r.opened, 16U);
  EXPECT_EQ(r.ended, 15U);
  EXPECT_EQ(r.failed, 3U);
  EXPECT_EQ(r.cancelled, 2U);
  EXPECT_EQ(r.open, 1U);
}

TEST(ScopeTimes, KnowTheSlowest) {
  ScopeTimes times;
  times.begin_run(false);
  one(times, 5, 20'000'000);
  one(times, (1U << 20) - 1, 3'000'000'000);
  one(times, 7, 2'000'000'000);
  ScopesReport const r = times.report();
  EXPECT_EQ(r.slowest_place, (1U << 20) - 1);
  EXPECT_NEAR(r.slowest_us, 3'000'000, 3'000);
  EXPECT_NEAR(r.median_us, 2'000'000, 2'000'000 / 16.0);
}

TEST(ScopeTimes, HaveNoQuantileAboveTheSlowest) {
  for (std::int64_t ns = 1000; ns < 1'000'000'000; ns += ns / 5) {
    ScopeTimes times;
    times.begin_run(false);
    one(times, 1, ns);
    ScopesReport const r = times.report();
    ASSERT_LE(r.median_us, r.slowest_us);
    ASSERT_LE(r.p99_us, r.slowest_us);
    ASSERT_GE(r.slowest_us, static_cast<double>(ns) / 1000 - 0.064);
  }
}

TEST(ScopeTimes, ForgetTheLastRunButForWhatIsOpen) {
  ScopeTimes times;
  times.begin_run(false);
  one(times, 5, 1'000'000'000, ScopeOutcome::failed);
  std::int64_t const late = times.open();
  times.waited(5);
  times.end_run();
  times.begin_run(false);
  ScopesReport r = times.report();
  EXPECT_EQ(r.opened, 0U);
  EXPECT_EQ(r.ended, 0U);
  EXPECT_EQ(r.failed, 0U);
  EXPECT_EQ(r.open, 1U);
  EXPECT_EQ(r.waits, 0U);
  EXPECT_EQ(r.wait_seconds, 0);
  EXPECT_EQ(r.slowest_us, 0);
  EXPECT_EQ(r.median_us, 0);
  times.end(5, late, ScopeOutcome::well);
  r = times.report();
  EXPECT_EQ(r.opened, 0U);
  EXPECT_EQ(r.open, 0U);
}

/// Of many scopes few are timed, but each stands for as many as are not, and what is slow is seen in any case.
TEST(ScopeTimes, OfManyScopesAreThoseOfAll) {
  constexpr std::uint32_t n = 40'001;  // the last one is not timed
  ScopeTimes times;
  times.begin_run(false);
  for (std::uint32_t i = 0; i < n; ++i) one(times, i, i % 3 == 0 ? 100'000'000 : 4'000'000);
  one(times, n, 5'000'000'000);
  ScopesReport const r = times.report();
  EXPECT_EQ(r.opened, n + 1);
  EXPECT_EQ(r.ended, n + 1);
  EXPECT_EQ(r.slowest_place, n);
  EXPECT_NEAR(r.slowest_us, 5'000'000, 10'000);
  EXPECT_NEAR(r.median_us, 4'000, 4'000 / 8.0);  // two thirds are short
  EXPECT_NEAR(r.p99_us, 100'000, 100'000 / 8.0);
}

TEST(ScopeTimes, CountInAllThreads) {
  ScopeTimes times;
  times.begin_run(false);
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < 20; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 1000; ++i) one(times, t, 1000);
      one(times, t, std::int64_t{1'000'000'000} * (t + 1));
    });
  }
  for (std::thread& t : threads) t.join();
  ScopesReport const r = times.report();
  EXPECT_EQ(r.opened, 20'020U);
  EXPECT_EQ(r.ended, 20'020U);
  EXPECT_EQ(r.open, 0U);
  EXPECT_EQ(r.slowest_place, 19U);
  EXPECT_LT(r.p99_us, 1'000'000);
}

TEST(ScopeTimes, RecordATracedRun) {
  ScopeTimes times;
  times.begin_run(false);
  one(times, 1, 1000);
  EXPECT_TRUE(times.records().empty());
  times.begin_run(true);
  one(times, 3, 2'000'000, ScopeOutcome::cancelled);
  times.end_run();
  one(times, 4, 2'000'000);
  ASSERT_EQ(times.records().size(), 1U);
  ScopeRecord const r = times.records().front();
  EXPECT_EQ(r.place, 3U);
  EXPECT_EQ(r.outcome, ScopeOutcome::cancelled);
  EXPECT_NEAR(static_cast<double>(r.length()), 2e6, 1e6);
  times.begin_run(true);
  EXPECT_TRUE(times.records().empty());
}

TEST(ScopeTimes, RecordTheLongestIfThereAreTooMany) {
  ScopeTimes times;
  times.begin_run(true);
  std::size_t const n = 3 * ScopeTimes::most_records;
  for (std::size_t i = 0; i < n; ++i) one(times, 1, static_cast<std::int64_t>(1'000'000'000 * (i % 1000)));
  times.end_run();
  std::vector<ScopeRecord> const kept = times.records();
  EXPECT_LT(kept.size(), ScopeTimes::most_records);
  EXPECT_GE(kept.size(), ScopeTimes::most_records / 2);
  std::int64_t least = kept.front().length();
  std::size_t longest = 0;
  for (ScopeRecord const& r : kept) {
    least = std::min(least, r.length());
    longest += r.length() >= 999'000'000'000 ? 1 : 0;
  }
  EXPECT_GT(least, 500'000'000'000);
  EXPECT_EQ(longest, n / 1000);
}

TEST(ScopeTimes, CountWaitsWithAMiss) {
  ScopeTimes times;
  times.begin_run(false);
  { PlaceWait const none(times); }
  EXPECT_EQ(times.report().waits, 0U);
  {
    PlaceWait wait(times);
    wait.miss();
    std::this_thread::sleep_for(5ms);
    wait.miss();
  }
  EXPECT_EQ(times.report().waits, 1U);
  EXPECT_GE(times.report().wait_seconds, 0.005);
}

}  // namespace
