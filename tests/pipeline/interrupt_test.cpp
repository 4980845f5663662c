// A host whose signal handlers interrupt system calls (no SA_RESTART), as a sampling profiler's may.
#include <gmock/gmock.h>
#include <sys/time.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "tests/device.hpp"
#include "tests/environment.hpp"

namespace {

using namespace hiway;
using hiway_tests::Environment;

std::atomic<int> interrupts{0};

/// SIGALRM every 200 microseconds, to any thread, for the life of this object.
class Storm {
 public:
  Storm() {
    struct sigaction action{};
    action.sa_handler = [](int) { interrupts.fetch_add(1, std::memory_order_relaxed); };
    sigaction(SIGALRM, &action, &before_);
    every(200);
  }
  ~Storm() {
    every(0);
    sigaction(SIGALRM, &before_, nullptr);
  }
  Storm(Storm const&) = delete;
  Storm& operator=(Storm const&) = delete;

 private:
  static void every(int microseconds) {
    itimerval const timer{{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_REAL, &timer, nullptr);
  }
  struct sigaction before_{};
};

std::string text_of(std::filesystem::path const& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Interrupts, RunsAndTheirFilesAreWholeWhileSystemCallsAreInterrupted) {
  HIWAY_NEEDS_DEVICE();
  std::filesystem::path const folder = std::filesystem::path(testing::TempDir()) / "interrupts";
  std::filesystem::create_directories(folder);
  std::filesystem::path const stats = folder / "run.prom", graph = folder / "run.svg";
  // Stands for Graphviz: the wait for it is interrupted.
  std::filesystem::path const dot = folder / "dot";
  std::ofstream(dot) << "#!/bin/sh\nsleep 0.005\ncat\n";
  std::filesystem::permissions(dot, std::filesystem::perms::owner_all);
  Environment const path("PATH", folder.string() + ":" + std::getenv("PATH"));
  Environment const asked_stats("HIWAY_STATS", stats.string());
  Environment const asked_graph("HIWAY_GRAPH", graph.string());
  PipelineConfig config = hiway_tests::bounded();
  config.trace = (folder / "run.json").string();
  interrupts = 0;
  {
    Storm const storm;
    for (int round = 0; round < 20 || interrupts < 20; ++round) {
      Pipeline pipe(config);
      auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_cpu, {.capacity_items = 4});
      int sum = 0;
      pipe.add_cpu_stage(
          "feed",
          [](Inlet<int> out) {
            for (int i = 1; i <= 100; ++i) out.put_h(i);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          },
          into(t));
      pipe.add_cpu_stage("add", [&](int const& x) { sum += x; }, from(t));
      pipe.run();
      ASSERT_EQ(sum, 5050);
      ASSERT_THAT(text_of(config.trace), testing::EndsWith("}\n"));
      ASSERT_THAT(text_of(stats), testing::HasSubstr("hiway_tunnel_items"));
      ASSERT_THAT(text_of(graph), testing::EndsWith("}\n"));
    }
  }
  EXPECT_GE(interrupts, 20);
  std::filesystem::remove_all(folder);
}

}  // namespace
