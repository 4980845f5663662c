// Stages that work on batches in a device's memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "hiway/hiway.hpp"
#include "tests/device.hpp"
#include "tests/pipeline/squares.hpp"
#include "tests/spend.hpp"

namespace {

using namespace hiway;
using hiway_tests::bounded;
using hiway_tests::device;
using hiway_tests::expected_squares;
using hiway_tests::longest_run;
using hiway_tests::numbers;
using hiway_tests::Square;
using hiway_tests::SquareAll;
using hiway_tests::squares_of;
using hiway_tests::text_of_error;

/// squares_of() in the device's memory.
std::vector<int> squares_there(int n, BatchOptions options, std::size_t capacity = 64, unsigned blocks = 1) {
  options.device = 0;
  return squares_of(n, options, capacity, blocks);
}

TEST(DeviceBatches, KeepTheirOrder) {
  HIWAY_NEEDS_DEVICE();
  EXPECT_EQ(squares_there(5000, {}), expected_squares(5000));
  EXPECT_EQ(squares_there(100, {.max_items = 1, .in_flight = 1}), expected_squares(100));
  EXPECT_EQ(squares_there(1000, {.max_items = 7, .in_flight = 5}), expected_squares(1000));
  EXPECT_EQ(squares_there(2003, {.min_items = 25, .in_flight = 2}), expected_squares(2003));
  EXPECT_EQ(squares_there(3, {.min_items = 25}), expected_squares(3));
  EXPECT_EQ(squares_there(0, {}), expected_squares(0));
}

// A large batch is copied beside the bodies of others, a small one between them.
TEST(DeviceBatches, AreRightAtAnySize) {
  HIWAY_NEEDS_DEVICE();
  constexpr std::size_t many = 1 << 16;
  for (std::size_t const least : {std::size_t{1}, many / 2})
    EXPECT_EQ(squares_there(40000, {.min_items = least, .in_flight = 3}, many, 4), expected_squares(40000));
}

// Slots of a batch that still waits for items are not free before it has enough.
TEST(DeviceBatches, MayNeedMoreThanHalfOfWhatTheTunnelHolds) {
  HIWAY_NEEDS_DEVICE();
  constexpr std::size_t many = 1 << 14;
  for (std::size_t const least : {many / 8 * 5, many}) {
    BatchOptions const options{.max_items = least, .min_items = least, .max_wait = std::chrono::hours(1)};
    auto const n = static_cast<int>(3 * least);
    EXPECT_EQ(squares_there(n, options, many, 4), expected_squares(n));
  }
}

struct SquareLate {
  Square square;
  HIWAY_DEVICE void operator()() const {
    hiway_tests::spend(300'000);
    square();
  }
};

// Copies to and from the rings are cut at their ends, where large ones become small; and since the reader is slow, what
// a batch has made goes in several parts, beside bodies of other batches.
TEST(DeviceBatches, AreWholeWhereTheRingsAreNarrow) {
  HIWAY_NEEDS_DEVICE();
  int const all = device() == "simt" ? 5000 : 4'000'000;
  std::size_t const capacity = device() == "simt" ? 64 : 50'000;
  for (std::size_t const parts : {2, 3, 5}) {
    Pipeline pipe(bounded());
    auto& there = pipe.create_tunnel<int>("there", Direction::cpu_to_gpu, {.capacity_items = capacity});
    auto& back = pipe.create_tunnel<int>("back", Direction::gpu_to_cpu, {.capacity_items = capacity - 7});
    auto const feed = [all](Inlet<int> out) {
      std::vector<int> span(999);
      for (int first = 1; first <= all; first += static_cast<int>(span.size())) {
        span.resize(std::min<std::size_t>(span.size(), static_cast<std::size_t>(all - first + 1)));
        std::iota(span.begin(), span.end(), first % 30'000);
        out.put_h(std::span<int const>(span));
      }
    };
    int next = 1;
    long wrong = 0;
    auto const check = [&](Outlet<int> in) {
      std::vector<int> span(777);
      while (std::size_t const n = in.next_h(std::span<int>(span))) {
        for (std::size_t i = 0; i < n; ++i, ++next) {
          int const first = (next - 1) / 999 * 999 + 1;
          int const x = first % 30'000 + next - first;
          wrong += span[i] != x * x ? 1 : 0;
        }
        in.end_task_h(n);
        hiway_tests::spend_on(ThreadMachine{}, 10'000);
      }
    };
    pipe.add_cpu_stage("feed", feed, into(there));
    pipe.add_batch_stage("square",
                         [](Batch<int const> in, Batch<int> out, Stream stream) {
                           out.resize(in.size());
                           stream.launch(SquareLate{{in.data(), out.data(), in.size()}}, 4, 256);
                         },
                         from(there), into(back),
                         {.max_items = capacity / parts, .min_items = capacity / 10, .in_flight = 4, .device = 0});
    pipe.add_cpu_stage("check", check, from(back));
    pipe.run();
    EXPECT_EQ(next, all + 1);
    EXPECT_EQ(wrong, 0) << parts << " parts";
  }
}

struct Copy {
  int const* in;
  int* out;
  std::size_t count;
  HIWAY_DEVICE void operator()() const {
    for (std::size_t i = thread_index(); i < count; i += thread_count()) out[i] = in[i];
  }
};
struct CopyAll {
  void operator()(Batch<int const> in, Batch<int> out, Stream stream) const {
    out.resize(in.size());
    stream.launch(Copy{in.data(), out.data(), in.size()}, 1, 32);
  }
};

struct AddOne {
  HIWAY_DEVICE int operator()(int const& x) const { return x + 1; }
};

bool are_copied_on_device(RunReport const& report, std::string const& tunnel) {
  auto const found = std::ranges::find(report.tunnels, tunnel, &TunnelReport::name);
  return found != report.tunnels.end() && found->why == "batches are copied on the device";
}

/// Between two kernels a batch stage squares, and another one copies; all tunnels between them are as `config` says.
RunReport run_between_kernels(int all, TunnelConfig const& config, BatchOptions const& options) {
  Pipeline pipe(bounded());
  auto& in = pipe.create_tunnel<int>("in", Direction::cpu_to_gpu);
  auto& there = pipe.create_tunnel<int>("there", Direction::gpu_to_gpu, config);
  auto& next = pipe.create_tunnel<int>("next", Direction::gpu_to_gpu, config);
  auto& back = pipe.create_tunnel<int>("back", Direction::gpu_to_gpu, config);
  auto& out = pipe.create_tunnel<int>("out", Direction::gpu_to_cpu);
  long sum = 0;
  pipe.add_cpu_stage("feed", numbers(all), into(in));
  pipe.add_gpu_stage("before", AddOne{}, from(in), into(there));
  pipe.add_batch_stage("square", SquareAll{}, from(there), into(next), options);
  pipe.add_batch_stage("copy", CopyAll{}, from(next), into(back), options);
  pipe.add_gpu_stage("after", AddOne{}, from(back), into(out));
  pipe.add_cpu_stage(
      "sum", [&](int const& x) { sum += x; }, from(out));
  RunReport report = pipe.run();
  long right = 0;
  for (long i = 1; i <= all; ++i) right += (i + 1) * (i + 1) + 1;
  EXPECT_EQ(sum, right) << config.capacity_items;
  return report;
}

// What leads from kernels to batches, or from batch to batch, stays on the device.
TEST(DeviceBatches, BetweenKernels) {
  HIWAY_NEEDS_DEVICE();
  for (std::size_t const capacity : {1, 30, 4096}) {
    std::size_t const most = std::min<std::size_t>(capacity, 100);
    for (std::size_t const least : {std::size_t{1}, most}) {
      RunReport const report =
          run_between_kernels(capacity == 1 ? 300 : 3000, {.capacity_items = capacity},
                              {.max_items = most, .min_items = least, .in_flight = 3, .device = 0});
      for (char const* const tunnel : {"there", "next", "back"})
        EXPECT_TRUE(are_copied_on_device(report, tunnel)) << tunnel;
    }
  }
}

TEST(DeviceBatches, MoveAsIsAskedFor) {
  HIWAY_NEEDS_DEVICE();
  for (Movement const movement : {Movement::direct, Movement::dma}) {
    RunReport const report = run_between_kernels(3000, {.movement = movement}, {.max_items = 100, .device = 0});
    EXPECT_FALSE(are_copied_on_device(report, "there"));
    EXPECT_FALSE(are_copied_on_device(report, "back"));
  }
}

struct Turn {
  HIWAY_DEVICE void operator()(int const& x, Inlet<int> again, Inlet<int> done) const {
    if (x < 100) again.put(x + 1);
    if (x >= 100) done.put(x);
  }
};

// In a circle what finds no room is spilled, and a CPU thread brings it back to the ring, unless a plan forbids it.
TEST(DeviceBatches, InACircleWithAKernel) {
  HIWAY_NEEDS_DEVICE();
  for (bool const planned : {false, true}) {
    Pipeline pipe(bounded());
    auto& in = pipe.create_tunnel<int>("in", Direction::cpu_to_gpu);
    std::size_t const capacity = planned ? 1024 : 16;
    auto& turn =
        pipe.create_tunnel<int>("turn", Direction::gpu_to_gpu, {.capacity_items = capacity, .planned = planned});
    auto& again =
        pipe.create_tunnel<int>("again", Direction::gpu_to_gpu, {.capacity_items = capacity, .planned = planned});
    auto& out = pipe.create_tunnel<int>("out", Direction::gpu_to_cpu);
    long sum = 0;
    pipe.add_cpu_stage("feed", numbers(90), into(in));
    pipe.add_batch_stage("enter", CopyAll{}, from(in), into(again), {.max_items = 10, .device = 0});
    pipe.add_batch_stage("copy", CopyAll{}, from(turn), into(again), {.max_items = 10, .in_flight = 3, .device = 0});
    pipe.add_gpu_stage("turn", Turn{}, from(again), into(turn, out));
    pipe.add_cpu_stage(
        "sum", [&](int const& x) { sum += x; }, from(out));
    RunReport const report = pipe.run();
    EXPECT_EQ(are_copied_on_device(report, "turn"), planned);
    EXPECT_EQ(are_copied_on_device(report, "again"), planned);
    EXPECT_EQ(sum, 100 * 90);
  }
}

struct KeepEven {
  int const* in;
  std::size_t count;
  int* out;
  std::uint32_t* kept;
  HIWAY_DEVICE void operator()() const {
    if (thread_index() != 0) return;
    std::uint32_t n = 0;
    for (std::size_t i = 0; i < count; ++i)
      if (in[i] % 2 == 0) out[n++] = in[i];
    *kept = n;
  }
};

// The count lies on the device.
TEST(DeviceBatches, TheDeviceAloneKnowsHowManyItemsThereAre) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& there = pipe.create_tunnel<int>("there", Direction::cpu_to_gpu);
  auto& back = pipe.create_tunnel<int>("back", Direction::gpu_to_cpu);
  Buffer<std::uint32_t>& count = pipe.create_buffer<std::uint32_t>(1);
  std::vector<int> all;
  pipe.add_cpu_stage("feed", numbers(1000), into(there));
  pipe.add_batch_stage("even",
                       [&](Batch<int const> in, Batch<int> out, Stream stream) {
                         stream.launch(KeepEven{in.data(), in.size(), out.data(), count.view().data}, 1, 32);
                         out.resize_on_device(count.view().data);
                       },
                       from(there), into(back), {.max_items = 50, .in_flight = 3, .device = 0});
  pipe.add_cpu_stage(
      "keep", [&](int const& x) { all.push_back(x); }, from(back));
  pipe.run();
  std::vector<int> right(500);
  for (int i = 0; i < 500; ++i) right[static_cast<std::size_t>(i)] = 2 * (i + 1);
  EXPECT_EQ(all, right);
}

/// Each block turns 64 numbers around.
struct TurnAround {
  int const* in;
  int* out;
  HIWAY_DEVICE void operator()() const {
    auto* const own = reinterpret_cast<int*>(shared_memory());
    unsigned const in_block = thread_index() % 64;
    own[in_block] = in[thread_index()];
    sync_block();
    out[thread_index()] = own[63 - in_block];
  }
};

TEST(DeviceBatches, AKernelHasAsMuchSharedMemoryAsItsLaunchSays) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& there = pipe.create_tunnel<int>("there", Direction::cpu_to_gpu);
  auto& back = pipe.create_tunnel<int>("back", Direction::gpu_to_cpu);
  std::vector<int> all;
  pipe.add_cpu_stage("feed", numbers(128), into(there));
  pipe.add_batch_stage("turn around",
                       [](Batch<int const> in, Batch<int> out, Stream stream) {
                         out.resize(in.size());
                         stream.launch(TurnAround{in.data(), out.data()}, 2, 64, 64 * sizeof(int));
                       },
                       from(there), into(back),
                       {.max_items = 128, .min_items = 128, .max_wait = longest_run(), .device = 0});
  pipe.add_cpu_stage(
      "keep", [&](int const& x) { all.push_back(x); }, from(back));
  pipe.run();
  std::vector<int> right;
  for (int i = 0; i < 128; ++i) right.push_back(i / 64 * 64 + 64 - i % 64);
  EXPECT_EQ(all, right);
}

// Of five numbers each, but for the last batches; on a GPU the body is called twice for each place and size.
TEST(DeviceBatches, AreCapturedAsGraphs) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& there = pipe.create_tunnel<int>("there", Direction::cpu_to_gpu);
  auto& back = pipe.create_tunnel<int>("back", Direction::gpu_to_cpu);
  int bodies = 0;
  std::vector<int> all;
  pipe.add_cpu_stage("feed", numbers(1002), into(there));
  pipe.add_batch_stage("square",
                       [&](Batch<int const> in, Batch<int> out, Stream stream) {
                         ++bodies;
                         SquareAll{}(in, out, stream);
                       },
                       from(there), into(back),
                       {.max_items = 5, .min_items = 5, .in_flight = 3, .device = 0, .capture = true});
  pipe.add_cpu_stage(
      "keep", [&](int const& x) { all.push_back(x); }, from(back));
  pipe.run();
  pipe.run();
  EXPECT_EQ(all, expected_squares(1002));
  bool const captures = pipe.device() != "simt";
  EXPECT_LE(bodies, captures ? 2 * 3 * 5 : 2 * 1002);
  EXPECT_GE(bodies, captures ? 2 : 2 * 201);
}

struct Fill {
  int* first;
  int* second;
  std::size_t count;
  int from;
  HIWAY_DEVICE void operator()() const {
    for (std::size_t i = thread_index(); i < count; i += thread_count()) {
      first[i] = from + static_cast<int>(i);
      if (i % 2 == 0) second[i / 2] = -first[i];
    }
  }
};

TEST(DeviceBatches, OfASourceWithSeveralTunnels) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& t = pipe.create_tunnel<int>("t", Direction::gpu_to_cpu, {.capacity_items = 1 << 15});
  auto& u = pipe.create_tunnel<int>("u", Direction::gpu_to_cpu, {.capacity_items = 1 << 15});
  int next = 0;
  pipe.add_batch_stage("make",
                       [&](Batch<int> out, Batch<int> negative, Stream stream) {
                         std::size_t const n = next == 200000 ? 0 : next % 40000 == 0 ? 20000 : 500;
                         out.resize(n);
                         negative.resize(n / 2);
                         stream.launch(Fill{out.data(), negative.data(), n, next}, 2, 64);
                         next += static_cast<int>(n);
                       },
                       into(t, u), {.in_flight = 3, .device = 0});
  long sum = 0;
  long negatives = 0;
  pipe.add_cpu_stage(
      "sum", [&](int const& x) { sum += x; }, from(t));
  pipe.add_cpu_stage(
      "negatives", [&](int const& x) { negatives += x; }, from(u));
  pipe.run();
  EXPECT_EQ(sum, 199999L * 100000);
  EXPECT_EQ(negatives, -199998L * 50000);  // of the even ones
}

struct SetCount {
  std::uint32_t* count;
  HIWAY_DEVICE void operator()() const {
    if (thread_index() == 0) *count = 1000;
  }
};

/// Of a stage whose third batch, and all later ones, are worked on by `bad`; a second run ends as the first one did.
template <class Bad>
std::string error_of(Bad bad) {
  Pipeline pipe(bounded());
  auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_gpu);
  auto& u = pipe.create_tunnel<int>("u", Direction::gpu_to_cpu, {.capacity_items = 64});
  Buffer<std::uint32_t>& count = pipe.create_buffer<std::uint32_t>(1);
  int bodies = 0;
  pipe.add_cpu_stage("feed", numbers(1000), into(t));
  pipe.add_batch_stage("bad",
                       [&](Batch<int const> in, Batch<int> out, Stream stream) {
                         ++bodies < 3 ? SquareAll{}(in, out, stream) : bad(in, out, stream, count.view().data);
                       },
                       from(t), into(u), {.max_items = 20, .in_flight = 3, .device = 0});
  pipe.add_cpu_stage(
      "sink", [](int const&) {}, from(u));
  std::string const first = text_of_error<StageError>([&] { pipe.run(); });
  bodies = 0;
  EXPECT_EQ(text_of_error<StageError>([&] { pipe.run(); }), first);
  return first;
}

// In the middle of a run, with other batches under way.
TEST(DeviceBatches, WhatGoesWrongIsNamed) {
  HIWAY_NEEDS_DEVICE();
  using In = Batch<int const>;
  using Out = Batch<int>;
  EXPECT_EQ(error_of([](In, Out, Stream, std::uint32_t*) { throw std::runtime_error("no"); }), "stage 'bad': no");
  EXPECT_EQ(error_of([](In, Out, Stream, std::uint32_t*) {}),
            "stage 'bad': the body returned without the size of a batch that it makes: call resize");
  EXPECT_EQ(error_of([](In, Out out, Stream, std::uint32_t*) {
              out.resize(1);
              out.resize(1);
            }),
            "stage 'bad': the size of a batch is set twice: resize is called once for each");
  EXPECT_EQ(error_of([](In, Out out, Stream, std::uint32_t*) { out.resize(65); }),
            "stage 'bad': a batch of 65 items is made, and its tunnel holds 64");
  EXPECT_EQ(error_of([](In, Out out, Stream stream, std::uint32_t* count) {
              stream.launch(SetCount{count}, 1, 32);
              out.resize_on_device(count);
            }),
            "stage 'bad': a batch of 1000 items was made on the device, and its tunnel holds 64");
  std::string const launch =
      error_of([](In in, Out out, Stream stream, std::uint32_t*) { SquareAll{0}(in, out, stream); });
  EXPECT_TRUE(launch.starts_with("stage 'bad': ")) << launch;
}

}  // namespace
