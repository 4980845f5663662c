// Stages that run on several devices of each node.
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "hiway/hiway.hpp"
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
using NodesDevices = hiway_tests::OverUcx;

INSTANTIATE_TEST_SUITE_P(Over, NodesDevices, testing::Values(tcp, shared_memory), hiway_tests::name_of_way);

constexpr long many = 20000;

struct Double {
  HIWAY_DEVICE long operator()(int const& i) const { return 2L * i; }
};
struct Drop {
  HIWAY_DEVICE void operator()(int const&) const {}
};
struct Count {
  HIWAY_DEVICE long operator()(long const& i) const { return i + 1; }
};

void feed(hiway::Inlet<int> out) {
  for (int i = 1; i <= many; ++i) out.put_h(i);
}

struct Sum {
  std::set<long> seen{};
  long sum = 0;
  void operator()(long i) {
    sum += i;
    seen.insert(i);
  }
  [[nodiscard]] std::string text() const { return std::to_string(sum) + " of " + std::to_string(seen.size()); }
};

hiway::GpuStageOptions on_two_devices(std::vector<int> const& nodes) {
  return {.blocks = 1, .threads_per_block = 32, .devices = {0, 1}, .nodes = nodes};
}

struct Doubled {
  long value;
  int node;
};
struct DoubleAt {
  int node;
  HIWAY_DEVICE Doubled operator()(int const& i) const { return {2L * i, node}; }
};

/// Node 0 feeds two devices of each of `on`, and sums up, in three runs: what it has summed up, and from how many
/// nodes.
std::vector<std::string> double_on(hiway_tests::Way way, int size, std::vector<int> const& on) {
  return on_nodes(way, size, [&](hiway::Cluster& nodes) {
    hiway::Pipeline pipe(over(nodes));
    auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_gpu, {.capacity_items = 64});
    auto& doubled = pipe.create_tunnel<Doubled>("doubled", Direction::gpu_to_cpu);
    Sum all;
    std::set<int> from;
    pipe.add_cpu_stage("feed", feed, hiway::into(numbers));
    pipe.add_gpu_stage("double", DoubleAt{nodes.node()}, hiway::from(numbers), hiway::into(doubled),
                       on_two_devices(on));
    auto const sum = [&](Doubled const& one) {
      all(one.value);
      from.insert(one.node);
    };
    pipe.add_cpu_stage("sum", sum, hiway::from(doubled));
    for (int run = 0; run < 3; ++run) pipe.run();
    return all.text() + " from " + std::to_string(from.size());
  });
}

TEST_P(NodesDevices, ShareOneNodesItems) {
  std::string const all = std::to_string(3 * many * (many + 1)) + " of " + std::to_string(many) + " from 2";
  EXPECT_THAT(double_on(GetParam(), 2, hiway::all_nodes), ElementsAre(all, "0 of 0 from 0"));
  EXPECT_THAT(double_on(GetParam(), 3, {1, 2}), ElementsAre(all, "0 of 0 from 0", "0 of 0 from 0"));
}

TEST_P(NodesDevices, ServeOpenEnds) {
  auto const said = on_nodes(GetParam(), 2, [](hiway::Cluster& nodes) {
    hiway::Pipeline pipe(over(nodes));
    auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_gpu, {.capacity_items = 64});
    auto& doubled = pipe.create_tunnel<long>("doubled", Direction::gpu_to_cpu);
    auto const out = numbers.open_inlet();
    auto const in = doubled.open_outlet();
    pipe.add_gpu_stage("double", Double{}, hiway::from(numbers), hiway::into(doubled), on_two_devices({0, 1}));
    Sum all;
    pipe.start();
    if (nodes.node() == 0) {
      std::jthread const puts([&] {
        feed(out);
        out.close_h();
      });
      for (long i; in.next_h(i); in.end_task_h()) all(i);
    }
    pipe.wait();
    return all.text();
  });
  EXPECT_THAT(said, ElementsAre(std::to_string(many * (many + 1)) + " of " + std::to_string(many), "0 of 0"));
}

TEST_P(NodesDevices, ItemsGoFromDevicesToDevicesOfAnotherNode) {
  auto const said = on_nodes(GetParam(), 2, [](hiway::Cluster& nodes) {
    hiway::Pipeline pipe(over(nodes));
    auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_gpu, {.capacity_items = 64});
    auto& doubled = pipe.create_tunnel<long>("doubled", Direction::gpu_to_gpu);
    auto& counted = pipe.create_tunnel<long>("counted", Direction::gpu_to_cpu);
    Sum all;
    pipe.add_cpu_stage("feed", feed, hiway::into(numbers));
    pipe.add_gpu_stage("double", Double{}, hiway::from(numbers), hiway::into(doubled), on_two_devices({0}));
    pipe.add_gpu_stage("count", Count{}, hiway::from(doubled), hiway::into(counted), on_two_devices({1}));
    pipe.add_cpu_stage(
        "sum", [&](long i) { all(i); }, hiway::from(counted));
    pipe.run();
    return all.text();
  });
  EXPECT_THAT(said, ElementsAre(std::to_string(many * (many + 1) + many) + " of " + std::to_string(many), "0 of 0"));
}

// A stage that is added after prepare() puts into the same tunnel.
TEST_P(NodesDevices, HearWhatIsAddedLater) {
  auto const said = on_nodes(GetParam(), 2, [](hiway::Cluster& nodes) {
    hiway::Pipeline pipe(over(nodes));
    auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_gpu, {.capacity_items = 64});
    auto& doubled = pipe.create_tunnel<long>("doubled", Direction::gpu_to_cpu);
    Sum all;
    pipe.add_cpu_stage("feed", feed, hiway::into(numbers));
    pipe.add_gpu_stage("double", Double{}, hiway::from(numbers), hiway::into(doubled), on_two_devices({0, 1}));
    pipe.add_cpu_stage(
        "sum", [&](long i) { all(i); }, hiway::from(doubled));
    pipe.prepare();
    pipe.add_cpu_stage("feed, too", feed, hiway::into(numbers));
    pipe.run();
    return all.text();
  });
  EXPECT_THAT(said, ElementsAre(std::to_string(2 * many * (many + 1)) + " of " + std::to_string(many), "0 of 0"));
}

TEST_P(NodesDevices, OfOneNodeAtBothEndsAreRefused) {
  auto const said = on_nodes(GetParam(), 2, [](hiway::Cluster& nodes) {
    hiway::Pipeline pipe(over(nodes));
    auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_gpu);
    auto& doubled = pipe.create_tunnel<long>("doubled", Direction::gpu_to_gpu);
    auto& counted = pipe.create_tunnel<long>("counted", Direction::gpu_to_cpu);
    pipe.add_cpu_stage("feed", feed, hiway::into(numbers));
    pipe.add_gpu_stage("double", Double{}, hiway::from(numbers), hiway::into(doubled), on_two_devices({0}));
    pipe.add_gpu_stage("count", Count{}, hiway::from(doubled), hiway::into(counted), on_two_devices({0, 1}));
    pipe.add_cpu_stage(
        "sum", [](long) {}, hiway::from(counted));
    pipe.run();
    return std::string("ended");
  });
  EXPECT_THAT(said, Each(HasSubstr("tunnel 'doubled' leads from one node to another, and on a node several devices "
                                   "both put into it and get from it")));
}

TEST_P(NodesDevices, AreDrawnWithTheirTunnel) {
  auto const said = on_nodes(GetParam(), 2, [](hiway::Cluster& nodes) {
    hiway::Pipeline pipe(over(nodes));
    auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_gpu);
    pipe.add_cpu_stage("feed", feed, hiway::into(numbers));
    pipe.add_gpu_stage("double", Drop{}, hiway::from(numbers), on_two_devices({1}));
    pipe.run();
    return pipe.graph();
  });
  EXPECT_THAT(said, ElementsAre(HasSubstr("\"feed\" -> \"numbers, between nodes\""),
                                AllOf(HasSubstr("\"numbers, between nodes\" -> \"numbers (to devices)\""),
                                      HasSubstr("\"numbers (to devices)\" -> \"double on simt:1\""))));
}

}  // namespace
