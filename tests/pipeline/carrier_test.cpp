// The movement seam: a movement of the test's own, added to the library's list and nowhere else.
#include "lib/movement/carrier.hpp"

#include <gmock/gmock.h>

#include <cstddef>
#include <string>
#include <vector>

#include "hiway/hiway.hpp"
#include "lib/movement_table.hpp"

namespace {

using namespace hiway;
using testing::HasSubstr;

/// Copies nothing and places items in host memory, as direct does across the bus. It counts what it is asked.
class Toy final : public Carrier {
 public:
  static constexpr Movement own = static_cast<Movement>(200);

  Toy() { carriers().push_back(this); }
  ~Toy() override { std::erase(carriers(), this); }
  Toy(Toy const&) = delete;
  Toy& operator=(Toy const&) = delete;

  [[nodiscard]] Movement movement() const override { return own; }
  [[nodiscard]] char const* name() const override { return "toy"; }
  [[nodiscard]] bool is_in_tables() const override { return true; }
  [[nodiscard]] std::string problem_between_devices() const override { return "a toy stays at home"; }
  [[nodiscard]] std::byte* place(Homes& homes, PlacedTunnel const& tunnel, std::size_t slots) const override {
    ++placed_;
    return place_items(homes.words(at_host), tunnel, slots, tunnel.title());
  }
  void settle(Homes&, PlacedTunnel&) const override { ++settled_; }

  [[nodiscard]] int placed() const { return placed_; }
  [[nodiscard]] int settled() const { return settled_; }

 private:
  mutable int placed_ = 0;
  mutable int settled_ = 0;
};

struct Double {
  HIWAY_DEVICE int operator()(int const& x) const { return 2 * x; }
};

TEST(Carriers, AMovementOfOnesOwnCarriesItemsBothWays) {
  Toy const toy;
  Pipeline pipe({.device = "simt"});
  auto& in = pipe.create_tunnel<int>("in", Direction::cpu_to_gpu, {.movement = Toy::own});
  auto& out = pipe.create_tunnel<int>("out", Direction::gpu_to_cpu, {.movement = Toy::own});
  long sum = 0;
  pipe.add_cpu_stage(
      "feed",
      [](Inlet<int> to) {
        for (int i = 1; i <= 1000; ++i) to.put_h(i);
      },
      into(in));
  pipe.add_gpu_stage("double", Double{}, from(in), into(out));
  pipe.add_cpu_stage(
      "sum", [&](Outlet<int> from_gpu) { from_gpu.for_each_h([&](int x) { sum += x; }); }, from(out));
  RunReport const report = pipe.run();
  EXPECT_EQ(sum, 1001000);
  EXPECT_EQ(report.tunnels[0].movement, "toy");
  EXPECT_EQ(report.tunnels[1].why, "asked for");
  EXPECT_EQ(toy.placed(), 2);
  EXPECT_EQ(toy.settled(), 2);
}

TEST(Carriers, AMovementOfOnesOwnMayStandInATable) {
  std::string const text = R"({"rows": [
    {"direction": "cpu_to_gpu", "bus": "one_way", "up_to_bytes": 65536, "movement": "toy", "because": "of a test"},
    {"direction": "gpu_to_cpu", "bus": "one_way", "up_to_bytes": 65536, "movement": "dma", "because": "of a test"},
    {"direction": "cpu_to_gpu", "bus": "both_ways", "up_to_bytes": 65536, "movement": "dma", "because": "of a test"},
    {"direction": "gpu_to_cpu", "bus": "both_ways", "up_to_bytes": 65536, "movement": "dma", "because": "of a test"}
  ]})";
  EXPECT_THROW(MovementTable("t", text), ConfigError);
  Toy const toy;
  MovementTable const table("t", text);
  EXPECT_EQ(table.choose(Direction::cpu_to_gpu, 4, BusUse::one_way).movement, Toy::own);
}

TEST(Carriers, ACarrierRefusesTagsAndDevicesByItself) {
  Toy const toy;
  Pipeline pipe({.device = "simt"});
  EXPECT_THROW(pipe.create_tunnel<int>("tagged", Direction::cpu_to_gpu, {.movement = Toy::own, .low_latency = true}),
               ConfigError);
  auto& between = pipe.create_tunnel<int>("between", Direction::gpu_to_gpu, {.movement = Toy::own});
  auto& in = pipe.create_tunnel<int>("in", Direction::cpu_to_gpu);
  auto& out = pipe.create_tunnel<int>("out", Direction::gpu_to_cpu);
  pipe.add_cpu_stage(
      "feed", [](Inlet<int>) {}, into(in));
  pipe.add_gpu_stage("first", Double{}, from(in), into(between), {.device = 0});
  pipe.add_gpu_stage("second", Double{}, from(between), into(out), {.device = 1});
  pipe.add_cpu_stage(
      "drop", [](Outlet<int> o) { o.for_each_h([](int) {}); }, from(out));
  try {
    pipe.prepare();
    FAIL() << "it was not refused";
  } catch (ConfigError const& e) {
    EXPECT_THAT(e.what(), HasSubstr("tunnel 'between': a toy stays at home"));
  }
}

}  // namespace
