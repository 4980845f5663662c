// What a declared graph is refused for, and which kernels fit a device: decided without a device.
#include "lib/pipeline/check.hpp"

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/pipeline/residency.hpp"

namespace {

using namespace hiway;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A graph whose stages have no code.
class Declared {
 public:
  TunnelBase* tunnel(std::string const& name, Direction direction, TunnelConfig config = {}) {
    auto const id = static_cast<std::uint32_t>(graph.tunnels().size());
    graph.add_tunnel(std::make_unique<TunnelBase>(name, direction, config, 4, id));
    return graph.tunnels().back().base.get();
  }
  void cpu(std::string const& name, std::vector<TunnelBase*> from, std::vector<TunnelBase*> into,
           unsigned threads = 1) {
    CpuStageDescription d;
    d.stage = {name, std::move(from), std::move(into)};
    d.options.threads = threads;
    graph.add_cpu(std::move(d));
  }
  void gpu(std::string const& name, std::vector<TunnelBase*> from, std::vector<TunnelBase*> into,
           Home home = own_device) {
    GpuKernelDescription d;
    d.name = name;
    d.stages.push_back({name, std::move(from), std::move(into)});
    graph.add_gpu(std::move(d), home);
  }
  [[nodiscard]] std::vector<std::string> problems() const { return find_problems(graph, graph.number_stages()); }

  Graph graph;
};

TEST(Check, AWholeLineHasNoProblem) {
  Declared d;
  auto* const in = d.tunnel("in", Direction::cpu_to_gpu);
  auto* const out = d.tunnel("out", Direction::gpu_to_cpu);
  d.cpu("feed", {}, {in});
  d.gpu("work", {in}, {out});
  d.cpu("sum", {out}, {});
  EXPECT_THAT(d.problems(), IsEmpty());
}

TEST(Check, AnEmptyPipelineHasNoStage) { EXPECT_THAT(Declared().problems(), ElementsAre("the pipeline has no stage")); }

TEST(Check, EveryProblemIsFoundAtOnce) {
  Declared d;
  auto* const in = d.tunnel("in", Direction::cpu_to_gpu);
  d.cpu("twice", {}, {in}, 0);
  d.cpu("twice", {in}, {});
  EXPECT_THAT(d.problems(), ElementsAre("stage 'twice': threads must be at least 1",
                                        "stage 'twice' is there already; names are unique",
                                        "stage 'twice' runs on the CPU, but tunnel 'in' is got on the GPU"));
}

TEST(Check, ATunnelNeedsBothEndsAndAnOpenEndIsOne) {
  Declared d;
  auto* const lonely = d.tunnel("lonely", Direction::cpu_to_cpu);
  d.cpu("feed", {}, {lonely});
  EXPECT_THAT(d.problems(), ElementsAre(HasSubstr("tunnel 'lonely' has no reader")));
  EXPECT_EQ(d.graph.add_open_outlet(lonely->id()), 0U);
  EXPECT_EQ(d.graph.add_open_outlet(lonely->id()), 1U) << "the second of its kind";
  EXPECT_THAT(d.problems(), IsEmpty());
}

TEST(Check, AStageOnEachDeviceGetsABranchOfEachTunnel) {
  Declared d;
  auto* const in = d.tunnel("in", Direction::cpu_to_gpu);
  d.cpu("feed", {}, {in});
  GpuKernelDescription work;
  work.name = "work";
  work.stages.push_back({"work", {in}, {}});
  d.graph.add_on_each(work, {{0, own_device, "simt:0"}, {1, own_device + 1, "simt:1"}});
  EXPECT_THAT(d.problems(), IsEmpty());
  std::vector<Stage> const stages = d.graph.number_stages();
  ASSERT_EQ(stages.size(), 3U);
  EXPECT_EQ(stages[0].description.into.size(), 2U) << "the CPU stage puts into both branches";
  EXPECT_EQ(stages[2].description.name, "work on simt:1");
  EXPECT_EQ(stages[2].description.from.front()->name(), "in of simt:1");
  EXPECT_EQ(stages[2].home, own_device + 1);
  d.graph.add_open_inlet(in->id());
  EXPECT_THAT(d.problems(), ElementsAre(HasSubstr("has an open end, which leads to one device")));
}

TEST(Check, AConfigurationIsRefusedWithItsValues) {
  auto const why = [](Direction direction, TunnelConfig const& config) {
    try {
      check_config(TunnelBase("t", direction, config, 4, 0));
    } catch (ConfigError const& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(why(Direction::cpu_to_cpu, {}), "");
  EXPECT_EQ(why(Direction::cpu_to_cpu, {.capacity_items = 0}), "tunnel 't': capacity_items must be from 1 to 2^30: 0");
  EXPECT_THAT(why(Direction::cpu_to_gpu, {.capacity_items = 8, .shards = 2}), HasSubstr("do not cross the bus"));
  EXPECT_THAT(why(Direction::cpu_to_cpu, {.low_latency = true}), HasSubstr("an end on the device"));
  EXPECT_THAT(why(Direction::cpu_to_gpu, {.movement = Movement::dma, .low_latency = true}),
              HasSubstr("low_latency needs Movement::direct"));
}

TEST(Check, OneWarpOrOneThreadReadsAlone) {
  Declared d;
  auto* const to_cpu = d.tunnel("to_cpu", Direction::cpu_to_cpu);
  auto* const to_gpu = d.tunnel("to_gpu", Direction::cpu_to_gpu);
  d.cpu("read", {to_cpu}, {to_gpu});
  d.gpu("kernel", {to_gpu}, {to_cpu});
  std::vector<Stage> const stages = d.graph.number_stages();
  auto const alone = [&](TunnelBase const* t, simt::Grid grid) {
    return is_read_alone(d.graph, stages, {grid}, d.graph.tunnels()[t->id()]);
  };
  EXPECT_TRUE(alone(to_cpu, {1, 32, 0}));
  EXPECT_TRUE(alone(to_gpu, {1, 32, 0}));
  EXPECT_FALSE(alone(to_gpu, {1, 64, 0}));
  EXPECT_FALSE(alone(to_gpu, {2, 32, 0}));
  d.graph.add_open_outlet(to_gpu->id());
  EXPECT_FALSE(alone(to_gpu, {1, 32, 0}));
}

TEST(Check, AStageWithMoreThreadsThanCpusIsNamed) {
  Declared d;
  auto* const t = d.tunnel("t", Direction::cpu_to_cpu);
  d.cpu("one", {}, {t});
  d.cpu("five", {t}, {}, 5);
  std::vector<Stage> const stages = d.graph.number_stages();
  EXPECT_EQ(too_many_threads(stages, 5), "");
  EXPECT_EQ(too_many_threads(stages, 0), "") << "nobody knows how many there are";
  EXPECT_EQ(too_many_threads(stages, 4),
            "stage 'five': 5 threads share 4 CPUs, and each waits while another one runs (CpuStageOptions::threads)");
}

TEST(Residency, KernelsWithTheLargestBlocksStartFirst) {
  std::vector<ResidentKernel> const kernels{
      {0, "small", own_device, 4, 8}, {1, "large", own_device, 4, 1}, {2, "also small", own_device, 4, 8}};
  EXPECT_THAT(start_order(kernels), ElementsAre(1U, 0U, 2U));
}

TEST(Residency, EachKernelTakesWholeProcessorsAndTheMonitorOne) {
  std::vector<ResidentKernel> const kernels{{0, "a", own_device, 3, 2}, {1, "b", own_device, 1, 4}};
  EXPECT_THAT(find_too_many(kernels, {4}), IsEmpty()) << "two, one, and the monitor's";
  EXPECT_THAT(find_too_many(kernels, {3}),
              ElementsAre("the persistent stages do not fit the device at once: they need 4 processors of 3 ('a' 3 "
                          "blocks on 2, 'b' 1 blocks on 1, monitor on 1); use fewer or smaller blocks"));
}

TEST(Residency, DevicesAreCountedApart) {
  std::vector<ResidentKernel> const kernels{{0, "a", own_device, 3, 1}, {1, "b", own_device + 1, 3, 1}};
  EXPECT_THAT(find_too_many(kernels, {4, 4}), IsEmpty());
  EXPECT_THAT(find_too_many(kernels, {4, 3}), ElementsAre(HasSubstr("('b' 3 blocks on 3")));
}

}  // namespace
