// Pipelines over several devices: emulated ones, and GPUs where there are so many.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "hiway/backend.hpp"
#include "hiway/hiway.hpp"
#include "lib/pipeline_access.hpp"
#include "lib/text.hpp"
#include "tests/device.hpp"
#include "tests/environment.hpp"

namespace {

using namespace hiway;
using namespace hiway_tests;

/// Without the warning of a cycle that has no plan.
PipelineConfig quiet() {
  PipelineConfig config = bounded();
  config.warn_of_cycles = false;
  return config;
}

struct Add {
  std::uint32_t what;
  HIWAY_DEVICE std::uint32_t operator()(std::uint32_t const& item) const { return item + what; }
};

/// From 1 to `items`, by one lane.
struct Count {
  std::uint32_t items;
  HIWAY_DEVICE void operator()(Inlet<std::uint32_t> out) const {
    for (std::uint32_t i = 1; i <= items && thread_index() == 0; ++i) out.put_d(i);
  }
};
struct Endless {
  HIWAY_DEVICE void operator()(Inlet<std::uint32_t> out) const {
    for (std::uint32_t i = 0; thread_index() == 0; ++i) out.put_d(i);
  }
};
struct Lower {
  HIWAY_DEVICE void operator()(std::uint32_t const& item, Inlet<std::uint32_t> out) const {
    if (item > 1) out.put_d(item - 1);
  }
};
struct FailAt {
  std::uint32_t item;
  HIWAY_DEVICE std::uint32_t operator()(std::uint32_t const& item_) const {
    if (item_ == item) fail_d("enough");
    return item_;
  }
};
struct Nothing {
  HIWAY_DEVICE void operator()(std::uint32_t const&) const {}
};
/// Takes one item and works on it for ever.
struct ReadsNothing {
  HIWAY_DEVICE void operator()(Outlet<std::uint32_t> in) const {
    while (!in.is_terminate_d()) {
    }
  }
};
struct KeepOdd {
  HIWAY_DEVICE segment::Maybe<std::uint32_t> operator()(std::uint32_t const& item) const {
    return item % 2 != 0 ? segment::Maybe<std::uint32_t>(item) : segment::Maybe<std::uint32_t>();
  }
};
struct Double {
  View<std::uint32_t> numbers;
  HIWAY_DEVICE void operator()() const { numbers[thread_index()] *= 2; }
};

/// Counts the lanes that have seen the end of the whole run.
struct AwaitEnd {
  Outlet<std::uint32_t> run;
  View<std::uint32_t> seen;
  HIWAY_DEVICE void operator()() const {
    while (!run.is_terminate_d()) {
    }
    seen[thread_index()] = 1;
  }
};

/// Numbers from the CPU through a stage on each of `devices`, in order, and back; each adds 1,000,000.
RunReport through(std::vector<int> const& devices, std::uint32_t items, TunnelConfig const& config,
                  std::vector<unsigned>& seen) {
  Pipeline pipe(bounded());
  std::vector<Tunnel<std::uint32_t>*> tunnels;
  for (std::size_t i = 0; i <= devices.size(); ++i) {
    Direction const direction = i == 0                ? Direction::cpu_to_gpu
                                : i == devices.size() ? Direction::gpu_to_cpu
                                                      : Direction::gpu_to_gpu;
    tunnels.push_back(&pipe.create_tunnel<std::uint32_t>(numbered("t", i), direction, config));
  }
  pipe.add_cpu_stage(
      "feed",
      [items](Inlet<std::uint32_t> out) {
        for (std::uint32_t i = 0; i < items; ++i) out.put_h(i);
      },
      into(*tunnels[0]));
  for (std::size_t i = 0; i < devices.size(); ++i)
    pipe.add_gpu_stage(numbered("stage ", i), Add{1'000'000}, from(*tunnels[i]), into(*tunnels[i + 1]),
                       {.blocks = 2, .threads_per_block = 64, .device = devices[i]});
  seen.assign(items, 0);
  pipe.add_cpu_stage(
      "sink",
      [&](std::uint32_t const& item) {
        std::uint32_t const i = item - 1'000'000 * std::uint32_t(devices.size());
        if (i < items) ++seen[i];
      },
      from(*tunnels.back()));
  return pipe.run();
}

TEST(Devices, AnItemPassesEachOnce) {
  HIWAY_NEEDS_DEVICES(3);
  for (std::vector<int> const& devices : {std::vector{0, 1}, {1, 0}, {1}, {2, 0, 2}}) {
    for (Movement const movement : {Movement::direct, Movement::dma}) {
      for (std::size_t const capacity : {1u, 64u}) {
        SCOPED_TRACE(testing::Message() << devices.size() << " devices, capacity " << capacity);
        std::uint32_t const items = capacity == 1 ? 50 : 1000;
        std::vector<unsigned> seen;
        RunReport const report = through(devices, items, {.capacity_items = capacity, .movement = movement}, seen);
        EXPECT_EQ(std::size_t(std::ranges::count(seen, 1u)), seen.size());
        EXPECT_EQ(report.items, items * (devices.size() + 1));
      }
    }
  }
}

/// Why items cannot lie with who gets them on another device; empty when they can.
std::string missing_peers() {
  auto const backend = [](int number) { return make_backend(device() == "simt" ? "simt" : name_of_device(number)); };
  auto const reader = backend(0);
  auto const owner = backend(1);
  reader->enable_peer_access(*owner);
  return reader->reaches(*owner) ? "" : "the devices do not reach each other's memory";
}
#define HIWAY_NEEDS_PEERS() \
  HIWAY_NEEDS_DEVICES(2);   \
  if (std::string const why = missing_peers(); !why.empty()) GTEST_SKIP() << why

/// Tags lie with who looks for them, so many warps may.
TEST(Devices, ItemsThatCarryTagsAreLookedForByOneWarpOrMany) {
  HIWAY_NEEDS_PEERS();
  for (unsigned const blocks : {1u, 3u}) {
    Pipeline pipe(bounded());
    auto& there =
        pipe.create_tunnel<std::uint32_t>("there", Direction::gpu_to_gpu, {.capacity_items = 4, .low_latency = true});
    auto& back = pipe.create_tunnel<std::uint32_t>("back", Direction::gpu_to_cpu, {});
    pipe.add_gpu_stage("source", Count{100}, into(there), {.blocks = 1, .threads_per_block = 32, .device = 0});
    pipe.add_gpu_stage("add", Add{1}, from(there), into(back),
                       {.blocks = blocks, .threads_per_block = 32 * blocks, .device = 1});
    std::atomic<std::uint32_t> sum = 0;
    pipe.add_cpu_stage(
        "sink", [&](std::uint32_t const& item) { sum += item; }, from(back));
    EXPECT_EQ(pipe.run().items, 200u);
    EXPECT_EQ(sum.load(), 5150u);  // 2 to 101
  }
}

/// Hands on what it gets, in spans by lanes.
struct HandOnSpans {
  HIWAY_DEVICE void operator()(Outlet<std::uint32_t> in, Inlet<std::uint32_t> out) const {
    std::uint32_t room[4] = {};
    for (std::size_t n; (n = in.next(std::span<std::uint32_t>(room))) != 0; in.end_task(n))
      out.put(std::span<std::uint32_t const>(room, n));
  }
};

/// Numbers from 1 to 100 come from device 0 by each of `tagged`, and back to the CPU by `back`.
template <std::size_t N>
void expect_all(Pipeline& pipe, std::array<Tunnel<std::uint32_t>*, N> const& tagged, Tunnel<std::uint32_t>& back) {
  for (std::size_t i = 0; i != N; ++i)
    pipe.add_gpu_stage(numbered("source ", i), Count{100}, into(*tagged[i]),
                       {.blocks = 1, .threads_per_block = 32, .device = 0});
  std::atomic<std::uint32_t> sum = 0;
  pipe.add_cpu_stage(
      "sink", [&](std::uint32_t const& item) { sum += item; }, from(back));
  EXPECT_EQ(pipe.run().items, 200u * N);
  EXPECT_EQ(sum.load(), 5050u * N);
}

TEST(Devices, ItemsThatCarryTagsAreFoundByEachStageOfAGroup) {
  HIWAY_NEEDS_PEERS();
  Pipeline pipe(bounded());
  TunnelConfig const config{.capacity_items = 4, .low_latency = true};
  auto& one = pipe.create_tunnel<std::uint32_t>("one", Direction::gpu_to_gpu, config);
  auto& two = pipe.create_tunnel<std::uint32_t>("two", Direction::gpu_to_gpu, config);
  auto& back = pipe.create_tunnel<std::uint32_t>("back", Direction::gpu_to_cpu, {});
  pipe.add_gpu_group("both", {.blocks = 2, .threads_per_block = 64, .device = 1},
                     stage("first", Add{0}, from(one), into(back)), stage("second", Add{0}, from(two), into(back)));
  expect_all(pipe, std::array{&one, &two}, back);
}

TEST(Devices, ItemsThatCarryTagsGoInSpansOfAnyGrouping) {
  HIWAY_NEEDS_PEERS();
  for (Grouping const grouping : {Grouping::none, Grouping::warp, Grouping::block, Grouping::block_scan}) {
    SCOPED_TRACE(static_cast<int>(grouping));
    Pipeline pipe(bounded());
    auto& there = pipe.create_tunnel<std::uint32_t>("there", Direction::gpu_to_gpu,
                                                    {.capacity_items = 4, .grouping = grouping, .low_latency = true});
    auto& back = pipe.create_tunnel<std::uint32_t>("back", Direction::gpu_to_cpu, {});
    pipe.add_gpu_stage("hand on", HandOnSpans{}, from(there), into(back),
                       {.blocks = 2, .threads_per_block = 96, .device = 1});
    expect_all(pipe, std::array{&there}, back);
  }
}

/// A cycle over two devices: each item comes back smaller until it is 0.
void cycle_over_two(Movement movement) {
  for (std::size_t const capacity : {2u, 256u}) {
    Pipeline pipe(quiet());
    TunnelConfig const config{.capacity_items = capacity, .movement = movement, .spill_items = 4096};
    auto& there = pipe.create_tunnel<std::uint32_t>("there", Direction::gpu_to_gpu, config);
    auto& back = pipe.create_tunnel<std::uint32_t>("back", Direction::gpu_to_gpu, config);
    pipe.add_gpu_stage("source", Count{50}, into(there), {.blocks = 1, .threads_per_block = 32, .device = 0});
    pipe.add_gpu_stage("down", Lower{}, from(there), into(back), {.blocks = 1, .threads_per_block = 64, .device = 1});
    pipe.add_gpu_stage("up", Lower{}, from(back), into(there), {.blocks = 1, .threads_per_block = 64, .device = 0});
    for (int run = 0; run < 2; ++run) {
      RunReport const report = pipe.run();
      EXPECT_EQ(report.items, 50u * 51 / 2);  // n, n - 1, ... 1, of each n below 50, and a 0 of each
    }
  }
}

TEST(Devices, ACycleOverTwoEnds) {
  HIWAY_NEEDS_DEVICES(2);
  cycle_over_two(Movement::automatic);
}

#if !defined(HIWAY_TEST_ON_GPU)
TEST(Devices, CopiesTakeAsLongAsTheyAreTold) {
  std::byte from{1};
  std::byte to{0};
  Copy const copy{&to, &from, 1};
  auto const takes = [&](char const* longest) {
    std::optional<Environment> delay;
    if (longest != nullptr) delay.emplace("HIWAY_SIMT_DELAY_US", longest);
    auto const stream = make_backend("simt")->open_stream();
    auto const begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 32; ++i) static_cast<void>(stream->submit({&copy, 1}, {}));
    while (stream->completed() != 32) {
    }
    return std::chrono::steady_clock::now() - begin;
  };
  EXPECT_EQ(to, std::byte{0});
  auto shortest = takes(nullptr);
  for (int i = 0; i < 5; ++i) shortest = std::min(shortest, takes(nullptr));
  EXPECT_LT(shortest, std::chrono::milliseconds(50));
  EXPECT_GT(takes("200000"), std::chrono::milliseconds(100));  // the longest of 32
  EXPECT_EQ(to, std::byte{1});
}

TEST(Devices, WithoutPeersNoneReachesTheOthersMemory) {
  {
    Environment const peers("HIWAY_PEERS", "1");
    EXPECT_TRUE(make_backend("simt")->reaches(*make_backend("simt")));
  }
  Environment const alone("HIWAY_PEERS", "0");
  EXPECT_FALSE(make_backend("simt")->reaches(*make_backend("simt")));
}

/// Chains and cycles, where copies are late and items between devices go by the host's memory.
TEST(Devices, LateCopiesAndNoPeersLoseNothing) {
  for (char const* const peers : {"0", "1"}) {
    Environment const alone("HIWAY_PEERS", peers);
    Environment const delay("HIWAY_SIMT_DELAY_US", "100");
    for (Movement const movement : {Movement::direct, Movement::dma}) {
      for (std::size_t const capacity : {1u, 64u}) {
        SCOPED_TRACE(testing::Message() << "peers " << peers << ", capacity " << capacity);
        std::uint32_t const items = capacity == 1 ? 50 : 1000;
        std::vector<unsigned> seen;
        through({2, 0, 2}, items, {.capacity_items = capacity, .movement = movement}, seen);
        EXPECT_EQ(std::size_t(std::ranges::count(seen, 1u)), seen.size());
      }
      cycle_over_two(movement);
    }
  }
}

TEST(Devices, HardshipsThatAreNoneAreRefused) {
  Environment const late("HIWAY_SIMT_DELAY_US", "soon");
  EXPECT_EQ(text_of_error<ConfigError>([] { static_cast<void>(make_backend("simt")); }),
            "HIWAY_SIMT_DELAY_US must be a number of microseconds: 'soon'");
}
#endif

TEST(Devices, WhetherTheyArePeersIsAskedByZeroOrOneAlone) {
  HIWAY_NEEDS_DEVICE();
  for (char const* const asked : {"2", "-1", "no", "0x"}) {
    Environment const peers("HIWAY_PEERS", asked);
    EXPECT_EQ(text_of_error<ConfigError>([] { static_cast<void>(make_backend(device())); }),
              std::string("HIWAY_PEERS must be 0 or 1: '").append(asked).append("'"));
  }
  for (char const* const asked : {"", "0", "1"}) {
    Environment const peers("HIWAY_PEERS", asked);
    EXPECT_NO_THROW(static_cast<void>(make_backend(device()))) << asked;
  }
}

TEST(Devices, GiveManagedMemoryWithAdviceOrWithout) {
  HIWAY_NEEDS_DEVICE();
  constexpr std::size_t bytes = 1 << 20;
  for (char const* const asked : {"", "0", "1"}) {
    Environment const advice("HIWAY_MANAGED_ADVICE", asked);
    std::unique_ptr<Backend> const backend = make_backend(device());
    void* const memory = backend->allocate(Memory::managed, bytes, "items");
    std::memset(memory, 1, bytes);
    std::vector<unsigned char> back(bytes);
    backend->download(back.data(), memory, bytes);
    EXPECT_EQ(std::ranges::count(back, 1), std::ptrdiff_t{bytes}) << asked;
    backend->release(Memory::managed, memory);
  }
  Environment const advice("HIWAY_MANAGED_ADVICE", "2");
  std::unique_ptr<Backend> const backend = make_backend(device());
  if (backend->is_host()) return;  // no driver to advise
  EXPECT_EQ(text_of_error<ConfigError>([&] { static_cast<void>(backend->allocate(Memory::managed, bytes, "items")); }),
            "HIWAY_MANAGED_ADVICE must be 0 or 1: '2'");
}

TEST(Devices, OneThatFailsEndsTheRunOfAll) {
  HIWAY_NEEDS_DEVICES(2);
  for (int const failing : {0, 1}) {
    Pipeline pipe(bounded());
    auto& there = pipe.create_tunnel<std::uint32_t>("there", Direction::gpu_to_gpu, {});
    auto& back = pipe.create_tunnel<std::uint32_t>("back", Direction::gpu_to_gpu, {});
    auto& home = pipe.create_tunnel<std::uint32_t>("home", Direction::gpu_to_cpu, {});
    pipe.add_gpu_stage("endless", Endless{}, into(there), {.blocks = 1, .threads_per_block = 32, .device = 0});
    pipe.add_gpu_stage("first", FailAt{failing == 0 ? 77u : ~0u}, from(there), into(back),
                       {.blocks = 1, .threads_per_block = 32, .device = 1});
    pipe.add_gpu_stage("second", FailAt{failing == 1 ? 77u : ~0u}, from(back), into(home),
                       {.blocks = 1, .threads_per_block = 32, .device = 0});
    pipe.add_cpu_stage(
        "sink", [](std::uint32_t const&) {}, from(home));
    EXPECT_EQ(text_of_error<StageError>([&] { pipe.run(); }),
              std::string("stage '") + (failing == 0 ? "first" : "second") + "': enough");
  }
}

TEST(Devices, AStallSaysWhereAStageIs) {
  HIWAY_NEEDS_DEVICES(2);
  PipelineConfig config = bounded();
  config.stall_after = std::max(soon, std::chrono::milliseconds(50));  // the kernels have started by then
  config.on_stall = OnStall::abort;
  Pipeline pipe(config);
  auto& there = pipe.create_tunnel<std::uint32_t>("there", Direction::gpu_to_gpu, {.capacity_items = 4});
  pipe.add_gpu_stage("source", Count{100}, into(there), {.blocks = 1, .threads_per_block = 32, .device = 0});
  pipe.add_gpu_stage("idle", ReadsNothing{}, from(there), {.blocks = 1, .threads_per_block = 32, .device = 1});
  testing::internal::CaptureStderr();
  std::string const text = text_of_error<Aborted>([&] { pipe.run(); });
  testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("stage 'idle': 1 of 1 blocks on " + name_of_device(1) + " started"), std::string::npos) << text;
}

TEST(Devices, BuffersAndLaunchesAreWhereTheyAreAskedFor) {
  HIWAY_NEEDS_DEVICES(2);
  Pipeline pipe(bounded());
  std::vector<std::uint32_t> numbers(64, 5);
  auto& buffer = pipe.create_buffer<std::uint32_t>(std::span<std::uint32_t const>(numbers), 1);
  pipe.launch("double", Double{buffer.view()}, {.blocks = 2, .threads_per_block = 32, .device = 1});
  pipe.synchronize();
  buffer.copy_out(numbers);
  EXPECT_EQ(std::ranges::count(numbers, 10u), 64);
}

TEST(Devices, TheOwnOneHearsOfTheEndOfWhatIsElsewhere) {
  HIWAY_NEEDS_DEVICES(2);
  for (bool const on_another : {true, false}) {  // or on the CPU
    Pipeline pipe(bounded());
    auto& seen = pipe.create_buffer<std::uint32_t>(32);
    auto& there =
        pipe.create_tunnel<std::uint32_t>("there", on_another ? Direction::cpu_to_gpu : Direction::cpu_to_cpu, {});
    pipe.add_cpu_stage(
        "feed", [](Inlet<std::uint32_t> out) { out.put_h(1); }, into(there));
    if (on_another) {
      pipe.add_gpu_stage("sink", Nothing{}, from(there), {.blocks = 1, .threads_per_block = 32, .device = 1});
    } else {
      pipe.add_cpu_stage(
          "sink", [](std::uint32_t const&) {}, from(there));
    }
    AwaitEnd const await{Outlet<std::uint32_t>(PipelineAccess::whole_run_d(pipe)), seen.view()};
    pipe.start();
    pipe.launch("await", await, {.blocks = 1, .threads_per_block = 32});
    EXPECT_EQ(pipe.wait().items, 1u);
    pipe.synchronize();
    std::vector<std::uint32_t> all(32);
    seen.copy_out(all);
    EXPECT_EQ(std::ranges::count(all, 1u), 32);
  }
}

TEST(Devices, ASegmentOnEachCountsItsShare) {
  HIWAY_NEEDS_DEVICES(2);
  Pipeline pipe(bounded());
  std::vector<std::uint32_t> numbers(1000);
  std::iota(numbers.begin(), numbers.end(), 0U);
  auto const add = [&](int device) -> auto& {
    auto& share = pipe.create_buffer<std::uint32_t>(std::span<std::uint32_t const>(numbers), device);
    auto tree = segment::chain(segment::node("odd", KeepOdd{}), segment::count<std::uint32_t>("kept"));
    return pipe.add_segment(numbered("segment ", device), segment::load(share), tree, {.device = device});
  };
  auto& first = add(0);
  auto& second = add(1);
  pipe.run();
  EXPECT_EQ(first.items("kept"), 500u);
  EXPECT_EQ(second.items("kept"), 500u);
}

TEST(Devices, ABufferOnAFurtherDeviceMayComeBetweenRuns) {
  HIWAY_NEEDS_DEVICES(2);
  Pipeline pipe(bounded());
  auto& there = pipe.create_tunnel<std::uint32_t>("there", Direction::cpu_to_cpu, {});
  pipe.add_cpu_stage(
      "feed", [](Inlet<std::uint32_t> out) { out.put_h(1); }, into(there));
  pipe.add_cpu_stage(
      "sink", [](std::uint32_t const&) {}, from(there));
  pipe.run();
  pipe.create_buffer<std::uint32_t>(16, 1);
  EXPECT_EQ(pipe.run().items, 1u);
}

// ---- one stage on several

/// Waits with item 0 until `go`; adds 1.
struct HoldTheFirst {
  std::uint32_t* go;
  HIWAY_DEVICE std::uint32_t operator()(std::uint32_t const& item) const {
    while (item == 0 && load_go() == 0) {
    }
    return item + 1;
  }
  HIWAY_DEVICE std::uint32_t load_go() const {
    return anywhere([&](auto m) {
      m.relax(0);
      return m.load_across(*reinterpret_cast<Word<std::uint32_t>*>(go), MemoryOrder::relaxed);
    });
  }
};

std::uint64_t tasks_of(RunReport const& report, std::string const& stage) {
  auto const found = std::ranges::find(report.stages, stage, &StageReport::name);
  return found == report.stages.end() ? 0 : found->items;
}

/// Items through a stage on each of `devices` and back, put and got in each way a CPU thread has.
void expect_shared_out(std::vector<int> const& devices, TunnelConfig const& config, bool spans, unsigned threads) {
  constexpr std::uint32_t items = 2000;
  Pipeline pipe(bounded());
  auto& there = pipe.create_tunnel<std::uint32_t>("there", Direction::cpu_to_gpu, config);
  auto& back = pipe.create_tunnel<std::uint32_t>("back", Direction::gpu_to_cpu, config);
  pipe.add_cpu_stage("feed",
                     [=](Inlet<std::uint32_t> out) {
                       std::vector<std::uint32_t> mine;
                       for (std::uint32_t i = thread_index(); i < items; i += thread_count()) mine.push_back(i);
                       if (spans) out.put_h(std::span<std::uint32_t const>(mine));
                       for (std::size_t i = 0; !spans && i < mine.size(); ++i) out.put_h(mine[i]);
                     },
                     into(there), {.threads = threads});
  pipe.add_gpu_stage("add", Add{1}, from(there), into(back),
                     {.blocks = 2, .threads_per_block = 64, .devices = devices});
  std::vector<std::atomic<unsigned>> seen(items + 1);
  pipe.add_cpu_stage("sink",
                     [&](Outlet<std::uint32_t> in) {
                       std::vector<std::uint32_t> some(spans ? 37 : 1);
                       while (std::size_t const n = in.next_h(std::span<std::uint32_t>(some))) {
                         for (std::size_t i = 0; i < n; ++i) ++seen[some[i]];
                         in.end_task_h(n);
                       }
                     },
                     from(back), {.threads = threads});
  for (int run = 0; run < 2; ++run) {
    for (auto& s : seen) s = 0;
    RunReport const report = pipe.run();
    EXPECT_EQ(std::ranges::count_if(seen, [](auto const& s) { return s == 1; }), std::ptrdiff_t{items});
    std::uint64_t tasks = 0;
    for (int const d : devices) tasks += tasks_of(report, "add on " + name_of_device(d));
    EXPECT_EQ(tasks, items);
  }
}

TEST(Devices, AStageOnSeveralSharesItsItemsOut) {
  HIWAY_NEEDS_DEVICES(3);
  for (bool const spans : {false, true}) {
    for (unsigned const threads : {1u, 3u}) {
      SCOPED_TRACE(testing::Message() << "spans " << spans << ", threads " << threads);
      expect_shared_out({0, 1}, {.capacity_items = 8}, spans, threads);
      expect_shared_out({2, 0, 1}, {.capacity_items = 64, .movement = Movement::dma}, spans, threads);
    }
  }
}

/// In item and value form, too: the ends are the library's.
TEST(Devices, AStageOnSeveralStandsBetweenStagesOfAnyForm) {
  HIWAY_NEEDS_DEVICES(2);
  Pipeline pipe(bounded());
  auto& numbers = pipe.create_tunnel<std::uint32_t>("numbers", Direction::cpu_to_cpu, {});
  auto& there = pipe.create_tunnel<std::uint32_t>("there", Direction::cpu_to_gpu, {.capacity_items = 4});
  auto& back = pipe.create_tunnel<std::uint32_t>("back", Direction::gpu_to_cpu, {.capacity_items = 4});
  pipe.add_cpu_stage(
      "feed",
      [](Inlet<std::uint32_t> out) {
        for (std::uint32_t i = 0; i < 500; ++i) out.put_h(i);
      },
      into(numbers));
  pipe.add_cpu_stage(
      "value", [](std::uint32_t const& item) { return item + 1; }, from(numbers), into(there));
  pipe.add_gpu_stage("add", Add{1}, from(there), into(back),
                     {.blocks = 1, .threads_per_block = 32, .devices = all_devices});
  std::atomic<std::uint32_t> sum = 0;
  pipe.add_cpu_stage("sink", [&](std::uint32_t const& item) { sum += item; }, from(back), {.threads = 2});
  pipe.run();
  EXPECT_EQ(sum.load(), 499u * 500 / 2 + 2 * 500);
}

/// One device does not come back from its first item before the others have all but what lies before that one.
TEST(Devices, TheOneThatWorksGetsTheItems) {
  HIWAY_NEEDS_DEVICES(2);
  constexpr std::uint32_t items = 400;
  constexpr std::uint32_t capacity = 4;
  Pipeline pipe(bounded());
  std::span<std::uint32_t> const go = pipe.create_host_buffer<std::uint32_t>(1);
  go[0] = 0;
  auto& there = pipe.create_tunnel<std::uint32_t>("there", Direction::cpu_to_gpu, {.capacity_items = capacity});
  auto& back = pipe.create_tunnel<std::uint32_t>("back", Direction::gpu_to_cpu, {});
  pipe.add_cpu_stage(
      "feed",
      [](Inlet<std::uint32_t> out) {
        for (std::uint32_t i = 0; i < items; ++i) out.put_h(i);
      },
      into(there));
  pipe.add_gpu_stage("hold", HoldTheFirst{go.data()}, from(there), into(back),
                     {.blocks = 1, .threads_per_block = 32, .devices = {0, 1}});
  std::uint32_t got = 0;
  pipe.add_cpu_stage(
      "sink",
      [&](std::uint32_t const&) {
        // The warp that holds it has got up to 32 with it.
        if (++got + capacity + 32 == items) std::atomic_ref(go[0]).store(1);
      },
      from(back));
  RunReport const report = pipe.run();
  EXPECT_EQ(got, items);
  std::uint64_t const first = tasks_of(report, "hold on " + name_of_device(0));
  std::uint64_t const second = tasks_of(report, "hold on " + name_of_device(1));
  EXPECT_EQ(first + second, items);
  EXPECT_LE(std::min(first, second), capacity + 32);
}

/// Gets nothing before `go`.
struct WaitToGo {
  std::uint32_t* go;
  HIWAY_DEVICE void operator()(Outlet<std::uint32_t> in, Inlet<std::uint32_t> out) const {
    HoldTheFirst const hold{go};
    while (hold.load_go() == 0) {
    }
    in.for_each_d([&](std::uint32_t const& item) { out.put_d(item); });
  }
};

/// A put finds the room of each; what is closed is closed for each, while its stage still runs.
TEST(Devices, RoomIsThatOfAllAndSoIsTheEnd) {
  HIWAY_NEEDS_DEVICES(2);
  Pipeline pipe(bounded());
  std::span<std::uint32_t> const go = pipe.create_host_buffer<std::uint32_t>(1);
  go[0] = 0;
  auto& there = pipe.create_tunnel<std::uint32_t>("there", Direction::cpu_to_gpu, {.capacity_items = 4});
  auto& back = pipe.create_tunnel<std::uint32_t>("back", Direction::gpu_to_cpu, {});
  std::atomic<bool> over = false;
  bool over_before_the_feed = false;
  std::vector<bool> found_room;
  pipe.add_cpu_stage(
      "feed",
      [&](Inlet<std::uint32_t> out) {
        std::vector<std::uint32_t> const some(3);
        out.put_h(std::span<std::uint32_t const>(some));
        for (int i = 0; i < 6; ++i) found_room.push_back(out.try_put_h(1));
        std::atomic_ref(go[0]).store(1);
        out.close_h();
        auto const until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
        while (!over && std::chrono::steady_clock::now() < until) std::this_thread::yield();
        over_before_the_feed = over;
      },
      into(there));
  pipe.add_gpu_stage("wait", WaitToGo{go.data()}, from(there), into(back),
                     {.blocks = 1, .threads_per_block = 32, .devices = {0, 1}});
  pipe.add_cpu_stage(
      "sink",
      [&](Outlet<std::uint32_t> in) {
        in.for_each_h([](std::uint32_t const&) {});
        over = true;
      },
      from(back));
  EXPECT_EQ(pipe.run().items, 2u * 8);
  EXPECT_EQ(found_room, (std::vector<bool>{true, true, true, true, true, false}));
  EXPECT_TRUE(over_before_the_feed);
}

/// What is between two stages on the same devices stays on each.
TEST(Devices, TunnelsBetweenStagesOnSeveralStayOnEach) {
  HIWAY_NEEDS_DEVICES(2);
  Pipeline pipe(bounded());
  auto& there = pipe.create_tunnel<std::uint32_t>("there", Direction::cpu_to_gpu, {});
  auto& half = pipe.create_tunnel<std::uint32_t>("half", Direction::gpu_to_gpu, {});
  auto& back = pipe.create_tunnel<std::uint32_t>("back", Direction::gpu_to_cpu, {});
  GpuStageOptions const options{.blocks = 1, .threads_per_block = 32, .devices = {0, 1}};
  pipe.add_cpu_stage(
      "feed",
      [](Inlet<std::uint32_t> out) {
        for (std::uint32_t i = 0; i < 1000; ++i) out.put_h(i);
      },
      into(there));
  pipe.add_gpu_stage("first", Add{1}, from(there), into(half), options);
  pipe.add_gpu_stage("second", Add{1}, from(half), into(back), options);
  std::uint32_t sum = 0;
  pipe.add_cpu_stage(
      "sink", [&](std::uint32_t const& item) { sum += item; }, from(back));
  RunReport const report = pipe.run();
  EXPECT_EQ(sum, 499500u + 2000);
  for (int const d : {0, 1})
    EXPECT_EQ(tasks_of(report, "first on " + name_of_device(d)), tasks_of(report, "second on " + name_of_device(d)));
  std::string const graph = pipe.graph();
  EXPECT_NE(graph.find("\"feed\" -> \"first on " + name_of_device(1) + "\""), std::string::npos) << graph;
}

TEST(Devices, AStageOnSeveralIsRefusedWhereItCannotBe) {
  HIWAY_NEEDS_DEVICES(2);
  GpuStageOptions const on_both{.blocks = 1, .threads_per_block = 32, .devices = {0, 1}};
  Pipeline pipe(bounded());
  auto& there = pipe.create_tunnel<std::uint32_t>("there", Direction::gpu_to_gpu, {});
  pipe.add_gpu_stage("source", Count{1}, into(there), {.blocks = 1, .threads_per_block = 32});
  pipe.add_gpu_stage("sink", Nothing{}, from(there), on_both);
  EXPECT_NE(text_of_error<ConfigError>([&] {
              pipe.prepare();
            }).find("tunnel 'there' has a stage on several devices, and stage 'source' on one"),
            std::string::npos);
  EXPECT_EQ(text_of_error<ConfigError>([&] {
              pipe.add_gpu_stage("twice", Nothing{}, from(there), {.devices = {1, 1}});
            }),
            "stage 'twice': devices: each number once, none below 0");
  EXPECT_EQ(text_of_error<ConfigError>([&] {
              pipe.add_gpu_stage("other", Nothing{}, from(there), {.devices = {1, 0}});
            }),
            "tunnel 'there': its stages are on different devices");
  Pipeline open(bounded());
  auto& in = open.create_tunnel<std::uint32_t>("in", Direction::cpu_to_gpu, {});
  open.add_gpu_stage("sink", Nothing{}, from(in), on_both);
  static_cast<void>(in.open_inlet());
  EXPECT_NE(text_of_error<ConfigError>([&] {
              open.prepare();
            }).find("tunnel 'in' has an open end, which leads to one device, and a stage on several"),
            std::string::npos);
  auto& sharded = open.create_tunnel<std::uint32_t>("sharded", Direction::gpu_to_gpu, {.shards = 2});
  EXPECT_EQ(text_of_error<ConfigError>([&] { open.add_gpu_stage("other", Nothing{}, from(sharded), on_both); }),
            "tunnel 'sharded': shards are for tunnels whose stages are on one device");
}

TEST(Devices, WhatCannotBeIsRefused) {
  HIWAY_NEEDS_DEVICES(2);
  GpuStageOptions const on_0{.blocks = 1, .threads_per_block = 32, .device = 0};
  GpuStageOptions const on_1{.blocks = 1, .threads_per_block = 32, .device = 1};
  auto const refused = [&](TunnelConfig const& config, bool two_writers) {
    Pipeline pipe(bounded());
    auto& there = pipe.create_tunnel<std::uint32_t>("there", Direction::gpu_to_gpu, config);
    pipe.add_gpu_stage("source", Count{1}, into(there), on_0);
    if (two_writers) pipe.add_gpu_stage("other", Count{1}, into(there), on_1);
    pipe.add_gpu_stage("sink", Nothing{}, from(there), on_1);
    return text_of_error<ConfigError>([&] { pipe.prepare(); });
  };
  EXPECT_EQ(refused({}, true), "tunnel 'there' is put on " + name_of_device(0) + " and on " + name_of_device(1) +
                                   ": all its writers must be on one device");
  EXPECT_EQ(refused({.shards = 2}, false),
            "tunnel 'there': shards are for tunnels that do not lead from one device to another");
  EXPECT_EQ(refused({.movement = Movement::managed}, false),
            "tunnel 'there': Movement::managed does not lead from one device to another; use dma or direct");
}

}  // namespace
