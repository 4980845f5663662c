// "As good as for ever": the longest value that each duration's type has. Sums with a clock's time overflowed: a
// deadline of 300 years had passed at once, and so had stall_after and wait_for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <thread>

#include "hiway/hiway.hpp"
#include "hiway/machine/time_left.hpp"

namespace hiway {
namespace {

using namespace std::chrono_literals;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

struct Twice {
  HIWAY_DEVICE long operator()(int const& n) const { return 2L * n; }
};

/// 50 items, some ms, through both kinds of tunnels.
struct Doubling {
  explicit Doubling(PipelineConfig config, TunnelConfig tunnels = {}) : pipe(in_simt(std::move(config))) {
    auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_gpu, tunnels);
    auto& doubles = pipe.create_tunnel<long>("doubles", Direction::gpu_to_cpu, tunnels);
    auto feed = [](Inlet<int> out) {
      for (int i = 1; i <= 50; ++i) {
        out.put_h(i);
        std::this_thread::sleep_for(500us);
      }
    };
    pipe.add_cpu_stage("feed", feed, into(numbers));
    pipe.add_gpu_stage("twice", Twice{}, from(numbers), into(doubles));
    pipe.add_cpu_stage(
        "add", [this](long const& n) { sum += n; }, from(doubles));
  }
  static PipelineConfig in_simt(PipelineConfig config) {
    config.device = "simt";
    return config;
  }
  /// The sum is right, and nobody said a word.
  bool runs_well() {
    testing::internal::CaptureStderr();
    pipe.run();
    return sum == 2550 && testing::internal::GetCapturedStderr().empty();
  }
  Pipeline pipe;
  long sum = 0;
};

/// The sum of the longest time and the clock's overflowed: with clang 19 there was none left, and a wait for a scope's
/// end returned at once.
TEST(Durations, TheLongestTimeIsLeft) {
  TimeLeft time(nanoseconds::max());
  EXPECT_TRUE(time.is_left());
  EXPECT_TRUE(time.is_left());
  EXPECT_FALSE(TimeLeft(nanoseconds::min()).is_left());
}

TEST(Durations, AreAtMostForEver) {
  EXPECT_EQ(at_most_for_ever(3ms), 3ms);
  EXPECT_EQ(at_most_for_ever(-3ms), -3ms);
  EXPECT_EQ(at_most_for_ever(hours(24 * 365 * 99)), hours(24 * 365 * 99));
  EXPECT_EQ(at_most_for_ever(nanoseconds::max()), for_ever);
  EXPECT_EQ(at_most_for_ever(milliseconds::max()), for_ever);
  EXPECT_EQ(at_most_for_ever(milliseconds::min()), -for_ever);
  EXPECT_EQ(at_most_for_ever(hours(1'000'000'000)), for_ever);
  EXPECT_EQ(at_most_for_ever<milliseconds>(milliseconds::max()), for_ever);
  using Seconds = std::chrono::duration<double>;
  EXPECT_EQ(at_most_for_ever(Seconds(0.25)), 250ms);
  EXPECT_EQ(at_most_for_ever(Seconds(std::numeric_limits<double>::infinity())), for_ever);
  EXPECT_EQ(at_most_for_ever(Seconds(std::nan(""))), for_ever);
}

TEST(Durations, ADeadlineMayBeAsLongAsItsTypeHolds) {
  for (milliseconds const deadline :
       {milliseconds(24h * 365 * 300), milliseconds::max(), milliseconds(hours(1'000'000'000))})
    EXPECT_TRUE(Doubling({.deadline = deadline}).runs_well()) << deadline.count();
}

TEST(Durations, AStallMayBeNeverToldOf) {
  for (milliseconds const after : {milliseconds(24h * 365 * 400), milliseconds::max()})
    EXPECT_TRUE(Doubling({.stall_after = after, .on_stall = OnStall::abort}).runs_well()) << after.count();
}

TEST(Durations, OfGrowthAndOfFlushesMayBeForEver) {
  EXPECT_TRUE(Doubling({.grow_after = milliseconds::max()}).runs_well());
  for (microseconds const after : {microseconds::max(), microseconds(hours(1'000'000))}) {
    Doubling doubling({}, {.capacity_items = 256, .batch_items = 128, .flush_after = after, .movement = Movement::dma});
    EXPECT_TRUE(doubling.runs_well());
    // Waiting for ever for a whole batch, until the writers have closed: few copies. It had flushed each item at once.
    EXPECT_LE(doubling.pipe.stats().tunnels.at(0).batches, 3u) << after.count();
  }
}

TEST(Durations, OfAWaitMayBeForEver) {
  auto const waits = [](auto duration) {
    Doubling doubling({});
    doubling.pipe.start();
    bool const over = doubling.pipe.wait_for(duration);
    doubling.pipe.wait();
    return over;
  };
  EXPECT_TRUE(waits(nanoseconds::max()));
  EXPECT_TRUE(waits(milliseconds::max()));
  EXPECT_TRUE(waits(hours(1'000'000'000)));
  EXPECT_TRUE(waits(std::chrono::duration<double>(1e300)));
  EXPECT_FALSE(waits(nanoseconds::min()));
  EXPECT_FALSE(waits(-1ms));
}

TEST(Durations, ThatAreNegativeAreRefused) {
  auto const refusal = [](PipelineConfig config) -> std::string {
    try {
      Pipeline pipe(std::move(config));
    } catch (ConfigError const& e) {
      return e.what();
    }
    return "not refused";
  };
  EXPECT_EQ(refusal({.deadline = milliseconds(-1)}), "deadline is negative: -1 ms");
  EXPECT_EQ(refusal({.stall_after = milliseconds(-2)}), "stall_after is negative: -2 ms");
  EXPECT_EQ(refusal({.grow_after = milliseconds::min()}), "grow_after is negative: -9223372036854775808 ms");
}

TEST(Durations, OfTheEnvironmentMayBeForEver) {
  for (char const* const text : {"2147483648", "9223372036854775807", "99999999999999999999999"}) {
    setenv("HIWAY_STALL_AFTER", text, 1);
    setenv("HIWAY_WATCH", text, 1);
    // The table is shown at the start, and never again.
    Doubling doubling({.on_stall = OnStall::abort});
    doubling.runs_well();
    EXPECT_EQ(doubling.sum, 2550) << text;
  }
  for (char const* const text : {"-1", "-99999999999999999999999", "99999999999999999999999x"}) {
    setenv("HIWAY_STALL_AFTER", text, 1);
    EXPECT_THROW(Doubling({}), ConfigError) << text;
  }
  unsetenv("HIWAY_STALL_AFTER");
  unsetenv("HIWAY_WATCH");
}

}  // namespace
}  // namespace hiway
