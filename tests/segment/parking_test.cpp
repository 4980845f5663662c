// A segment that yields: it leaves the device after each ensemble, and nobody can tell by what comes out. In short
// slices all other tests of segments run, too (CTest: Segments.LeaveAfterEachEnsemble).
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "hiway/segment/compose.hpp"
#include "tests/device.hpp"
#include "tests/faults/faulty_device.hpp"
#include "tests/segment/shapes.hpp"
#include "tests/segment/tree_nodes.hpp"

namespace hiway::segment_test {
namespace {

using namespace segment;
using namespace std::chrono_literals;
using hiway_tests::FaultyDevice;
constexpr Shape counted{ReplicaOf::warp, Refill::ensembles, true};

PipelineConfig on(FaultyDevice const& device, std::chrono::nanoseconds slice) {
  PipelineConfig config = hiway_tests::bounded();
  config.device = device.name;
  config.slice = slice;
  return config;
}
/// `blocks` of as many replicas each.
SegmentConfig replicas(unsigned blocks, Residency residency, unsigned of_block = 1) {
  SegmentConfig config;
  config.blocks = blocks;
  config.threads_per_block = 32 * of_block;
  config.lend_after = 0ns;
  config.residency = residency;
  return config;
}
constexpr std::uint64_t boards_of_six_queens = 550;  // on eight columns
auto six_rows() {
  auto const row = [](int i) { return node("row " + std::to_string(i), Place{8}); };
  return chain(row(0), row(1), row(2), row(3), row(4), row(5), segment::count<Board>("solutions"));
}

struct Seen {
  std::vector<CountersOfNode> nodes;
  std::uint64_t starts = 0;
};
Seen place_queens(Residency residency) {
  FaultyDevice device({});
  Pipeline pipe(on(device, 1ns));
  Board const first{};
  auto& boards = pipe.create_buffer<Board>(std::span<Board const>(&first, 1));
  auto& queens = pipe.add_segment<counted>("queens", load(boards), six_rows(), replicas(1, residency));
  for (int run = 0; run < 2; ++run) {
    pipe.run();
    EXPECT_EQ(queens.items("solutions"), boards_of_six_queens);
  }
  return {queens.node_counters(), device.starts};
}

TEST(Parking, AReplicaMakesTheEnsemblesThatItMakesIfItStays) {
  Seen const stays = place_queens(Residency::resident);
  Seen const leaves = place_queens(Residency::yielding);
  EXPECT_GT(leaves.starts, stays.starts + 20);
  ASSERT_EQ(leaves.nodes.size(), stays.nodes.size());
  for (std::size_t i = 0; i != stays.nodes.size(); ++i) {
    NodeCounters const& a = stays.nodes[i].counters;
    NodeCounters const& b = leaves.nodes[i].counters;
    EXPECT_EQ(a.items, b.items) << stays.nodes[i].node;
    EXPECT_EQ(a.ensembles, b.ensembles) << stays.nodes[i].node;
    EXPECT_EQ(a.full, b.full) << stays.nodes[i].node;
    EXPECT_EQ(a.outputs, b.outputs) << stays.nodes[i].node;
  }
}

// The others have nothing to do, and wait for letters from launch to launch. In a block some are done before others.
TEST(Parking, AReplicaThatWaitsForALetterGetsItInALaterLaunch) {
  for (unsigned blocks = 1; blocks != 6; ++blocks) {
    FaultyDevice device({});
    Pipeline pipe(on(device, 1ns));
    Board const first{};
    auto& boards = pipe.create_buffer<Board>(std::span<Board const>(&first, 1));
    auto& queens =
        pipe.add_segment<counted>("queens", load(boards), six_rows(), replicas(blocks, Residency::yielding, 4));
    pipe.run();
    ASSERT_EQ(queens.items("solutions"), boards_of_six_queens) << blocks << " blocks";
    std::size_t busy = 0;
    for (CountersOf const& c : queens.counters()) busy += c.counters.items != 0 ? 1u : 0u;
    EXPECT_GT(busy, 6u) << "one replica alone has worked on " << queens.nodes().size() << " nodes";
  }
}

/// `rounds` times some items through a segment, with rests in between.
void expect_items(std::chrono::nanoseconds slice, unsigned rounds) {
  constexpr std::uint32_t items = 50;
  FaultyDevice device({});
  Pipeline pipe(on(device, slice));
  auto& numbers = pipe.create_tunnel<std::uint32_t>("numbers", Direction::cpu_to_gpu, {.capacity_items = 64});
  auto& kept = pipe.create_tunnel<std::uint32_t>("kept", Direction::gpu_to_cpu, {.capacity_items = 64});
  pipe.add_cpu_stage(
      "feed",
      [=](Inlet<std::uint32_t> out) {
        for (std::uint32_t i = 0; i < rounds * items; ++i) {
          if (i % items == 0) std::this_thread::sleep_for(30ms);
          out.put_h(i);
        }
      },
      into(numbers));
  pipe.add_segment<counted>("keep", from(numbers), chain(node("drop", DropMultiples{4}), into(kept)),
                            replicas(2, Residency::yielding));
  std::vector<std::uint32_t> got;
  pipe.add_cpu_stage(
      "collect", [&](std::uint32_t const& x) { got.push_back(x); }, from(kept));
  pipe.run();
  std::vector<std::uint32_t> expected;
  for (std::uint32_t i = 0; i < rounds * items; ++i) {
    if (i % 4 != 0) expected.push_back(i);
  }
  EXPECT_THAT(got, testing::UnorderedElementsAreArray(expected));
  EXPECT_GT(device.starts, rounds);
}

// Between the rounds nothing is on the device, and the monitor calls the segment for each.
TEST(Parking, ASegmentComesBackForTheItemsOfATunnel) { expect_items(2ms, 8); }
// The tunnel has been emptied long before the last firing.
TEST(Parking, ASegmentComesBackForWhatItHas) { expect_items(1ns, 2); }

/// What a Parking knows of its replica.
struct OneLane {
  static constexpr bool is_warp = true;
  [[nodiscard]] ThreadMachine machine() const { return {}; }
  [[nodiscard]] unsigned rank() const { return 0; }
  void sync() const {}
};
struct Nothing {
  std::uint32_t tasks = 0;
};
struct OneReplica {
  struct Program : Placement {
    struct Source {
      static constexpr bool is_range = false;
    };
    Slice slice;
  };
  using Lanes = OneLane;
  using Intake = Nothing;
  Program program{};
  Lanes lanes{};
  unsigned replica = 0;
  Nothing activity{};
  Nothing intake{};
};

// Else it would have all items of a tunnel for itself until its slice is over.
TEST(Parking, AReplicaThatHasRestedLeavesWithThoseThatFindNothing) {
  SliceNews news;
  SliceWords words;
  alignas(parked_bytes) std::byte parked[parked_bytes]{};
  OneReplica replica;
  replica.program.parked = parked;
  replica.program.slice = {.ns = 3'600'000'000'000, .news = &news, .words = &words};
  Parking parking(replica);
  parking.begin();
  words.sent_away.bits = 1;
  parking.note_items(0);
  EXPECT_FALSE(parking.is_over()) << "it had no rest";
  parking.note_items(1);
  EXPECT_TRUE(parking.is_over());
  EXPECT_EQ(news.next.bits, 2U) << "another launch is to come";
  words.launch.bits = 2;
  parking.begin();
  parking.note_items(1);
  EXPECT_FALSE(parking.is_over()) << "another one was sent away";
}

// What it keeps between slices is memory like any other.
TEST(Parking, AnyAllocationMayFailAndIsNamed) {
  std::vector<std::string> named;
  for (std::uint64_t n = 1;; ++n) {
    FaultyDevice device({.failed_allocation = n});
    std::string text;
    try {
      Pipeline pipe(on(device, 2ms));
      pipe.add_segment<counted>("keep", indices(100),
                                chain(node("drop", DropMultiples{4}), segment::count<std::uint32_t>("kept")),
                                replicas(2, Residency::yielding));
      pipe.run();
    } catch (CudaError const& e) {
      text = e.what();
    }
    if (text.empty()) break;
    EXPECT_EQ(text, device.failed + ": it was told to fail");
    named.push_back(device.failed);
  }
  EXPECT_THAT(named, testing::Contains("segment 'keep': what it keeps between slices"));
}

}  // namespace
}  // namespace hiway::segment_test
