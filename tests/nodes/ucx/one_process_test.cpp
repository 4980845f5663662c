// Pipelines over two nodes of one process, a thread each: what ThreadSanitizer sees of both sides at once (preset
// tsan-nodes), and what two nodes must not share.
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "hiway/hiway.hpp"
#include "lib/nodes/cluster_access.hpp"
#include "tests/nodes/ucx/clusters.hpp"

namespace {

using hiway::Direction;
using hiway_tests::error_of;
using hiway_tests::fresh_name;
using hiway_tests::in_forked;
using hiway_tests::over;
using hiway_tests::shared_memory;
using hiway_tests::tcp;
using testing::HasSubstr;
using NodesPipelineInOneProcess = hiway_tests::OverUcx;

INSTANTIATE_TEST_SUITE_P(Over, NodesPipelineInOneProcess, testing::Values(tcp, shared_memory),
                         hiway_tests::name_of_way);

constexpr int nodes_here = 2;
constexpr long many = 5000;

/// In a process that this one forks: body(cluster) in a thread for each node. What they say, or throw, by line.
std::string in_one_process(hiway_tests::Way way, std::function<std::string(hiway::Cluster&)> const& body) {
  auto const place = fresh_name();
  auto const said = in_forked(1, [&](int) {
    setenv("UCX_TLS", way.transports, 1);
    setenv("UCX_NET_DEVICES", "lo", 1);
    std::vector<std::string> of_node(nodes_here);
    std::vector<std::thread> threads;
    for (int node = 0; node < nodes_here; ++node) {
      threads.emplace_back([&, node] {
        std::string& one = of_node[static_cast<std::size_t>(node)];
        std::string const error = error_of([&] {
          hiway::Cluster cluster;
          hiway::ClusterAccess::join(cluster, {.node = node, .size = nodes_here, .place = place});
          one = body(cluster);
        });
        one += error;
      });
    }
    for (std::thread& thread : threads) thread.join();
    return of_node[0] + "\n" + of_node[1];
  });
  return said[0];
}

struct Double {
  HIWAY_DEVICE long operator()(int const& i) const { return 2L * i; }
};

/// Node 0 feeds, a GPU stage of both doubles, node 0 adds up. The tunnels are small, so that each end waits for the
/// other again and again.
TEST_P(NodesPipelineInOneProcess, ItemsGoThereAndBack) {
  auto const said = in_one_process(GetParam(), [](hiway::Cluster& nodes) {
    hiway::Pipeline pipe(over(nodes));
    auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_gpu, {.capacity_items = 64});
    auto& doubled = pipe.create_tunnel<long>("doubled", Direction::gpu_to_cpu, {.capacity_items = 64});
    long sum = 0;
    pipe.add_cpu_stage(
        "feed",
        [](hiway::Inlet<int> out) {
          for (int i = 1; i <= many; ++i) out.put_h(i);
        },
        hiway::into(numbers));
    pipe.add_gpu_stage("double", Double{}, hiway::from(numbers), hiway::into(doubled), {.nodes = hiway::all_nodes});
    pipe.add_cpu_stage(
        "sum", [&](hiway::Outlet<long> in) { in.for_each_h([&](long i) { sum += i; }); }, hiway::from(doubled));
    for (int run = 0; run < 3; ++run) pipe.run();
    return std::to_string(sum);
  });
  EXPECT_EQ(said, std::to_string(3 * many * (many + 1)) + "\n0");
}

/// A stage throws in the midst of the items, and in the next run none does.
TEST_P(NodesPipelineInOneProcess, ARunFollowsOneThatFailed) {
  auto const said = in_one_process(GetParam(), [](hiway::Cluster& nodes) {
    hiway::Pipeline pipe(over(nodes));
    auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu, {.capacity_items = 64});
    int run = 0;
    long sum = 0;
    pipe.add_cpu_stage("feed",
                       [](hiway::Inlet<int> out) {
                         for (int i = 1; i <= many; ++i) out.put_h(i);
                       },
                       hiway::into(numbers), {.node = 0});
    pipe.add_cpu_stage("sum",
                       [&](hiway::Outlet<int> in) {
                         in.for_each_h([&](int i) {
                           if (run == 0 && i == many / 2) throw std::runtime_error("enough");
                           sum += i;
                         });
                       },
                       hiway::from(numbers), {.node = 1});
    std::string const error = error_of([&] { pipe.run(); });
    ++run;
    sum = 0;
    pipe.run();
    return error + " " + std::to_string(sum);
  });
  EXPECT_EQ(said, "Error: node 1: stage 'sum': enough 0\nError: stage 'sum': enough " +
                      std::to_string(many * (many + 1) / 2));
}

/// Another thread aborts while items go both ways.
TEST_P(NodesPipelineInOneProcess, AnAbortEndsTheRunOnBoth) {
  auto const said = in_one_process(GetParam(), [](hiway::Cluster& nodes) {
    hiway::Pipeline pipe(over(nodes));
    auto& there = pipe.create_tunnel<int>("there", Direction::cpu_to_cpu, {.capacity_items = 64});
    auto& back = pipe.create_tunnel<int>("back", Direction::cpu_to_cpu, {.capacity_items = 64});
    std::atomic<int> come{0};
    pipe.add_cpu_stage("feed",
                       [](hiway::Inlet<int> out) {
                         for (int i = 0;; ++i) out.put_h(i);
                       },
                       hiway::into(there), {.node = 0});
    pipe.add_cpu_stage("answer", [](int const& i) { return i; }, hiway::from(there), hiway::into(back), {.node = 1});
    pipe.add_cpu_stage("drop", [&](int const&) { ++come; }, hiway::from(back), {.node = 0});
    pipe.start();
    if (nodes.node() == 0) {
      while (come < 1000) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      pipe.abort();
    }
    return error_of([&] { pipe.wait(); });
  });
  auto const newline = said.find('\n');
  EXPECT_THAT(said.substr(0, newline), HasSubstr("aborted"));
  EXPECT_THAT(said.substr(newline + 1), HasSubstr("node 0: "));
}

}  // namespace
