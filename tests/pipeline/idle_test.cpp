// A started pipeline in which nothing moves costs next to nothing, with the paper's bare loops, too; and who finds
// something to do stays awake. CPU time is the process's own: other programs on the machine do not count.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <semaphore>
#include <thread>

#include "tests/device.hpp"

namespace {

using namespace hiway;
using namespace std::chrono_literals;
using hiway_tests::bounded;

#if defined(HIWAY_SANITIZED)
constexpr double bound = 0.30;  // of a core; a sanitizer takes most of it
#else
constexpr double bound = 0.10;
#endif

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto const seconds = [](timeval t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}
double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
/// The part of a core that this process takes during `duration`.
double cpu_share(std::chrono::milliseconds duration) {
  double const before = cpu_seconds();
  auto const start = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(duration);
  return (cpu_seconds() - before) / seconds_since(start);
}

/// A source that puts one item, then one more when `go_on`.
struct TwoItems {
  std::binary_semaphore go_on{0};
  auto body() {
    return [this](Inlet<int> out) {
      out.put_h(1);
      go_on.acquire();
      out.put_h(2);
    };
  }
};

/// The paper's loop, as two threads of a CPU stage run it.
struct BareSink {
  std::atomic<int>& items;
  void operator()(Outlet<int> in) const {
    int x = 0;
    while (!in.is_terminate_h()) {
      if (in.get_h(x)) {
        ++items;
        in.end_task_h();
      }
    }
  }
};

/// Starts `pipe`, waits until its first item has come out and nothing moves, then measures; again when a busy machine
/// may have made each wake-up dear.
void expect_near_zero_cost(Pipeline& pipe, TwoItems& source, std::atomic<int>& items) {
  pipe.start();
  auto const start = std::chrono::steady_clock::now();
  while (items == 0 && seconds_since(start) < 20) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(300ms);  // naps grow to their longest
  double share = 1;
  for (int tries = 0; tries < 3 && share >= bound; ++tries) share = std::min(share, cpu_share(400ms));
  source.go_on.release();
  pipe.wait();
  EXPECT_EQ(items, 2);
  testing::Test::RecordProperty("percent_of_a_core", std::to_string(100 * share));
  EXPECT_LT(share, bound) << "of a core, while nothing moves";
}

TEST(Idle, CpuStagesCostNextToNothing) {
  TwoItems source;
  std::atomic<int> items{0};
  Pipeline pipe(bounded());
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu);
  pipe.add_cpu_stage("source", source.body(), into(numbers));
  pipe.add_cpu_stage("sink", BareSink{items}, from(numbers), {.threads = 2});
  expect_near_zero_cost(pipe, source, items);
}

/// A GPU stage between the source and the bare CPU loops.
template <class Stage>
void expect_gpu_stage_costs_near_zero(Stage stage) {
  HIWAY_NEEDS_DEVICE();
  TwoItems source;
  std::atomic<int> items{0};
  Pipeline pipe(bounded());
  auto& there = pipe.create_tunnel<int>("there", Direction::cpu_to_gpu);
  auto& back = pipe.create_tunnel<int>("back", Direction::gpu_to_cpu);
  pipe.add_cpu_stage("source", source.body(), into(there));
  pipe.add_gpu_stage("stage", stage, from(there), into(back));
  pipe.add_cpu_stage("sink", BareSink{items}, from(back), {.threads = 2});
  expect_near_zero_cost(pipe, source, items);
}

struct BareLoop {
  HIWAY_DEVICE void operator()(Outlet<int> in, Inlet<int> out) const {
    int x = 0;
    while (!in.is_terminate_d()) {
      if (in.get_d(x)) {
        out.put_d(x);
        in.end_task_d();
      }
    }
  }
};
struct BareLoopWithHandlesMadeAnew {
  HIWAY_DEVICE void operator()(Outlet<int> in, Inlet<int> out) const {
    int x = 0;
    while (!in.is_terminate_d()) {
      Outlet<int> const anew(in.view());
      if (anew.get_d(x)) {
        out.put_d(x);
        anew.end_task_d();
      }
    }
  }
};
struct Loop {
  HIWAY_DEVICE void operator()(Outlet<int> in, Inlet<int> out) const {
    in.for_each_d([&](int x) { out.put_d(x); });
  }
};
struct Same {
  HIWAY_DEVICE int operator()(int const& x) const { return x; }
};

TEST(Idle, ABareGpuLoopCostsNextToNothing) { expect_gpu_stage_costs_near_zero(BareLoop{}); }
TEST(Idle, AGpuHandleMadeAnewForEachGetCostsNextToNothing) {
  expect_gpu_stage_costs_near_zero(BareLoopWithHandlesMadeAnew{});
}
TEST(Idle, AGpuLoopCostsNextToNothing) { expect_gpu_stage_costs_near_zero(Loop{}); }
TEST(Idle, AGpuStageGivenPerItemCostsNextToNothing) { expect_gpu_stage_costs_near_zero(Same{}); }

TEST(Idle, AGroupCostsNextToNothing) {
  HIWAY_NEEDS_DEVICE();
  TwoItems source;
  std::atomic<int> items{0};
  Pipeline pipe(bounded());
  auto& there = pipe.create_tunnel<int>("there", Direction::cpu_to_gpu);
  auto& inside = pipe.create_tunnel<int>("inside", Direction::gpu_to_gpu);
  auto& back = pipe.create_tunnel<int>("back", Direction::gpu_to_cpu);
  pipe.add_cpu_stage("source", source.body(), into(there));
  pipe.add_gpu_group("group", stage("one", Same{}, from(there), into(inside)),
                     stage("two", Same{}, from(inside), into(back)));
  pipe.add_cpu_stage("sink", BareSink{items}, from(back), {.threads = 2});
  expect_near_zero_cost(pipe, source, items);
}

constexpr int many_items = 4000;

// A count of misses kept for each outlet fell asleep on the empty one: 0.1 ms for each item of the other, and more the
// longer it went.
TEST(Idle, AThreadThatReadsABusyAndAnEmptyTunnelStaysAwake) {
  Pipeline pipe(bounded());
  auto& full = pipe.create_tunnel<int>("full", Direction::cpu_to_cpu, {.capacity_items = many_items});
  auto& empty = pipe.create_tunnel<int>("empty", Direction::cpu_to_cpu);
  std::binary_semaphore is_full{0};
  double seconds = 0;
  pipe.add_cpu_stage(
      "source",
      [&](Inlet<int> out, Inlet<int>) {
        for (int i = 0; i < many_items; ++i) out.put_h(i);
        is_full.release();
      },
      into(full, empty));
  pipe.add_cpu_stage(
      "reader",
      [&](Outlet<int> items, Outlet<int> none) {
        is_full.acquire();
        auto const start = std::chrono::steady_clock::now();
        int x = 0;
        while (!items.has_ended_h()) {
          if (items.get_h(x)) items.end_task_h();
          if (none.get_h(x)) none.end_task_h();
        }
        seconds = seconds_since(start);
      },
      from(full, empty));
  pipe.run();
  EXPECT_LT(seconds, 0.2) << "for " << many_items << " items";
}

TEST(Idle, AHandleMadeAnewForEachGetBacksOff) {
  TwoItems source;
  std::atomic<int> items{0};
  std::atomic<int> gets{0};
  Pipeline pipe(bounded());
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu);
  pipe.add_cpu_stage("source", source.body(), into(numbers));
  pipe.add_cpu_stage(
      "sink",
      [&](Outlet<int> in) {
        int x = 0;
        while (!in.is_terminate_h()) {
          Outlet<int> const anew(in.view());
          ++gets;
          if (!anew.get_h(x)) continue;
          ++items;
          anew.end_task_h();
        }
      },
      from(numbers));
  pipe.start();
  std::this_thread::sleep_for(200ms);
  int const before = gets;
  std::this_thread::sleep_for(200ms);
  int const while_idle = gets - before;
  source.go_on.release();
  pipe.wait();
  EXPECT_EQ(items, 2);
  EXPECT_LT(while_idle, 400) << "gets in 200 ms";
}

}  // namespace
