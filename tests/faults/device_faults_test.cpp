// What the device does wrong ends in an error that names what it was for, or in correct completion: never in a hang, a
// leak, or a pipeline that cannot be used again.
#include <algorithm>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include <gmock/gmock.h>

#include "hiway/log.hpp"
#include "hiway/stencil/stencil_tunnel.hpp"
#include "tests/device.hpp"
#include "tests/faults/faulty_device.hpp"

namespace {

using namespace hiway;
using namespace std::chrono_literals;
using hiway_tests::FaultyDevice;
using hiway_tests::soon;
using hiway_tests::text_of_error;
using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

PipelineConfig on_faulty(std::chrono::milliseconds deadline = 50s) {
  PipelineConfig config;
  config.device = FaultyDevice::name;
  config.deadline = deadline;
  return config;
}

struct Job {
  int n;
  int rounds;
};
struct Round {
  HIWAY_DEVICE void operator()(Job const& job, Inlet<Job> again, Inlet<long> out) const {
    if (job.rounds > 0) {
      again.put(Job{job.n, job.rounds - 1});
    } else {
      out.put(long(job.n) * job.n);
    }
  }
};

/// Sums the squares of 1 to 1000 by every kind of memory: a buffer, dma both ways, a managed tunnel, cycles that spill
/// on the device and across the bus. What a fault stops is asked for once more.
class Program {
 public:
  static constexpr long right = 333833500;
  unsigned in_host_memory = 0;  ///< pools of the device

  /// The texts of the errors go into `said`.
  explicit Program(std::vector<std::string>& said) : said_(said) {}

  long run() {
    std::optional<Pipeline> pipe;
    ask([&] { pipe.emplace(on_faulty()); });
    ask([&] { pipe->create_buffer<int>(100); });
    Tunnel<Job>* jobs = nullptr;
    Tunnel<Job>* again = nullptr;
    Tunnel<Job>* back = nullptr;
    Tunnel<long>* squares = nullptr;
    TunnelConfig const dma{.capacity_items = 32, .movement = Movement::dma};
    ask([&] {
      jobs = &pipe->create_tunnel<Job>("jobs", Direction::cpu_to_gpu,
                                       {.capacity_items = 1 << 17, .movement = Movement::dma});
    });
    ask([&] { again = &pipe->create_tunnel<Job>("again", Direction::gpu_to_gpu, {.capacity_items = 8}); });
    ask([&] { back = &pipe->create_tunnel<Job>("back", Direction::gpu_to_cpu, dma); });
    ask([&] {
      squares = &pipe->create_tunnel<long>("squares", Direction::gpu_to_cpu,
                                           {.capacity_items = 8, .movement = Movement::managed});
    });
    Tunnel<Job>* feed = nullptr;
    ask([&] { feed = &pipe->create_tunnel<Job>("feed", Direction::cpu_to_cpu, {.capacity_items = 8}); });
    pipe->add_cpu_stage(
        "feed",
        [](Inlet<Job> out) {
          for (int i = 1; i <= 1000; ++i) out.put_h({i, i % 5});
        },
        into(*feed));
    pipe->add_cpu_stage(
        "turn", [](Job const& job, Inlet<Job> out) { out.put_h(job); }, from(*feed, *back), into(*jobs));
    pipe->add_gpu_stage("there", Split{}, from(*jobs), into(*again, *back));
    pipe->add_gpu_stage("round", Round{}, from(*again), into(*again, *squares));
    long sum = 0;
    pipe->add_cpu_stage(
        "sum", [&](long const& s) { sum += s; }, from(*squares));
    ask([&] {
      sum = 0;
      pipe->run();
    });
    for (TunnelReport const& t : pipe->stats().tunnels) in_host_memory += t.spills_to_host ? 1 : 0;
    return sum;
  }

 private:
  /// Every fourth job goes round by the CPU once.
  struct Split {
    HIWAY_DEVICE void operator()(Job const& job, Inlet<Job> again, Inlet<Job> back) const {
      if (job.rounds == 4) {
        back.put(Job{job.n, 3});
      } else {
        again.put(job);
      }
    }
  };

  void ask(std::function<void()> const& step) {
    try {
      step();
    } catch (Error const& e) {
      said_.emplace_back(e.what());
      step();
    }
  }

  std::vector<std::string>& said_;
};

TEST(DeviceFaults, AnyAllocationMayFailAndTheSameCallWorksTheNextTime) {
  std::set<std::string> users;
  std::uint64_t n = 1;
  for (bool failed = true; failed; ++n) {
    FaultyDevice device({.failed_allocation = n});
    std::vector<std::string> said;
    Program program(said);
    EXPECT_EQ(program.run(), Program::right) << "allocation " << n;
    failed = device.allocations >= n;
    users.insert(device.failed);
    // A pool of the device that does not fit there lies in the host's memory.
    bool const second_level =
        device.failed == "tunnel 'again': what it spills" || device.failed == "tunnel 'back': what it spills";
    EXPECT_EQ(device.users.contains(device.failed + ", in host memory"), second_level);
    EXPECT_EQ(program.in_host_memory, second_level ? 1u : 0u);
    ASSERT_EQ(said.size(), failed && !second_level ? 1u : 0u) << "allocation " << n;
    for (std::string const& text : said) EXPECT_EQ(text, device.failed + ": it was told to fail");
    EXPECT_TRUE(device.held.empty()) << "allocation " << n << " failed, and '" << device.held.begin()->second
                                     << "' was not released";
  }
  EXPECT_GT(n, 15u);
  EXPECT_THAT(users, testing::IsSupersetOf({"buffer", "tunnels' words", "stages' words", "tunnel 'jobs'",
                                            "tunnel 'again'", "tunnel 'squares': Movement::managed",
                                            "tunnel 'again': what it spills", "tunnel 'jobs': what it spills"}));
}

TEST(DeviceFaults, AnyKernelMayFailToStartAndTheNextRunWorks) {
  for (std::uint64_t k = 1; k <= 3; ++k) {  // the monitor and two stages
    FaultyDevice device({.failed_start = k});
    std::vector<std::string> said;
    EXPECT_EQ(Program(said).run(), Program::right);
    ASSERT_EQ(said.size(), 1u);
    EXPECT_EQ(said.front(), (k == 1   ? "device monitor"
                             : k == 2 ? "stage 'there'"
                                      : "stage 'round'") +
                                std::string(": it was told to fail"));
  }
}

struct Forward {
  HIWAY_DEVICE long operator()(long const& x) const { return x; }
};

/// Numbers to the device and back by dma, in batches of a few.
class There {
 public:
  explicit There(std::chrono::milliseconds deadline = 50s, long numbers = 5000)
      : pipe(on_faulty(deadline)), right(numbers * (numbers + 1) / 2) {
    auto& there = pipe.create_tunnel<long>("there", Direction::cpu_to_gpu,
                                           {.capacity_items = 64, .batch_items = 8, .movement = Movement::dma});
    auto& back = pipe.create_tunnel<long>("back", Direction::gpu_to_cpu,
                                          {.capacity_items = 64, .batch_items = 8, .movement = Movement::dma});
    pipe.add_cpu_stage(
        "feed",
        [numbers](Inlet<long> out) {
          for (long i = 1; i <= numbers; ++i) out.put_h(i);
        },
        into(there));
    pipe.add_gpu_stage("forward", Forward{}, from(there), into(back), {.blocks = 1, .threads_per_block = 32});
    pipe.add_cpu_stage(
        "sum", [this](long const& x) { sum += x; }, from(back));
  }
  Pipeline pipe;
  long sum = 0;
  long right;
};

/// Runs it until it fails and then again; returns the time from the fault to the error.
Clock::duration expect_error_and_recovery(FaultyDevice& device, std::string const& text) {
  There there;
  EXPECT_EQ(text_of_error<CudaError>([&] { there.pipe.run(); }), text);
  auto const took = Clock::now() - device.failed_at;
  there.sum = 0;
  there.pipe.run();
  EXPECT_EQ(there.sum, there.right);
  return took;
}

/// Whatever else runs on the machine may hold up one try, not each.
template <class Try>
void expect_soon(Try&& attempt) {
  Clock::duration best = attempt();
  for (int i = 0; i < 5 && best >= soon; ++i) best = std::min(best, attempt());
  EXPECT_LT(best, soon);
}

TEST(DeviceFaults, AnySubmissionMayFailAndTheErrorComesSoon) {
  for (std::uint64_t k : {1, 2, 3, 4, 5, 6, 7, 8, 20, 50, 100}) {
    SCOPED_TRACE(k);
    expect_soon([&] {
      FaultyDevice device({.failed_submission = k});
      return expect_error_and_recovery(device, "copy stream: it was told to fail");
    });
  }
}

TEST(DeviceFaults, AnyQuestionForCopiesMayFailAndTheErrorComesSoon) {
  for (std::uint64_t k : {3, 4, 5, 10, 100}) {  // 1 and 2 come before the start, and throw from it
    SCOPED_TRACE(k);
    expect_soon([&] {
      FaultyDevice device({.failed_completion = k});
      return expect_error_and_recovery(device, "copy stream: it was told to fail");
    });
  }
}

// The stage is asked before the monitor: where the question that finds the context lost is the monitor's, the stage is blamed
// all the same.
TEST(DeviceFaults, ALostContextIsTheStagesWhicheverKernelIsAskedFirst) {
  for (std::uint64_t k : {1, 2, 3, 4}) {
    SCOPED_TRACE(k);
    FaultyDevice device({.lost_context = k});
    There there;
    EXPECT_EQ(text_of_error<CudaError>([&] { there.pipe.run(); }), "stage 'forward': it was told to fail");
    device.plan = {};
    there.sum = 0;
    there.pipe.run();
    EXPECT_EQ(there.sum, there.right);
  }
}

/// Counts up, on and on while it may.
struct Numbers {
  int last;
  HIWAY_DEVICE void operator()(Inlet<int> out) const {
    for (int i = 1; i <= last && thread_index() == 0; ++i) out.put_d(i);
  }
};
struct HandOn {
  HIWAY_DEVICE int operator()(int const& x) const { return x; }
};

// Either of two devices dies: the other's kernels leave, the error says whose kernel it was, the pipeline can be run again.
TEST(DeviceFaults, ADeviceThatIsLostEndsTheRunOnTheOther) {
  for (int const lost : {0, 1}) {
    FaultyDevice device({.lost_context = 5, .lost_on = lost});
    Pipeline pipe(on_faulty());
    auto& there = pipe.create_tunnel<int>("there", Direction::gpu_to_gpu, {.capacity_items = 8});
    auto& back = pipe.create_tunnel<int>("back", Direction::gpu_to_cpu, {.capacity_items = 8});
    pipe.add_gpu_stage("numbers", Numbers{1 << 20}, into(there), {.blocks = 1, .threads_per_block = 32, .device = 0});
    pipe.add_gpu_stage("hand on", HandOn{}, from(there), into(back),
                       {.blocks = 1, .threads_per_block = 32, .device = 1});
    pipe.add_cpu_stage(
        "sink", [](int const&) {}, from(back));
    EXPECT_EQ(text_of_error<CudaError>([&] { pipe.run(); }),
              std::string("stage '") + (lost == 0 ? "numbers" : "hand on") + "': it was told to fail");
    device.plan = {};
    EXPECT_EQ(text_of_error<Aborted>([&] {
                pipe.start();
                std::this_thread::sleep_for(20ms);
                pipe.abort();
                pipe.wait();
              }),
              "the pipeline was aborted");
  }
}

/// From one device to another: numbers through a plain tunnel, and a matrix that each number is added to.
struct Wide {
  int value;
  int rest[7];
};
struct SetAll {
  HIWAY_DEVICE void operator()(StencilInlet<Wide> out, Inlet<int> numbers) const {
    for (std::uint32_t i = 0; i < 3 * 24 && thread_index() == 0; ++i)
      out.set(i % 6, i / 6 % 4, {static_cast<int>(i), {}}, i / 24);
    for (int i = 0; i < 100 && thread_index() == 0; ++i) numbers.put(i);
  }
};
struct HandValueOn {
  HIWAY_DEVICE void operator()(StencilOutlet<Wide> in, Inlet<int> out) const {
    in.for_each([&](StencilTask const& t) { out.put(in.fetch(t.x, t.y).value); });
  }
};
class TwoDevices {
 public:
  static constexpr int right = 72 * 71 / 2 + 100 * 99 / 2;

  explicit TwoDevices(Movement movement) : pipe_(on_faulty()) {
    auto& matrix = pipe_.create_stencil_tunnel<Wide>("matrix", Direction::gpu_to_gpu,
                                                     {.width = 6,
                                                      .height = 4,
                                                      .stencil_width = 1,
                                                      .stencil_height = 1,
                                                      .region_width = 4,
                                                      .region_height = 3,
                                                      .frames = 3,
                                                      .movement = movement});
    auto& numbers =
        pipe_.create_tunnel<int>("numbers", Direction::gpu_to_gpu, {.capacity_items = 8, .movement = movement});
    auto& values = pipe_.create_tunnel<int>("values", Direction::gpu_to_cpu, {.movement = Movement::direct});
    GpuStageOptions const on_1{.blocks = 1, .threads_per_block = 32, .device = 1};
    pipe_.add_gpu_stage("set", SetAll{}, into(matrix, numbers), {.blocks = 1, .threads_per_block = 32, .device = 0});
    pipe_.add_gpu_stage("values", HandValueOn{}, from(matrix), into(values), on_1);
    pipe_.add_gpu_stage("numbers", HandOn{}, from(numbers), into(values), on_1);
    pipe_.add_cpu_stage(
        "sum", [this](int const& value) { sum_ += value; }, from(values));
  }
  int run() {
    sum_ = 0;
    pipe_.run();
    return sum_;
  }

 private:
  Pipeline pipe_;
  int sum_ = 0;
};

TEST(DeviceFaults, WhatLeadsFromDeviceToDeviceLiesWhereItIsReached) {
  struct Case {
    Movement movement;
    bool apart;
    std::set<std::string> matrix, numbers;
  };
  std::string const matrix = "stencil tunnel 'matrix'";
  std::string const numbers = "tunnel 'numbers'";
  Case const cases[] = {
      {Movement::direct, false, {matrix + " on cuda:1"}, {numbers + " on cuda:1"}},
      {Movement::direct, true, {matrix + " at the host", matrix + " on cuda:1"}, {numbers + " at the host"}},
      {Movement::automatic, false, {matrix + " on cuda:0", matrix + " on cuda:1"}, {numbers + " on cuda:1"}},
      {Movement::dma,
       false,
       {matrix + " on cuda:0", matrix + " on cuda:1"},
       {numbers + " on cuda:0", numbers + " on cuda:1"}},
      {Movement::dma,
       true,
       {matrix + " on cuda:0", matrix + " on cuda:1"},
       {numbers + " on cuda:0", numbers + " on cuda:1"}},
  };
  for (Case const& c : cases) {
    FaultyDevice device({.apart = c.apart});
    EXPECT_EQ(TwoDevices(c.movement).run(), TwoDevices::right);
    auto const places_of = [&](std::string const& what) {
      std::set<std::string> places;
      for (std::string const& place : device.places) {
        if (place.starts_with(what)) places.insert(place);
      }
      return places;
    };
    EXPECT_EQ(places_of(matrix), c.matrix);
    EXPECT_EQ(places_of(numbers), c.numbers);
    EXPECT_EQ(places_of("tunnel 'matrix'"), std::set<std::string>{"tunnel 'matrix' at the host"});  // its references
    EXPECT_EQ(places_of("tunnel 'matrix tasks'"), std::set<std::string>{"tunnel 'matrix tasks' on cuda:1"});
  }
}
TEST(DeviceFaults, AnyAllocationOfATunnelBetweenDevicesMayFailAndTheNextRunWorks) {
  for (Movement const movement : {Movement::direct, Movement::dma}) {
    std::uint64_t n = 0;
    {
      FaultyDevice device({});
      TwoDevices const stages(movement);
      n = device.allocations;  // of words, before there are tunnels
    }
    std::set<std::string> failed;
    for (bool fails = true; fails;) {
      FaultyDevice device({.failed_allocation = ++n});
      TwoDevices stages(movement);
      try {
        EXPECT_EQ(stages.run(), TwoDevices::right);
        fails = false;
      } catch (CudaError const& e) {
        EXPECT_EQ(std::string(e.what()), device.failed + ": it was told to fail");
        failed.insert(device.failed);
      }
      EXPECT_EQ(stages.run(), TwoDevices::right) << "allocation " << n << ", '" << device.failed << "'";
    }
    EXPECT_THAT(failed,
                testing::IsSupersetOf({"tunnel 'numbers'", "stencil tunnel 'matrix'", "tunnel 'matrix tasks'"}));
  }
}

TEST(DeviceFaults, LateAndSplitCopiesArriveWhole) {
  for (hiway_tests::FaultPlan const& plan :
       {hiway_tests::FaultPlan{.late_by_polls = 1}, hiway_tests::FaultPlan{.late_by_polls = 20},
        hiway_tests::FaultPlan{.split_bytes = 1}, hiway_tests::FaultPlan{.late_by_polls = 7, .split_bytes = 3}}) {
    FaultyDevice device(plan);
    There there(50s, 500);
    there.pipe.run();
    EXPECT_EQ(there.sum, there.right);
    EXPECT_EQ(TwoDevices(Movement::dma).run(), TwoDevices::right);
  }
}

/// Notes when it goes.
struct Leaves {
  Clock::time_point& when;
  ~Leaves() { when = Clock::now(); }
};

// A CUDA call that waits for kernels to leave has the driver's lock, and whatever asks the driver waits with it: the watcher
// was held up, so there was no stall report, and the deadline came two seconds late.
TEST(DeviceFaults, ADriverThatAnswersNobodyHoldsUpNeitherDeadlineNorStallReportNorStats) {
  FaultyDevice device({});
  PipelineConfig config = on_faulty(1500ms);
  config.stall_after = 300ms;
  Pipeline pipe(config);
  auto& there = pipe.create_tunnel<long>("there", Direction::cpu_to_gpu, {.movement = Movement::dma});
  auto& back = pipe.create_tunnel<long>("back", Direction::gpu_to_cpu, {.movement = Movement::dma});
  auto& never = pipe.create_tunnel<long>("never", Direction::cpu_to_cpu);
  std::atomic<bool> called = false;
  std::atomic<bool> answered = false;
  Clock::time_point left{};
  pipe.add_cpu_stage(
      "feed", [](Inlet<long> out) { out.put_h(1); }, into(there));
  pipe.add_gpu_stage("forward", Forward{}, from(there), into(back));
  pipe.add_cpu_stage(
      "use",
      [&](long const&, Inlet<long>) {
        device.stuck = true;
        called = true;
        while (!answered) std::this_thread::sleep_for(1ms);
      },
      from(back), into(never));
  pipe.add_cpu_stage(
      "waits",
      [&](Outlet<long> in) {
        Leaves const leaves{left};
        for (long x = 0; in.next_h(x);) in.end_task_h();
      },
      from(never));
  std::mutex mutex;
  std::string said;
  set_log_sink([&](LogLevel, std::string_view text) {
    std::scoped_lock const lock(mutex);
    said += text;
  });
  Clock::time_point const start = Clock::now();
  pipe.start();
  while (!called) std::this_thread::sleep_for(1ms);
  Clock::time_point const asked = Clock::now();
  EXPECT_EQ(pipe.stats().tunnels.size(), 3u);
  EXPECT_LT(Clock::now() - asked, 1s);
  while (Clock::now() < start + 3s) std::this_thread::sleep_for(1ms);
  device.stuck = false;
  answered = true;
  std::string const text = text_of_error<Aborted>([&] { pipe.wait(); });
  set_log_sink({});
  EXPECT_THAT(text, testing::MatchesRegex("the deadline of 1500 ms has passed: stage 'use' is in user code .1 of 1 "
                                          "threads., and for 1\\.[0-9] s the CUDA driver has answered nobody: a CUDA "
                                          "call that waits for the device waits for this pipeline's kernels"));
  EXPECT_LT(left - start, 1500ms + soon);
  EXPECT_THAT(said, HasSubstr("no progress for"));
  EXPECT_THAT(said, HasSubstr("-> stage 'use' is in user code (1 of 1 threads), and for"));
}

// The run after it waited for the lost copies for ever.
TEST(DeviceFaults, ALostCopyIsNamedByTheDeadlineAndByTheNextRun) {
  for (std::uint64_t k : {1, 20}) {
    FaultyDevice device({.lost_submission = k});
    There there(2s);  // long enough for all before the lost one, however busy the machine is
    EXPECT_THAT(
        text_of_error<Aborted>([&] { there.pipe.run(); }),
        testing::MatchesRegex("the deadline of 2000 ms has passed: [0-9]+ items? of tunnel '(there|back)' ha(s|ve) "
                              "not crossed the bus .*"));
    EXPECT_THAT(text_of_error<Error>([&] { there.pipe.run(); }),
                HasSubstr("copies of the run before have not completed after 2 s"));
  }
}

}  // namespace
