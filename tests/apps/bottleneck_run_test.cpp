// The bottleneck that is named is the one that was planted: real runs, their traces read back.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <hiway/hiway.hpp>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "cli/bottleneck.hpp"
#include "cli/trace_file.hpp"

namespace {

using cli::Finding;
using cli::FindingKind;
using std::chrono::microseconds;

struct Stage {
  std::string name;
  microseconds least{0};  ///< for an item, evenly up to
  microseconds most{0};
  int burst = -1;  ///< 0, 1: every other eight items take no time, from the first or from the ninth on
};

/// A chain of CPU stages, each with a ring before it, and what is found of its run.
Finding verdict(std::vector<Stage> const& stages, std::vector<std::size_t> const& rooms, int items,
                std::uint64_t seed) {
  std::string const path = testing::TempDir() + "bottleneck_run.json";
  hiway::Pipeline pipe({.device = "simt", .deadline = std::chrono::seconds(30), .trace = path});
  std::vector<hiway::Tunnel<int>*> tunnels;
  for (std::size_t t = 0; t + 1 < stages.size(); ++t)
    tunnels.push_back(&pipe.create_tunnel<int>(stages[t].name + " to " + stages[t + 1].name,
                                               hiway::Direction::cpu_to_cpu, {.capacity_items = rooms[t]}));
  for (std::size_t s = 0; s < stages.size(); ++s) {
    auto const take_time = [random = std::make_shared<std::mt19937_64>(seed + s), stage = stages[s]](int item) {
      if (stage.burst >= 0 && item / 8 % 2 == stage.burst) return;
      std::uniform_int_distribution<std::int64_t> us(stage.least.count(), stage.most.count());
      if (std::int64_t const n = us(*random); n > 0) std::this_thread::sleep_for(microseconds(n));
    };
    if (s == 0) {
      pipe.add_cpu_stage(
          stages[s].name,
          [=](hiway::Inlet<int> out) {
            for (int i = 0; i < items; ++i) {
              take_time(i);
              out.put_h(i);
            }
          },
          hiway::into(*tunnels[s]));
    } else if (s + 1 == stages.size()) {
      pipe.add_cpu_stage(
          stages[s].name, [=](hiway::Outlet<int> in) { in.for_each_h(take_time); }, hiway::from(*tunnels[s - 1]));
    } else {
      pipe.add_cpu_stage(
          stages[s].name,
          [=](hiway::Outlet<int> in, hiway::Inlet<int> out) {
            in.for_each_h([&](int const& i) {
              take_time(i);
              out.put_h(i);
            });
          },
          hiway::from(*tunnels[s - 1]), hiway::into(*tunnels[s]));
    }
  }
  pipe.run();
  cli::TraceFile const trace = cli::read_trace(path);
  std::filesystem::remove(path);
  return cli::find_bottleneck(trace.stats).front();
}

TEST(BottleneckOfARun, ASlowConsumer) {
  Finding const found = verdict(
      {{"feed"}, {"work", microseconds(100), microseconds(100)}, {"sink", microseconds(2000), microseconds(2000)}},
      {16, 16}, 60, 1);
  EXPECT_EQ(found.kind, FindingKind::slow_stage) << found.text;
  EXPECT_EQ(found.subject, "sink") << found.text;
}

/// What one makes slowly the other takes at once, and the other way round: with more room they would overlap.
TEST(BottleneckOfARun, ASmallRing) {
  microseconds const ms(1000);
  Finding const found = verdict({{"feed", ms, ms, 0}, {"sink", ms, ms, 1}}, {1}, 160, 1);
  EXPECT_EQ(found.kind, FindingKind::small_ring) << found.text;
  EXPECT_EQ(found.subject, "feed to sink") << found.text;
}

TEST(BottleneckOfARun, AStarvedPipeline) {
  Finding const found = verdict(
      {{"feed", microseconds(2000), microseconds(2000)}, {"work", microseconds(100), microseconds(100)}, {"sink"}},
      {16, 16}, 60, 1);
  EXPECT_EQ(found.kind, FindingKind::slow_stage) << found.text;
  EXPECT_EQ(found.subject, "feed") << found.text;
}

TEST(BottleneckOfARun, OfTwentyDrawnBySeed) {
  int right = 0;
  std::string wrong;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<Stage> stages;
    std::vector<std::size_t> rooms;
    std::size_t const n = 3 + random() % 3;
    for (std::size_t s = 0; s < n; ++s) {
      microseconds const most(random() % 500);
      stages.push_back({"stage " + std::to_string(s), most / 2, most});
      rooms.push_back(4 + random() % 20);
    }
    std::size_t const slow = random() % n;
    stages[slow].least = microseconds(1500);
    stages[slow].most = microseconds(3000);
    Finding const found = verdict(stages, rooms, 60, seed);
    if (found.subject == stages[slow].name) {
      ++right;
    } else {
      wrong += "seed " + std::to_string(seed) + ", slow is '" + stages[slow].name + "': " + found.text + "\n";
    }
  }
  EXPECT_GE(right, 19) << wrong;
}

}  // namespace
