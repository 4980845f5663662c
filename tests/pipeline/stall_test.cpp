// A run that stands still says who waits for what, and goes on or ends as configured.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

#include "hiway/log.hpp"
#include "tests/device.hpp"

namespace {

using namespace hiway;
using hiway_tests::bounded;
using hiway_tests::text_of_error;
using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// What the process writes on stderr, readable while it goes on.
class Stderr {
 public:
  Stderr() : file_(std::tmpfile()), saved_(dup(STDERR_FILENO)) { dup2(fileno(file_), STDERR_FILENO); }
  ~Stderr() {
    dup2(saved_, STDERR_FILENO);
    close(saved_);
    std::fclose(file_);
  }
  Stderr(Stderr const&) = delete;
  Stderr& operator=(Stderr const&) = delete;
  [[nodiscard]] std::string text() const {
    std::string all(65536, '\0');
    ssize_t const n = pread(fileno(file_), all.data(), all.size(), 0);
    all.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return all;
  }
  /// Waits for `part`, at most 20 s.
  [[nodiscard]] bool says(std::string const& part) const {
    auto const until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (text().find(part) == std::string::npos) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(milliseconds(5));
    }
    return true;
  }

 private:
  std::FILE* file_;
  int saved_;
};

PipelineConfig watched(milliseconds stall_after, OnStall on_stall = OnStall::go_on) {
  PipelineConfig config = bounded();
  config.stall_after = stall_after;
  config.on_stall = on_stall;
  return config;
}

auto numbers(int n) {
  return [n](Inlet<int> out) {
    for (int i = 0; i < n; ++i) out.put_h(i);
  };
}
struct NeverEndsATask {
  HIWAY_DEVICE void operator()(Outlet<int> in) const {
    int x;
    while (!in.is_terminate()) static_cast<void>(in.get(x));
  }
};
struct FeedsItselfAndNeverEndsATask {
  HIWAY_DEVICE void operator()(Outlet<int> start, Outlet<int> loop, Inlet<int> more) const {
    int x;
    while (!start.is_terminate()) {
      if (start.get(x)) {
        more.put(4);
        start.end_task();
      }
      if (loop.get(x) && x > 0) more.put(x - 1);
    }
  }
};
struct FeedsItselfAndDoesNotGet {
  HIWAY_DEVICE void operator()(Outlet<int> start, Outlet<int>, Inlet<int> more) const {
    start.for_each([&](int x) {
      more.put(x);
      more.put(x);
    });
    while (!start.is_terminate()) {
    }
  }
};
struct FeedsItselfAndOnlyTries {
  HIWAY_DEVICE void operator()(int const& x, Inlet<int> more) const {
    for (int i = 0; i < 2; ++i) {
      while (!more.try_put(x)) {
      }
    }
  }
};
struct Same {
  HIWAY_DEVICE int operator()(int const& x) const { return x; }
};
struct Split {
  HIWAY_DEVICE void operator()(Inlet<int> a, Inlet<int> b) const {
    a.put(0);
    b.put(0);
    a.put(1);
    a.put(2);
    b.put(1);
  }
};
struct Join {
  HIWAY_DEVICE void operator()(Outlet<int> a, Outlet<int> b) const {
    int x;
    while (b.next(x)) {
      b.end_task();
      if (a.next(x)) a.end_task();
    }
  }
};

TEST(Stall, AConsumerThatNeverEndsATaskIsNamedWithinTwoSeconds) {
  HIWAY_NEEDS_DEVICE();
  struct Case {
    Direction direction;
    Movement movement;
  };
  for (Case const c : {Case{Direction::cpu_to_cpu, Movement::automatic}, Case{Direction::cpu_to_gpu, Movement::direct},
                       Case{Direction::cpu_to_gpu, Movement::dma}}) {
    Stderr const err;
    Pipeline pipe(watched(milliseconds(300), OnStall::abort));
    auto& t = pipe.create_tunnel<int>("numbers", c.direction, {.movement = c.movement});
    pipe.add_cpu_stage("feed", numbers(3), into(t));
    if (c.direction == Direction::cpu_to_gpu) {
      pipe.add_gpu_stage("sum", NeverEndsATask{}, from(t), {.blocks = 2, .threads_per_block = 32});
    } else {
      pipe.add_cpu_stage("sum", NeverEndsATask{}, from(t), {.threads = 2});
    }
    pipe.prepare();
    auto const begin = std::chrono::steady_clock::now();
    std::string const text = text_of_error<Aborted>([&] { pipe.run(); });
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
    EXPECT_THAT(text, StartsWith("no progress for "));
    EXPECT_THAT(text, HasSubstr("-> stage 'sum' holds 3 items of tunnel 'numbers' that it got and has not ended"));
    EXPECT_THAT(text, HasSubstr("put 3, got 3"));
    EXPECT_THAT(text, Not(HasSubstr("have not crossed")));
    EXPECT_TRUE(err.says("hiway: " + text + "\n"));
  }
}

TEST(Stall, AJoinBehindARingOfOneIsNamedAsACircle) {
  HIWAY_NEEDS_DEVICE();
  for (Direction direction : {Direction::cpu_to_cpu, Direction::cpu_to_gpu, Direction::gpu_to_cpu}) {
    Stderr const err;
    Pipeline pipe(watched(milliseconds(300), OnStall::abort));
    auto& a = pipe.create_tunnel<int>("a", direction, {.capacity_items = 1});
    auto& b = pipe.create_tunnel<int>("b", direction, {.capacity_items = 1});
    GpuStageOptions const one{.blocks = 1, .threads_per_block = 1};
    if (direction == Direction::gpu_to_cpu) {
      pipe.add_gpu_stage("split", Split{}, into(a, b), one);
    } else {
      pipe.add_cpu_stage("split", Split{}, into(a, b));
    }
    if (direction == Direction::cpu_to_gpu) {
      pipe.add_gpu_stage("join", Join{}, from(a, b), one);
    } else {
      pipe.add_cpu_stage("join", Join{}, from(a, b));
    }
    std::string const text = text_of_error<Aborted>([&] { pipe.run(); });
    EXPECT_THAT(text,
                HasSubstr("-> stages wait for each other: 'split' for room in tunnel 'a' until 'join' gets from it, "
                          "'join' for items of tunnel 'b' until 'split' puts into it"));
    EXPECT_THAT(text, HasSubstr("tunnel 'a' is full (1 of 1): 'split' must wait for room until 'join' gets from it"));
  }
}

// Not on a GPU, where nothing tells which lanes stand in a barrier, and nothing makes them leave it.
#if !defined(HIWAY_TEST_ON_GPU)
/// The lane that has an item waits for lanes that wait for one.
struct MeetsInATask {
  HIWAY_DEVICE void operator()(Outlet<int> in) const {
    for (int n = 0; in.next_d(n); in.end_task_d()) sync_block();
  }
};

TEST(Stall, LanesThatStandInSyncBlockAreNamed) {
  HIWAY_NEEDS_DEVICE();
  Stderr const err;
  Pipeline pipe(watched(milliseconds(300), OnStall::abort));
  auto& items = pipe.create_tunnel<int>("items", Direction::cpu_to_gpu);
  pipe.add_cpu_stage("feed", numbers(1), into(items));
  pipe.add_gpu_stage("meet", MeetsInATask{}, from(items), {.blocks = 1, .threads_per_block = 4});
  EXPECT_THAT(text_of_error<Aborted>([&] { pipe.run(); }),
              HasSubstr("-> stage 'meet' holds 1 item of tunnel 'items' that it got and has not ended: 1 of its lanes "
                        "stands in sync_block until all of their block come: others wait elsewhere, or are at work"));
}
#endif

TEST(Stall, TasksOfACycleThatSpillsAreCounted) {
  HIWAY_NEEDS_DEVICE();
  Stderr const err;
  Pipeline pipe(watched(milliseconds(300), OnStall::abort));
  auto& start = pipe.create_tunnel<int>("start", Direction::cpu_to_gpu);
  auto& loop = pipe.create_tunnel<int>("loop", Direction::gpu_to_gpu, {.capacity_items = 1});
  pipe.add_cpu_stage("feed", numbers(3), into(start));
  pipe.add_gpu_stage("again", FeedsItselfAndNeverEndsATask{}, from(start, loop), into(loop),
                     {.blocks = 1, .threads_per_block = 32});
  std::string const text = text_of_error<Aborted>([&] { pipe.run(); });
  EXPECT_THAT(text, HasSubstr("-> stage 'again' holds 15 items of tunnel 'loop' that it got and has not ended"));
  EXPECT_THAT(text, HasSubstr("put 15, got 15; spilled "));
}

TEST(Stall, APutThatSpillsIsNotSaidToWait) {
  HIWAY_NEEDS_DEVICE();
  Stderr const err;
  Pipeline pipe(watched(milliseconds(300), OnStall::abort));
  auto& start = pipe.create_tunnel<int>("start", Direction::cpu_to_gpu);
  auto& loop = pipe.create_tunnel<int>("loop", Direction::gpu_to_gpu, {.capacity_items = 1});
  pipe.add_cpu_stage("feed", numbers(3), into(start));
  pipe.add_gpu_stage("again", FeedsItselfAndDoesNotGet{}, from(start, loop), into(loop),
                     {.blocks = 1, .threads_per_block = 32});
  std::string const text = text_of_error<Aborted>([&] { pipe.run(); });
  EXPECT_THAT(text, HasSubstr("holds 1 of 1; put 6, got 0; spilled 5, 5 of 1048576 in the pool"));
  EXPECT_THAT(text, HasSubstr("-> tunnel 'loop' holds 6 items that 'again' could get and does not"));
  EXPECT_THAT(text, Not(HasSubstr("room")));
}

TEST(Stall, ALoopOfTriesIntoAFullPoolIsNamed) {
  HIWAY_NEEDS_DEVICE();
  Stderr const err;
  Pipeline pipe(watched(milliseconds(300), OnStall::abort));
  auto& start = pipe.create_tunnel<int>("start", Direction::cpu_to_gpu);
  auto& loop = pipe.create_tunnel<int>("loop", Direction::gpu_to_gpu, {.capacity_items = 1, .spill_items = 2});
  pipe.add_cpu_stage("feed", numbers(9), into(start));
  pipe.add_gpu_stage("again", FeedsItselfAndOnlyTries{}, from(start, loop), into(loop),
                     {.blocks = 1, .threads_per_block = 1});
  EXPECT_THAT(text_of_error<Aborted>([&] { pipe.run(); }),
              HasSubstr("-> tunnel 'loop' and its spill pool are full (1 of 1 and 2 of 2): try_put by 'again' is false "
                        "until 'again' gets from it"));
}

TEST(Stall, AnOpenInletThatNobodyClosesIsNamed) {
  HIWAY_NEEDS_DEVICE();
  Stderr const err;
  Pipeline pipe(watched(milliseconds(300), OnStall::abort));
  auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_cpu);
  auto in = t.open_inlet();
  pipe.add_cpu_stage(
      "sink", [](int const&) {}, from(t));
  pipe.start();
  in.put_h(1);
  EXPECT_THAT(text_of_error<Aborted>([&] { pipe.wait(); }),
              HasSubstr("tunnel 't' is empty and open: 'sink' must wait until items come or it is closed, by its open "
                        "inlets (0 of 1 closed)"));
}

/// A sink that stands still at its first item until it is let go.
struct Gate {
  std::atomic<bool> reached{false};
  std::atomic<bool> open{false};
  auto sink() {
    return [this](int const&) {
      reached = true;
      while (!open) std::this_thread::sleep_for(milliseconds(1));
    };
  }
};

TEST(Stall, AStallThatPassesIsToldAndTheRunFinishes) {
  HIWAY_NEEDS_DEVICE();
  Stderr const err;
  Gate gate;
  Pipeline pipe(watched(milliseconds(200)));
  auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_cpu, {.capacity_items = 1});
  pipe.add_cpu_stage("feed", numbers(10), into(t));
  pipe.add_cpu_stage("sink", gate.sink(), from(t));
  pipe.start();
  EXPECT_TRUE(err.says("-> stage 'sink' holds 1 item of tunnel 't' that it got and has not ended"));
  EXPECT_TRUE(err.says("-> tunnel 't' is full (1 of 1): 'feed' must wait for room until 'sink' gets from it"));
  gate.open = true;
  EXPECT_EQ(pipe.wait().items, 10u);
}

TEST(Stall, TheSignalAsksForAReport) {
  HIWAY_NEEDS_DEVICE();
  Stderr const err;
  Gate gate;
  Pipeline pipe(bounded());
  auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_cpu);
  pipe.add_cpu_stage("feed", numbers(1), into(t));
  pipe.add_cpu_stage("sink", gate.sink(), from(t));
  pipe.start();
  while (!gate.reached) std::this_thread::yield();
  EXPECT_EQ(err.text(), "");
  ASSERT_EQ(std::raise(SIGUSR1), 0);
  EXPECT_TRUE(err.says("hiway: asked by SIGUSR1\n"));
  EXPECT_TRUE(err.says("-> stage 'sink' holds 1 item of tunnel 't'"));
  gate.open = true;
  pipe.wait();
}

TEST(Stall, ARunThatMovesSlowlyIsSilent) {
  HIWAY_NEEDS_DEVICE();
  Stderr const err;
  Pipeline pipe(watched(milliseconds(1000)));
  auto& in = pipe.create_tunnel<int>("in", Direction::cpu_to_gpu);
  auto& out = pipe.create_tunnel<int>("out", Direction::gpu_to_cpu);
  pipe.add_cpu_stage(
      "feed",
      [](Inlet<int> to) {
        for (int i = 0; i < 20; ++i) {
          to.put_h(i);
          std::this_thread::sleep_for(milliseconds(100));
        }
      },
      into(in));
  pipe.add_gpu_stage("same", Same{}, from(in), into(out), {.blocks = 1, .threads_per_block = 32});
  pipe.add_cpu_stage(
      "sink", [](int const&) {}, from(out));
  pipe.run();
  EXPECT_EQ(err.text(), "");
}

TEST(Stall, TheDeadlineSaysWhatTheRunWaitedFor) {
  HIWAY_NEEDS_DEVICE();
  for (Direction direction : {Direction::cpu_to_cpu, Direction::cpu_to_gpu}) {
    Pipeline pipe(bounded(milliseconds(500)));
    auto& t = pipe.create_tunnel<int>("numbers", direction);
    pipe.add_cpu_stage("feed", numbers(3), into(t));
    if (direction == Direction::cpu_to_gpu) {
      pipe.add_gpu_stage("sum", NeverEndsATask{}, from(t), {.blocks = 1, .threads_per_block = 32});
    } else {
      pipe.add_cpu_stage("sum", NeverEndsATask{}, from(t));
    }
    EXPECT_THAT(text_of_error<Aborted>([&] { pipe.run(); }),
                StartsWith("the deadline of 500 ms has passed: stage 'sum' holds 3 items of tunnel 'numbers'"));
  }
}

// Of the two looks that tell a run that has stalled from a slow one, the first has not been before the deadline.
TEST(Stall, TheDeadlineSaysWhatTheRunWaitedForAlsoIfTheLookBeforeItIsLate) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe([] {
    PipelineConfig config = bounded(milliseconds(300));
    config.stall_after = milliseconds(100);
    return config;
  }());
  auto& t = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu);
  pipe.add_cpu_stage("feed", numbers(3), into(t));
  pipe.add_cpu_stage("sum", NeverEndsATask{}, from(t));
  set_log_sink([](LogLevel, std::string_view) { std::this_thread::sleep_for(milliseconds(400)); });  // of the watcher
  EXPECT_THAT(text_of_error<Aborted>([&] { pipe.run(); }),
              StartsWith("the deadline of 300 ms has passed: stage 'sum' holds 3 items of tunnel 'numbers'"));
  set_log_sink({});
}

TEST(Stall, CodeThatDoesNotLeaveAnAbortedRunIsNamed) {
  HIWAY_NEEDS_DEVICE();
  Stderr const err;
  Gate gate;
  Pipeline pipe(watched(milliseconds(200)));
  auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_cpu);
  pipe.add_cpu_stage("feed", numbers(1), into(t));
  pipe.add_cpu_stage("stuck", gate.sink(), from(t), {.threads = 2});
  pipe.start();
  while (!gate.reached) std::this_thread::yield();
  pipe.abort();
  EXPECT_TRUE(err.says("the run is aborting, but stage 'stuck' has not left it (1 of 2 threads)"));
  gate.open = true;
  EXPECT_EQ(text_of_error<Aborted>([&] { pipe.wait(); }), "the pipeline was aborted");
}

TEST(Stall, TheEnvironmentAsksForReportsOfPipelinesThatDoNot) {
  HIWAY_NEEDS_DEVICE();
  Stderr const err;
  setenv("HIWAY_STALL_AFTER", "soon", 1);
  EXPECT_EQ(text_of_error<ConfigError>([] { Pipeline pipe(bounded()); }),
            "HIWAY_STALL_AFTER must be a number of milliseconds, or off: 'soon'");
  setenv("HIWAY_STALL_AFTER", "200", 1);
  Gate gate;
  Pipeline pipe(bounded());
  unsetenv("HIWAY_STALL_AFTER");
  auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_cpu);
  pipe.add_cpu_stage("feed", numbers(1), into(t));
  pipe.add_cpu_stage("sink", gate.sink(), from(t));
  pipe.start();
  EXPECT_TRUE(err.says("hiway: no progress for "));
  gate.open = true;
  pipe.wait();
}

}  // namespace
