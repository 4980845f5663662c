// Kernels that leave the device between tasks and come back.
#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>
#include <iterator>
#include <numeric>
#include <set>
#include <span>
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
  hiway::SliceWords slice_words;
  hiway::Word<std::uint32_t> returned{0};
  hiway::Ends<OneOutlet> ends;
  ends.outlets[0].stage_ended = &words.ended;
  ends.stages[0] = &words;
  ends.control = &control;
  ends.slice = {.ns = 1, .news = &news, .words = &slice_words, .returned = &returned};
  hiway::ThreadMachine const m;
  hiway::end_launch(m, OneOutlet{}, ends);
  EXPECT_EQ(words.returned.bits, 0U);
  EXPECT_EQ(news.over.bits, 0U);
  words.ended.bits = 1;
  for (int launch = 0; launch < 3; ++launch) hiway::end_launch(m, OneOutlet{}, ends);
  EXPECT_EQ(words.returned.bits, 1U);
  EXPECT_EQ(news.over.bits, 1U);
}

// Those that found nothing have left; it would work alone until the slice is over.
TEST(Yield, AWarpThatHasRestedLeavesAfterItsTask) {
  hiway::SliceNews news;
  hiway::SliceWords words;
  hiway::Slice const slice{.ns = 3'600'000'000'000, .news = &news, .words = &words};
  hiway::ThreadMachine const m;
  hiway::SliceClock clock(m, slice);
  words.sent_away.bits = 1;
  clock.note_work(m, 0);
  EXPECT_FALSE(clock.is_over(m, m.lanes())) << "it had no rest";
  clock.note_work(m, 1);
  EXPECT_TRUE(clock.is_over(m, m.lanes()));
  words.launch.bits = 2;
  hiway::SliceClock later(m, slice);
  later.note_work(m, 1);
  EXPECT_FALSE(later.is_over(m, m.lanes())) << "another one was sent away";
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
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  out.close_h();
  EXPECT_GT(pipe.wait().stages[0].launches, 5U);
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

struct Loop {
  HIWAY_DEVICE void operator()(hiway::Outlet<int> in, hiway::Inlet<long> out) const {
    in.for_each([&](int i) { out.put(2L * i); });
  }
};

TEST(Yield, WhatCannotIsRefused) {
  HIWAY_NEEDS_DEVICE();
  using testing::HasSubstr;
  EXPECT_THAT(refused(in_slices(microseconds(20)), Loop{}, yielding(1, 32)),
              HasSubstr("stage 'double': only stages in item or value form, groups of them, and segments may yield"));
  EXPECT_THAT(refused(in_slices(nanoseconds(0)), Double{}, {}), HasSubstr("PipelineConfig::slice must be more than 0"));
}

struct AddUp {
  hiway::View<hiway::Word<std::uint64_t>> sum;
  HIWAY_DEVICE void operator()(long const& i) const {
    hiway::anywhere([&](auto m) { m.fetch_add(sum[0], static_cast<std::uint64_t>(i), hiway::MemoryOrder::relaxed); });
  }
};

// Their puts wait within a task, so a slice ends later; the last one puts nothing.
TEST(Yield, SoDoStagesInItemForm) {
  HIWAY_NEEDS_DEVICE();
  for (auto const slice : {nanoseconds(1), nanoseconds(100'000)}) {
    hiway::Pipeline pipe(in_slices(slice));
    auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_gpu, {.capacity_items = 16});
    auto& doubled = pipe.create_tunnel<long>("doubled", Direction::gpu_to_gpu, {.capacity_items = 16});
    hiway::Word<std::uint64_t> sum{0};
    auto& device_sum =
        pipe.create_buffer<hiway::Word<std::uint64_t>>(std::span<hiway::Word<std::uint64_t> const>(&sum, 1));
    auto const feed = [](hiway::Inlet<int> out) {
      for (int i = 1; i <= 1000; ++i) out.put_h(i);
    };
    pipe.add_cpu_stage("feed", feed, hiway::into(numbers));
    pipe.add_gpu_stage("double", Twice{}, hiway::from(numbers), hiway::into(doubled), yielding(2, 64));
    pipe.add_gpu_stage("add up", AddUp{device_sum.view()}, hiway::from(doubled), yielding(2, 64));
    pipe.run();
    device_sum.copy_out(std::span<hiway::Word<std::uint64_t>>(&sum, 1));
    EXPECT_EQ(sum.bits, 1000U * 1001U) << slice.count();
  }
}

/// Children of each number down to 0.
struct Split {
  HIWAY_DEVICE void operator()(int const& i, hiway::Inlet<int> again, hiway::Inlet<long> out) const {
    for (int k = 0; k < 2 && i > 0; ++k) again.put(i - 1);
    out.put(1L);
  }
};

TEST(Yield, SoDoGroups) {
  HIWAY_NEEDS_DEVICE();
  for (auto const slice : {nanoseconds(1), nanoseconds(100'000)}) {
    hiway::PipelineConfig config = in_slices(slice);
    config.warn_of_cycles = false;
    hiway::Pipeline pipe(config);
    auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_gpu);
    auto& parts = pipe.create_tunnel<int>("parts", Direction::gpu_to_gpu);
    auto& ones = pipe.create_tunnel<long>("ones", Direction::gpu_to_cpu, {.capacity_items = 16});
    long sum = 0;
    pipe.add_cpu_stage(
        "feed", [](hiway::Inlet<int> out) { out.put_h(9); }, hiway::into(numbers));
    pipe.add_gpu_group("split", yielding(2, 64),
                       hiway::stage("first", Split{}, hiway::from(numbers), hiway::into(parts, ones)),
                       hiway::stage("others", Split{}, hiway::from(parts), hiway::into(parts, ones)));
    pipe.add_cpu_stage(
        "sum", [&](long one) { sum += one; }, hiway::from(ones));
    pipe.run();
    EXPECT_EQ(sum, 1023) << slice.count();
  }
}

/// A chain of stages, each of which fills the device.
template <class Stage>
std::string run_many(Stage const& stage, hiway::GpuStageOptions const& options) {
  constexpr int stages = 4;
  constexpr int many = 500;
  hiway::Pipeline pipe(hiway_tests::bounded());
  auto* from = &pipe.create_tunnel<long>("0", Direction::cpu_to_gpu, {.capacity_items = 64});
  auto const feed = [](hiway::Inlet<long> out) {
    for (long i = 1; i <= many; ++i) out.put_h(i);
  };
  pipe.add_cpu_stage("feed", feed, hiway::into(*from));
  for (int s = 1; s <= stages; ++s) {
    bool const last = s == stages;
    auto& to = pipe.create_tunnel<long>(std::to_string(s), last ? Direction::gpu_to_cpu : Direction::gpu_to_gpu,
                                        {.capacity_items = 64});
    pipe.add_gpu_stage(std::to_string(s), stage, hiway::from(*from), hiway::into(to), options);
    from = &to;
  }
  long sum = 0;
  pipe.add_cpu_stage(
      "sum", [&](long i) { sum += i; }, hiway::from(*from));
  try {
    pipe.run();
    pipe.run();
  } catch (hiway::ConfigError const& error) {
    return error.what();
  }
  return sum == 2L * (many * (many + 1L) / 2 + many * stages) ? "right" : "wrong: " + std::to_string(sum);
}
hiway::GpuStageOptions filling() {
  bool const emulated = hiway_tests::device() == "simt";
  return {.blocks = emulated ? 4U : 400U, .threads_per_block = emulated ? 512U : 256U};
}

TEST(Yield, KernelsThatDoNotFitTakeTurns) {
  HIWAY_NEEDS_DEVICE();
  EXPECT_EQ(run_many(Add{}, filling()), "right");
}

struct AddAndPut {
  HIWAY_DEVICE void operator()(long const& i, hiway::Inlet<long> out) const { out.put(i + 1); }
};

// One would wait for room within a task, and the next one for its place.
TEST(Yield, ThoseThatPutWithinATaskDoNot) {
  HIWAY_NEEDS_DEVICE();
  EXPECT_THAT(run_many(AddAndPut{}, filling()), testing::HasSubstr("do not fit the device"));
}

/// Two stages that yield, of one block each, on so many multiprocessors: "right", or the text of what it threw.
std::string run_on(unsigned multiprocessors) {
  hiway::PipelineConfig config = hiway_tests::bounded();
  config.multiprocessors = multiprocessors;
  hiway::Pipeline pipe(config);
  auto& in = pipe.create_tunnel<long>("in", Direction::cpu_to_gpu);
  auto& between = pipe.create_tunnel<long>("between", Direction::gpu_to_gpu);
  auto& out = pipe.create_tunnel<long>("out", Direction::gpu_to_cpu);
  long sum = 0;
  pipe.add_cpu_stage(
      "feed",
      [](hiway::Inlet<long> inlet) {
        for (long i = 1; i <= 100; ++i) inlet.put_h(i);
      },
      hiway::into(in));
  pipe.add_gpu_stage("one", Add{}, hiway::from(in), hiway::into(between), {.blocks = 1, .threads_per_block = 32});
  pipe.add_gpu_stage("two", Add{}, hiway::from(between), hiway::into(out), {.blocks = 1, .threads_per_block = 32});
  pipe.add_cpu_stage(
      "sum", [&](long const& x) { sum += x; }, hiway::from(out));
  try {
    pipe.run();
  } catch (hiway::ConfigError const& e) {
    return e.what();
  }
  return sum == 100 * 101 / 2 + 2 * 100 ? "right" : std::to_string(sum);
}

// Each takes one, and so does the monitor. They would take turns if it were the device that had no more.
TEST(Yield, APipelineKeepsToThePartOfTheDeviceThatItMayHave) {
  HIWAY_NEEDS_DEVICE();
  EXPECT_EQ(run_on(0), "right");
  EXPECT_EQ(run_on(1 << 20), "right");
  EXPECT_EQ(run_on(3), "right");
  EXPECT_THAT(run_on(2), testing::HasSubstr("do not fit the device at once: they need 3 processors of 2"));
}

struct OnlyTries {
  HIWAY_DEVICE void operator()(int const& x, hiway::Inlet<int> more) const {
    for (int i = 0; i < 2; ++i) {
      while (!more.try_put(x)) {
      }
    }
  }
};

// The monitor may be away between two launches when the run aborts; a kernel that stays within a task hears it all the
// same.
TEST(Yield, AnAbortReachesAKernelWhoseMonitorIsAway) {
  HIWAY_NEEDS_DEVICE();
  hiway::Pipeline pipe(in_slices(microseconds(1)));
  auto& start = pipe.create_tunnel<int>("start", Direction::cpu_to_gpu);
  auto& loop = pipe.create_tunnel<int>("loop", Direction::gpu_to_gpu, {.capacity_items = 1, .spill_items = 2});
  pipe.add_cpu_stage(
      "feed",
      [](hiway::Inlet<int> out) {
        for (int i = 0; i < 9; ++i) out.put_h(i);
      },
      hiway::into(start));
  pipe.add_gpu_stage("again", OnlyTries{}, hiway::from(start, loop), hiway::into(loop),
                     {.blocks = 1, .threads_per_block = 1});
  for (int i = 0; i < 30; ++i) {
    pipe.start();
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    pipe.abort();
    EXPECT_THROW(pipe.wait(), hiway::Aborted);
  }
}

struct Count {
  long count = 0;
  HIWAY_DEVICE long operator()(int const&) { return ++count; }
};

/// What a stage of one lane that counts its items puts last, in slices of a microsecond.
long last_count(Residency residency) {
  hiway::Pipeline pipe(in_slices(microseconds(1)));
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_gpu, {.capacity_items = 4});
  auto& counts = pipe.create_tunnel<long>("counts", Direction::gpu_to_cpu, {.capacity_items = 4});
  long last = 0;
  auto const feed = [](hiway::Inlet<int> out) {
    for (int i = 1; i <= 300; ++i) out.put_h(i);
  };
  pipe.add_cpu_stage("feed", feed, hiway::into(numbers));
  pipe.add_gpu_stage("count", Count{}, hiway::from(numbers), hiway::into(counts),
                     {.blocks = 1, .threads_per_block = 1, .residency = residency});
  pipe.add_cpu_stage(
      "read", [&](long count) { last = count; }, hiway::from(counts));
  pipe.run();
  return last;
}

// A functor's members begin anew with each launch. So one that could tell does not yield unless it is told to.
TEST(Yield, AFunctorThatKeepsSomethingDoesNotByItself) {
  HIWAY_NEEDS_DEVICE();
  EXPECT_EQ(last_count(Residency::automatic), 300);
  EXPECT_LT(last_count(Residency::yielding), 300);
}

TEST(Yield, TheEnvironmentSaysWhatAutomaticMeans) {
  HIWAY_NEEDS_DEVICE();
  setenv("HIWAY_RESIDENCY", "gone", 1);
  EXPECT_EQ(refused(in_slices(microseconds(20)), Double{}, {}),
            "HIWAY_RESIDENCY must be automatic, resident or yielding: 'gone'");
  setenv("HIWAY_RESIDENCY", "resident", 1);
  EXPECT_EQ(refused(in_slices(microseconds(20)), Double{}, {}), "");
  EXPECT_THAT(run_many(Add{}, filling()), testing::HasSubstr("do not fit the device")) << "only who yields takes turns";
  unsetenv("HIWAY_RESIDENCY");
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
