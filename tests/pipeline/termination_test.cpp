// Pipelines end when, and only when, nothing is left to do.
#include <atomic>
#include <numeric>
#include <thread>

#include "tests/device.hpp"

namespace {

using namespace hiway;
using hiway_tests::bounded;
using hiway_tests::text_of_error;

struct Job {
  int n;
  int rounds;
};

constexpr GpuStageOptions small{.blocks = 2, .threads_per_block = 32};

/// The paper's loop: an item goes round `rounds` times.
struct Count {
  HIWAY_DEVICE void operator()(Outlet<Job> in, Inlet<Job> again, Inlet<long> out) const {
    Job job;
    while (!in.is_terminate()) {
      if (in.get(job)) {
        if (job.rounds > 0) {
          again.put(Job{job.n, job.rounds - 1});
        } else {
          out.put(long(job.n) * job.n);
        }
        in.end_task();
      }
    }
  }
};

struct Copy {
  HIWAY_DEVICE void operator()(Outlet<long> in, Inlet<long> out) const {
    in.for_each([&](long x) { out.put(x); });
  }
};
struct Double {
  HIWAY_DEVICE long operator()(long const& x) const { return 2 * x; }
};
struct SplitItem {
  HIWAY_DEVICE void operator()(Job const& job, Inlet<Job> again, Inlet<long> out) const {
    if (job.rounds > 0) {
      again.put(Job{job.n, job.rounds - 1});
      again.put(Job{job.n, job.rounds - 1});
    } else {
      out.put(job.n);
    }
  }
};

auto numbers_to(int n) {
  return [n](Inlet<long> out) {
    for (int i = 1; i <= n; ++i) out.put_h(i);
  };
}

TEST(Termination, AStageThatFeedsItselfFinishes) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& jobs = pipe.create_tunnel<Job>("jobs", Direction::cpu_to_gpu, {.capacity_items = 8});
  auto& again = pipe.create_tunnel<Job>("again", Direction::gpu_to_gpu, {.capacity_items = 8});
  auto& squares = pipe.create_tunnel<long>("squares", Direction::gpu_to_cpu, {.capacity_items = 8});
  pipe.add_cpu_stage(
      "feed",
      [](Inlet<Job> out) {
        for (int i = 1; i <= 1000; ++i) out.put_h({i, i % 5 + 1});
      },
      into(jobs));
  pipe.add_gpu_stage("enter", Count{}, from(jobs), into(again, squares), small);
  pipe.add_gpu_stage("self", Count{}, from(again), into(again, squares), small);
  long sum = 0;
  pipe.add_cpu_stage(
      "sum", [&](long const& s) { sum += s; }, from(squares));
  pipe.run();
  EXPECT_EQ(sum, 333833500);
}

TEST(Termination, StagesThatFeedEachOtherFinish) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& jobs = pipe.create_tunnel<Job>("jobs", Direction::cpu_to_gpu, {.capacity_items = 8});
  auto& again = pipe.create_tunnel<Job>("again", Direction::gpu_to_gpu, {.capacity_items = 8});
  auto& back = pipe.create_tunnel<Job>("back", Direction::gpu_to_gpu, {.capacity_items = 8});
  auto& squares = pipe.create_tunnel<long>("squares", Direction::gpu_to_cpu, {.capacity_items = 8});
  pipe.add_cpu_stage(
      "feed",
      [](Inlet<Job> out) {
        for (int i = 1; i <= 1000; ++i) out.put_h({i, i % 5});
      },
      into(jobs));
  pipe.add_gpu_stage("count", Count{}, from(jobs), into(again, squares));
  pipe.add_gpu_stage("round", Count{}, from(again), into(back, squares));
  pipe.add_gpu_stage("turn", Count{}, from(back), into(again, squares));
  long sum = 0;
  pipe.add_cpu_stage(
      "sum",
      [&](Outlet<long> in) {
        long s;
        while (!in.is_terminate_h()) {
          if (in.get_h(s)) {
            sum += s;
            in.end_task_h();
          }
        }
      },
      from(squares));
  pipe.run();
  EXPECT_EQ(sum, 333833500);
}

TEST(Termination, ACycleAcrossTheBusFinishes) {
  HIWAY_NEEDS_DEVICE();
  for (Movement movement : {Movement::direct, Movement::dma}) {
    Pipeline pipe(bounded());
    auto& jobs = pipe.create_tunnel<Job>("jobs", Direction::cpu_to_cpu, {.capacity_items = 8});
    auto& to = pipe.create_tunnel<Job>("to", Direction::cpu_to_gpu, {.capacity_items = 8, .movement = movement});
    auto& back = pipe.create_tunnel<Job>("back", Direction::gpu_to_cpu, {.capacity_items = 8, .movement = movement});
    auto& cpu_squares = pipe.create_tunnel<long>("cpu squares", Direction::cpu_to_cpu, {.capacity_items = 8});
    auto& gpu_squares =
        pipe.create_tunnel<long>("gpu squares", Direction::gpu_to_cpu, {.capacity_items = 8, .movement = movement});
    pipe.add_cpu_stage(
        "feed",
        [](Inlet<Job> out) {
          for (int i = 1; i <= 1000; ++i) out.put_h({i, i % 7});
        },
        into(jobs));
    pipe.add_cpu_stage("enter", Count{}, from(jobs), into(to, cpu_squares));
    pipe.add_gpu_stage("there", Count{}, from(to), into(back, gpu_squares));
    pipe.add_cpu_stage("here", Count{}, from(back), into(to, cpu_squares));
    std::atomic<long> sum = 0;
    pipe.add_cpu_stage(
        "sum", [&](long const& s) { sum += s; }, from(cpu_squares, gpu_squares));
    pipe.run();
    EXPECT_EQ(sum, 333833500);
  }
}

TEST(Termination, AGroupWithRecursionFinishes) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& jobs = pipe.create_tunnel<Job>("jobs", Direction::cpu_to_gpu, {.capacity_items = 8});
  auto& again = pipe.create_tunnel<Job>("again", Direction::gpu_to_gpu, {.capacity_items = 8});
  auto& leaves = pipe.create_tunnel<long>("leaves", Direction::gpu_to_gpu, {.capacity_items = 8});
  auto& doubled = pipe.create_tunnel<long>("doubled", Direction::gpu_to_cpu, {.capacity_items = 8});
  pipe.add_cpu_stage(
      "feed",
      [](Inlet<Job> out) {
        for (int i = 1; i <= 10; ++i) out.put_h({i, 5});
      },
      into(jobs));
  pipe.add_gpu_group("tree", {.blocks = 2, .threads_per_block = 64},
                     stage("split", SplitItem{}, from(jobs, again), into(again, leaves)),
                     stage("double", Double{}, from(leaves), into(doubled)));
  long sum = 0;
  pipe.add_cpu_stage(
      "sum", [&](long const& s) { sum += s; }, from(doubled));
  RunReport const report = pipe.run();
  EXPECT_EQ(sum, 2 * 32 * 55);
  EXPECT_EQ(report.items, 10u + 10 * 62 + 2 * 10 * 32);
}

TEST(Termination, SeveralSourcesAndBubblesOfAnyLength) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& in = pipe.create_tunnel<long>("in", Direction::cpu_to_gpu, {.capacity_items = 16});
  auto& out = pipe.create_tunnel<long>("out", Direction::gpu_to_cpu, {.capacity_items = 16});
  pipe.add_cpu_stage("quick", numbers_to(100), into(in));
  pipe.add_cpu_stage("slow",
                     [](Inlet<long> to) {
                       for (int i = 1; i <= 5; ++i) {
                         std::this_thread::sleep_for(std::chrono::milliseconds(i * 20));
                         to.put_h(1000);
                       }
                     },
                     into(in), {.threads = 2});
  pipe.add_gpu_stage("copy", Copy{}, from(in), into(out));
  std::atomic<long> sum = 0;
  pipe.add_cpu_stage("sum", [&](long const& s) { sum += s; }, from(out), {.threads = 2});
  pipe.run();
  EXPECT_EQ(sum, 5050 + 2 * 5 * 1000);
}

TEST(Termination, AnEmptyInputEnds) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& in = pipe.create_tunnel<long>("in", Direction::cpu_to_gpu);
  auto& out = pipe.create_tunnel<long>("out", Direction::gpu_to_cpu);
  pipe.add_cpu_stage(
      "nothing", [](Inlet<long>) {}, into(in));
  pipe.add_gpu_stage("double", Double{}, from(in), into(out));
  int items = 0;
  pipe.add_cpu_stage(
      "count", [&](long const&) { ++items; }, from(out));
  EXPECT_EQ(pipe.run().items, 0u);
  EXPECT_EQ(items, 0);
}

TEST(Termination, ResultsPutAfterTheLoopArrive) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& in = pipe.create_tunnel<long>("in", Direction::cpu_to_cpu, {.capacity_items = 4});
  auto& totals = pipe.create_tunnel<long>("totals", Direction::cpu_to_gpu, {.capacity_items = 1});
  auto& out = pipe.create_tunnel<long>("out", Direction::gpu_to_cpu, {.capacity_items = 1});
  pipe.add_cpu_stage("feed", numbers_to(1000), into(in));
  pipe.add_cpu_stage("total",
                     [](Outlet<long> from, Inlet<long> to) {
                       long sum = 0;
                       from.for_each_h([&](long x) { sum += x; });
                       std::this_thread::sleep_for(std::chrono::milliseconds(20));
                       to.put_h(sum);
                     },
                     from(in), into(totals), {.threads = 3});
  pipe.add_gpu_stage("copy", Copy{}, from(totals), into(out));
  long sum = 0;
  int items = 0;
  pipe.add_cpu_stage(
      "sum", [&](long const& s) { sum += s, ++items; }, from(out));
  pipe.run();
  EXPECT_EQ(sum, 500500);
  EXPECT_EQ(items, 3);
}

TEST(Termination, ASourceThatClosesEarlyEndsItsReaders) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& in = pipe.create_tunnel<long>("in", Direction::cpu_to_cpu);
  std::atomic<bool> reader_done = false;
  pipe.add_cpu_stage(
      "source",
      [&](Inlet<long> to) {
        to.put_h(7);
        to.close_h();
        while (!reader_done) std::this_thread::yield();
      },
      into(in));
  long sum = 0;
  pipe.add_cpu_stage(
      "sink",
      [&](Outlet<long> from) {
        from.for_each_h([&](long x) { sum += x; });
        reader_done = true;
      },
      from(in));
  pipe.run();
  EXPECT_EQ(sum, 7);
}

TEST(Termination, NextWaitsAndIsFalseAtTheEnd) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& in = pipe.create_tunnel<long>("in", Direction::cpu_to_cpu, {.capacity_items = 2});
  pipe.add_cpu_stage("feed", numbers_to(100), into(in));
  long sum = 0;
  pipe.add_cpu_stage(
      "sink",
      [&](Outlet<long> from) {
        long x;
        while (from.next_h(x)) {
          sum += x;
          from.end_task_h();
        }
      },
      from(in));
  pipe.run();
  EXPECT_EQ(sum, 5050);
}

TEST(Termination, RunsAgainAsOftenAsOneLikes) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& in = pipe.create_tunnel<long>("in", Direction::cpu_to_gpu, {.capacity_items = 5, .movement = Movement::dma});
  auto& out = pipe.create_tunnel<long>("out", Direction::gpu_to_cpu, {.capacity_items = 5});
  bool fail = false;
  pipe.add_cpu_stage(
      "feed",
      [&](Inlet<long> to) {
        for (int i = 1; i <= 100; ++i) {
          to.put_h(i);
          if (fail && i == 50) throw std::runtime_error("half way");
        }
      },
      into(in));
  pipe.add_gpu_stage("double", Double{}, from(in), into(out));
  std::atomic<long> sum = 0;
  pipe.add_cpu_stage(
      "sum", [&](long const& s) { sum += s; }, from(out));
  for (int run = 0; run < 5; ++run) {
    sum = 0;
    fail = run % 2 == 1;
    if (fail) {
      EXPECT_THROW(pipe.run(), StageError);
    } else {
      RunReport const report = pipe.run();
      EXPECT_EQ(report.items, 200u);
      EXPECT_GE(report.tunnels[0].batches, 20u) << "room for 5 at a time";
      EXPECT_LE(report.tunnels[0].batches, 100u);
      EXPECT_EQ(sum, 10100);
    }
  }
}

// ---- EndDetection::time_out

/// Long enough for a task on a machine that has other things to do.
constexpr std::chrono::milliseconds patient{400};

PipelineConfig timed_out(std::chrono::microseconds end_time_out) {
  PipelineConfig config = bounded();
  config.end_detection = EndDetection::time_out;
  config.end_time_out = end_time_out;
  return config;
}

TEST(Termination, ByTimeOutALineEndsWhenItsTimeIsUpOnce) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(timed_out(patient));
  auto& in = pipe.create_tunnel<long>("in", Direction::cpu_to_gpu, {.capacity_items = 16});
  auto& out = pipe.create_tunnel<long>("out", Direction::gpu_to_cpu, {.capacity_items = 16});
  pipe.add_cpu_stage("feed", numbers_to(100), into(in));
  pipe.add_gpu_stage("double", Double{}, from(in), into(out));
  long sum = 0;
  pipe.add_cpu_stage(
      "sum", [&](long const& s) { sum += s; }, from(out));
  for (int run = 0; run < 2; ++run) {
    sum = 0;
    RunReport const report = pipe.run();
    EXPECT_EQ(sum, 10100);
    EXPECT_EQ(report.items, 200u);
    double const time = static_cast<double>(std::chrono::microseconds(patient).count());
    EXPECT_GE(report.end_detection_us, 0.5 * time);
    EXPECT_LT(report.end_detection_us, 1.5 * time) << "the time of two tunnels runs at once";
  }
}

TEST(Termination, ByTimeOutACycleEnds) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(timed_out(patient));
  auto& jobs = pipe.create_tunnel<Job>("jobs", Direction::cpu_to_gpu, {.capacity_items = 8});
  auto& again = pipe.create_tunnel<Job>("again", Direction::gpu_to_gpu, {.capacity_items = 8});
  auto& squares = pipe.create_tunnel<long>("squares", Direction::gpu_to_cpu, {.capacity_items = 8});
  pipe.add_cpu_stage(
      "feed",
      [](Inlet<Job> out) {
        for (int i = 1; i <= 100; ++i) out.put_h({i, i % 5});
      },
      into(jobs));
  pipe.add_gpu_stage("enter", Count{}, from(jobs), into(again, squares), small);
  pipe.add_gpu_stage("self", Count{}, from(again), into(again, squares), small);
  long sum = 0;
  pipe.add_cpu_stage(
      "sum", [&](long const& s) { sum += s; }, from(squares));
  RunReport const report = pipe.run();
  EXPECT_EQ(sum, 338350);
  EXPECT_GE(report.end_detection_us, std::chrono::microseconds(patient).count());
}

/// The scheme's unsoundness: nothing comes, for a task takes its time. Checked by the host and by the device monitor.
TEST(Termination, ATaskLongerThanTheTimeOutEndsTheRunAndIsNamed) {
  HIWAY_NEEDS_DEVICE();
  for (bool const on_device : {false, true}) {
    for (EndDetection const detection : {EndDetection::tracked, EndDetection::time_out}) {
      PipelineConfig config = timed_out(std::chrono::milliseconds(200));
      config.end_detection = detection;
      Pipeline pipe(config);
      auto& in = pipe.create_tunnel<long>("in", on_device ? Direction::cpu_to_gpu : Direction::cpu_to_cpu);
      pipe.add_cpu_stage("feed", numbers_to(1), into(in));
      std::atomic<long> sum = 0;
      auto const slow = [&](long const& s) {
        std::this_thread::sleep_for(std::chrono::milliseconds(700));
        sum += s;
      };
      if (on_device) {
        auto& out = pipe.create_tunnel<long>("out", Direction::gpu_to_cpu);
        pipe.add_gpu_stage("double", Double{}, from(in), into(out));
        pipe.add_cpu_stage("slow", slow, from(out));
      } else {
        pipe.add_cpu_stage("slow", slow, from(in));
      }
      if (detection == EndDetection::tracked) {
        pipe.run();
        EXPECT_EQ(sum, on_device ? 2 : 1);
      } else {
        std::string const tunnel = on_device ? "out" : "in";
        EXPECT_EQ(text_of_error<Aborted>([&] { pipe.run(); }),
                  "stage 'slow': the time-out was too short for a task (end_time_out is 200000 us): tunnel '" + tunnel +
                      "', 1 not ended");
      }
    }
  }
}

/// In a cycle any of its stages may have the task; the one that is named reads the tunnel that is named.
TEST(Termination, ATimeOutNamesATunnelAndItsReader) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(timed_out(std::chrono::milliseconds(100)));
  auto& there = pipe.create_tunnel<long>("there", Direction::cpu_to_cpu);
  auto& back = pipe.create_tunnel<long>("back", Direction::cpu_to_cpu);
  pipe.add_cpu_stage("feed", numbers_to(1), into(there));
  pipe.add_cpu_stage(
      "near", [](long const&, Inlet<long>) { std::this_thread::sleep_for(std::chrono::milliseconds(500)); },
      from(there), into(back));
  pipe.add_cpu_stage(
      "far", [](long const& s, Inlet<long> out) { out.put_h(s); }, from(back), into(there));
  EXPECT_EQ(
      text_of_error<Aborted>([&] { pipe.run(); }),
      "stage 'near': the time-out was too short for a task (end_time_out is 100000 us): tunnel 'there', 1 not ended");
}

/// What a pipeline says on stderr while it is made and run.
std::string said_by(PipelineConfig const& config) {
  testing::internal::CaptureStderr();
  Pipeline pipe(config);
  auto& in = pipe.create_tunnel<long>("in", Direction::cpu_to_cpu);
  pipe.add_cpu_stage("feed", numbers_to(3), into(in));
  pipe.add_cpu_stage(
      "sink", [](long const&) {}, from(in));
  for (int run = 0; run < 2; ++run) pipe.run();
  return testing::internal::GetCapturedStderr();
}
TEST(Termination, TimeOutSaysOnceThatItIsUnsound) {
  HIWAY_NEEDS_DEVICE();
  EXPECT_EQ(
      said_by(timed_out(patient)),
      "hiway: EndDetection::time_out is unsound and for comparison only: a task of more than 400000 us may end the "
      "run with an error\n");
  EXPECT_EQ(said_by(bounded()), "");
}

TEST(Termination, OpenEndsServeTheUsersOwnThreads) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& in = pipe.create_tunnel<long>("in", Direction::cpu_to_gpu, {.capacity_items = 3});
  auto& out = pipe.create_tunnel<long>("out", Direction::gpu_to_cpu, {.capacity_items = 3});
  Inlet<long> const inlet = in.open_inlet();
  Outlet<long> const outlet = out.open_outlet();
  pipe.add_gpu_stage("double", Double{}, from(in), into(out));
  for (int run = 0; run < 2; ++run) {
    pipe.start();
    std::thread feeder([inlet] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // nothing is under way, and it is not the end
      for (int i = 1; i <= 100; ++i) inlet.put_h(i);
      inlet.close_h();
    });
    long sum = 0;
    outlet.for_each_h([&](long x) { sum += x; });
    feeder.join();
    pipe.wait();
    EXPECT_EQ(sum, 10100);
  }
}

}  // namespace
