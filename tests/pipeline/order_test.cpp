// Tunnels with Order::restored: readers see results in the order in which their items were put, whatever lanes and
// threads do in between.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <thread>
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
  auto& made = pipe.create_tunnel<Made>("made", Direction::gpu_to_cpu,
                                        {.capacity_items = c.out, .movement = c.movement, .order = Order::restored});
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
      pipe.create_tunnel<Made>("made", Direction::cpu_to_cpu, {.capacity_items = c.out, .order = Order::restored});
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
      pipe.create_tunnel<Made>("made", Direction::gpu_to_gpu, {.capacity_items = c.out, .order = Order::restored});
  auto& again = pipe.create_tunnel<Made>("again", Direction::gpu_to_cpu,
                                         {.capacity_items = c.out, .movement = c.movement, .order = Order::restored});
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
  auto& made = pipe.create_tunnel<Made>("made", Direction::cpu_to_gpu,
                                        {.capacity_items = c.out, .movement = c.movement, .order = Order::restored});
  auto& again =
      pipe.create_tunnel<Made>("again", Direction::gpu_to_cpu, {.capacity_items = c.out, .order = Order::restored});
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

// ---- what may come between

struct Big {
  std::uint32_t number;
  std::array<std::uint32_t, 100> rest;
};
struct OfBig {
  HIWAY_DEVICE Made operator()(Big const& big) const {
    return {big.number, made_of(big.number, work_for(big.number)) + big.rest[99] - big.number};
  }
};

TEST(Order, IsRestoredForItemsThatAreWorkedOnInTheirSlot) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& asked = pipe.create_tunnel<Big>("asked", Direction::cpu_to_gpu, {.capacity_items = 48});
  auto& made = pipe.create_tunnel<Made>("made", Direction::gpu_to_cpu, {.capacity_items = 5, .order = Order::restored});
  Seen seen;
  auto const put = [](Inlet<Big> out) {
    for (std::uint32_t i = 0; i < 700; ++i) {
      Big big{i, {}};
      big.rest[99] = i;
      out.put_h(big);
    }
  };
  pipe.add_cpu_stage("put", put, into(asked));
  pipe.add_gpu_stage("make", OfBig{}, from(asked), into(made), {.blocks = 3});
  pipe.add_cpu_stage(
      "see", [&](Made const& m) { seen(m); }, from(made));
  pipe.run();
  EXPECT_EQ(seen.next, 700u);
  EXPECT_EQ(seen.wrong, 0u);
}

/// Two stages of GPUs, one after the other; all results come in order.
void run_two_stages(std::uint32_t items, TunnelConfig const& asked_config, RestoredTunnelConfig const& made_config,
                    RestoredTunnelConfig const& again_config, GpuStageOptions const& make,
                    GpuStageOptions const& make_again) {
  Pipeline pipe(bounded());
  auto& asked = pipe.create_tunnel<Asked>("asked", Direction::cpu_to_gpu, asked_config);
  auto& made = pipe.create_tunnel<Made>("made", Direction::gpu_to_gpu, made_config);
  auto& again = pipe.create_tunnel<Made>("again", Direction::gpu_to_cpu, again_config);
  SeenAgain seen;
  pipe.add_cpu_stage(
      "put", [items](Inlet<Asked> out) { put_all(out, items); }, into(asked));
  pipe.add_gpu_stage("make", Make{}, from(asked), into(made), make);
  pipe.add_gpu_stage("again", MakeAgain{}, from(made), into(again), make_again);
  pipe.add_cpu_stage(
      "see", [&](Made const& m) { seen(m); }, from(again));
  pipe.run();
  EXPECT_EQ(seen.next, items);
  EXPECT_EQ(seen.wrong, 0u);
}

/// Tickets of a warp's lanes do not follow each other then.
TEST(Order, IsRestoredThoughEachLaneClaimsForItself) {
  HIWAY_NEEDS_DEVICE();
  RestoredTunnelConfig const made{.capacity_items = 64, .grouping = Grouping::none, .order = Order::restored};
  GpuStageOptions const shape{.blocks = 2, .threads_per_block = 96};
  run_two_stages(3000, {.grouping = Grouping::none}, made, {.order = Order::restored}, shape, shape);
}

TEST(Order, IsSeenByBatchesAndSpans) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& asked = pipe.create_tunnel<Asked>("asked", Direction::cpu_to_gpu);
  auto& made =
      pipe.create_tunnel<Made>("made", Direction::gpu_to_cpu, {.capacity_items = 100, .order = Order::restored});
  auto& last = pipe.create_tunnel<Made>("last", Direction::cpu_to_cpu, {.capacity_items = 64});
  Seen seen;
  auto const batch = [](Batch<Made const> in, Batch<Made> out, Stream) {
    std::ranges::copy(in.span(), out.data());
    out.resize(in.size());
  };
  auto const see = [&](Outlet<Made> in) {
    std::array<Made, 30> some{};
    while (std::size_t const n = in.next_h(std::span<Made>(some))) {
      for (std::size_t i = 0; i < n; ++i) seen(some.at(i));
      in.end_task_h(n);
    }
  };
  pipe.add_cpu_stage(
      "put", [](Inlet<Asked> out) { put_all(out, 3000); }, into(asked));
  pipe.add_gpu_stage("make", Make{}, from(asked), into(made), {.blocks = 4});
  pipe.add_batch_stage("copy", batch, from(made), into(last), {.max_items = 20});
  pipe.add_cpu_stage("see", see, from(last));
  pipe.run();
  EXPECT_EQ(seen.next, 3000u);
  EXPECT_EQ(seen.wrong, 0u);
}

/// What is dropped has no ticket, so it leaves no gap.
TEST(Order, IsRestoredForItemsThatFindRoom) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& asked = pipe.create_tunnel<Asked>("asked", Direction::cpu_to_gpu,
                                          {.capacity_items = 16, .when_full = WhenFull::drop_newest});
  auto& made = pipe.create_tunnel<Made>("made", Direction::gpu_to_cpu, {.order = Order::restored});
  std::vector<std::uint64_t> seen;
  pipe.add_cpu_stage(
      "put", [](Inlet<Asked> out) { put_all(out, 5000); }, into(asked));
  pipe.add_gpu_stage("make", Make{}, from(asked), into(made), {.blocks = 3});
  pipe.add_cpu_stage(
      "see", [&](Made const& m) { seen.push_back(m.number); }, from(made));
  RunReport const report = pipe.run();
  EXPECT_EQ(seen.size() + report.tunnels[0].dropped, 5000u);
  EXPECT_TRUE(std::ranges::is_sorted(seen));
}

TEST(Order, IsRestoredBetweenDevices) {
  HIWAY_NEEDS_DEVICE();
  HIWAY_NEEDS_DEVICES(2);
  RestoredTunnelConfig const restored{.capacity_items = 50, .order = Order::restored};
  run_two_stages(2000, {}, restored, restored, {.blocks = 3, .device = 0}, {.blocks = 3, .device = 1});
}

TEST(Order, IsKeptThoughTheFirstItemEndsLast) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& asked = pipe.create_tunnel<Asked>("asked", Direction::cpu_to_cpu);
  auto& made = pipe.create_tunnel<Made>("made", Direction::cpu_to_cpu, {.order = Order::restored});
  std::atomic<std::uint32_t> ended{0};
  std::vector<std::uint64_t> seen;
  auto const make = [&](Asked const& a) {
    while (a.number == 0 && ended != 9) std::this_thread::yield();
    ++ended;
    return Made{a.number, 0};
  };
  pipe.add_cpu_stage(
      "put", [](Inlet<Asked> out) { put_all(out, 10); }, into(asked));
  pipe.add_cpu_stage("make", make, from(asked), into(made), {.threads = 2});
  pipe.add_cpu_stage(
      "see", [&](Made const& m) { seen.push_back(m.number); }, from(made));
  pipe.run();
  EXPECT_THAT(seen, testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
}

/// Words at the host that both sides poll.
struct Steps {
  Word<std::uint32_t> begun{0};
  Word<std::uint32_t> seen{0};
};
HIWAY_DEVICE inline void wait_for(Word<std::uint32_t>& word, std::uint32_t value) {
  anywhere([&](auto m) {
    for (unsigned misses = 0; m.load_across(word, hiway::MemoryOrder::acquire) < value; ++misses) m.relax(misses);
  });
}
HIWAY_DEVICE inline void tell(Word<std::uint32_t>& word, std::uint32_t value) {
  anywhere([&](auto m) { m.store_across(word, value, hiway::MemoryOrder::release); });
}
/// The body of each item waits until the result before it has been seen.
struct WaitForTheOneBefore {
  Steps* steps;
  HIWAY_DEVICE Made operator()(Asked const& a) const {
    tell(steps->begun, a.number + 1);
    wait_for(steps->seen, a.number);
    return {a.number, 0};
  }
};

TEST(Order, KeepsNoResultFromItsReaderForALaterOne) {
  HIWAY_NEEDS_DEVICE();
  for (Direction const way : {Direction::gpu_to_cpu, Direction::cpu_to_cpu}) {
    Pipeline pipe(bounded());
    bool const on_gpu = way == Direction::gpu_to_cpu;
    Steps* const steps = new (pipe.create_host_buffer<Steps>(1).data()) Steps;
    auto& asked = pipe.create_tunnel<Asked>("asked", on_gpu ? Direction::cpu_to_gpu : Direction::cpu_to_cpu);
    auto& made = pipe.create_tunnel<Made>("made", way, {.order = Order::restored});
    auto const put = [&](Inlet<Asked> out) {
      for (std::uint32_t i = 0; i < 100; ++i) {
        wait_for(steps->begun, i);  // so no two items come to one warp together
        out.put_h(std::span<Asked const>(std::array{Asked{i, 0}}));
      }
    };
    std::uint64_t next = 0;
    auto const see = [&](Made const& m) {
      EXPECT_EQ(m.number, next);
      tell(steps->seen, static_cast<std::uint32_t>(++next));
    };
    pipe.add_cpu_stage("put", put, into(asked));
    on_gpu ? pipe.add_gpu_stage("make", WaitForTheOneBefore{steps}, from(asked), into(made), {.blocks = 2})
           : pipe.add_cpu_stage("make", WaitForTheOneBefore{steps}, from(asked), into(made), {.threads = 2});
    pipe.add_cpu_stage("see", see, from(made));
    pipe.run();
    EXPECT_EQ(next, 100u);
  }
}

// ---- random chains

class RandomChain {
 public:
  explicit RandomChain(std::uint64_t seed) : seed_(seed), pipe_(config()) {}

  void run() {
    bool on_gpu = one_of(2) == 0;
    unsigned const stages = 1 + one_of(3);  // beside the monitor, an emulated device has room for three
    std::uint32_t const count = one_of(5) == 0 ? one_of(4) : 600;
    Tunnel<Made>* last = &pipe_.create_tunnel<Made>("t0", way(false, on_gpu), {.capacity_items = capacity()});
    auto const put = [=](Inlet<Made> out) {
      for (std::uint64_t i = 0; i < count; ++i) out.put_h(Made{i, made_of(i, work_for(static_cast<std::uint32_t>(i)))});
    };
    pipe_.add_cpu_stage("put", put, into(*last));
    for (unsigned s = 1; s <= stages; ++s) {
      bool const next_on_gpu = s != stages && one_of(2) == 0;
      Direction const direction = way(on_gpu, next_on_gpu);
      auto& made =
          pipe_.create_tunnel<Made>(numbered("t", s), direction,
                                    {.capacity_items = capacity(), .movement = movement(), .order = Order::restored});
      add(numbered("s", s), on_gpu, *last, made);
      last = &made;
      on_gpu = next_on_gpu;
    }
    std::vector<Made> seen;
    pipe_.add_cpu_stage(
        "see", [&](Made const& m) { seen.push_back(m); }, from(*last));
    pipe_.run();
    ASSERT_EQ(seen.size(), count) << "seed " << seed_;
    for (std::uint64_t i = 0; i < count; ++i) {
      std::uint64_t sum = made_of(i, work_for(static_cast<std::uint32_t>(i)));
      for (unsigned s = 0; s < stages; ++s) sum = MakeAgain{}(Made{i, sum}).sum;
      ASSERT_TRUE(seen[i].number == i && seen[i].sum == sum) << "seed " << seed_ << ", item " << i;
    }
  }

 private:
  static std::string numbered(char const* name, unsigned number) {
    return std::string(name).append(std::to_string(number));
  }
  static Direction way(bool from_gpu, bool to_gpu) {
    if (from_gpu) return to_gpu ? Direction::gpu_to_gpu : Direction::gpu_to_cpu;
    return to_gpu ? Direction::cpu_to_gpu : Direction::cpu_to_cpu;
  }
  static PipelineConfig config() {
    PipelineConfig made = bounded();
    made.slice = std::chrono::microseconds(30);
    return made;
  }
  std::uint32_t one_of(std::uint32_t n) { return static_cast<std::uint32_t>(hiway_tests::mix(seed_ + draws_++) % n); }
  std::size_t capacity() { return one_of(2) == 0 ? 1 + one_of(6) : 1 + one_of(300); }
  Movement movement() { return std::array{Movement::automatic, Movement::direct, Movement::dma}.at(one_of(3)); }
  void add(std::string const& name, bool on_gpu, Tunnel<Made>& in, RestoredTunnel<Made>& out) {
    Residency const residency = one_of(2) == 0 ? Residency::resident : Residency::yielding;
    if (on_gpu) {
      pipe_.add_gpu_stage(name, MakeAgain{}, from(in), into(out), {.blocks = 1 + one_of(3), .residency = residency});
    } else {
      pipe_.add_cpu_stage(name, MakeAgain{}, from(in), into(out), {.threads = 1 + one_of(3)});
    }
  }

  std::uint64_t seed_;
  std::uint64_t draws_ = 0;
  Pipeline pipe_;
};

TEST(Order, IsRestoredInRandomChains) {
  HIWAY_NEEDS_DEVICE();
  std::uint64_t const first = hiway_tests::from_environment("HIWAY_SEED", 1);
  for (std::uint64_t seed = first; seed < first + 25; ++seed) RandomChain(seed).run();
}

// ---- ends of another kind

struct FailAt {
  std::uint32_t number;
  HIWAY_DEVICE Made operator()(Asked const& a) const {
    if (a.number == number) fail("planted");
    return {a.number, 0};
  }
};

TEST(Order, WaitsThatItCausesAreLeftWhenAStageFails) {
  HIWAY_NEEDS_DEVICE();
  for (bool const on_gpu : {true, false}) {
    Pipeline pipe(bounded());
    auto& asked = pipe.create_tunnel<Asked>("asked", on_gpu ? Direction::cpu_to_gpu : Direction::cpu_to_cpu);
    auto& made = pipe.create_tunnel<Made>("made", on_gpu ? Direction::gpu_to_cpu : Direction::cpu_to_cpu,
                                          {.capacity_items = 4, .order = Order::restored});
    pipe.add_cpu_stage(
        "put", [](Inlet<Asked> out) { put_all(out, 100'000); }, into(asked));
    on_gpu ? pipe.add_gpu_stage("make", FailAt{500}, from(asked), into(made), {.blocks = 3})
           : pipe.add_cpu_stage("make", FailAt{500}, from(asked), into(made), {.threads = 3});
    pipe.add_cpu_stage(
        "see", [](Made const&) {}, from(made));
    EXPECT_THAT(text_of_error<StageError>([&] { pipe.run(); }), HasSubstr("planted"));
  }
}

TEST(Order, WaitsThatItCausesAreLeftWhenTheRunIsAborted) {
  HIWAY_NEEDS_DEVICE();
  for (Residency const residency : {Residency::resident, Residency::yielding}) {
    Pipeline pipe(bounded());
    auto& asked = pipe.create_tunnel<Asked>("asked", Direction::cpu_to_gpu);
    auto& made =
        pipe.create_tunnel<Made>("made", Direction::gpu_to_cpu, {.capacity_items = 4, .order = Order::restored});
    std::atomic<unsigned> seen{0};
    pipe.add_cpu_stage(
        "put", [](Inlet<Asked> out) { put_all(out, 100'000); }, into(asked));
    pipe.add_gpu_stage("make", Make{}, from(asked), into(made), {.blocks = 3, .residency = residency});
    auto const see = [&](Made const&) {
      while (seen == 10 && !pipe.stop_token().stop_requested()) std::this_thread::yield();
      ++seen;
    };
    pipe.add_cpu_stage("see", see, from(made));
    pipe.start();
    while (seen != 10) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // until results wait for room
    pipe.abort();
    EXPECT_THROW(pipe.wait(), Aborted);
  }
}

// ---- what is refused

std::string refusal(RestoredTunnelConfig const& config) {
  return text_of_error<ConfigError>(
      [&] { Pipeline(bounded()).create_tunnel<Made>("made", Direction::gpu_to_gpu, config); });
}

TEST(Order, IsRefusedWithWhatDoesNotWait) {
  HIWAY_NEEDS_DEVICE();
  RestoredTunnelConfig const restored{.order = Order::restored};
  for (WhenFull const when : {WhenFull::spill, WhenFull::drop_newest, WhenFull::drop_oldest, WhenFull::fail}) {
    RestoredTunnelConfig config = restored;
    config.when_full = when;
    EXPECT_THAT(refusal(config), HasSubstr("Order::restored makes a put wait for room: leave out when_full"));
  }
  RestoredTunnelConfig planned = restored;
  planned.planned = true;
  EXPECT_THAT(refusal(planned), HasSubstr("leave out when_full, planned and grow_to_items"));
  RestoredTunnelConfig sharded = restored;
  sharded.shards = 4;
  EXPECT_THAT(refusal(sharded), HasSubstr("Order::restored is for tunnels of one shard: 4"));
  auto const quick = [&] {
    Pipeline(bounded()).create_tunnel<int>("made", Direction::gpu_to_gpu,
                                           {.low_latency = true, .order = Order::restored});
  };
  EXPECT_THAT(text_of_error<ConfigError>(quick), HasSubstr("Order::restored does not go with low_latency"));
  auto const large = [&] { Pipeline(bounded()).create_tunnel<Big>("made", Direction::gpu_to_gpu, restored); };
  EXPECT_THAT(text_of_error<ConfigError>(large), HasSubstr("Order::restored is for items of at most 256 bytes: 404"));
}

/// asked -> make -> made, with something else that `more` adds.
template <class More>
std::string refused_with(TunnelConfig const& asked_config, More&& more) {
  Pipeline pipe(bounded());
  auto& asked = pipe.create_tunnel<Asked>("asked", Direction::cpu_to_cpu, asked_config);
  auto& made = pipe.create_tunnel<Made>("made", Direction::cpu_to_cpu, {.order = Order::restored});
  pipe.add_cpu_stage(
      "put", [](Inlet<Asked>) {}, into(asked));
  pipe.add_cpu_stage("make", Make{}, from(asked), into(made));
  pipe.add_cpu_stage(
      "see", [](Made const&) {}, from(made));
  more(pipe, asked, made);
  return text_of_error<ConfigError>([&] { pipe.prepare(); });
}
std::string refused_with(TunnelConfig const& asked_config) {
  return refused_with(asked_config, [](Pipeline&, Tunnel<Asked>&, RestoredTunnel<Made>&) {});
}

TEST(Order, IsRefusedUnlessOneValueStageAloneWrites) {
  HIWAY_NEEDS_DEVICE();
  char const* const one_writer = "tunnel 'made': Order::restored needs one writer: a stage in value form";
  EXPECT_THAT(refused_with({},
                           [](Pipeline& pipe, Tunnel<Asked>&, RestoredTunnel<Made>& made) {
                             Tunnel<Made>& as_any = made;
                             pipe.add_cpu_stage(
                                 "more", [](Inlet<Made>) {}, into(as_any));
                           }),
              HasSubstr(one_writer));
  EXPECT_THAT(refused_with({}, [](Pipeline&, Tunnel<Asked>&, RestoredTunnel<Made>& made) { (void)made.open_inlet(); }),
              HasSubstr(one_writer));
  Pipeline pipe(bounded());
  Tunnel<Made>& made = pipe.create_tunnel<Made>("made", Direction::cpu_to_cpu, {.order = Order::restored});
  pipe.add_cpu_stage(
      "loop", [](Inlet<Made>) {}, into(made));
  pipe.add_cpu_stage(
      "see", [](Made const&) {}, from(made));
  EXPECT_THAT(text_of_error<ConfigError>([&] { pipe.prepare(); }), HasSubstr(one_writer));
}

TEST(Order, IsRefusedIfItsItemsHaveNoOrder) {
  HIWAY_NEEDS_DEVICE();
  std::string const source = "tunnel 'made': Order::restored needs tunnel 'asked', which its writer reads, to ";
  EXPECT_THAT(refused_with({.shards = 2}), HasSubstr(source + "have one shard"));
  EXPECT_THAT(refused_with({.when_full = WhenFull::drop_oldest}), HasSubstr(source + "drop nothing"));
  EXPECT_THAT(refused_with({.when_full = WhenFull::spill}), HasSubstr(source + "spill nothing"));
  EXPECT_THAT(refused_with({},
                           [](Pipeline& pipe, Tunnel<Asked>& asked, RestoredTunnel<Made>&) {
                             pipe.add_cpu_stage(
                                 "other", [](Asked const&) {}, from(asked));
                           }),
              HasSubstr(source + "have no other reader"));
  EXPECT_THAT(
      refused_with({}, [](Pipeline&, Tunnel<Asked>& asked, RestoredTunnel<Made>&) { (void)asked.open_outlet(); }),
      HasSubstr(source + "have no other reader"));
}

TEST(Order, IsRefusedIfItsItemsHaveKeys) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& asked = pipe.create_tunnel<int>("asked", Direction::cpu_to_cpu, {.keyed = true});
  auto& made = pipe.create_tunnel<int>("made", Direction::cpu_to_cpu, {.order = Order::restored});
  pipe.add_cpu_stage(
      "put", [](Inlet<int>) {}, into(asked));
  pipe.add_cpu_stage(
      "same", [](int const& x) { return x; }, from(asked), into(made));
  pipe.add_cpu_stage(
      "see", [](int const&) {}, from(made));
  EXPECT_THAT(text_of_error<ConfigError>([&] { pipe.prepare(); }),
              HasSubstr("needs tunnel 'asked', which its writer reads, to be without keys"));
}

struct Same {
  HIWAY_DEVICE int operator()(int const& x) const { return x; }
};

TEST(Order, IsRefusedOnSeveralDevicesAndInCycles) {
  HIWAY_NEEDS_DEVICE();
  HIWAY_NEEDS_DEVICES(2);
  Pipeline pipe(bounded());
  auto& there = pipe.create_tunnel<int>("there", Direction::cpu_to_gpu, {.low_latency = true});
  auto& back = pipe.create_tunnel<int>("back", Direction::gpu_to_cpu, {.order = Order::restored});
  pipe.add_cpu_stage(
      "put", [](Inlet<int>) {}, into(there));
  pipe.add_gpu_stage("same", Same{}, from(there), into(back), {.devices = all_devices});
  pipe.add_cpu_stage(
      "see", [](int const&) {}, from(back));
  std::string const why = text_of_error<ConfigError>([&] { pipe.prepare(); });
  EXPECT_THAT(why, HasSubstr("tunnel 'back': Order::restored is not for stages on several devices"));
  EXPECT_THAT(why, HasSubstr("needs tunnel 'there', which its writer reads, to be without low_latency"));

  Pipeline cycle(bounded());
  auto& first = cycle.create_tunnel<int>("first", Direction::cpu_to_cpu);
  auto& second = cycle.create_tunnel<int>("second", Direction::cpu_to_cpu, {.order = Order::restored});
  cycle.add_cpu_stage(
      "start", [](Inlet<int>) {}, into(first));
  cycle.add_cpu_stage("same", Same{}, from(first), into(second));
  cycle.add_cpu_stage(
      "again", [](int const&, Inlet<int>) {}, from(second), into(first));
  std::string const circle = text_of_error<ConfigError>([&] { cycle.prepare(); });
  EXPECT_THAT(circle, HasSubstr("tunnel 'second': Order::restored is not for tunnels in a cycle"));
  EXPECT_THAT(circle, HasSubstr("needs tunnel 'first', which its writer reads, to spill nothing"));
}

}  // namespace
