// How CPU threads wait, where they run, and whose their ends are: seen by what is counted, not by time.
#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "hiway/cpus.hpp"
#include "hiway/error.hpp"
#include "hiway/machine/thread_machine.hpp"
#include "tests/cpus.hpp"
#include "tests/device.hpp"

namespace {

using namespace hiway;
using namespace std::chrono_literals;
using hiway_tests::allowed_cpus;
using hiway_tests::bounded;
using hiway_tests::text_of_error;

/// Naps of the paper's loop that waits so and gets nothing for `least` times.
std::uint64_t naps_of_gets(Wait wait, unsigned least) {
  Pipeline pipe(bounded());
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu);
  std::binary_semaphore go_on{0};
  std::uint64_t naps = 0;
  int items = 0;
  pipe.add_cpu_stage(
      "source",
      [&](Inlet<int> out) {
        go_on.acquire();
        out.put_h(1);
      },
      into(numbers));
  pipe.add_cpu_stage("sink",
                     [&](Outlet<int> in) {
                       unsigned misses = 0;
                       for (int x = 0; !in.is_terminate_h();) {
                         if (in.get_h(x)) {
                           ++items;
                           in.end_task_h();
                         } else if (++misses == least) {
                           go_on.release();
                         }
                       }
                       naps = this_thread_context().naps;
                     },
                     from(numbers), {.wait = wait});
  pipe.run();
  EXPECT_EQ(items, 1);
  return naps;
}

TEST(WaitStrategy, SpinAndYieldNeverNapTheOthersDo) {
  unsigned const ladder = misses_awake(Wait::automatic);
  EXPECT_EQ(naps_of_gets(Wait::spin, ladder + 100), 0u);
  EXPECT_EQ(naps_of_gets(Wait::yield, ladder + 100), 0u);
  EXPECT_GE(naps_of_gets(Wait::automatic, ladder + 100), 99u);
  EXPECT_GE(naps_of_gets(Wait::sleep, 50), 49u);
}

TEST(WaitStrategy, SleepNapsAtTheFirstMissTheLadderLater) {
  auto const naps_after = [](Wait wait, unsigned misses) {
    std::uint64_t naps = 0;
    std::thread([&] {
      this_thread_context().wait = wait;
      for (unsigned miss = 0; miss < misses; ++miss) relax_thread(miss);
      naps = this_thread_context().naps;
    }).join();
    return naps;
  };
  EXPECT_EQ(naps_after(Wait::sleep, 3), 3u);
  EXPECT_EQ(naps_after(Wait::automatic, misses_awake(Wait::automatic)), 0u);
  EXPECT_EQ(naps_after(Wait::automatic, misses_awake(Wait::automatic) + 2), 2u);
  EXPECT_EQ(naps_after(Wait::spin, misses_awake(Wait::automatic) + 10), 0u);
  EXPECT_EQ(naps_after(Wait::yield, misses_awake(Wait::automatic) + 10), 0u);
}

TEST(WaitStrategy, WhoSpinsLeavesOnAbort) {
  for (Wait const wait : {Wait::spin, Wait::yield, Wait::sleep}) {
    Pipeline pipe(bounded());
    auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu, {.capacity_items = 1});
    auto& never = pipe.create_tunnel<int>("never", Direction::cpu_to_cpu);
    Inlet<int> const open = never.open_inlet();
    static_cast<void>(open);
    std::atomic<int> waiting = 0;
    pipe.add_cpu_stage("full",
                       [&](Inlet<int> out) {
                         ++waiting;
                         for (int i = 0;; ++i) out.put_h(i);
                       },
                       into(numbers), {.wait = wait});
    pipe.add_cpu_stage("empty",
                       [&](Outlet<int> none, Outlet<int>) {
                         ++waiting;
                         none.for_each_h([](int) {});
                       },
                       from(never, numbers), {.wait = wait});
    pipe.start();
    while (waiting < 2) std::this_thread::yield();
    std::this_thread::sleep_for(20ms);
    pipe.abort();
    EXPECT_THROW(pipe.wait(), Aborted);
  }
}

struct Same {
  HIWAY_DEVICE int operator()(int const& x) const { return x; }
};

TEST(WaitStrategy, MonitorsThatWaitOtherwiseCarryTheSame) {
  HIWAY_NEEDS_DEVICE();
  for (Wait const wait : {Wait::automatic, Wait::spin, Wait::yield, Wait::sleep}) {
    PipelineConfig config = bounded();
    config.monitor_wait = wait;
    Pipeline pipe(config);
    auto& there = pipe.create_tunnel<int>("there", Direction::cpu_to_gpu, {.movement = Movement::dma});
    auto& back = pipe.create_tunnel<int>("back", Direction::gpu_to_cpu, {.movement = Movement::direct});
    long sum = 0;
    pipe.add_cpu_stage("source",
                       [](Inlet<int> out) {
                         for (int i = 1; i <= 1000; ++i) out.put_h(i);
                       },
                       into(there), {.wait = wait});
    pipe.add_gpu_stage("same", Same{}, from(there), into(back), {.blocks = 1, .threads_per_block = 32});
    pipe.add_cpu_stage("sink", [&](int const& x) { sum += x; }, from(back), {.wait = wait});
    pipe.run();
    EXPECT_EQ(sum, 500500);
  }
}

/// Where each of a stage's threads may run.
std::vector<std::vector<int>> places(CpuStageOptions const& options) {
  Pipeline pipe(bounded());
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu);
  std::mutex mutex;
  std::vector<std::vector<int>> all(options.threads);
  pipe.add_cpu_stage(
      "source",
      [&](Inlet<int>) {
        std::scoped_lock const lock(mutex);
        all[thread_index()] = allowed_cpus();
      },
      into(numbers), options);
  pipe.add_cpu_stage(
      "sink", [](int const&) {}, from(numbers));
  pipe.run();
  return all;
}

TEST(Pinning, EachThreadRunsOnItsCpuInTurn) {
  std::vector<int> const cpus = allowed_cpus();
  for (std::vector<int> const& place : places({.threads = 2})) EXPECT_EQ(place, cpus) << "not pinned";
  int const first = cpus.front();
  int const last = cpus.back();
  std::vector<std::vector<int>> const pinned = places({.threads = 3, .pin = {last, first}});
  EXPECT_EQ(pinned, (std::vector<std::vector<int>>{{last}, {first}, {last}}));
  EXPECT_EQ(allowed_cpus(), cpus) << "the caller's own thread";
}

std::string refusal(std::vector<int> pin) {
  Pipeline pipe(bounded());
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu);
  pipe.add_cpu_stage("source", [](Inlet<int>) {}, into(numbers), {.pin = std::move(pin)});
  pipe.add_cpu_stage(
      "sink", [](int const&) {}, from(numbers));
  return text_of_error<ConfigError>([&] { pipe.prepare(); });
}

TEST(Pinning, ACpuThatDoesNotExistIsNamedAtPrepare) {
  EXPECT_EQ(refusal({-1}).find("stage 'source': pin: CPU -1 does not exist: there are "), 0u);
  EXPECT_EQ(refusal({allowed_cpus().front(), 100'000}).find("stage 'source': pin: CPU 100000 does not exist"), 0u);
}

TEST(Pinning, AvailableCpusAreThoseThatTheThreadMayRunOn) {
  EXPECT_EQ(available_cpus(), allowed_cpus().size());
  unsigned of_pinned = 0;
  std::thread([&] {
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(allowed_cpus().front(), &only);
    ASSERT_EQ(sched_setaffinity(0, sizeof only, &only), 0);
    of_pinned = available_cpus();
  }).join();
  EXPECT_EQ(of_pinned, 1u);
}

TEST(Pinning, ACpuThatIsNotAllowedIsNamedAtPrepare) {
  std::vector<int> const cpus = allowed_cpus();
  if (cpus.size() < 2) GTEST_SKIP() << "one CPU";
  std::string said;
  std::thread([&] {  // with the first CPU only
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(cpus.front(), &only);
    ASSERT_EQ(sched_setaffinity(0, sizeof only, &only), 0);
    said = refusal({cpus.back()});
  })
      .join();
  EXPECT_EQ(said, "stage 'source': pin: CPU " + std::to_string(cpus.back()) +
                      " is not allowed here: " + std::to_string(cpus.front()));
}

// What a thread keeps of its own is not written by others that use its ends.
TEST(Ends, TheWaitsOfAnotherThreadAreNotItsStages) {
  constexpr std::uint64_t capacity = 1024;
  Pipeline pipe(bounded());
  auto& t = pipe.create_tunnel<std::uint64_t>("numbers", Direction::cpu_to_cpu, {.capacity_items = capacity});
  pipe.add_cpu_stage(
      "writer",
      [](Inlet<std::uint64_t> out) {
        std::jthread([&] {
          for (std::uint64_t i = 0; i < 4 * capacity; ++i) out.put_h(i);
        }).join();
      },
      into(t));
  pipe.add_cpu_stage(
      "reader",
      [](Outlet<std::uint64_t> in) {
        std::this_thread::sleep_for(50ms);
        std::jthread([&] { in.for_each_h([](std::uint64_t) {}); }).join();
      },
      from(t));
  RunReport const report = pipe.run();
  EXPECT_EQ(report.tunnels.front().finished, 4 * capacity);
  EXPECT_EQ(report.stages[0].room_in[0].seconds, 0);
  EXPECT_EQ(report.end_detection_us, -1);  // no thread of a stage got an item
}

}  // namespace
