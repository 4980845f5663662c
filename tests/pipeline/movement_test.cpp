// Movement::automatic in a pipeline: decided by what crosses the bus, once, and reported; items arrive whichever it is.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "hiway/error.hpp"
#include "tests/device.hpp"

namespace {

using namespace hiway;
using hiway_tests::bounded;
using hiway_tests::device;
using testing::HasSubstr;
using testing::StartsWith;

struct Twice {
  HIWAY_DEVICE int operator()(int const& x) const { return 2 * x; }
};
struct CountDown {
  HIWAY_DEVICE void operator()(Inlet<int> out) const {
    for (int i = 100 - static_cast<int>(thread_index()); i > 0; i -= static_cast<int>(thread_count())) out.put_d(i);
  }
};

/// A table in a file, named by the environment as long as this lives.
class Table {
 public:
  /// one_way and both_ways: what is taken there; peer: likewise, no row where it is empty.
  Table(std::string const& one_way, std::string const& both_ways, std::string const& peer = "")
      : path_(testing::TempDir() + "movement_" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()) +
              "_" + one_way + both_ways + peer + ".json") {
    std::ofstream file(path_);
    char const* separator = "{\"rows\": [";
    for (std::string const direction : {"cpu_to_gpu", "gpu_to_cpu"}) {
      for (auto const& [bus, movement] : {std::pair{"one_way", one_way}, {"both_ways", both_ways}}) {
        file << separator << R"({"direction": ")" << direction << R"(", "bus": ")" << bus
             << R"(", "up_to_bytes": 65536, "movement": ")" << movement << R"(", "because": "so )" << bus << "\"}";
        separator = ",\n";
      }
    }
    if (!peer.empty())
      file << separator << R"({"direction": "gpu_to_gpu", "bus": "peer", "up_to_bytes": 65536, "movement": ")" << peer
           << R"(", "because": "so between"})";
    file << "]}\n";
    file.close();
    setenv("HIWAY_MOVEMENT_TABLE", path_.c_str(), 1);
  }
  ~Table() {
    unsetenv("HIWAY_MOVEMENT_TABLE");
    std::remove(path_.c_str());
  }

 private:
  std::string path_;
};

/// GPU -> CPU; its tunnel's report.
TunnelReport one_way(TunnelConfig const& config = {}) {
  Pipeline pipe(bounded());
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::gpu_to_cpu, config);
  int sum = 0;
  pipe.add_gpu_stage("source", CountDown{}, into(numbers), {.blocks = 1, .threads_per_block = 32});
  pipe.add_cpu_stage(
      "sink", [&](int const& x) { sum += x; }, from(numbers));
  TunnelReport const report = pipe.run().tunnels.at(0);
  EXPECT_EQ(sum, 5050);
  return report;
}

/// CPU -> GPU -> CPU; its tunnels' reports.
std::vector<TunnelReport> both_ways() {
  Pipeline pipe(bounded());
  auto& there = pipe.create_tunnel<int>("there", Direction::cpu_to_gpu);
  auto& back = pipe.create_tunnel<int>("back", Direction::gpu_to_cpu);
  int sum = 0;
  pipe.add_cpu_stage(
      "source",
      [](Inlet<int> out) {
        for (int i = 1; i <= 100; ++i) out.put_h(i);
      },
      into(there));
  pipe.add_gpu_stage("twice", Twice{}, from(there), into(back), {.blocks = 1, .threads_per_block = 32});
  pipe.add_cpu_stage(
      "sink", [&](int const& x) { sum += x; }, from(back));
  std::vector<TunnelReport> reports;
  for (int run = 0; run < 2; ++run) {
    sum = 0;
    reports = pipe.run().tunnels;
    EXPECT_EQ(sum, 10100);
  }
  return reports;
}

struct Keep {
  HIWAY_DEVICE int operator()(int const& x) const { return x; }
};

/// One device -> another -> CPU; the first tunnel's report.
TunnelReport between_devices(TunnelConfig const& config = {}) {
  Pipeline pipe(bounded());
  auto& along = pipe.create_tunnel<int>("along", Direction::gpu_to_gpu, config);
  auto& back = pipe.create_tunnel<int>("back", Direction::gpu_to_cpu, {.movement = Movement::direct});
  int sum = 0;
  pipe.add_gpu_stage("source", CountDown{}, into(along), {.blocks = 1, .threads_per_block = 32});
  pipe.add_gpu_stage("keep", Keep{}, from(along), into(back), {.blocks = 1, .threads_per_block = 32, .device = 1});
  pipe.add_cpu_stage(
      "sink", [&](int const& x) { sum += x; }, from(back));
  TunnelReport report;
  for (int run = 0; run < 2; ++run) {
    sum = 0;
    report = pipe.run().tunnels.at(0);
    EXPECT_EQ(sum, 5050);
  }
  return report;
}

/// Of emulated devices there are as many as one likes.
#define HIWAY_NEEDS_TWO_DEVICES() \
  HIWAY_NEEDS_DEVICE();           \
  if (device() != "simt" && std::ranges::count_if(devices(), &DeviceInfo::usable) < 2) GTEST_SKIP() << "one GPU"

TEST(AutomaticMovement, BetweenDevicesIsByTheTablesRowForThat) {
  HIWAY_NEEDS_TWO_DEVICES();
  {
    Table const table("direct", "direct", "dma");
    TunnelReport const report = between_devices();
    EXPECT_EQ(report.movement, "dma");
    EXPECT_GT(report.batches, 0u);
    EXPECT_THAT(report.why, testing::EndsWith(".json: up to 65536 B between devices: so between"));
    EXPECT_EQ(between_devices({.movement = Movement::direct}).why, "asked for");
    EXPECT_EQ(between_devices({.low_latency = true}).movement, "direct");
  }
  Table const table("dma", "dma", "direct");
  TunnelReport const report = between_devices();
  EXPECT_EQ(report.movement, "direct");
  EXPECT_EQ(report.batches, 0u);
}

TEST(AutomaticMovement, BetweenDevicesIsDirectWhereNothingWasMeasured) {
  HIWAY_NEEDS_TWO_DEVICES();
  Table const table("dma", "dma");
  TunnelReport const report = between_devices();
  EXPECT_EQ(report.movement, "direct");
  EXPECT_THAT(report.why, testing::EndsWith(".json: nothing measured between devices"));
}

// Which devices it is between is known at prepare() first.
TEST(AutomaticMovement, BetweenDevicesATableThatCannotBeReadIsToldOfAtPrepare) {
  HIWAY_NEEDS_TWO_DEVICES();
  setenv("HIWAY_MOVEMENT_TABLE", "/nowhere/table.json", 1);
  EXPECT_THAT(hiway_tests::text_of_error<ConfigError>([] { between_devices(); }),
              HasSubstr("HIWAY_MOVEMENT_TABLE: /nowhere/table.json: cannot be opened: No such file or directory"));
  unsetenv("HIWAY_MOVEMENT_TABLE");
}

TEST(AutomaticMovement, TheBuiltInTableTakesDirectForSmallItems) {
  HIWAY_NEEDS_DEVICE();
  unsetenv("HIWAY_MOVEMENT_TABLE");
  TunnelReport const report = one_way();
  EXPECT_EQ(report.movement, "direct");
  EXPECT_THAT(report.why, StartsWith("built-in table: up to 65536 B from the device, bus used one way: direct 1.14"));
}

TEST(AutomaticMovement, AnotherTableTakesAnother) {
  HIWAY_NEEDS_DEVICE();
  Table const table("dma", "direct");
  TunnelReport const report = one_way();
  EXPECT_EQ(report.movement, "dma");
  EXPECT_GT(report.batches, 0u);
  EXPECT_THAT(report.why, HasSubstr(".json: up to 65536 B from the device, bus used one way: so one_way"));
  for (TunnelReport const& tunnel : both_ways()) {
    EXPECT_EQ(tunnel.movement, "direct");
    EXPECT_THAT(tunnel.why, HasSubstr("so both_ways"));
  }
}

TEST(AutomaticMovement, IsByBothDirectionsWhicheverTunnelWasMadeFirst) {
  HIWAY_NEEDS_DEVICE();
  Table const table("direct", "dma");
  for (TunnelReport const& tunnel : both_ways()) {
    EXPECT_EQ(tunnel.movement, "dma");
    EXPECT_GT(tunnel.batches, 0u);
  }
}

TEST(AutomaticMovement, WhatIsAskedForIsNotChosen) {
  HIWAY_NEEDS_DEVICE();
  Table const table("dma", "dma");
  for (auto const& [movement, name] :
       {std::pair{Movement::direct, "direct"}, {Movement::dma, "dma"}, {Movement::managed, "managed"}}) {
    TunnelReport const report = one_way({.movement = movement});
    EXPECT_EQ(report.movement, name);
    EXPECT_EQ(report.why, "asked for");
  }
}

TEST(AutomaticMovement, ATunnelThatDoesNotCrossSaysSo) {
  Pipeline pipe(bounded());
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu, {.movement = Movement::dma});
  pipe.add_cpu_stage(
      "source", [](Inlet<int> out) { out.put_h(1); }, into(numbers));
  pipe.add_cpu_stage(
      "sink", [](int const&) {}, from(numbers));
  TunnelReport const report = pipe.run().tunnels.at(0);
  EXPECT_EQ(report.movement, "memory");
  EXPECT_EQ(report.why, "does not cross the bus");
}

struct PutAll {
  Inlet<int> out;
  HIWAY_DEVICE void operator()() const {
    out.put_d(7);
    if (thread_index() == 0) out.close_d();
  }
};

// A view that was handed out keeps the place of the device's items: it must be the one that the run uses.
TEST(AutomaticMovement, AnOpenEndOnTheDeviceDecidesWhenItIsAskedFor) {
  HIWAY_NEEDS_DEVICE();
  Table const table("dma", "direct");
  Pipeline pipe(bounded());
  auto& back = pipe.create_tunnel<int>("back", Direction::gpu_to_cpu);
  Inlet<int> const inlet = back.open_inlet();
  auto& there = pipe.create_tunnel<int>("there", Direction::cpu_to_gpu);
  Inlet<int> const feed = there.open_inlet();  // on the CPU: decides nothing
  auto& twice = pipe.create_tunnel<int>("twice", Direction::gpu_to_cpu);
  int sum = 0;
  pipe.add_gpu_stage("twice", Twice{}, from(there), into(twice), {.blocks = 1, .threads_per_block = 32});
  pipe.add_cpu_stage(
      "sink", [&](int const& x) { sum += x; }, from(back, twice));
  pipe.prepare();
  pipe.start();
  pipe.launch("put", PutAll{inlet}, {.blocks = 1, .threads_per_block = 1});
  for (int i = 1; i <= 10; ++i) feed.put_h(i);
  feed.close_h();
  RunReport const report = pipe.wait();
  EXPECT_EQ(sum, 7 + 110);
  EXPECT_EQ(report.tunnels[0].movement, "dma") << "only this one was there";
  EXPECT_EQ(report.tunnels[1].movement, "direct");
  EXPECT_EQ(report.tunnels[2].movement, "direct");
}

TEST(AutomaticMovement, ATableThatCannotBeReadIsToldOfWhereTheTunnelIsMade) {
  setenv("HIWAY_MOVEMENT_TABLE", "/nowhere/table.json", 1);
  Pipeline pipe(bounded());
  pipe.create_tunnel<int>("local", Direction::cpu_to_cpu);
  pipe.create_tunnel<int>("asked", Direction::cpu_to_gpu, {.movement = Movement::dma});
  EXPECT_EQ(hiway_tests::text_of_error<ConfigError>([&] { pipe.create_tunnel<int>("t", Direction::cpu_to_gpu); }),
            "HIWAY_MOVEMENT_TABLE: /nowhere/table.json: cannot be opened: No such file or directory");
  unsetenv("HIWAY_MOVEMENT_TABLE");
}

}  // namespace
