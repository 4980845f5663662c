// Pipelines over several nodes: the same program in several processes.
#include <chrono>
#include <cstdlib>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "hiway/hiway.hpp"
#include "tests/faults/faulty_device.hpp"
#include "tests/nodes/ucx/clusters.hpp"

namespace {

using hiway::Direction;
using hiway_tests::on_nodes;
using hiway_tests::over;
using hiway_tests::shared_memory;
using hiway_tests::tcp;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using NodesPipeline = hiway_tests::OverUcx;

INSTANTIATE_TEST_SUITE_P(Over, NodesPipeline, testing::Values(tcp, shared_memory), hiway_tests::name_of_way);

constexpr long many = 20000;

struct Double {
  HIWAY_DEVICE long operator()(int const& i) const { return 2L * i; }
};

void feed(hiway::Inlet<int> out) {
  for (int i = 1; i <= many; ++i) out.put_h(i);
}

TEST_P(NodesPipeline, ItemsGoFromOneNodeToAnother) {
  auto const said = on_nodes(GetParam(), 2, [](hiway::Cluster& nodes) {
    hiway::Pipeline pipe(over(nodes));
    auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu);
    long sum = 0;
    int last = 0;
    bool in_order = true;
    pipe.add_cpu_stage("feed", feed, hiway::into(numbers), {.node = 0});
    pipe.add_cpu_stage("sum",
                       [&](hiway::Outlet<int> in) {
                         in.for_each_h([&](int i) {
                           sum += i;
                           in_order = in_order && i == std::exchange(last, i) + 1;
                         });
                       },
                       hiway::from(numbers), {.node = 1});
    for (int run = 0; run < 3; ++run) {
      last = 0;
      pipe.run();
    }
    return std::to_string(sum) + (in_order ? " in order" : "");
  });
  EXPECT_THAT(said, ElementsAre("0 in order", std::to_string(3 * many * (many + 1) / 2) + " in order"));
}

// A GPU stage on every node works on the numbers that node 0 feeds; what node 0 sums up, of how many.
std::string share_work(hiway::Cluster& nodes) {
  hiway::Pipeline pipe(over(nodes));
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_gpu, {.capacity_items = 64});
  auto& doubled = pipe.create_tunnel<long>("doubled", Direction::gpu_to_cpu);
  std::set<long> seen;
  long sum = 0;
  pipe.add_cpu_stage("feed", feed, hiway::into(numbers), {.node = 0});
  pipe.add_gpu_stage("double", Double{}, hiway::from(numbers), hiway::into(doubled), {.nodes = hiway::all_nodes});
  pipe.add_cpu_stage("sum",
                     [&](hiway::Outlet<long> in) {
                       in.for_each_h([&](long i) {
                         sum += i;
                         seen.insert(i);
                       });
                     },
                     hiway::from(doubled), {.node = 0});
  pipe.run();
  return std::to_string(sum) + " of " + std::to_string(seen.size());
}

TEST_P(NodesPipeline, AStageOfAllNodesSharesTheItems) {
  auto const said = on_nodes(GetParam(), 3, share_work);
  EXPECT_THAT(said, ElementsAre(std::to_string(many * (many + 1)) + " of " + std::to_string(many), "0 of 0", "0 of 0"));
}

TEST_P(NodesPipeline, AProgramWithoutPlacesRunsOnNode0) {
  auto const said = on_nodes(GetParam(), 2, [](hiway::Cluster& nodes) {
    hiway::Pipeline pipe(over(nodes));
    auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_gpu);
    auto& doubled = pipe.create_tunnel<long>("doubled", Direction::gpu_to_cpu);
    long sum = 0;
    pipe.add_cpu_stage("feed", feed, hiway::into(numbers));
    pipe.add_gpu_stage("double", Double{}, hiway::from(numbers), hiway::into(doubled));
    pipe.add_cpu_stage(
        "sum", [&](hiway::Outlet<long> in) { in.for_each_h([&](long i) { sum += i; }); }, hiway::from(doubled));
    pipe.run();
    return std::to_string(sum);
  });
  EXPECT_THAT(said, ElementsAre(std::to_string(many * (many + 1)), "0"));
}

// Its object is there on every node; it counts where it runs.
std::string items_of_segments(hiway::Cluster& nodes, std::vector<hiway::segment::SegmentConfig> const& configs) {
  hiway::Pipeline pipe({.device = "simt", .cluster = &nodes});
  std::vector<hiway::segment::SegmentBase*> segments;
  for (auto const& config : configs) {
    auto& numbers = pipe.create_tunnel<int>("numbers " + std::to_string(segments.size()), Direction::cpu_to_gpu);
    pipe.add_cpu_stage("feed " + std::to_string(segments.size()), feed, hiway::into(numbers));
    segments.push_back(&pipe.add_segment<hiway::segment::Shape{hiway::segment::ReplicaOf::warp}>(
        "segment " + std::to_string(segments.size()), hiway::from(numbers),
        chain(hiway::segment::node("double", Double{}), hiway::segment::count<long>("all")), config));
  }
  pipe.run();
  std::string said;
  for (auto const* segment : segments) said += std::to_string(segment->items("all")) + " ";
  return said;
}
TEST_P(NodesPipeline, ASegmentRunsWhereItIsTold) {
  auto const said = on_nodes(GetParam(), 3, [](hiway::Cluster& nodes) {
    return items_of_segments(nodes, {{.blocks = 1, .node = 1}, {.blocks = 1}, {.blocks = 1, .nodes = {1, 2}}});
  });
  std::string const all = std::to_string(many);
  EXPECT_THAT(said, ElementsAre("0 " + all + " 0 ", StartsWith(all + " 0 "), StartsWith("0 0 ")));
  auto const third = [&](std::size_t node) { return std::stol(said[node].substr(said[node].find(" 0 ") + 3)); };
  EXPECT_EQ(third(1) + std::stol(said[2].substr(4)), many);
}

/// Node 0 feeds without end, the others work until the stage "work" of node 1 does `at_1(item)`.
template <class At1>
std::vector<std::string> feed_for_ever(hiway_tests::Way way, int size, At1 at_1,
                                       std::chrono::seconds silence = std::chrono::seconds(20)) {
  return on_nodes(way, size, [&](hiway::Cluster& nodes) -> std::string {
    hiway::Pipeline pipe(over(nodes, silence));
    auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu, {.capacity_items = 64});
    pipe.add_cpu_stage("feed",
                       [](hiway::Inlet<int> out) {
                         for (int i = 0;; ++i) out.put_h(i);
                       },
                       hiway::into(numbers), {.node = 0});
    pipe.add_cpu_stage("work",
                       [&](hiway::Outlet<int> in) {
                         in.for_each_h([&](int i) {
                           if (nodes.node() == 1) at_1(i);
                         });
                       },
                       hiway::from(numbers), {.nodes = hiway::all_nodes});
    pipe.run();
    return "ended";
  });
}

TEST_P(NodesPipeline, AnErrorOfOneNodeEndsTheRunOnAll) {
  auto const said = feed_for_ever(GetParam(), 3, [](int i) {
    if (i > 1000) throw std::runtime_error("too large");
  });
  EXPECT_THAT(said, ElementsAre("error: node 1: stage 'work': too large", "error: stage 'work': too large",
                                "error: node 1: stage 'work': too large"));
}

// Node 1 has no work: its part is over when it aborts.
TEST_P(NodesPipeline, AnAbortOnANodeWhosePartIsOverEndsTheRunOnAll) {
  auto const said = on_nodes(GetParam(), 2, [](hiway::Cluster& nodes) {
    hiway::Pipeline pipe({.device = "simt", .cluster = &nodes});
    auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu, {.capacity_items = 64});
    pipe.add_cpu_stage(
        "feed",
        [](hiway::Inlet<int> out) {
          for (int i = 0;; ++i) out.put_h(i);
        },
        hiway::into(numbers));
    pipe.add_cpu_stage(
        "drop", [](hiway::Outlet<int> in) { in.for_each_h([](int) {}); }, hiway::from(numbers));
    pipe.start();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (nodes.node() == 1) pipe.abort();
    pipe.wait();
    return std::string("ended");
  });
  EXPECT_THAT(said, Each(HasSubstr("aborted")));
}

// The device of node 1 fails when it begins the second run. The third one is as the first.
TEST_P(NodesPipeline, ANodeThatCannotBeginEndsTheRunOnAll) {
  auto const said = on_nodes(GetParam(), 3, [](hiway::Cluster& nodes) {
    hiway_tests::FaultyDevice device({});
    hiway::PipelineConfig config = over(nodes);
    config.device = hiway_tests::FaultyDevice::name;
    hiway::Pipeline pipe(config);
    auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_gpu);
    auto& doubled = pipe.create_tunnel<long>("doubled", Direction::gpu_to_cpu);
    long sum = 0;
    pipe.add_cpu_stage("feed", feed, hiway::into(numbers));
    pipe.add_gpu_stage("double", Double{}, hiway::from(numbers), hiway::into(doubled), {.nodes = hiway::all_nodes});
    pipe.add_cpu_stage(
        "sum", [&](long const& i) { sum += i; }, hiway::from(doubled));
    pipe.run();
    if (nodes.node() == 1) device.plan.failed_call = device.calls + 1;
    std::string const error = hiway_tests::error_of([&] { pipe.run(); });
    sum = 0;
    pipe.run();
    return std::to_string(sum) + " " + error;
  });
  std::string const all = std::to_string(many * (many + 1));
  EXPECT_THAT(said, ElementsAre(StartsWith(all + " Error: node 1: "), StartsWith("0 Error: "),
                                StartsWith("0 Error: node 1: ")));
}

TEST_P(NodesPipeline, ANodeThatIsKilledIsNamedOnAllOthers) {
  auto const began = std::chrono::steady_clock::now();
  auto const said = feed_for_ever(GetParam(), 3, [](int i) {
    if (i > 1000) raise(SIGKILL);
  });
  EXPECT_THAT(said, ElementsAre(HasSubstr("node 1 is gone"), "killed", HasSubstr("node 1 is gone")));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10));
}

TEST_P(NodesPipeline, ANodeThatIsStoppedIsNamedOnAllOthers) {
  auto const stop_once = [has_been = false](int i) mutable {
    if (i <= 1000 || std::exchange(has_been, true)) return;
    if (fork() == 0) {  // its parent goes on after a while, and finds that it is not wanted any more
      sleep(3);
      kill(getppid(), SIGCONT);
      _exit(0);
    }
    raise(SIGSTOP);
  };
  auto const said = feed_for_ever(GetParam(), 3, stop_once, std::chrono::seconds(1));
  EXPECT_THAT(said[0], HasSubstr("node 1 has said nothing for 1 s"));
  EXPECT_THAT(said[2], HasSubstr("node 1 has said nothing for 1 s"));
  EXPECT_THAT(said[1], StartsWith("error: "));
}

// Some of a few runs, or all: the others end with an error that names the node, or had ended before. HIWAY_KILLS: how
// many.
TEST_P(NodesPipeline, ANodeMayBeKilledAtAnyMoment) {
  char const* const asked = std::getenv("HIWAY_KILLS");
  int const kills = asked != nullptr ? std::atoi(asked) : 4;
  std::mt19937 random(static_cast<unsigned>(kills));
  int named = 0;
  for (int i = 0; i < kills && !HasFailure(); ++i) {
    int const victim = static_cast<int>(random() % 3);
    auto const after = std::chrono::microseconds(random() % 30'000);
    auto const said = on_nodes(GetParam(), 3, [&](hiway::Cluster& nodes) {
      std::jthread killer;
      if (nodes.node() == victim) {
        killer = std::jthread([&] {
          std::this_thread::sleep_for(after);
          raise(SIGKILL);
        });
      }
      for (int run = 0; run < 3; ++run) share_work(nodes);
      return std::string("ended");
    });
    for (int node = 0; node < 3; ++node) {
      std::string const& one = said[static_cast<std::size_t>(node)];
      std::string const its_name = "node " + std::to_string(victim);  // "is gone", or by UCX while they connect
      bool const is_named = one.find(its_name) != std::string::npos;
      named += is_named ? 1 : 0;
      bool const is_right = node == victim ? one == "killed" : is_named || one == "ended";
      EXPECT_TRUE(is_right) << "node " << node << " after " << after.count() << " us of node " << victim << ": " << one;
    }
  }
  EXPECT_GT(named, kills / 4) << "most come while the nodes run";
}

TEST_P(NodesPipeline, WhatDiffersBetweenNodesIsNamed) {
  auto const said = on_nodes(GetParam(), 2, [](hiway::Cluster& nodes) {
    hiway::Pipeline pipe(over(nodes));
    std::size_t const capacity = nodes.node() == 0 ? 64 : 128;
    auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu, {.capacity_items = capacity});
    pipe.add_cpu_stage("feed", feed, hiway::into(numbers), {.node = 0});
    pipe.add_cpu_stage("sum", [](hiway::Outlet<int> in) { in.for_each_h([](int) {}); }, hiway::from(numbers),
                       {.node = 1});
    pipe.run();
    return std::string("ended");
  });
  EXPECT_THAT(said,
              Each(AllOf(HasSubstr("the pipeline differs, line 1"), HasSubstr("128 items"), HasSubstr("64 items"))));
}

TEST_P(NodesPipeline, WhatCannotRunOnOneNodeRunsOnNone) {
  auto const said = on_nodes(GetParam(), 2, [](hiway::Cluster& nodes) {
    hiway::Pipeline pipe(over(nodes));
    auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu);
    pipe.add_cpu_stage("feed", feed, hiway::into(numbers), {.node = 0});
    pipe.add_cpu_stage("sum", [](hiway::Outlet<int> in) { in.for_each_h([](int) {}); }, hiway::from(numbers),
                       {.threads = 0, .node = 1});
    pipe.run();
    return std::string("ended");
  });
  EXPECT_THAT(said, ElementsAre("error: node 1: stage 'sum': threads must be at least 1",
                                "error: stage 'sum': threads must be at least 1"));
}

TEST(NodesPipelines, AStageOfANodeThatIsNotThereIsRefused) {
  hiway::Pipeline pipe({.device = "simt"});
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu);
  try {
    pipe.add_cpu_stage("feed", feed, hiway::into(numbers), {.node = 1});
    ADD_FAILURE() << "not refused";
  } catch (hiway::ConfigError const& error) {
    EXPECT_STREQ(error.what(), "stage 'feed': node 1: there is one node, number 0");
  }
}

}  // namespace
