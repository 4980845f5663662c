// Stages that work on batches.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "hiway/hiway.hpp"
#include "tests/device.hpp"
#include "tests/faults/faulty_device.hpp"
#include "tests/pipeline/squares.hpp"

namespace {

using namespace hiway;
using namespace std::chrono_literals;
using hiway_tests::bounded;
using hiway_tests::expected_squares;
using hiway_tests::FaultPlan;
using hiway_tests::numbers;
using hiway_tests::SquareAll;
using hiway_tests::squares_of;
using hiway_tests::text_of_error;
using testing::HasSubstr;

std::vector<int> upto(int n) {
  std::vector<int> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 1);
  return all;
}

TEST(Batches, BetweenCpuStagesKeepTheirOrder) {
  EXPECT_EQ(squares_of(5000, {}), expected_squares(5000));
  EXPECT_EQ(squares_of(1000, {.max_items = 1, .in_flight = 1}), expected_squares(1000));
  EXPECT_EQ(squares_of(1000, {.max_items = 7, .in_flight = 5}), expected_squares(1000));
  EXPECT_EQ(squares_of(10, {}, 1), expected_squares(10));
  EXPECT_EQ(squares_of(0, {}), expected_squares(0));
}

TEST(Batches, WaitForTheLeastButNotForLong) {
  Pipeline pipe(bounded());
  auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_cpu);
  std::vector<std::size_t> sizes;
  pipe.add_cpu_stage(
      "feed",
      [](Inlet<int> out) {
        for (int i = 0; i < 35; ++i) {
          out.put_h(i);
          std::this_thread::sleep_for(200us);
        }
      },
      into(t));
  pipe.add_batch_stage("sizes", [&](Batch<int const> in, Stream) { sizes.push_back(in.size()); }, from(t),
                       {.max_items = 10, .min_items = 10, .max_wait = 1s});
  auto const begin = std::chrono::steady_clock::now();
  pipe.run();
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 1s) << "the last five wait for more";
  EXPECT_THAT(sizes, testing::ElementsAre(10, 10, 10, 5));
}

TEST(Batches, ASourceMakesThemUntilItMakesNothing) {
  Pipeline pipe(bounded());
  auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_cpu, {.capacity_items = 16});
  auto& u = pipe.create_tunnel<int>("u", Direction::cpu_to_cpu, {.capacity_items = 16});
  int next = 0;
  pipe.add_batch_stage(
      "make",
      [&](Batch<int> out, Batch<int> negative, Stream) {
        std::size_t const n = next == 100 ? 0 : 10;
        out.resize(n);
        negative.resize(n / 10);
        for (int& x : out.span()) x = ++next;
        for (int& x : negative.span()) x = -next;
      },
      into(t, u));
  std::vector<int> all;
  long negatives = 0;
  pipe.add_batch_stage(
      "keep", [&](Batch<int const> in, Stream) { all.insert(all.end(), in.span().begin(), in.span().end()); }, from(t));
  pipe.add_cpu_stage(
      "sum", [&](int const& x) { negatives += x; }, from(u));
  pipe.run();
  EXPECT_EQ(all, upto(100));
  EXPECT_EQ(negatives, -(10 + 20 + 30 + 40 + 50 + 60 + 70 + 80 + 90 + 100));
}

struct Await {
  std::atomic<bool> const* open;
  HIWAY_DEVICE void operator()() const {
    while (!*open) std::this_thread::yield();
  }
};

// The kernel of the first batch ends when the body has been called for the second one.
TEST(Batches, SeveralAreUnderWay) {
  Pipeline pipe(bounded());
  auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_cpu);
  std::atomic<bool> open{false};
  int bodies = 0;
  pipe.add_cpu_stage("feed", numbers(4), into(t));
  pipe.add_batch_stage("work",
                       [&](Batch<int const>, Stream stream) {
                         if (++bodies == 2) open = true;
                         stream.launch(Await{&open}, 1, 1);
                       },
                       from(t), {.max_items = 2, .min_items = 2, .max_wait = 10s, .in_flight = 2});
  pipe.run();
  EXPECT_EQ(bodies, 2);
}

// A tunnel of the circle ends when nothing is under way: no task ends before what was made of it is put.
TEST(Batches, InACircleEndWhenAllIsDone) {
  for (int const device : {-1, 0}) {
    Direction const way = device < 0 ? Direction::cpu_to_cpu : Direction::gpu_to_gpu;
    Pipeline pipe(bounded());
    auto& in = pipe.create_tunnel<int>("in", device < 0 ? Direction::cpu_to_cpu : Direction::cpu_to_gpu);
    auto& turn = pipe.create_tunnel<int>("turn", way, {.capacity_items = 4096, .planned = true});
    auto& out = pipe.create_tunnel<int>("out", device < 0 ? Direction::cpu_to_cpu : Direction::gpu_to_cpu);
    long sum = 0;
    pipe.add_cpu_stage("feed", numbers(500), into(in));
    pipe.add_batch_stage("enter",
                         [](Batch<int const> got, Batch<int> made, Stream) {
                           made.resize(got.size());
                           std::ranges::copy(got.span(), made.data());
                         },
                         from(in), into(turn), {.device = device});
    pipe.add_batch_stage("turn",
                         [](Batch<int const> got, Batch<int> again, Batch<int> done, Stream) {
                           std::size_t more = 0;
                           std::size_t over = 0;
                           for (int const x : got.span()) {
                             if (x > 0) again.data()[more++] = x - 100;
                             if (x <= 0) done.data()[over++] = x;
                           }
                           again.resize(more);
                           done.resize(over);
                         },
                         from(turn), into(turn, out), {.max_items = 32, .device = device});
    pipe.add_cpu_stage(
        "sum", [&](int const& x) { sum += x; }, from(out));
    pipe.run();
    long right = 0;
    for (int i = 1; i <= 500; ++i) right += i - (i + 99) / 100 * 100;
    EXPECT_EQ(sum, right);
  }
}

// Its slots lie on the device since the first run, where no CPU thread reaches them; and in a circle puts would spill.
TEST(Batches, NoCircleIsClosedOverSlotsOnTheDevice) {
  Pipeline pipe(bounded());
  auto const copy = [](Batch<int const> in, Batch<int> out, Stream) {
    out.resize(in.size());
    std::ranges::copy(in.span(), out.data());
  };
  auto& in = pipe.create_tunnel<int>("in", Direction::cpu_to_gpu);
  auto& between = pipe.create_tunnel<int>("between", Direction::gpu_to_gpu);
  auto& out = pipe.create_tunnel<int>("out", Direction::gpu_to_gpu);
  pipe.add_cpu_stage("feed", numbers(10), into(in));
  pipe.add_batch_stage("first", copy, from(in), into(between), {.device = 0});
  pipe.add_batch_stage("second", copy, from(between), into(out), {.device = 0});
  int seen = 0;
  pipe.add_batch_stage("count", [&](Batch<int const> got, Stream) { seen += static_cast<int>(got.size()); }, from(out),
                       {.device = 0});
  pipe.run();
  EXPECT_EQ(seen, 10);
  pipe.add_batch_stage("back", copy, from(out), into(between), {.device = 0});
  EXPECT_NE(text_of_error<ConfigError>([&] {
              pipe.run();
            }).find("tunnel 'between' lies on simt since a run, for its batch stages and kernels alone"),
            std::string::npos)
      << text_of_error<ConfigError>([&] { pipe.run(); });
}

// While what was made waits for room, its task keeps the circle from ending.
TEST(Batches, NoTaskEndsBeforeWhatWasMadeOfItIsPut) {
  Pipeline pipe(bounded());
  auto& in = pipe.create_tunnel<int>("in", Direction::cpu_to_cpu);
  auto& turn = pipe.create_tunnel<int>("turn", Direction::cpu_to_cpu, {.planned = true});
  auto& steps = pipe.create_tunnel<int>("steps", Direction::cpu_to_cpu, {.capacity_items = 1});
  int seen = 0;
  pipe.add_cpu_stage("feed", numbers(1), into(in));
  pipe.add_cpu_stage(
      "enter", [](int const& x) { return x; }, from(in), into(turn));
  pipe.add_batch_stage("turn",
                       [](Batch<int const> got, Batch<int> step, Batch<int> again, Stream) {
                         int const x = got.span().front();
                         step.resize(1);
                         step.span().front() = x;
                         again.resize(x < 10 ? 1 : 0);
                         again.data()[0] = x + 1;
                       },
                       from(turn), into(steps, turn), {.max_items = 1, .in_flight = 1});
  pipe.add_cpu_stage(
      "slow",
      [&](int const&) {
        ++seen;
        std::this_thread::sleep_for(5ms);
      },
      from(steps));
  pipe.run();
  EXPECT_EQ(seen, 10);
}

TEST(Batches, SeveralStagesShareATunnel) {
  Pipeline pipe(bounded());
  auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_cpu);
  auto& u = pipe.create_tunnel<int>("u", Direction::cpu_to_cpu);
  long sum = 0;
  pipe.add_cpu_stage("feed", numbers(2000), into(t));
  pipe.add_batch_stage("one", SquareAll{}, from(t), into(u), {.max_items = 10});
  pipe.add_batch_stage("two", SquareAll{}, from(t), into(u), {.max_items = 20});
  pipe.add_cpu_stage(
      "three", [](int const& x, Inlet<int> out) { out.put_h(x * x); }, from(t), into(u));
  pipe.add_cpu_stage(
      "sum", [&](int const& x) { sum += x; }, from(u));
  pipe.run();
  EXPECT_EQ(sum, 2000L * 2001 * 4001 / 6);
}

/// The text of the error of a run whose batch stage is `body`.
template <class Body>
std::string error_of(Body body, std::size_t capacity = 64) {
  Pipeline pipe(bounded());
  auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_cpu);
  auto& u = pipe.create_tunnel<int>("u", Direction::cpu_to_cpu, {.capacity_items = capacity});
  pipe.add_cpu_stage("feed", numbers(100), into(t));
  pipe.add_batch_stage("bad", body, from(t), into(u), {.max_items = 20, .min_items = 20, .max_wait = 1s});
  pipe.add_cpu_stage(
      "sink", [](int const&) {}, from(u));
  return text_of_error<StageError>([&] { pipe.run(); });
}

struct Throw {
  HIWAY_DEVICE void operator()() const {
    if (thread_index() == 3) throw std::runtime_error("lane 3");
  }
};

TEST(Batches, WhatGoesWrongIsNamed) {
  EXPECT_EQ(error_of([](Batch<int const>, Batch<int>, Stream) { throw std::runtime_error("no"); }), "stage 'bad': no");
  EXPECT_EQ(error_of([](Batch<int const>, Batch<int>, Stream) {}),
            "stage 'bad': the body returned without the size of a batch that it makes: call resize");
  EXPECT_EQ(error_of([](Batch<int const>, Batch<int> out, Stream) {
              out.resize(1);
              out.resize(1);
            }),
            "stage 'bad': the size of a batch is set twice: resize is called once for each");
  EXPECT_EQ(error_of([](Batch<int const> in, Batch<int> out, Stream) { out.resize(in.size()); }, 16),
            "stage 'bad': a batch of 20 items is made, and its tunnel holds 16");
  std::uint32_t const many = 1000;
  EXPECT_EQ(error_of([&](Batch<int const>, Batch<int> out, Stream) { out.resize_on_device(&many); }),
            "stage 'bad': a batch of 1000 items was made on the device, and its tunnel holds 64");
  EXPECT_THAT(error_of([](Batch<int const>, Batch<int> out, Stream stream) {
                out.resize(0);
                stream.launch(Throw{}, 1, 32);
              }),
              HasSubstr("lane 3"));
  EXPECT_THAT(error_of([](Batch<int const>, Batch<int> out, Stream stream) {
                out.resize(0);
                stream.launch(Throw{}, 0, 32);
              }),
              HasSubstr("stage 'bad'"));
}

std::string refusal_of(BatchOptions options) {
  Pipeline pipe(bounded());
  auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_cpu, {.capacity_items = 16});
  return text_of_error<ConfigError>([&] {
    pipe.add_batch_stage(
        "bad", [](Batch<int const>, Stream) {}, from(t), options);
    pipe.prepare();
  });
}

TEST(Batches, OptionsThatCannotBeAreRefused) {
  EXPECT_EQ(refusal_of({.max_items = 17}),
            "stage 'bad': max_items (17) is more than tunnel 't' holds, capacity_items (16)");
  EXPECT_EQ(refusal_of({.max_items = 8, .min_items = 9}), "stage 'bad': min_items (9) is more than max_items (8)");
  EXPECT_EQ(refusal_of({.max_wait = -1us}), "stage 'bad': max_wait is negative: -1 us");
  EXPECT_EQ(refusal_of({.in_flight = 0}), "stage 'bad': in_flight must be at least 1");
  Pipeline pipe(bounded());
  auto& t = pipe.create_tunnel<int>("t", Direction::gpu_to_cpu);
  EXPECT_EQ(
      text_of_error<ConfigError>(
          [&] { pipe.add_batch_stage("bad", [](Batch<int>, Stream) {}, into(t), {.device = 0, .capture = true}); }),
      "stage 'bad': capture is for a stage that gets batches: one that gets nothing makes another batch each time");
  EXPECT_THAT(refusal_of({.device = 0}), HasSubstr("stage 'bad' runs on the GPU, but tunnel 't' is got on the CPU"));
}

struct AddOne {
  HIWAY_DEVICE int operator()(int const& x) const { return x + 1; }
};

TEST(Batches, DoNotShareADevicesEndWithAKernel) {
  Pipeline pipe(bounded());
  auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_gpu, {.low_latency = true});
  auto& u = pipe.create_tunnel<int>("u", Direction::gpu_to_cpu);
  pipe.add_cpu_stage("feed", numbers(1), into(t));
  pipe.add_gpu_stage("kernel", AddOne{}, from(t), into(u));
  pipe.add_batch_stage("batches", SquareAll{}, from(t), into(u), {.device = 0});
  pipe.add_cpu_stage(
      "sink", [](int const&) {}, from(u));
  std::string const text = text_of_error<ConfigError>([&] { pipe.prepare(); });
  EXPECT_THAT(text, HasSubstr("tunnel 't' is got by a batch stage and a kernel: give each a tunnel of its own"));
  EXPECT_THAT(text, HasSubstr("tunnel 'u' is put by a batch stage and a kernel: give each a tunnel of its own"));
  EXPECT_THAT(text, HasSubstr("tunnel 't' is got by a batch stage, which does not look at single items"));
}

TEST(Batches, AreAddedBeforeOpenEndsOfTheirTunnels) {
  Pipeline pipe(bounded());
  auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_gpu);
  static_cast<void>(t.open_inlet());
  pipe.add_batch_stage("late", [](Batch<int const>, Stream) {}, from(t), {.device = 0});
  EXPECT_EQ(text_of_error<ConfigError>([&] { pipe.prepare(); }),
            "tunnel 't' lies on simt since an open end or a run needed it there, before batch stage 'late' was added: "
            "add it first");
}

/// A pipeline whose device is no emulated one, with a batch stage on `device`.
std::vector<int> run_on_gpu(int device) {
  PipelineConfig config = bounded();
  config.device = hiway_tests::FaultyDevice::name;
  Pipeline pipe(config);
  auto& there = pipe.create_tunnel<int>("there", device < 0 ? Direction::cpu_to_cpu : Direction::cpu_to_gpu);
  auto& back = pipe.create_tunnel<int>("back", device < 0 ? Direction::cpu_to_cpu : Direction::gpu_to_cpu);
  std::vector<int> all;
  pipe.add_cpu_stage("feed", numbers(100), into(there));
  pipe.add_batch_stage("square", SquareAll{}, from(there), into(back), {.device = device});
  pipe.add_cpu_stage(
      "keep", [&](int const& x) { all.push_back(x); }, from(back));
  pipe.run();
  return all;
}

/// All that is asked of the device fails once: each failure is named. What failed.
std::set<std::string> failures_on_gpu(int device, std::uint64_t FaultPlan::*failing) {
  std::set<std::string> named;
  for (std::uint64_t n = 1;; ++n) {
    FaultPlan plan;
    plan.*failing = n;
    hiway_tests::FaultyDevice faulty(plan);
    std::string text;
    try {
      EXPECT_EQ(run_on_gpu(device).back(), 100 * 100);
    } catch (CudaError const& e) {
      text = e.what();
    } catch (StageError const& e) {
      text = e.what();
    }
    EXPECT_TRUE(faulty.held.empty());
    if (text.empty()) return named;
    EXPECT_THAT(text, HasSubstr(faulty.failed + ": it was told to fail"));
    named.insert(faulty.failed);
  }
}

// There kernels of a batch stage on the CPU are emulated, too, and its memory is pinned.
TEST(Batches, OnTheCpuOfAGpusPipeline) {
  EXPECT_THAT(failures_on_gpu(-1, &FaultPlan::failed_allocation), testing::Contains("stage 'square': its batches"));
}

TEST(Batches, WhatFailsInAGpusPipelineIsNamed) {
  EXPECT_THAT(failures_on_gpu(0, &FaultPlan::failed_allocation), testing::Contains("stage 'square': its batches"));
  EXPECT_THAT(failures_on_gpu(0, &FaultPlan::failed_call),
              testing::IsSupersetOf({"batch stream", "stage 'square'", "stage 'square': its batches"}));
}

// What the stream is at ends first; what waits behind it does not start.
TEST(Batches, AnAbortedRunLeavesTheStreamAlone) {
  Pipeline pipe(bounded());
  auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_cpu, {.capacity_items = 4});
  std::atomic<bool> open{false};
  std::atomic<int> bodies{0};
  pipe.add_cpu_stage("feed", numbers(1000), into(t));
  pipe.add_batch_stage("work",
                       [&](Batch<int const>, Stream stream) {
                         stream.launch(Await{&open}, 1, 1);
                         ++bodies;
                       },
                       from(t), {.in_flight = 3});
  pipe.start();
  while (bodies != 3) std::this_thread::yield();
  pipe.abort();
  EXPECT_FALSE(pipe.wait_for(20ms));
  open = true;
  EXPECT_EQ(text_of_error<Aborted>([&] { pipe.wait(); }), "the pipeline was aborted");
  EXPECT_EQ(bodies, 3);
}

}  // namespace
