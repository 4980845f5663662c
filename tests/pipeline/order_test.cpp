// Tunnels with ItemOrder::restored: readers see results in the order in which their items were put, whatever lanes and
// threads do in between.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "hiway/hiway.hpp"
#include "tests/device.hpp"
#include "tests/mix.hpp"

namespace {

using namespace hiway;
using hiway_tests::bounded;
using hiway_tests::text_of_error;
using testing::HasSubstr;

struct Asked {
  std::uint32_t number;
  std::uint32_t work;  ///< how long it takes
};
struct Made {
  std::uint64_t number;
  std::uint64_t sum;
};

HIWAY_DEVICE inline std::uint64_t made_of(std::uint64_t number, std::uint32_t work) {
  std::uint64_t sum = number;
  for (std::uint32_t i = 0; i < work; ++i) sum = sum * 6364136223846793005u + 1442695040888963407u;
  return sum;
}
struct Make {
  HIWAY_DEVICE Made operator()(Asked const& asked) const { return {asked.number, made_of(asked.number, asked.work)}; }
};
/// Of what another stage has made.
struct MakeAgain {
  HIWAY_DEVICE Made operator()(Made const& made) const {
    return {made.number, made_of(made.sum, made.number % 37 == 0 ? 3000 : 1)};
  }
};

/// Few items take much longer than most, so that lanes would overtake each other.
constexpr std::uint32_t work_for(std::uint32_t number) { return number % 41 == 0 ? 20'000 : number % 7; }

void put_all(Inlet<Asked> out, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) out.put_h(Asked{i, work_for(i)});
}
/// What a single reader sees.
struct Seen {
  std::uint64_t next = 0;
  std::uint64_t wrong = 0;
  void operator()(Made const& made) {
    wrong += made.number != next || made.sum != made_of(next, work_for(static_cast<std::uint32_t>(next))) ? 1 : 0;
    ++next;
  }
};
struct SeenAgain {
  std::uint64_t next = 0;
  std::uint64_t wrong = 0;
  void operator()(Made const& made) {
    std::uint64_t const first = made_of(next, work_for(static_cast<std::uint32_t>(next)));
    wrong += made.number != next || made.sum != made_of(first, next % 37 == 0 ? 3000 : 1) ? 1 : 0;
    ++next;
  }
};

struct Case {
  char const* name;
  std::size_t in;  ///< capacities
  std::size_t out;
  unsigned executors;  ///< blocks, or threads
  std::uint32_t count;
  Movement movement = Movement::automatic;
  Residency residency = Residency::automatic;
};
void PrintTo(Case const& c, std::ostream* os) { *os << c.name; }

class Orders : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override { HIWAY_NEEDS_DEVICE(); }
  [[nodiscard]] static PipelineConfig config() {
    PipelineConfig made = bounded();
    if (GetParam().residency == Residency::yielding) made.slice = std::chrono::microseconds(50);
    return made;
  }
};
std::string name_of(testing::TestParamInfo<Case> const& info) { return info.param.name; }

TEST_P(Orders, OfAGpuStageAreThoseOfItsItems) {
  Case const& c = GetParam();
  Pipeline pipe(config());
  auto& asked = pipe.create_tunnel<Asked>("asked", Direction::cpu_to_gpu, {.capacity_items = c.in});
  auto& made = pipe.create_tunnel<Made>(
      "made", Direction::gpu_to_cpu, {.capacity_items = c.out, .movement = c.movement, .order = ItemOrder::restored});
  Seen seen;
  pipe.add_cpu_stage(
      "put", [&](Inlet<Asked> out) { put_all(out, c.count); }, into(asked));
  pipe.add_gpu_stage("make", Make{}, from(asked), into(made), {.blocks = c.executors, .residency = c.residency});
  pipe.add_cpu_stage(
      "see", [&](Made const& m) { seen(m); }, from(made));
  for (int run = 0; run < 2; ++run) {
    seen = {};
    RunReport const report = pipe.run();
    EXPECT_EQ(seen.next, c.count);
    EXPECT_EQ(seen.wrong, 0u);
    EXPECT_EQ(report.tunnels[1].items, c.count);
  }
}

TEST_P(Orders, OfACpuStageAreThoseOfItsItems) {
  Case const& c = GetParam();
  Pipeline pipe(config());
  auto& asked = pipe.create_tunnel<Asked>("asked", Direction::cpu_to_cpu, {.capacity_items = c.in});
  auto& made =
      pipe.create_tunnel<Made>("made", Direction::cpu_to_cpu, {.capacity_items = c.out, .order = ItemOrder::restored});
  Seen seen;
  pipe.add_cpu_stage(
      "put", [&](Inlet<Asked> out) { put_all(out, c.count); }, into(asked));
  pipe.add_cpu_stage("make", Make{}, from(asked), into(made), {.threads = c.executors});
  pipe.add_cpu_stage(
      "see", [&](Made const& m) { seen(m); }, from(made));
  for (int run = 0; run < 2; ++run) {
    seen = {};
    pipe.run();
    EXPECT_EQ(seen.next, c.count);
    EXPECT_EQ(seen.wrong, 0u);
  }
}

TEST_P(Orders, OfChainsAreThoseOfTheFirstItems) {
  Case const& c = GetParam();
  Pipeline pipe(config());
  auto& asked = pipe.create_tunnel<Asked>("asked", Direction::cpu_to_gpu, {.capacity_items = c.in});
  auto& made =
      pipe.create_tunnel<Made>("made", Direction::gpu_to_gpu, {.capacity_items = c.out, .order = ItemOrder::restored});
  auto& again = pipe.create_tunnel<Made>(
      "again", Direction::gpu_to_cpu, {.capacity_items = c.out, .movement = c.movement, .order = ItemOrder::restored});
  SeenAgain seen;
  pipe.add_cpu_stage(
      "put", [&](Inlet<Asked> out) { put_all(out, c.count); }, into(asked));
  pipe.add_gpu_stage("make", Make{}, from(asked), into(made), {.blocks = c.executors, .residency = c.residency});
  pipe.add_gpu_stage("again", MakeAgain{}, from(made), into(again), {.blocks = c.executors, .residency = c.residency});
  pipe.add_cpu_stage(
      "see", [&](Made const& m) { seen(m); }, from(again));
  pipe.run();
  EXPECT_EQ(seen.next, c.count);
  EXPECT_EQ(seen.wrong, 0u);
}

TEST_P(Orders, OfACpuStageBeforeAGpuStageAreThoseOfTheFirstItems) {
  Case const& c = GetParam();
  Pipeline pipe(config());
  auto& asked = pipe.create_tunnel<Asked>("asked", Direction::cpu_to_cpu, {.capacity_items = c.in});
  auto& made = pipe.create_tunnel<Made>(
      "made", Direction::cpu_to_gpu, {.capacity_items = c.out, .movement = c.movement, .order = ItemOrder::restored});
  auto& again =
      pipe.create_tunnel<Made>("again", Direction::gpu_to_cpu, {.capacity_items = c.out, .order = ItemOrder::restored});
  SeenAgain seen;
  pipe.add_cpu_stage(
      "put", [&](Inlet<Asked> out) { put_all(out, c.count); }, into(asked));
  pipe.add_cpu_stage("make", Make{}, from(asked), into(made), {.threads = c.executors});
  pipe.add_gpu_stage("again", MakeAgain{}, from(made), into(again), {.blocks = c.executors, .residency = c.residency});
  pipe.add_cpu_stage(
      "see", [&](Made const& m) { seen(m); }, from(again));
  pipe.run();
  EXPECT_EQ(seen.next, c.count);
  EXPECT_EQ(seen.wrong, 0u);
}

INSTANTIATE_TEST_SUITE_P(
    , Orders,
    testing::Values(Case{"Plain", 1024, 1024, 4, 5000}, Case{"Direct", 256, 64, 3, 3000, Movement::direct},
                    Case{"Dma", 256, 64, 3, 3000, Movement::dma}, Case{"OneSlot", 64, 1, 3, 300},
                    Case{"TwoSlots", 1, 2, 2, 300}, Case{"NoPowerOfTwo", 7, 5, 3, 1000},
                    Case{"NoPowerOfTwoByDma", 100, 77, 3, 2000, Movement::dma},
                    Case{"Yielding", 256, 64, 3, 3000, Movement::direct, Residency::yielding},
                    Case{"YieldingInFewSlots", 64, 3, 2, 400, Movement::direct, Residency::yielding},
                    Case{"One", 4, 4, 1, 1}, Case{"None", 4, 4, 2, 0}),
    name_of);

}  // namespace
