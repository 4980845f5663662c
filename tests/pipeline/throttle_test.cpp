// Writers from outside a cycle wait while its spill pools are high; they never wait for ever.
#include <atomic>
#include <thread>
#include <vector>

#include "tests/device.hpp"

namespace {

using namespace hiway;
using namespace std::chrono_literals;
using hiway_tests::bounded;

// ---- a cycle whose second stage is slower than its source: without a throttle its pool overflows

#if defined(HIWAY_SANITIZED)
constexpr int slowness = 4;  // the bus and the emulated lanes must not be slower than the slow stage
#else
constexpr int slowness = 1;
#endif
constexpr int jobs = 9'000 / slowness;
constexpr std::size_t pool_items = 3000 / slowness;
constexpr std::uint64_t work_us = 150 * slowness;    // of the slow stage, for each job
constexpr std::uint64_t pause_us = 1000 * slowness;  // of the source, for each 18 jobs

struct Job {
  int number;
  int rounds;
};

HIWAY_DEVICE inline std::uint64_t now_us() {
  return anywhere([](auto m) { return m.now_ns() / 1000; });
}
HIWAY_DEVICE inline void work_until(std::uint64_t us) {
  while (now_us() < us) anywhere([](auto m) { m.relax(20); });
}

struct Quick {
  HIWAY_DEVICE void operator()(Job const& job, Inlet<Job> to_slow, Inlet<int> done) const {
    if (job.rounds == 0) {
      done.put(job.number);
    } else {
      to_slow.put({job.number, job.rounds - 1});
    }
  }
};
struct Slow {
  HIWAY_DEVICE void operator()(Job const& job, Inlet<Job> back) const {
    work_until(now_us() + work_us);
    back.put(job);
  }
};
/// One lane or thread of it. Catches up what a busy machine kept it from, but not what a throttle did.
struct Source {
  HIWAY_DEVICE void operator()(Inlet<Job> out) const {
    std::uint64_t next = now_us();
    for (int i = 1; i <= jobs; ++i) {
      if (i % 18 == 0) {
        next = now_us() > next + 20 * pause_us ? now_us() : next + pause_us;
        work_until(next);
      }
      out.put({i, 1});
    }
  }
};

enum class Side { cpu, gpu };
/// Numbers of devices, where a stage is on one.
struct On {
  int quick = -1;
  int slow = -1;
  int source = -1;
};
enum class From { cpu_stage, gpu_stage, open_inlet };

/// Runs source -> quick <-> slow, quick -> sink.
void run_cycle(Side quick, Side slow, From source, On const& on = {}) {
  SCOPED_TRACE("quick " + std::to_string(int(quick)) + ", slow " + std::to_string(int(slow)) + ", source " +
               std::to_string(int(source)));
  auto const way = [](bool from_gpu, bool to_gpu) {
    return from_gpu ? to_gpu ? Direction::gpu_to_gpu : Direction::gpu_to_cpu
           : to_gpu ? Direction::cpu_to_gpu
                    : Direction::cpu_to_cpu;
  };
  bool const quick_gpu = quick == Side::gpu;
  bool const slow_gpu = slow == Side::gpu;
  Pipeline pipe(bounded());
  auto& in = pipe.create_tunnel<Job>("in", way(source == From::gpu_stage, quick_gpu), {.capacity_items = 64});
  auto& there =
      pipe.create_tunnel<Job>("there", way(quick_gpu, slow_gpu), {.capacity_items = 8, .spill_items = pool_items});
  auto& back =
      pipe.create_tunnel<Job>("back", way(slow_gpu, quick_gpu), {.capacity_items = 8, .spill_items = pool_items});
  auto& done = pipe.create_tunnel<int>("done", way(quick_gpu, false), {.capacity_items = 64});
  auto const one_lane = [](int device) {
    return GpuStageOptions{.blocks = 1, .threads_per_block = 1, .device = device};
  };
  if (source == From::gpu_stage) pipe.add_gpu_stage("source", Source{}, into(in), one_lane(on.source));
  if (source == From::cpu_stage) pipe.add_cpu_stage("source", Source{}, into(in));
  if (quick_gpu) {
    pipe.add_gpu_stage("quick", Quick{}, from(in, back), into(there, done),
                       {.blocks = 1, .threads_per_block = 32, .device = on.quick});
  } else {
    pipe.add_cpu_stage("quick", Quick{}, from(in, back), into(there, done));
  }
  if (slow_gpu) {
    pipe.add_gpu_stage("slow", Slow{}, from(there), into(back), one_lane(on.slow));
  } else {
    pipe.add_cpu_stage("slow", Slow{}, from(there), into(back));
  }
  long sum = 0;
  pipe.add_cpu_stage(
      "sum", [&](int const& number) { sum += number; }, from(done));
  Inlet<Job> const open = source == From::open_inlet ? in.open_inlet() : Inlet<Job>();
  pipe.start();
  std::jthread user;
  if (source == From::open_inlet) {
    user = std::jthread([open] {
      try {
        Source{}(open);
        open.close_h();
      } catch (Aborted const&) {  // the run says why
      }
    });
  }
  RunReport const report = pipe.wait();
  EXPECT_EQ(sum, long{jobs} * (jobs + 1) / 2);
  EXPECT_GE(report.tunnels[0].throttled, 1u);
  EXPECT_EQ(report.tunnels[1].throttled, 0u);
}

TEST(Throttle, ACycleOnCpuThreadsDoesNotOverflow) {
  HIWAY_NEEDS_DEVICE();
  run_cycle(Side::cpu, Side::cpu, From::cpu_stage);
}
TEST(Throttle, ACycleOnTheDeviceHoldsItsCpuSourceBack) {
  HIWAY_NEEDS_DEVICE();
  run_cycle(Side::gpu, Side::gpu, From::cpu_stage);
}
TEST(Throttle, ACycleAcrossTheBusHoldsItsCpuSourceBack) {
  HIWAY_NEEDS_DEVICE();
  run_cycle(Side::cpu, Side::gpu, From::cpu_stage);
}
TEST(Throttle, ACycleAcrossTheBusHoldsItsDeviceSourceBack) {
  HIWAY_NEEDS_DEVICE();
  run_cycle(Side::cpu, Side::gpu, From::gpu_stage);
}
/// The pool that fills is the checker's device's, or the other's.
TEST(Throttle, ACycleOverTwoDevicesHoldsItsCpuSourceBack) {
  HIWAY_NEEDS_DEVICES(2);
  run_cycle(Side::gpu, Side::gpu, From::cpu_stage, {.quick = 0, .slow = 1});
  run_cycle(Side::gpu, Side::gpu, From::cpu_stage, {.quick = 1, .slow = 0});
}
TEST(Throttle, ACycleOverTwoDevicesHoldsASourceOnTheOtherBack) {
  HIWAY_NEEDS_DEVICES(2);
  run_cycle(Side::gpu, Side::gpu, From::gpu_stage, {.quick = 1, .slow = 0, .source = 1});
}
TEST(Throttle, ACycleHoldsTheUsersOwnThreadBack) {
  HIWAY_NEEDS_DEVICE();
  run_cycle(Side::cpu, Side::cpu, From::open_inlet);
}

// ---- a stage that empties no pool while it reads from outside

struct OutsideFirst {
  HIWAY_DEVICE void operator()(Outlet<int> in, Outlet<int> own, Inlet<int> again, Inlet<int> done) const {
    in.for_each([&](int x) { again.put(x); });
    own.for_each([&](int x) { done.put(x); });
  }
};
// Once in vain while it fills the pool; then each time after twice as many items, while it empties it.
TEST(Throttle, AStageThatReadsItsOutsideTunnelFirstIsDelayedSeldom) {
  HIWAY_NEEDS_DEVICE();
  for (bool const on_device : {false, true}) {
    Pipeline pipe(bounded());
    auto& in =
        pipe.create_tunnel<int>("in", on_device ? Direction::cpu_to_gpu : Direction::cpu_to_cpu, {.capacity_items = 8});
    auto& own = pipe.create_tunnel<int>("own", on_device ? Direction::gpu_to_gpu : Direction::cpu_to_cpu,
                                        {.capacity_items = 8, .spill_items = 4096});
    auto& done = pipe.create_tunnel<int>("done", on_device ? Direction::gpu_to_cpu : Direction::cpu_to_cpu);
    pipe.add_cpu_stage(
        "source",
        [](Inlet<int> out) {
          for (int i = 1; i <= 4000; ++i) {
            if (i % 100 == 0) std::this_thread::sleep_for(100us);  // the checker sees the pool while it fills
            out.put_h(i);
          }
        },
        into(in));
    if (on_device) {
      pipe.add_gpu_stage("outside first", OutsideFirst{}, from(in, own), into(own, done),
                         {.blocks = 1, .threads_per_block = 32});
    } else {
      pipe.add_cpu_stage("outside first", OutsideFirst{}, from(in, own), into(own, done));
    }
    long sum = 0;
    pipe.add_cpu_stage(
        "sum", [&](int const& x) { sum += x; }, from(done));
    RunReport const report = pipe.run();
    EXPECT_EQ(sum, 4000L * 4001 / 2);
    EXPECT_GE(report.tunnels[0].throttled, 1u);
    EXPECT_LE(report.tunnels[0].throttled, 6u);
    EXPECT_GT(report.seconds, 0.5);  // the patience
    EXPECT_LT(report.seconds, 20);
  }
}

// ---- a throttled put: an open inlet's word, of a tunnel that no cycle reads, set by hand

struct ThrottledByHand {
  ThrottledByHand() : pipe(bounded(10s)) {
    auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_cpu, {.capacity_items = 64});
    in = t.open_inlet();
    pipe.add_cpu_stage(
        "sum", [this](int const& x) { sum += x; }, from(t));
    pipe.start();
    set(1);
  }
  void set(std::uint32_t value) const { ThreadMachine{}.store(*in.view().throttled, value, MemoryOrder::release); }
  Pipeline pipe;
  Inlet<int> in;
  long sum = 0;
};

TEST(Throttle, APutOfEveryKindWaitsForItAndNoLonger) {
  HIWAY_NEEDS_DEVICE();
  ThrottledByHand t;
  EXPECT_FALSE(t.in.try_put_h(1));
  std::atomic<int> puts = 0;
  int const three[] = {3, 4, 5};
  std::jthread users[] = {
      std::jthread([&] { t.in.put_h(1), ++puts; }),
      std::jthread([&] { t.in.put_warp(2), ++puts; }),
      std::jthread([&] { t.in.put_h(three), ++puts; }),
      std::jthread([&] { t.in.put_in_place_h([](int& slot) { slot = 6; }), ++puts; }),
  };
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(puts, 0);
  t.set(0);
  for (std::jthread& user : users) user.join();
  EXPECT_EQ(puts, 4);
  EXPECT_TRUE(t.in.try_put_h(7));
  t.in.close_h();
  t.pipe.wait();
  EXPECT_EQ(t.sum, 28);
}

TEST(Throttle, AnAbortEndsTheWait) {
  HIWAY_NEEDS_DEVICE();
  ThrottledByHand t;
  std::atomic<int> left = 0;
  {
    std::jthread const one([&] {
      EXPECT_THROW(t.in.put_h(1), Aborted);
      ++left;
    });
    std::jthread const team([&] {
      EXPECT_THROW(t.in.put_warp(1), Aborted);
      ++left;
    });
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(left, 0);
    t.pipe.abort();
  }
  EXPECT_EQ(left, 2);
  EXPECT_THROW(t.pipe.wait(), Aborted);
}

}  // namespace
