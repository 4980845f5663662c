// Every direction, movement, capacity and number of producers and consumers delivers each item exactly once.
#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/device.hpp"

namespace {

using namespace hiway;
using hiway_tests::bounded;

/// Every item carries who put it and its number there; the padding of `Large` is checked too.
struct Stamp {
  std::uint32_t producer;
  std::uint32_t number;
};

struct StampSource {
  std::uint32_t items;  // of each thread
  HIWAY_DEVICE void operator()(Inlet<Stamp> out) const {
    for (std::uint32_t i = 0; i < items; ++i) out.put({thread_index(), i});
  }
};

struct StampSink {
  View<Word<std::uint32_t>> seen;  // one an item
  std::uint32_t items;
  HIWAY_DEVICE void operator()(Outlet<Stamp> in) const {
    in.for_each([&](Stamp const& s) {
      anywhere(
          [&](auto m) { m.fetch_add(seen[std::size_t{s.producer} * items + s.number], 1u, MemoryOrder::relaxed); });
    });
  }
};

template <class T>
struct PassOn {
  HIWAY_DEVICE T operator()(T const& item) const { return item; }
};

struct Shape {
  Direction direction;
  Movement movement;
  std::size_t capacity;
  unsigned producers;
  unsigned consumers;
  bool low_latency = false;
};

constexpr unsigned block_threads = 32;

void expect_each_item_once(Shape const& shape) {
  SCOPED_TRACE(testing::Message() << "direction " << int(shape.direction) << " movement " << int(shape.movement)
                                  << " capacity " << shape.capacity << " producers " << shape.producers << " consumers "
                                  << shape.consumers);
  bool const from_gpu = shape.direction == Direction::gpu_to_cpu || shape.direction == Direction::gpu_to_gpu;
  bool const to_gpu = shape.direction == Direction::cpu_to_gpu || shape.direction == Direction::gpu_to_gpu;
  unsigned const threads = from_gpu ? shape.producers * block_threads : shape.producers;
  std::uint32_t const items = from_gpu ? 7 : 203;
  std::size_t const total = std::size_t{threads} * items;

  Pipeline pipe(bounded());
  auto& tunnel = pipe.create_tunnel<Stamp>(
      "stamps", shape.direction,
      {.capacity_items = shape.capacity, .movement = shape.movement, .low_latency = shape.low_latency});
  std::vector<Word<std::uint32_t>> seen(total, Word<std::uint32_t>{0});
  auto& device_seen = pipe.create_buffer<Word<std::uint32_t>>(std::span<Word<std::uint32_t> const>(seen));
  if (from_gpu) {
    pipe.add_gpu_stage("source", StampSource{items}, into(tunnel),
                       {.blocks = shape.producers, .threads_per_block = block_threads});
  } else {
    pipe.add_cpu_stage("source", StampSource{items}, into(tunnel), {.threads = shape.producers});
  }
  if (to_gpu) {
    pipe.add_gpu_stage("sink", StampSink{device_seen.view(), items}, from(tunnel),
                       {.blocks = shape.consumers, .threads_per_block = block_threads});
  } else {
    pipe.add_cpu_stage("sink", StampSink{View<Word<std::uint32_t>>{seen.data(), total}, items}, from(tunnel),
                       {.threads = shape.consumers});
  }
  RunReport const report = pipe.run();
  EXPECT_EQ(report.items, total);
  if (to_gpu) device_seen.copy_out(seen);
  std::size_t wrong = 0;
  for (Word<std::uint32_t> const& word : seen) wrong += word.bits == 1 ? 0 : 1;
  EXPECT_EQ(wrong, 0u) << "of " << total << " items";
}

void expect_each_item_once(Direction direction, Movement movement) {
  for (std::size_t capacity : {1u, 2u, 64u, 4096u}) {
    for (unsigned producers : {1u, 4u}) {
      for (unsigned consumers : {1u, 4u}) expect_each_item_once({direction, movement, capacity, producers, consumers});
    }
  }
}

TEST(Delivery, CpuToCpu) {
  HIWAY_NEEDS_DEVICE();
  expect_each_item_once(Direction::cpu_to_cpu, Movement::automatic);
}
TEST(Delivery, CpuToGpuDirect) {
  HIWAY_NEEDS_DEVICE();
  expect_each_item_once(Direction::cpu_to_gpu, Movement::direct);
}
TEST(Delivery, CpuToGpuDma) {
  HIWAY_NEEDS_DEVICE();
  expect_each_item_once(Direction::cpu_to_gpu, Movement::dma);
}
TEST(Delivery, CpuToGpuManaged) {
  HIWAY_NEEDS_DEVICE();
  expect_each_item_once(Direction::cpu_to_gpu, Movement::managed);
}
TEST(Delivery, GpuToCpuDirect) {
  HIWAY_NEEDS_DEVICE();
  expect_each_item_once(Direction::gpu_to_cpu, Movement::direct);
}
TEST(Delivery, GpuToCpuDma) {
  HIWAY_NEEDS_DEVICE();
  expect_each_item_once(Direction::gpu_to_cpu, Movement::dma);
}
TEST(Delivery, GpuToCpuManaged) {
  HIWAY_NEEDS_DEVICE();
  expect_each_item_once(Direction::gpu_to_cpu, Movement::managed);
}
TEST(Delivery, GpuToGpu) {
  HIWAY_NEEDS_DEVICE();
  expect_each_item_once(Direction::gpu_to_gpu, Movement::automatic);
}

TEST(Delivery, LowLatencyEveryWay) {
  HIWAY_NEEDS_DEVICE();
  for (std::size_t capacity : {1u, 2u, 64u, 4096u}) {
    for (unsigned many : {1u, 4u}) {
      expect_each_item_once({Direction::cpu_to_gpu, Movement::automatic, capacity, many, 1, true});
      for (unsigned consumers : {1u, 4u}) {
        for (Direction from_gpu : {Direction::gpu_to_cpu, Direction::gpu_to_gpu})
          expect_each_item_once({from_gpu, Movement::automatic, capacity, many, consumers, true});
      }
    }
  }
}

/// Blocks of several warps between two tunnels: claims of both are shared as the tunnels say.
RunReport expect_each_item_once(TunnelConfig const& config, GpuStageOptions const& source,
                                GpuStageOptions const& pass_on) {
  constexpr std::uint32_t items = 4;
  std::size_t const total = std::size_t{source.blocks} * source.threads_per_block * items;
  Pipeline pipe(bounded());
  auto& along = pipe.create_tunnel<Stamp>("along", Direction::gpu_to_gpu, config);
  auto& back = pipe.create_tunnel<Stamp>("back", Direction::gpu_to_cpu, config);
  std::vector<unsigned> seen(total, 0);
  pipe.add_gpu_stage("source", StampSource{items}, into(along), source);
  pipe.add_gpu_stage("pass on", PassOn<Stamp>{}, from(along), into(back), pass_on);
  pipe.add_cpu_stage(
      "sink", [&](Stamp const& s) { ++seen[std::size_t{s.producer} * items + s.number]; }, from(back));
  RunReport const report = pipe.run();
  EXPECT_EQ(report.items, 2 * total);  // of both tunnels
  EXPECT_EQ(std::size_t(std::count(seen.begin(), seen.end(), 1u)), total);
  return report;
}
TEST(Delivery, EachGroupingDeliversEachItemOnce) {
  HIWAY_NEEDS_DEVICE();
  for (Grouping const grouping : {Grouping::none, Grouping::warp, Grouping::block, Grouping::block_scan}) {
    std::uint64_t groups = 0;
    for (std::size_t const capacity : {16u, 1024u}) {
      SCOPED_TRACE(testing::Message() << "grouping " << int(grouping) << " capacity " << capacity);
      RunReport const report = expect_each_item_once({.capacity_items = capacity, .grouping = grouping},
                                                     {.blocks = 2, .threads_per_block = 72},  // a third warp of 8 lanes
                                                     {.blocks = 1, .threads_per_block = 96});
      for (TunnelReport const& tunnel : report.tunnels) {
        EXPECT_LE(2 * tunnel.put_groups, tunnel.items);
        groups += tunnel.put_groups + tunnel.get_groups;
      }
    }
    if (grouping == Grouping::none || grouping == Grouping::warp) {
      EXPECT_EQ(groups, 0u);
    } else {
      EXPECT_GT(groups, 0u) << "grouping " << int(grouping);
    }
  }
}
TEST(Delivery, ALargeGridSharesClaimsWhileThatPays) {
  HIWAY_NEEDS_DEVICE();
  if (hiway_tests::device() == "simt") GTEST_SKIP() << "a grid of 65,536 threads takes a GPU";
  GpuStageOptions const large{.blocks = 128, .threads_per_block = 512};
  GpuStageOptions const small{.blocks = 2, .threads_per_block = 96};
  for (std::size_t const capacity : {256u, 1u << 20}) {
    expect_each_item_once({.capacity_items = capacity}, large, small);
    expect_each_item_once({.capacity_items = capacity}, small, large);
  }
}

/// Blocks that are at home in different shards, more and fewer than there are; items small and such as stay in their
/// slot.
template <std::size_t Bytes>
struct Numbers {
  std::uint32_t producer;
  std::uint32_t number;
  std::uint32_t rest[Bytes / 4 - 2];
};
template <std::size_t Bytes>
struct NumberSource {
  std::uint32_t items;
  HIWAY_DEVICE void operator()(Inlet<Numbers<Bytes>> out) const {
    for (std::uint32_t i = 0; i < items; ++i) {
      out.put_in_place([&](Numbers<Bytes>& slot) {
        slot.producer = thread_index();
        slot.number = i;
        for (std::uint32_t k = 0; k < Bytes / 4 - 2; ++k) slot.rest[k] = i + k;
      });
    }
  }
};
/// Takes note of items out of their producer's order: a single block of one lane sees them all.
template <std::size_t Bytes>
struct OrderedSink {
  View<Word<std::uint32_t>> next;  ///< a producer's; one more of it: how many came out of order
  std::uint32_t producers;
  HIWAY_DEVICE void operator()(Outlet<Numbers<Bytes>> in) const {
    in.for_each([&](Numbers<Bytes> const& s) {
      bool right = next[s.producer].bits++ == s.number;
      for (std::uint32_t k = 0; k < Bytes / 4 - 2; ++k) right = right && s.rest[k] == s.number + k;
      if (!right) ++next[producers].bits;
    });
  }
};
template <std::size_t Bytes>
void expect_order_in_shards(Direction direction, unsigned shards) {
  SCOPED_TRACE(testing::Message() << "direction " << int(direction) << " shards " << shards << " bytes " << Bytes);
  constexpr std::uint32_t items = 9;
  constexpr unsigned executors = 3;
  bool const gpu = direction == Direction::gpu_to_gpu;
  unsigned const producers = gpu ? executors * block_threads : executors;
  Pipeline pipe(bounded());
  auto& tunnel = pipe.create_tunnel<Numbers<Bytes>>("numbers", direction, {.capacity_items = 37, .shards = shards});
  std::vector<Word<std::uint32_t>> next(producers + 1, Word<std::uint32_t>{0});
  auto& device_next = pipe.create_buffer<Word<std::uint32_t>>(std::span<Word<std::uint32_t> const>(next));
  if (gpu) {
    pipe.add_gpu_stage("source", NumberSource<Bytes>{items}, into(tunnel),
                       {.blocks = executors, .threads_per_block = block_threads});
    pipe.add_gpu_stage("sink", OrderedSink<Bytes>{device_next.view(), producers}, from(tunnel),
                       {.blocks = 1, .threads_per_block = 1});
  } else {
    pipe.add_cpu_stage("source", NumberSource<Bytes>{items}, into(tunnel), {.threads = executors});
    pipe.add_cpu_stage("sink", OrderedSink<Bytes>{{next.data(), next.size()}, producers}, from(tunnel));
  }
  RunReport const report = pipe.run();
  EXPECT_EQ(report.items, std::uint64_t{producers} * items);
  if (gpu) device_next.copy_out(next);
  for (unsigned p = 0; p < producers; ++p) EXPECT_EQ(next[p].bits, items) << "of producer " << p;
  EXPECT_EQ(next[producers].bits, 0u) << "items out of order, or altered";
}
TEST(Delivery, ShardsKeepEachProducersOrder) {
  HIWAY_NEEDS_DEVICE();
  for (unsigned const shards : {1u, 2u, 8u, 32u}) {
    for (Direction const direction : {Direction::cpu_to_cpu, Direction::gpu_to_gpu}) {
      expect_order_in_shards<16>(direction, shards);
      expect_order_in_shards<1024>(direction, shards);
    }
  }
}
/// Every way to get, by every grouping, from shards that are nobody's home.
TEST(Delivery, ShardsAreEmptiedByWhoeverReads) {
  HIWAY_NEEDS_DEVICE();
  for (Grouping const grouping : {Grouping::automatic, Grouping::none, Grouping::block}) {
    for (unsigned const consumers : {1u, 3u}) {
      SCOPED_TRACE(testing::Message() << "grouping " << int(grouping) << " consumers " << consumers);
      constexpr unsigned blocks = 5;
      constexpr std::uint32_t items = 6;
      constexpr std::size_t total = std::size_t{blocks} * 72 * items;
      Pipeline pipe(bounded());
      auto& tunnel = pipe.create_tunnel<Stamp>("stamps", Direction::gpu_to_gpu,
                                               {.capacity_items = 64, .grouping = grouping, .shards = 8});
      std::vector<Word<std::uint32_t>> seen(total, Word<std::uint32_t>{0});
      auto& device_seen = pipe.create_buffer<Word<std::uint32_t>>(std::span<Word<std::uint32_t> const>(seen));
      pipe.add_gpu_stage("source", StampSource{items}, into(tunnel), {.blocks = blocks, .threads_per_block = 72});
      pipe.add_gpu_stage("sink", StampSink{device_seen.view(), items}, from(tunnel),
                         {.blocks = consumers, .threads_per_block = 72});
      RunReport const report = pipe.run();
      EXPECT_EQ(report.items, total);
      device_seen.copy_out(seen);
      EXPECT_EQ(std::size_t(std::ranges::count_if(seen, [](auto const& word) { return word.bits == 1; })), total);
    }
  }
}

TEST(Delivery, TakesAnyCapacity) {
  HIWAY_NEEDS_DEVICE();
  for (std::size_t capacity : {3u, 5u, 100u})
    expect_each_item_once({Direction::cpu_to_gpu, Movement::dma, capacity, 2, 1});
}

TEST(Delivery, ReportsTheMovement) {
  HIWAY_NEEDS_DEVICE();
  for (auto [movement, text] : {std::pair{Movement::dma, "dma"}, std::pair{Movement::direct, "direct"},
                                std::pair{Movement::managed, "managed"}}) {
    Pipeline pipe(bounded());
    auto& there = pipe.create_tunnel<int>("there", Direction::cpu_to_gpu, {.movement = movement});
    auto& along = pipe.create_tunnel<int>("along", Direction::gpu_to_gpu, {.movement = movement});
    auto& back = pipe.create_tunnel<int>("back", Direction::gpu_to_cpu, {.movement = movement});
    pipe.add_cpu_stage(
        "feed", [](Inlet<int> out) { out.put_h(1); }, into(there));
    pipe.add_gpu_stage("pass on", PassOn<int>{}, from(there), into(along));
    pipe.add_gpu_stage("pass back", PassOn<int>{}, from(along), into(back));
    pipe.add_cpu_stage(
        "end", [](int const&) {}, from(back));
    RunReport const report = pipe.run();
    ASSERT_EQ(report.tunnels.size(), 3u);
    EXPECT_EQ(report.tunnels[0].movement, text);
    EXPECT_EQ(report.tunnels[1].movement, "memory");
    EXPECT_EQ(report.tunnels[2].movement, text);
    EXPECT_EQ(report.tunnels[0].batches, movement == Movement::dma ? 1u : 0u);
    EXPECT_EQ(report.tunnels[2].batches, movement == Movement::dma ? 1u : 0u);
  }
}

TEST(Delivery, ReportsWhatWasFinishedBesideWhatWasCreated) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& there = pipe.create_tunnel<int>("there", Direction::cpu_to_gpu);
  auto& back = pipe.create_tunnel<int>("back", Direction::gpu_to_cpu);
  Inlet<int> const in = there.open_inlet();
  Outlet<int> const out = back.open_outlet();
  pipe.add_gpu_stage("pass on", PassOn<int>{}, from(there), into(back), {.blocks = 2, .threads_per_block = 32});
  pipe.start();
  for (int i = 0; i < 100; ++i) in.put_h(i);
  in.close_h();
  for (int item = 0; out.next_h(item);) out.end_task_h();
  RunReport const report = pipe.wait();
  ASSERT_EQ(report.tunnels.size(), 2u);
  for (TunnelReport const& tunnel : report.tunnels) {
    EXPECT_EQ(tunnel.items, 100u) << tunnel.name;
    EXPECT_EQ(tunnel.finished, 100u) << tunnel.name << ": a stage's reader, or an open end";
  }
}

/// One stage on two tunnels each way: the emulated device has few processors.
struct PassBack {
  HIWAY_DEVICE void operator()(Stamp const& item, Inlet<Stamp> even, Inlet<Stamp> odd) const {
    (item.producer % 2 == 0 ? even : odd).put(item);
  }
};
TEST(Delivery, ManyDmaTunnelsBothWaysAtOnceThroughTinyRings) {
  HIWAY_NEEDS_DEVICE();
  constexpr unsigned pairs = 6;
  constexpr std::uint32_t items = 300;
  Pipeline pipe(bounded());
  std::vector<std::vector<unsigned>> seen(pairs, std::vector<unsigned>(items, 0));
  std::vector<Tunnel<Stamp>*> there;
  std::vector<Tunnel<Stamp>*> back;
  for (unsigned p = 0; p < pairs; ++p) {
    std::string const name = std::to_string(p);
    TunnelConfig const config{.capacity_items = 1 + p, .movement = Movement::dma};
    there.push_back(&pipe.create_tunnel<Stamp>("there " + name, Direction::cpu_to_gpu, config));
    back.push_back(&pipe.create_tunnel<Stamp>("back " + name, Direction::gpu_to_cpu, config));
    pipe.add_cpu_stage(
        "feed " + name,
        [p](Inlet<Stamp> out) {
          for (std::uint32_t i = 0; i < items; ++i) out.put_h({p, i});
        },
        into(*there[p]));
    auto& mine = seen[p];
    pipe.add_cpu_stage(
        "take " + name, [p, &mine](Stamp const& s) { mine.at(s.producer == p ? s.number : items) += 1; },
        from(*back[p]));
  }
  for (unsigned p = 0; p < pairs; p += 2) {
    pipe.add_gpu_stage("pass back " + std::to_string(p), PassBack{}, from(*there[p], *there[p + 1]),
                       into(*back[p], *back[p + 1]), {.blocks = 1, .threads_per_block = block_threads});
  }
  RunReport const report = pipe.run();
  EXPECT_EQ(report.items, 2u * pairs * items);
  for (unsigned p = 0; p < pairs; ++p) EXPECT_EQ(seen[p], std::vector<unsigned>(items, 1)) << "pair " << p;
  for (TunnelReport const& t : report.tunnels) {
    EXPECT_GE(t.batches * pairs, items) << t.name << ": batches above the capacity";
  }
}

TEST(Delivery, ARunAfterAnAbortedOneGetsNoneOfItsItems) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  TunnelConfig const config{.capacity_items = 64, .movement = Movement::dma};
  auto& there = pipe.create_tunnel<Stamp>("there", Direction::cpu_to_gpu, config);
  auto& back = pipe.create_tunnel<Stamp>("back", Direction::gpu_to_cpu, config);
  std::uint32_t run = 0;
  std::uint32_t items = 0;
  std::uint32_t of_this_run = 0;
  std::uint32_t of_others = 0;
  pipe.add_cpu_stage(
      "feed",
      [&](Inlet<Stamp> out) {
        for (std::uint32_t i = 0; i < items; ++i) out.put_h({run, i});
      },
      into(there));
  pipe.add_gpu_stage("pass back", PassOn<Stamp>{}, from(there), into(back));
  pipe.add_cpu_stage(
      "take",
      [&](Stamp const& s) {
        ++(s.producer == run ? of_this_run : of_others);
        if (run % 2 == 0 && of_this_run == 100) pipe.abort();
      },
      from(back));
  for (run = 0; run < 20; ++run) {
    of_this_run = of_others = 0;
    items = run % 2 == 0 ? 1'000'000'000 : 300;
    if (run % 2 == 0) {
      EXPECT_THROW(pipe.run(), Aborted);
    } else {
      pipe.run();
      EXPECT_EQ(of_this_run, items);
    }
    EXPECT_EQ(of_others, 0u) << "run " << run;
  }
}

/// A large item whose every byte tells where it belongs.
struct alignas(64) Large {
  std::uint32_t words[256];
};
struct CheckLarge {
  HIWAY_DEVICE std::uint32_t operator()(Large const& item) const {
    for (std::uint32_t i = 0; i < 256; ++i) {
      if (item.words[i] != item.words[0] + i) return 0;
    }
    return item.words[0];
  }
};
TEST(Delivery, KeepsLargeItemsWhole) {
  HIWAY_NEEDS_DEVICE();
  for (Movement movement : {Movement::direct, Movement::dma, Movement::managed}) {
    Pipeline pipe(bounded());
    auto& to = pipe.create_tunnel<Large>("to", Direction::cpu_to_gpu, {.capacity_items = 16, .movement = movement});
    auto& back =
        pipe.create_tunnel<std::uint32_t>("back", Direction::gpu_to_cpu, {.capacity_items = 16, .movement = movement});
    pipe.add_cpu_stage(
        "feed",
        [](Inlet<Large> out) {
          for (std::uint32_t k = 1; k <= 300; ++k) {
            Large item;
            for (std::uint32_t i = 0; i < 256; ++i) item.words[i] = k * 1000 + i;
            out.put_h(item);
          }
        },
        into(to));
    pipe.add_gpu_stage("check", CheckLarge{}, from(to), into(back));
    std::uint64_t sum = 0;
    pipe.add_cpu_stage(
        "sum", [&](std::uint32_t const& x) { sum += x; }, from(back));
    pipe.run();
    EXPECT_EQ(sum, 1000u * 300 * 301 / 2);
  }
}

/// The largest item there is, in value form: argument and result lie in their slots.
struct Largest {
  std::uint32_t words[16384];
};
struct Increment {
  HIWAY_DEVICE Largest operator()(Largest const& item) const {
    Largest next = item;
    for (std::uint32_t& word : next.words) ++word;
    return next;
  }
};
TEST(Delivery, CarriesTheLargestItems) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& to = pipe.create_tunnel<Largest>("to", Direction::cpu_to_gpu, {.capacity_items = 4});
  auto& back =
      pipe.create_tunnel<Largest>("back", Direction::gpu_to_cpu, {.capacity_items = 4, .movement = Movement::dma});
  pipe.add_cpu_stage(
      "feed",
      [](Inlet<Largest> out) {
        Largest item{};
        for (std::uint32_t k = 0; k < 20; ++k) {
          item.words[0] = item.words[16383] = k;
          out.put_h(item);
        }
      },
      into(to));
  pipe.add_gpu_stage("increment", Increment{}, from(to), into(back));
  std::uint32_t sum = 0;
  pipe.add_cpu_stage(
      "sum", [&](Largest const& x) { sum += x.words[0] + x.words[16383] + x.words[77]; }, from(back));
  pipe.run();
  EXPECT_EQ(sum, 2u * (19 * 20 / 2 + 20) + 20);
}

TEST(Delivery, KeepsTheOrderOfOneProducerForOneConsumer) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& tunnel = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu, {.capacity_items = 4});
  pipe.add_cpu_stage(
      "feed",
      [](Inlet<int> out) {
        for (int i = 0; i < 1000; ++i) out.put_h(i);
      },
      into(tunnel));
  int expected = 0;
  bool ordered = true;
  pipe.add_cpu_stage(
      "check", [&](int const& x) { ordered = ordered && x == expected++; }, from(tunnel));
  pipe.run();
  EXPECT_TRUE(ordered);
  EXPECT_EQ(expected, 1000);
}

}  // namespace
