// Calls to a pipeline from unusual places: its own stages, several threads, a process that was forked, exit(). Each call ends,
// well or with an error that says what is wrong. Each in a child process, as what it does to one is the question.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "hiway/log.hpp"
#include "tests/device.hpp"

namespace {

using namespace hiway;
using namespace std::chrono_literals;
using hiway_tests::bounded;
using hiway_tests::text_of_error;

struct Twice {
  HIWAY_DEVICE long operator()(int const& x) const { return 2L * x; }
};

/// CPU -> device -> CPU.
struct Doubles {
  explicit Doubles(std::function<void(long)> each = {}) : pipe({.device = "simt"}), body(std::move(each)) {
    auto& in = pipe.create_tunnel<int>("numbers", Direction::cpu_to_gpu);
    auto& out = pipe.create_tunnel<long>("doubles", Direction::gpu_to_cpu);
    pipe.add_cpu_stage(
        "feed",
        [](Inlet<int> feed) {
          for (int i = 1; i <= 100; ++i) feed.put_h(i);
        },
        into(in));
    pipe.add_gpu_stage("twice", Twice{}, from(in), into(out), {.blocks = 1, .threads_per_block = 32});
    pipe.add_cpu_stage(
        "add",
        [this](long const& x) {
          sum += x;
          if (body) body(x);
        },
        from(out));
  }
  bool runs() {
    sum = 0;
    pipe.run();
    return sum == 10100;
  }
  Pipeline pipe;
  std::function<void(long)> body;
  long sum = 0;
};

/// How a child process ends that does `what`: its exit status, or minus the signal; -SIGALRM: it hung.
int status_of_child(std::function<int()> const& what) {
  pid_t const child = fork();
  if (child == 0) {
    alarm(20);
    _exit(what());
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(Process, AStageThatWaitsForItsOwnRunIsNamed) {
  EXPECT_EQ(status_of_child([] {
              Doubles* all = nullptr;
              Doubles made([&](long) { all->pipe.wait(); });
              all = &made;
              std::string const text = text_of_error<StageError>([&] { made.pipe.run(); });
              return text.starts_with("stage 'add': wait: called on a thread of the run itself") ? 0 : 1;
            }),
            0);
}

TEST(Process, TheSecondThreadThatWaitsIsTold) {
  Doubles made([](long) { std::this_thread::sleep_for(1ms); });
  made.pipe.start();
  std::atomic<int> told = 0;
  std::atomic<int> reports = 0;
  auto const wait = [&] {
    try {
      static_cast<void>(made.pipe.wait());
      ++reports;
    } catch (ConfigError const& e) {
      if (std::string(e.what()).starts_with("wait: ")) ++told;
    }
  };
  {
    std::jthread const first(wait);
    std::jthread const second(wait);
  }
  EXPECT_EQ(told, 1);
  EXPECT_EQ(reports, 1);
  EXPECT_EQ(made.sum, 10100);
}

TEST(Process, AThreadThatEndsItselfIsNamed) {
  EXPECT_EQ(status_of_child([] {
              Doubles made([](long) { pthread_exit(nullptr); });
              return text_of_error<StageError>([&] { made.pipe.run(); }) ==
                             "stage 'add': its thread has ended itself (pthread_exit), or was cancelled"
                         ? 0
                         : 1;
            }),
            0);
}

// TSan calls threads that exit() leaves behind a leak, and what exit() destroys in a stage a race; and it lets no thread start
// in a child of a process that had several.
#if !defined(HIWAY_SANITIZED)
TEST(Process, ExitInAStageEndsTheProcessWithItsStatus) {
  auto const exits = [](long x) {
    if (x > 50) std::exit(3);
  };
  EXPECT_EQ(status_of_child([&] {
              Doubles made(exits);
              return made.runs() ? 0 : 1;
            }),
            3);
  EXPECT_EQ(status_of_child([&] {  // exit() destroys it
              static Doubles made(exits);
              return made.runs() ? 0 : 1;
            }),
            3);
  EXPECT_EQ(status_of_child([] {
              static Doubles made;
              made.pipe.start();
              std::exit(4);
              return 0;
            }),
            4);
}

TEST(Process, AForkedChildMakesPipelinesOfItsOwn) {
  Doubles parents;
  EXPECT_TRUE(parents.runs());
  EXPECT_EQ(status_of_child([] { return Doubles().runs() ? 0 : 1; }), 0);
  EXPECT_TRUE(parents.runs());
}
#endif

TEST(Process, AForkedChildIsRefusedItsParentsPipelineAndMayDestroyIt) {
  auto parents = std::make_unique<Doubles>([](long) { std::this_thread::sleep_for(1ms); });
  std::string const belongs = "the pipeline belongs to the process that this one was forked from; make a new one here";
  auto const child = [&] {
    for (auto const& [what, call] : std::initializer_list<std::pair<std::string, std::function<void()>>>{
             {"start", [&] { parents->pipe.start(); }},
             {"wait", [&] { static_cast<void>(parents->pipe.wait()); }},
             {"wait_for", [&] { static_cast<void>(parents->pipe.wait_for(1ms)); }},
             {"stats", [&] { static_cast<void>(parents->pipe.stats()); }},
             {"abort", [&] { parents->pipe.abort(); }}}) {
      if (text_of_error<MisuseError>(call) != what + ": " + belongs) return 1;
    }
    parents.reset();
    return 0;
  };
  parents->pipe.start();
  EXPECT_EQ(status_of_child(child), 0);  // while it runs
  parents->pipe.wait();
  EXPECT_EQ(status_of_child(child), 0);
  EXPECT_TRUE(parents->runs());
}

// TSan: what stats() reads was written by the next start(), and the report by the end of the run before.
TEST(Process, StatsMayBeAskedForWhileRunsBeginAndEnd) {
  Doubles made;
  std::atomic<bool> over = false;
  auto const ask = [&] {
    while (!over) {
      RunReport const report = made.pipe.stats();
      static_cast<void>(made.pipe.graph());
      if (report.items > 200) ADD_FAILURE() << report.items;
    }
  };
  std::jthread const first(ask);
  std::jthread const second(ask);
  for (int i = 0; i < 30; ++i) EXPECT_TRUE(made.runs());
  over = true;
}

TEST(Process, ARunThatStandsStillSaysSoInOneLineWithoutBeingAsked) {
  std::string said;
  std::atomic<int> lines = 0;
  set_log_sink([&](LogLevel level, std::string_view text) {
    if (level != LogLevel::warning) return;
    said = text;
    ++lines;
  });
  Pipeline pipe({.device = "simt"});
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu);
  std::atomic<bool> enough = false;
  pipe.add_cpu_stage("feed", [](Inlet<int> out) { out.put_h(1); }, into(numbers));
  pipe.add_cpu_stage(
      "add",
      [&](Outlet<int> in) {
        int x = 0;
        static_cast<void>(in.next_h(x));
        while (!enough) std::this_thread::sleep_for(10ms);
        in.end_task_h();
      },
      from(numbers));
  pipe.start();
  auto const until = std::chrono::steady_clock::now() + 30s;
  while (lines == 0 && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(10ms);
  enough = true;
  static_cast<void>(pipe.wait());
  set_log_sink({});
  EXPECT_EQ(lines, 1);
  EXPECT_TRUE(said.starts_with("nothing has moved for 1")) << said;
  EXPECT_NE(said.find("s: stage 'add' holds 1 item of tunnel 'numbers' that it got and has not ended"),
            std::string::npos)
      << said;
  EXPECT_EQ(said.find('\n'), std::string::npos);
}

}  // namespace
