// A graph by number: which of the user's kernels and threads get from which tunnels and put into which. One end flag on
// what comes from outside ends all of it, cycles too.
#include <gmock/gmock.h>

#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "hiway/log.hpp"
#include "hiway/paper.hpp"
#include "tests/device.hpp"

namespace {

using namespace HiWayLib;
using hiway_tests::bounded;
using hiway_tests::text_of_error;
using testing::HasSubstr;

hiway::PipelineConfig quiet() {
  hiway::PipelineConfig config = bounded();
  config.warn_of_cycles = false;
  return config;
}

hiway::TunnelReport of(hiway::RunReport const& report, int id) {
  for (hiway::TunnelReport const& t : report.tunnels) {
    if (t.name == "tunnel " + std::to_string(id)) return t;
  }
  ADD_FAILURE() << "no tunnel " << id;
  return {};
}

/// A node of a full binary tree: where it is, and how many levels are below.
struct Node {
  std::uint32_t number;
  std::uint32_t depth;
};

struct OnDevice {
  HIWAY_DEVICE bool is_over() const { return isTerminate_d(); }
  HIWAY_DEVICE bool get(Node& n, int id) const { return get_d(&n, id); }
  HIWAY_DEVICE void put(Node const& n, int id) const { put_d(n, id); }
  HIWAY_DEVICE void end_task(int id) const { endTask_d(id); }
};
struct OnHost {
  bool is_over() const { return isTerminate_h(); }
  bool get(Node& n, int id) const { return get_h(&n, id); }
  void put(Node const& n, int id) const { put_h(n, id); }
  void end_task(int id) const { endTask_h(id); }
};

/// Splits nodes until they are leaves. It puts into a tunnel that it gets from, and knows nothing of the end.
HIWAY_NO_SPACE_CHECK template <class Calls>
HIWAY_DEVICE void split(Calls calls, int in, int again, int out) {
  Node n{};
  while (!calls.is_over()) {
    for (int const from : {in, again}) {
      if (!calls.get(n, from)) continue;
      if (n.depth == 0) {
        calls.put(n, out);
      } else {
        calls.put(Node{2 * n.number, n.depth - 1}, again);
        calls.put(Node{2 * n.number + 1, n.depth - 1}, again);
      }
      calls.end_task(from);
    }
  }
}
struct SplitKernel {
  int in, again, out;
  HIWAY_DEVICE void operator()() const { split(OnDevice{}, in, again, out); }
};

/// Gets all leaves; each number is there once.
std::uint64_t sum_of_leaves(int out, std::uint64_t& count) {
  std::uint64_t sum = 0;
  Node n{};
  while (!isTerminate_h()) {
    if (!get_h(&n, out)) continue;
    sum += n.number;
    ++count;
    endTask_h(out);
  }
  return sum;
}
constexpr std::uint64_t leaves_of(std::uint32_t depth) { return std::uint64_t{1} << depth; }
/// Of trees with the roots 1 to `roots`.
std::uint64_t expected_sum(std::uint32_t roots, std::uint32_t depth) {
  std::uint64_t sum = 0;
  for (std::uint64_t r = 1; r <= roots; ++r)
    for (std::uint64_t i = 0; i < leaves_of(depth); ++i) sum += r * leaves_of(depth) + i;
  return sum;
}

TEST(PaperGraph, OneEndFlagEndsARecursiveKernel) {
  HIWAY_NEEDS_DEVICE();
  constexpr std::uint32_t roots = 20;
  constexpr std::uint32_t depth = 6;
  for (hiway::Grouping const grouping : {hiway::Grouping::automatic, hiway::Grouping::none, hiway::Grouping::block}) {
    Service service(quiet());
    int in = -1, again = -1, out = -1;
    createTunnel<Node>(in, CPU_TO_GPU, true);
    createTunnel<Node>(again, GPU_TO_GPU, true, {.capacity_items = 16, .grouping = grouping});
    createTunnel<Node>(out, GPU_TO_CPU, true, {.capacity_items = 64, .grouping = grouping});
    connect("split", {in, again}, {again, out});
    connect("sum", {out}, {});
    setupService();
    pipeline().launch("split", SplitKernel{in, again, out}, {.blocks = 2, .threads_per_block = 64});
    std::thread feed([&] {
      for (std::uint32_t r = 1; r <= roots; ++r) put_h(Node{r, depth}, in);
      put_h(endFlag, in);
    });
    std::uint64_t count = 0;
    EXPECT_EQ(sum_of_leaves(out, count), expected_sum(roots, depth));
    feed.join();
    EXPECT_EQ(count, roots * leaves_of(depth));
    hiway::RunReport const report = service.shutdown();
    EXPECT_GT(of(report, again).spilled, 0U);
    EXPECT_EQ(of(report, out).spilled, 0U);  // no cycle: it waits
    if (grouping != hiway::Grouping::block) {
      EXPECT_EQ(of(report, again).put_groups, 0U);
    }
  }
}

TEST(PaperGraph, OneEndFlagEndsRecursiveThreads) {
  HIWAY_NEEDS_DEVICE();
  constexpr std::uint32_t roots = 50;
  constexpr std::uint32_t depth = 6;
  Service service(quiet());
  int in = -1, again = -1, out = -1;
  createTunnel<Node>(in, CPU_TO_CPU, true);
  createTunnel<Node>(again, CPU_TO_CPU, true, {.capacity_items = 4});
  createTunnel<Node>(out, CPU_TO_CPU, true);
  connect("split", {in, again}, {again, out});
  connect("sum", {out}, {});
  connect("feed", {}, {in});
  setupService();
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back(split<OnHost>, OnHost{}, in, again, out);
  std::uint64_t count = 0;
  std::uint64_t sum = 0;
  std::thread summing([&] { sum = sum_of_leaves(out, count); });
  for (std::uint32_t r = 1; r <= roots; ++r) put_h(Node{r, depth}, in);
  put_h(endFlag, in);
  for (std::thread& t : threads) t.join();
  summing.join();
  hiway::RunReport const report = service.shutdown();
  EXPECT_EQ(count, roots * leaves_of(depth));
  EXPECT_EQ(sum, expected_sum(roots, depth));
  EXPECT_GT(of(report, again).spilled, 0U);
}

/// The GPU's half of a cycle over the bus: counts down.
struct Down {
  int in, from_cpu, to_cpu;
  HIWAY_DEVICE void operator()() const {
    int x = 0;
    while (!isTerminate_d()) {
      for (int const from : {in, from_cpu}) {
        if (!get_d(&x, from)) continue;
        put_d(x - 1, to_cpu);
        endTask_d(from);
      }
    }
  }
};

TEST(PaperGraph, ACycleOverTheBusEndsTogether) {
  HIWAY_NEEDS_DEVICE();
  for (bool const batched : {true, false}) {
    Service service(quiet());
    int in = -1, up = -1, down = -1;
    createTunnel<int>(in, CPU_TO_GPU, batched, {.capacity_items = 4});
    createTunnel<int>(up, GPU_TO_CPU, batched, {.capacity_items = 4});
    createTunnel<int>(down, CPU_TO_GPU, batched, {.capacity_items = 4});
    connect("gpu", {in, down}, {up});
    connect("cpu", {up}, {down});
    setupService();
    pipeline().launch("down", Down{in, down, up}, {.blocks = 1, .threads_per_block = 64});
    std::atomic<int> through{0};
    std::thread cpu([&] {
      int x = 0;
      while (!isTerminate_h()) {
        if (!get_h(&x, up)) continue;
        if (x > 0) {
          put_h(x - 1, down);
        } else {
          ++through;
        }
        endTask_h(up);
      }
    });
    for (int i = 0; i < 60; ++i) put_h(i % 10, in);
    put_h(endFlag, in);
    cpu.join();
    static_cast<void>(service.shutdown());
    EXPECT_EQ(through, 60);
  }
}

struct Twice {
  HIWAY_DEVICE int operator()(int const& x) const { return 2 * x; }
};

// What a worker puts ends when all that it gets from has ended: the stage after it, too.
TEST(PaperGraph, WorkersAndStagesAreOneGraph) {
  HIWAY_NEEDS_DEVICE();
  Service service(quiet());
  int first = -1, second = -1, both = -1, doubled = -1;
  createTunnel<int>(first, CPU_TO_CPU, true);
  createTunnel<int>(second, CPU_TO_CPU, true);
  createTunnel<int>(both, CPU_TO_GPU, true);
  createTunnel<int>(doubled, GPU_TO_CPU, true);
  service.pipeline().add_gpu_stage("twice", Twice{}, hiway::from(tunnel<int>(both)), hiway::into(tunnel<int>(doubled)));
  connect("merge", {first, second}, {both});
  connect("sum", {doubled}, {});
  setupService();
  std::atomic<bool> is_terminate{false};
  std::thread merge([&] {
    int x = 0;
    while (!isTerminate_h()) {
      for (int const from : {first, second}) {
        if (!get_h(&x, from)) continue;
        put_h(x, both);
        endTask_h(from);
      }
    }
    is_terminate = true;
  });
  long sum = 0;
  std::thread adds([&] {
    int x = 0;
    while (!isTerminate_h()) {
      if (!get_h(&x, doubled)) continue;
      sum += x;
      endTask_h(doubled);
    }
  });
  for (int i = 1; i <= 100; ++i) put_h(i, first);
  put_h(endFlag, first);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(is_terminate);  // `second` may still bring some
  for (int i = 1; i <= 100; ++i) put_h(1000, second);
  put_h(endFlag, second);
  merge.join();
  adds.join();
  EXPECT_THAT(service.pipeline().graph(), HasSubstr("\"merge\""));
  static_cast<void>(service.shutdown());
  EXPECT_EQ(sum, 2 * (5050 + 100000));
}

/// All threads of the block put at the same time, again and again.
struct PutMany {
  int out;
  HIWAY_DEVICE void operator()() const {
    for (int i = 0; i < 200; ++i) put_d(i, out);
    hiway::sync_block();
    if (hiway::thread_index() == 0) put_d(endFlag, out);
  }
};

TEST(PaperGraph, WarpsOfABlockShareClaimsIfAskedTo) {
  HIWAY_NEEDS_DEVICE();
  std::vector<std::string> warnings;
  hiway::set_log_sink([&](hiway::LogLevel level, std::string_view text) {
    if (level == hiway::LogLevel::warning) warnings.emplace_back(text);
  });
  for (hiway::Grouping const grouping : {hiway::Grouping::warp, hiway::Grouping::block, hiway::Grouping::block_scan}) {
    Service service(quiet());
    int out = -1;
    createTunnel<int>(out, GPU_TO_CPU, false, {.capacity_items = 64, .grouping = grouping});
    setupService();
    pipeline().launch("put many", PutMany{out}, {.blocks = 1, .threads_per_block = 256});
    int got = 0;
    int x = 0;
    while (!isTerminate_h()) {
      if (!get_h(&x, out)) continue;
      ++got;
      endTask_h(out);
    }
    hiway::RunReport const report = service.shutdown();
    EXPECT_EQ(got, 200 * 256);
    EXPECT_EQ(of(report, out).put_groups != 0, grouping != hiway::Grouping::warp);
  }
  hiway::set_log_sink({});
  EXPECT_THAT(warnings, testing::IsEmpty());
}

// ---- errors

TEST(PaperGraph, WhatIsNotConnectedIsNamed) {
  HIWAY_NEEDS_DEVICE();
  Service service(quiet());
  int a = -1, b = -1;
  createTunnel<int>(a, CPU_TO_CPU, true);
  createTunnel<int>(b, CPU_TO_CPU, true);
  EXPECT_THAT(text_of_error<hiway::MisuseError>([&] { connect("worker", {a}, {b + 1}); }),
              HasSubstr("there is no tunnel " + std::to_string(b + 1)));
  EXPECT_THAT(text_of_error<hiway::ConfigError>([] { connect("worker", {}, {}); }), HasSubstr("'worker'"));
  connect("worker", {a}, {b});
  connect("worker", {b}, {});
  EXPECT_THAT(text_of_error<hiway::ConfigError>([] { setupService(); }),
              HasSubstr("'worker' is there already; names are unique"));
}

TEST(PaperGraph, ACycleWithoutASourceIsNamed) {
  HIWAY_NEEDS_DEVICE();
  Service service(quiet());
  int a = -1;
  createTunnel<int>(a, CPU_TO_CPU, true);
  connect("worker", {a}, {a});
  EXPECT_THAT(text_of_error<hiway::ConfigError>([] { setupService(); }),
              HasSubstr("has no source: nothing enters the cycle from outside"));
}

TEST(PaperGraph, AnInletThatIsSharedWithACycleIsNamed) {
  HIWAY_NEEDS_DEVICE();
  Service service(quiet());
  int a = -1;
  createTunnel<int>(a, CPU_TO_CPU, true);
  connect("worker", {a}, {a});
  connect("feed", {}, {a});
  EXPECT_THAT(text_of_error<hiway::ConfigError>([] { setupService(); }),
              HasSubstr("is put inside a cycle by 'worker', and from outside by 'feed'"));
}

TEST(PaperGraph, AConnectionAfterSetupIsNamed) {
  HIWAY_NEEDS_DEVICE();
  Service service(quiet());
  int a = -1;
  createTunnel<int>(a, CPU_TO_CPU, true);
  setupService();
  EXPECT_THAT(text_of_error<hiway::ConfigError>([&] { connect("late", {a}, {}); }), HasSubstr("runs already"));
}

}  // namespace
