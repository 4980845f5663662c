// Kernels that leave the device between tasks and come back.
#include <gmock/gmock.h>

#include <chrono>
#include <iterator>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "hiway/hiway.hpp"
#include "tests/device.hpp"

namespace {

using hiway::Direction;
using hiway::Residency;
using std::chrono::microseconds;
using std::chrono::nanoseconds;

struct Double {
  HIWAY_DEVICE long operator()(int const& i) const { return 2L * i; }
};
struct Add {
  HIWAY_DEVICE long operator()(long const& i) const { return i + 1; }
};

hiway::PipelineConfig in_slices(nanoseconds slice) {
  hiway::PipelineConfig config = hiway_tests::bounded();
  config.slice = slice;
  return config;
}

hiway::GpuStageOptions yielding(unsigned blocks, unsigned threads) {
  return {.blocks = blocks, .threads_per_block = threads, .residency = Residency::yielding};
}

/// Two stages that yield; what came out of them, in two runs.
std::string run_two(nanoseconds slice, std::size_t capacity, int many, unsigned threads = 64) {
  hiway::Pipeline pipe(in_slices(slice));
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_gpu, {.capacity_items = capacity});
  auto& doubled = pipe.create_tunnel<long>("doubled", Direction::gpu_to_gpu, {.capacity_items = capacity});
  auto& added = pipe.create_tunnel<long>("added", Direction::gpu_to_cpu, {.capacity_items = capacity});
  long sum = 0;
  long items = 0;
  pipe.add_cpu_stage(
      "feed",
      [=](hiway::Inlet<int> out) {
        for (int i = 1; i <= many; ++i) out.put_h(i);
      },
      hiway::into(numbers));
  pipe.add_gpu_stage("double", Double{}, hiway::from(numbers), hiway::into(doubled), yielding(2, threads));
  pipe.add_gpu_stage("add", Add{}, hiway::from(doubled), hiway::into(added), yielding(1, threads));
  pipe.add_cpu_stage(
      "sum",
      [&](long i) {
        sum += i;
        ++items;
      },
      hiway::from(added));
  pipe.run();
  pipe.run();
  return std::to_string(sum) + " of " + std::to_string(items);
}
std::string expected(long many) {
  return std::to_string(2 * (many * (many + 1) + many)) + " of " + std::to_string(2 * many);
}

// Of one nanosecond: each launch does one task of each lane.
TEST(Yield, SlicesOfAnyLengthLoseNothing) {
  HIWAY_NEEDS_DEVICE();
  for (auto const slice : {nanoseconds(1), nanoseconds(1000), nanoseconds(100'000), nanoseconds(10'000'000)}) {
    EXPECT_EQ(run_two(slice, 1024, 5000), expected(5000)) << slice.count();
    EXPECT_EQ(run_two(slice, 4, 500), expected(500)) << slice.count();
  }
}

TEST(Yield, BlocksOfOneLane) {
  HIWAY_NEEDS_DEVICE();
  EXPECT_EQ(run_two(microseconds(20), 64, 300, 1), expected(300));
}

struct Wide {
  long value[9];
};
struct Widen {
  HIWAY_DEVICE Wide operator()(int const& i) const {
    Wide wide{};
    for (long& value : wide.value) value = i;
    return wide;
  }
};

/// `read` waits until all results that there is room for lie there; meanwhile lanes hold theirs, launch after launch.
template <class Result, class Stage>
std::vector<Result> results_that_wait(Stage const& stage, hiway::TunnelConfig const& config) {
  hiway::Pipeline pipe(in_slices(microseconds(20)));
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_gpu);
  auto& results = pipe.create_tunnel<Result>("results", Direction::gpu_to_cpu, config);
  std::vector<Result> all;
  auto const feed = [](hiway::Inlet<int> out) {
    for (int i = 1; i <= 1000; ++i) out.put_h(i);
  };
  auto const read = [&](hiway::Outlet<Result> in) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    for (Result one; in.next_h(one); in.end_task_h()) all.push_back(one);
  };
  pipe.add_cpu_stage("feed", feed, hiway::into(numbers));
  pipe.add_gpu_stage("work", stage, hiway::from(numbers), hiway::into(results), yielding(2, 64));
  pipe.add_cpu_stage("read", read, hiway::from(results));
  pipe.run();
  return all;
}

TEST(Yield, ResultsThatFindNoRoomAreHeld) {
  HIWAY_NEEDS_DEVICE();
  std::vector<long> const all = results_that_wait<long>(Double{}, {.capacity_items = 4});
  EXPECT_EQ(all.size(), 1000U);
  EXPECT_EQ(std::accumulate(all.begin(), all.end(), 0L), 1000 * 1001);
}

TEST(Yield, SoAreLargerOnes) {
  HIWAY_NEEDS_DEVICE();
  std::vector<Wide> const all = results_that_wait<Wide>(Widen{}, {.capacity_items = 4});
  long sum = 0;
  for (Wide const& one : all) {
    EXPECT_EQ(std::set<long>(std::begin(one.value), std::end(one.value)).size(), 1U);
    sum += one.value[8];
  }
  EXPECT_EQ(sum, 1000 * 1001 / 2);
}

TEST(Yield, AndThoseOfTunnelsWhoseItemsCarryTags) {
  HIWAY_NEEDS_DEVICE();
  std::vector<long> const all = results_that_wait<long>(Double{}, {.capacity_items = 4, .low_latency = true});
  EXPECT_EQ(std::accumulate(all.begin(), all.end(), 0L), 1000 * 1001);
}

struct PassOn {
  HIWAY_DEVICE void operator()(hiway::Outlet<int> in, hiway::Inlet<int> out) const {
    in.for_each([&](int i) { out.put(i); });
  }
};

// With it the monitor is resident: it waits until the blocks of the other one, which ends last, have come back and
// returned.
TEST(Yield, BehindAResidentStage) {
  HIWAY_NEEDS_DEVICE();
  for (int run = 0; run < 20; ++run) {
    hiway::Pipeline pipe(in_slices(microseconds(1)));
    auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_gpu);
    auto& passed = pipe.create_tunnel<int>("passed", Direction::gpu_to_gpu);
    auto& doubled = pipe.create_tunnel<long>("doubled", Direction::gpu_to_cpu);
    long sum = 0;
    auto const feed = [](hiway::Inlet<int> out) {
      for (int i = 1; i <= 100; ++i) out.put_h(i);
    };
    pipe.add_cpu_stage("feed", feed, hiway::into(numbers));
    pipe.add_gpu_stage("pass on", PassOn{}, hiway::from(numbers), hiway::into(passed),
                       {.blocks = 1, .threads_per_block = 32});
    pipe.add_gpu_stage("double", Double{}, hiway::from(passed), hiway::into(doubled), yielding(2, 64));
    pipe.add_cpu_stage(
        "sum", [&](long i) { sum += i; }, hiway::from(doubled));
    pipe.run();
    ASSERT_EQ(sum, 100 * 101);
  }
}

struct OneOutlet {
  static constexpr unsigned outlet_count = 1;
  static constexpr unsigned inlet_count = 0;
  static constexpr unsigned stage_count = 1;
};

TEST(Yield, ABlockReturnsOnceWhenItsStageHasEnded) {
  hiway::Control control;
  hiway::StageWords words;
  hiway::SliceNews news;
  hiway::Word<std::uint32_t> returned{0};
  hiway::Ends<OneOutlet> ends;
  ends.outlets[0].stage_ended = &words.ended;
  ends.stages[0] = &words;
  ends.control = &control;
  ends.slice = {.ns = 1, .news = &news, .returned = &returned};
  hiway::ThreadMachine const m;
  hiway::end_launch(m, ends);
  EXPECT_EQ(words.returned.bits, 0U);
  EXPECT_EQ(news.over.bits, 0U);
  words.ended.bits = 1;
  for (int launch = 0; launch < 3; ++launch) hiway::end_launch(m, ends);
  EXPECT_EQ(words.returned.bits, 1U);
  EXPECT_EQ(news.over.bits, 1U);
}

// A standing service: nothing comes for many slices.
TEST(Yield, AServiceAnswersAfterARest) {
  HIWAY_NEEDS_DEVICE();
  hiway::Pipeline pipe(in_slices(microseconds(100)));
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_gpu);
  auto& doubled = pipe.create_tunnel<long>("doubled", Direction::gpu_to_cpu);
  auto const out = numbers.open_inlet();
  auto const in = doubled.open_outlet();
  pipe.add_gpu_stage("double", Double{}, hiway::from(numbers), hiway::into(doubled), yielding(1, 32));
  pipe.start();
  for (int i = 1; i <= 5; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    out.put_h(i);
    long answer = 0;
    ASSERT_TRUE(in.next_h(answer));
    in.end_task_h();
    EXPECT_EQ(answer, 2 * i);
  }
  out.close_h();
  pipe.wait();
}

TEST(Yield, ARunThatFailsEnds) {
  HIWAY_NEEDS_DEVICE();
  hiway::Pipeline pipe(in_slices(microseconds(20)));
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_gpu);
  auto& doubled = pipe.create_tunnel<long>("doubled", Direction::gpu_to_cpu, {.capacity_items = 4});
  auto const feed = [](hiway::Inlet<int> out) {
    for (int i = 0;; ++i) out.put_h(i);
  };
  auto const read = [](long i) {
    if (i > 100) throw std::runtime_error("enough");
  };
  pipe.add_cpu_stage("feed", feed, hiway::into(numbers));
  pipe.add_gpu_stage("double", Double{}, hiway::from(numbers), hiway::into(doubled), yielding(2, 64));
  pipe.add_cpu_stage("read", read, hiway::from(doubled));
  for (int run = 0; run < 3; ++run) {
    try {
      pipe.run();
      ADD_FAILURE() << "it ended well";
    } catch (hiway::StageError const& error) {
      EXPECT_STREQ(error.what(), "stage 'read': enough");
    }
  }
}

struct Twice {
  HIWAY_DEVICE void operator()(int const& i, hiway::Inlet<long> out) const { out.put(2L * i); }
};

std::string refused(hiway::PipelineConfig config, auto const& stage, hiway::GpuStageOptions options) {
  hiway::Pipeline pipe(config);
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_gpu);
  auto& doubled = pipe.create_tunnel<long>("doubled", Direction::gpu_to_cpu);
  pipe.add_cpu_stage(
      "feed", [](hiway::Inlet<int>) {}, hiway::into(numbers));
  pipe.add_gpu_stage("double", stage, hiway::from(numbers), hiway::into(doubled), options);
  pipe.add_cpu_stage(
      "read", [](long) {}, hiway::from(doubled));
  try {
    pipe.run();
  } catch (hiway::ConfigError const& error) {
    return error.what();
  }
  return "";
}

TEST(Yield, WhatCannotIsRefused) {
  HIWAY_NEEDS_DEVICE();
  using testing::HasSubstr;
  EXPECT_THAT(refused(in_slices(microseconds(20)), Twice{}, yielding(1, 32)),
              HasSubstr("stage 'double': only stages in value form with one outlet and a result of at most 256 bytes "
                        "may yield"));
  EXPECT_THAT(refused(in_slices(nanoseconds(0)), Double{}, {}), HasSubstr("PipelineConfig::slice must be more than 0"));
}

TEST(Yield, OnSeveralDevicesIsRefused) {
  HIWAY_NEEDS_DEVICE();
  if (std::string const why = hiway_tests::missing_devices(2); !why.empty()) GTEST_SKIP() << why;
  hiway::GpuStageOptions on_two = yielding(1, 32);
  on_two.devices = {0, 1};
  EXPECT_THAT(refused(in_slices(microseconds(20)), Double{}, on_two),
              testing::HasSubstr("stages of a pipeline on several devices cannot yield yet"));
}

}  // namespace
