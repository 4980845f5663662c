// Puts into a full tunnel that do not wait: WhenFull::drop_newest, drop_oldest and fail. Each item that is put is got
// once, or dropped and counted, and the run ends.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "hiway/hiway.hpp"
#include "tests/device.hpp"

namespace {

using namespace hiway;
using hiway_tests::bounded;
using hiway_tests::text_of_error;
using testing::HasSubstr;

/// What puts at once, and what it puts: items one by one, or a span.
enum class By : std::uint8_t { lane, lane_span, warp, warp_span, block, block_span };

constexpr unsigned block_threads = 64;

constexpr unsigned team_threads(By by) {
  return by == By::lane || by == By::lane_span ? 1 : by == By::warp || by == By::warp_span ? 32 : block_threads;
}

/// Puts items by teams of `team` threads: each its own `each` of `numbers`.
struct PutAll {
  View<std::uint32_t> numbers;
  std::uint32_t each;
  By by;
  unsigned team;
  HIWAY_DEVICE void operator()(Inlet<std::uint32_t> out) const {
    std::size_t const first = std::size_t{thread_index()} / team * each;
    std::span<std::uint32_t const> const own(numbers.data + first, each);
    switch (by) {
      case By::lane_span: return out.put(own);
      case By::warp_span: return out.put_warp(own);
      case By::block_span: return out.put_block(own);
      default: break;
    }
    for (std::uint32_t const x : own) {
      if (by == By::lane) out.put(x);
      if (by == By::warp) out.put_warp(x);
      if (by == By::block) out.put_block(x);
    }
  }
};
/// The same, and then a token of each thread.
struct PutAllAndTell {
  PutAll all;
  HIWAY_DEVICE void operator()(Inlet<std::uint32_t> out, Inlet<int> told) const {
    all(out);
    told.put(1);
  }
};

/// Counts what comes.
struct CountAll {
  View<Word<std::uint32_t>> seen;
  HIWAY_DEVICE void operator()(Outlet<std::uint32_t> in) const {
    in.for_each([&](std::uint32_t x) { anywhere([&](auto m) { m.fetch_add(seen[x], 1u, MemoryOrder::relaxed); }); });
  }
};
/// Gets nothing before all have put all.
struct CountAllLate {
  CountAll all;
  std::uint32_t tokens;
  HIWAY_DEVICE void operator()(Outlet<std::uint32_t> in, Outlet<int> told) const {
    int token = 0;
    for (std::uint32_t i = 0; i < tokens && told.next(token); ++i) told.end_task();
    all(in);
  }
};

struct Shape {
  Direction direction = Direction::cpu_to_cpu;
  TunnelConfig config{};
  By by = By::lane;
  unsigned writers = 1;  ///< CPU threads or blocks
  std::uint32_t each = 50;
  bool late = false;     ///< the reader gets nothing before all is put
  unsigned readers = 1;  ///< CPU threads or blocks
};

/// What a run said and what its reader saw.
struct Outcome {
  TunnelReport tunnel;
  std::uint64_t put = 0;
  std::vector<std::uint32_t> got;  ///< in the order of their numbers
};

bool from_gpu(Direction d) { return d == Direction::gpu_to_cpu || d == Direction::gpu_to_gpu; }
bool to_gpu(Direction d) { return d == Direction::cpu_to_gpu || d == Direction::gpu_to_gpu; }

template <class Stage, class Ends>
void add(Pipeline& pipe, std::string const& name, bool gpu, Stage stage, Ends ends, GpuStageOptions const& options) {
  if (gpu) {
    std::apply([&](auto... end) { pipe.add_gpu_stage(name, stage, end..., options); }, ends);
  } else {
    std::apply([&](auto... end) { pipe.add_cpu_stage(name, stage, end..., {.threads = options.blocks}); }, ends);
  }
}

Outcome run(Shape const& s) {
  unsigned const width = from_gpu(s.direction) ? block_threads : 1;
  unsigned const team = std::min(width, team_threads(s.by));
  std::uint32_t const tokens = s.writers * width;
  std::uint32_t const total = tokens / team * s.each;
  Pipeline pipe(bounded());
  std::vector<std::uint32_t> numbers(total);
  std::iota(numbers.begin(), numbers.end(), 0U);
  std::vector<Word<std::uint32_t>> seen(total, Word<std::uint32_t>{0});
  auto& numbers_there = pipe.create_buffer<std::uint32_t>(std::span<std::uint32_t const>(numbers));
  auto& seen_there = pipe.create_buffer<Word<std::uint32_t>>(std::span<Word<std::uint32_t> const>(seen));
  auto& t = pipe.create_tunnel<std::uint32_t>("t", s.direction, s.config);
  PutAll const put{from_gpu(s.direction) ? numbers_there.view() : View<std::uint32_t>{numbers.data(), numbers.size()},
                   s.each, s.by, team};
  CountAll const count{to_gpu(s.direction) ? seen_there.view() : View<Word<std::uint32_t>>{seen.data(), seen.size()}};
  GpuStageOptions const writers{.blocks = s.writers, .threads_per_block = block_threads};
  if (s.late) {
    auto& told = pipe.create_tunnel<int>("told", s.direction, {.capacity_items = 4096});
    add(pipe, "put", from_gpu(s.direction), PutAllAndTell{put}, std::tuple(into(t, told)), writers);
    add(pipe, "count", to_gpu(s.direction), CountAllLate{count, tokens}, std::tuple(from(t, told)),
        {.blocks = 1, .threads_per_block = 1});
  } else {
    add(pipe, "put", from_gpu(s.direction), put, std::tuple(into(t)), writers);
    add(pipe, "count", to_gpu(s.direction), count, std::tuple(from(t)), {.blocks = s.readers, .threads_per_block = 32});
  }
  RunReport const report = pipe.run();
  if (to_gpu(s.direction)) seen_there.copy_out(seen);
  Outcome outcome{report.tunnels.front(), total, {}};
  for (std::uint32_t x = 0; x < total; ++x) {
    EXPECT_LE(seen[x].bits, 1U) << "an item came twice";
    if (seen[x].bits != 0) outcome.got.push_back(x);
  }
  return outcome;
}

std::string text(Shape const& s) {
  return testing::PrintToString(int(s.direction)) + " when_full " + std::to_string(int(s.config.when_full)) +
         " capacity " + std::to_string(s.config.capacity_items) + " movement " +
         std::to_string(int(s.config.movement)) + " low_latency " + std::to_string(s.config.low_latency) + " by " +
         std::to_string(int(s.by)) + " writers " + std::to_string(s.writers) + " late " + std::to_string(s.late);
}

void expect_got_or_dropped(Shape const& s) {
  SCOPED_TRACE(text(s));
  Outcome const o = run(s);
  bool const oldest = s.config.when_full == WhenFull::drop_oldest;
  EXPECT_EQ(o.got.size() + o.tunnel.dropped, o.put);
  EXPECT_EQ(o.tunnel.items, oldest ? o.put : o.got.size());
  EXPECT_EQ(o.tunnel.finished, o.tunnel.items);
  if (!s.late) return;
  std::size_t const fit = std::min<std::size_t>(s.config.capacity_items, o.put);
  ASSERT_EQ(o.got.size(), fit) << "an item was dropped though there was room, or kept though there was none";
  if (s.writers != 1 || team_threads(s.by) < (from_gpu(s.direction) ? block_threads : 1)) return;
  EXPECT_EQ(o.got.front(), oldest ? o.put - fit : 0U);
  EXPECT_EQ(o.got.back(), oldest ? o.put - 1 : fit - 1);
}

/// All forms of puts, with a reader that is late, and one that is not.
void expect_got_or_dropped(Direction direction, TunnelConfig config) {
  for (By const by : {By::lane, By::lane_span, By::warp, By::warp_span, By::block, By::block_span}) {
    for (std::size_t const capacity : {1, 6, 64, 4096}) {
      config.capacity_items = capacity;
      for (unsigned const many : {1U, 3U}) {
        unsigned const readers = config.low_latency ? 1 : many;
        for (bool const late : {true, false})
          expect_got_or_dropped({direction, config, by, many, from_gpu(direction) ? 20U : 100U, late, readers});
      }
      if (testing::Test::HasFailure()) return;
    }
  }
}

struct Way {
  Direction direction;
  Movement movement = Movement::automatic;
  bool low_latency = false;
};
constexpr std::array ways{
    Way{Direction::cpu_to_cpu},
    Way{Direction::gpu_to_gpu},
    Way{Direction::gpu_to_gpu, Movement::automatic, true},
    Way{Direction::cpu_to_gpu, Movement::direct},
    Way{Direction::cpu_to_gpu, Movement::dma},
    Way{Direction::cpu_to_gpu, Movement::automatic, true},
    Way{Direction::gpu_to_cpu, Movement::direct},
    Way{Direction::gpu_to_cpu, Movement::dma},
    Way{Direction::gpu_to_cpu, Movement::automatic, true},
};
bool crosses(Way const& way) { return from_gpu(way.direction) != to_gpu(way.direction); }

TEST(WhenFull, DropNewestKeepsWhatFoundRoom) {
  HIWAY_NEEDS_DEVICE();
  for (Way const& way : ways)
    expect_got_or_dropped(
        way.direction, {.movement = way.movement, .low_latency = way.low_latency, .when_full = WhenFull::drop_newest});
}
TEST(WhenFull, DropOldestKeepsWhatCameLast) {
  HIWAY_NEEDS_DEVICE();
  for (Way const& way : ways) {
    if (!crosses(way))
      expect_got_or_dropped(way.direction, {.low_latency = way.low_latency, .when_full = WhenFull::drop_oldest});
  }
}
TEST(WhenFull, EachGroupingDropsEachItemOnce) {
  HIWAY_NEEDS_DEVICE();
  for (Grouping const grouping : {Grouping::none, Grouping::block, Grouping::block_scan}) {
    for (WhenFull const when_full : {WhenFull::drop_newest, WhenFull::drop_oldest}) {
      for (By const by : {By::lane, By::lane_span}) {
        TunnelConfig const config{.capacity_items = 100, .grouping = grouping, .when_full = when_full};
        for (bool const late : {true, false}) expect_got_or_dropped({Direction::gpu_to_gpu, config, by, 3, 20, late});
      }
    }
  }
}
TEST(WhenFull, AShardDropsWhatFindsNoRoomInIt) {
  HIWAY_NEEDS_DEVICE();
  TunnelConfig const config{.capacity_items = 64, .shards = 4, .when_full = WhenFull::drop_newest};
  for (Direction const direction : {Direction::cpu_to_cpu, Direction::gpu_to_gpu})
    expect_got_or_dropped({direction, config, By::lane, 4, 20, false, 2});
}

TEST(WhenFull, FailEndsTheRunAndNamesStageAndTunnel) {
  HIWAY_NEEDS_DEVICE();
  for (Way const& way : ways) {
    for (By const by : {By::lane, By::lane_span, By::warp, By::block_span}) {
      TunnelConfig const config{
          .capacity_items = 10, .movement = way.movement, .low_latency = way.low_latency, .when_full = WhenFull::fail};
      Shape shape{way.direction, config, by, 1, 20, true};
      SCOPED_TRACE(text(shape));
      EXPECT_EQ(text_of_error<Error>([&] { run(shape); }), "stage 'put': the tunnel is full: tunnel 't', item 0");
      shape.config.capacity_items = 64 * 20;
      Outcome const o = run(shape);
      EXPECT_EQ(o.got.size(), o.put);
    }
  }
}

// Others say by themselves that there is no room.
TEST(WhenFull, TriesAndOffersNeitherDropNorFail) {
  HIWAY_NEEDS_DEVICE();
  for (WhenFull const when_full : {WhenFull::drop_newest, WhenFull::drop_oldest, WhenFull::fail}) {
    Pipeline pipe(bounded());
    auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_cpu, {.capacity_items = 2, .when_full = when_full});
    Inlet<int> const in = t.open_inlet();
    Outlet<int> const out = t.open_outlet();
    pipe.start();
    in.put_h(1);
    EXPECT_TRUE(in.try_put_h(2));
    EXPECT_FALSE(in.try_put_h(3));
    EXPECT_EQ(in.offer_h(4, std::chrono::milliseconds(1)), Put::full);
    in.close_h();
    std::vector<int> got;
    out.for_each_h([&](int x) { got.push_back(x); });
    EXPECT_EQ(got, (std::vector{1, 2}));
    EXPECT_EQ(pipe.wait().tunnels.front().dropped, 0U);
  }
}

// Dropping is no way around the rules of a put.
TEST(WhenFull, APutAfterTheCloseIsRefusedWhereItWouldBeDropped) {
  HIWAY_NEEDS_DEVICE();
  for (WhenFull const when_full : {WhenFull::drop_newest, WhenFull::drop_oldest}) {
    Pipeline pipe(bounded());
    auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_cpu, {.capacity_items = 1, .when_full = when_full});
    std::atomic<bool> over{false};
    auto const put = [&](Inlet<int> out) {
      out.put_h(1);
      out.close_h();
      try {
        out.put_h(2);
      } catch (...) {
        over = true;
        throw;
      }
      over = true;
    };
    pipe.add_cpu_stage("put", put, into(t));
    pipe.add_cpu_stage(
        "get",
        [&](Outlet<int> in) {
          while (!over) std::this_thread::yield();
          in.for_each_h([](int) {});
        },
        from(t));
    EXPECT_THAT(text_of_error<Error>([&] { pipe.run(); }), HasSubstr("stage 'put': put after close: tunnel 't'"));
  }
}

/// A task of depth n makes two of depth n - 1.
struct Grow {
  HIWAY_DEVICE void operator()(int const& depth, Inlet<int> again, Inlet<int> seen) const {
    seen.put(depth);
    for (int i = 0; i < 2 && depth != 0; ++i) again.put(depth - 1);
  }
};
struct Roots {
  HIWAY_DEVICE void operator()(Inlet<int> out) const {
    for (int i = 0; i < 10; ++i) out.put(8);
  }
};
// Without a pool nothing in the cycle may wait: each put finds room, drops or ends the run.
TEST(WhenFull, ACycleDropsInsteadOfSpilling) {
  HIWAY_NEEDS_DEVICE();
  for (Direction const direction : {Direction::cpu_to_cpu, Direction::gpu_to_gpu}) {
    for (WhenFull const when_full : {WhenFull::drop_newest, WhenFull::drop_oldest}) {
      for (std::size_t const capacity : {1, 7, 100}) {
        bool const gpu = to_gpu(direction);
        Pipeline pipe(bounded());
        auto& again = pipe.create_tunnel<int>("again", direction, {.capacity_items = capacity, .when_full = when_full});
        auto& seen = pipe.create_tunnel<int>("seen", gpu ? Direction::gpu_to_cpu : Direction::cpu_to_cpu);
        add(pipe, "roots", gpu, Roots{}, std::tuple(into(again)), {.blocks = 1, .threads_per_block = 1});
        add(pipe, "grow", gpu, Grow{}, std::tuple(from(again), into(again, seen)),
            {.blocks = 2, .threads_per_block = 32});
        std::uint64_t got = 0;
        std::uint64_t put = 10;
        pipe.add_cpu_stage(
            "sum",
            [&](int const& depth) {
              ++got;
              put += depth != 0 ? 2 : 0;
            },
            from(seen));
        TunnelReport const t = pipe.run().tunnels.front();
        EXPECT_EQ(got + t.dropped, put);
        EXPECT_EQ(t.items, when_full == WhenFull::drop_oldest ? put : got);
        EXPECT_EQ(t.finished, t.items);
        EXPECT_EQ(t.spilled, 0U);
        EXPECT_GT(t.dropped, 0U);
      }
    }
  }
}

struct There {
  HIWAY_DEVICE void operator()(int const& depth, Inlet<int> out) const {
    for (int i = 0; i < 2 && depth != 0; ++i) out.put(depth - 1);
  }
};
TEST(WhenFull, ACycleAcrossTheBusDropsAndEnds) {
  HIWAY_NEEDS_DEVICE();
  for (Movement const movement : {Movement::direct, Movement::dma}) {
    Pipeline pipe(bounded());
    TunnelConfig const config{.capacity_items = 4, .movement = movement, .when_full = WhenFull::drop_newest};
    auto& there = pipe.create_tunnel<int>("there", Direction::cpu_to_gpu, config);
    auto& back = pipe.create_tunnel<int>("back", Direction::gpu_to_cpu, config);
    std::uint64_t put_there = 10;
    pipe.add_cpu_stage("roots", Roots{}, into(there));
    pipe.add_gpu_stage("there", There{}, from(there), into(back), {.blocks = 1, .threads_per_block = 32});
    pipe.add_cpu_stage(
        "back",
        [&](int const& depth, Inlet<int> out) {
          There{}(depth, out);
          put_there += depth != 0 ? 2 : 0;
        },
        from(back), into(there));
    RunReport const report = pipe.run();
    for (TunnelReport const& t : report.tunnels) EXPECT_EQ(t.finished, t.items);
    EXPECT_EQ(report.tunnels[0].items + report.tunnels[0].dropped, put_there);
  }
}

struct SameInt {
  HIWAY_DEVICE int operator()(int const& x) const { return x; }
};
/// Gets nothing before so many tasks of the first tunnel have ended; leaves if the run aborts.
void wait_until_ended(Pipeline& pipe, std::uint64_t tasks, Outlet<int> const& in) {
  while (pipe.stats().tunnels.front().finished != tasks && !in.has_ended_h()) std::this_thread::yield();
}
// A kernel that yields holds no result back that is to be dropped: all its tasks end before any result is got.
TEST(WhenFull, ResultsThatFindNoRoomAreDropped) {
  HIWAY_NEEDS_DEVICE();
  for (Residency const residency : {Residency::resident, Residency::yielding}) {
    for (unsigned const blocks : {1U, 3U}) {
      constexpr int total = 500;
      PipelineConfig config = bounded();
      config.slice = std::chrono::nanoseconds(1);
      Pipeline pipe(config);
      auto& in = pipe.create_tunnel<int>("in", Direction::cpu_to_gpu);
      auto& out = pipe.create_tunnel<int>("out", Direction::gpu_to_cpu,
                                          {.capacity_items = 20, .when_full = WhenFull::drop_newest});
      pipe.add_cpu_stage(
          "feed",
          [](Inlet<int> to) {
            for (int i = 0; i < total; ++i) to.put_h(i);
          },
          into(in));
      pipe.add_gpu_stage("same", SameInt{}, from(in), into(out),
                         {.blocks = blocks, .threads_per_block = 32, .residency = residency});
      std::size_t got = 0;
      pipe.add_cpu_stage(
          "count",
          [&](Outlet<int> from_out) {
            wait_until_ended(pipe, total, from_out);
            from_out.for_each_h([&](int) { ++got; });
          },
          from(out));
      TunnelReport const t = pipe.run().tunnels.back();
      EXPECT_EQ(got, 20U);
      EXPECT_EQ(t.items, 20U);
      EXPECT_EQ(t.dropped, total - 20U);
    }
  }
}

struct Copy {
  int const* in;
  int* out;
  std::size_t count;
  HIWAY_DEVICE void operator()() const {
    for (std::size_t i = thread_index(); i < count; i += thread_count()) out[i] = in[i];
  }
};
void pass_on(Batch<int const> got, Batch<int> made, Stream stream) {
  made.resize(got.size());
  stream.launch(Copy{got.data(), made.data(), got.size()}, 1, 32);
}
// By the CPU's memory, and, where a device's batch stage and a kernel share a device, from there.
TEST(WhenFull, BatchesDropWhatFindsNoRoom) {
  HIWAY_NEEDS_DEVICE();
  struct Case {
    int device;
    Direction in;
    Direction out;
    WhenFull when_full;
  };
  for (Case const& c : {Case{-1, Direction::cpu_to_cpu, Direction::cpu_to_cpu, WhenFull::drop_newest},
                        Case{-1, Direction::cpu_to_cpu, Direction::cpu_to_cpu, WhenFull::drop_oldest},
                        Case{0, Direction::cpu_to_gpu, Direction::gpu_to_cpu, WhenFull::drop_newest}}) {
    constexpr int total = 20'000;
    constexpr std::size_t fit = 1000;
    Pipeline pipe(bounded());
    auto& in = pipe.create_tunnel<int>("in", c.in);
    auto& out = pipe.create_tunnel<int>("out", c.out, {.capacity_items = fit, .when_full = c.when_full});
    pipe.add_cpu_stage(
        "feed",
        [](Inlet<int> to) {
          for (int i = 0; i < total; ++i) to.put_h(i);
        },
        into(in));
    pipe.add_batch_stage("pass on", pass_on, from(in), into(out), {.max_items = fit / 2, .device = c.device});
    std::vector<int> got;
    pipe.add_cpu_stage(
        "keep",
        [&](Outlet<int> from_out) {
          wait_until_ended(pipe, total, from_out);
          from_out.for_each_h([&](int x) { got.push_back(x); });
        },
        from(out));
    TunnelReport const t = pipe.run().tunnels.back();
    EXPECT_EQ(t.dropped, total - fit);
    ASSERT_EQ(got.size(), fit);
    EXPECT_EQ(got.front(), c.when_full == WhenFull::drop_oldest ? total - static_cast<int>(fit) : 0);
    EXPECT_EQ(got.back(), c.when_full == WhenFull::drop_oldest ? total - 1 : static_cast<int>(fit) - 1);
  }
}
TEST(WhenFull, BatchesDropWhatAKernelHasNoRoomFor) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& in = pipe.create_tunnel<int>("in", Direction::cpu_to_gpu);
  auto& on =
      pipe.create_tunnel<int>("on", Direction::gpu_to_gpu, {.capacity_items = 64, .when_full = WhenFull::drop_newest});
  auto& out = pipe.create_tunnel<int>("out", Direction::gpu_to_cpu);
  constexpr int total = 20'000;
  pipe.add_cpu_stage(
      "feed",
      [](Inlet<int> to) {
        for (int i = 0; i < total; ++i) to.put_h(i);
      },
      into(in));
  pipe.add_batch_stage("pass on", pass_on, from(in), into(on), {.max_items = 64, .device = 0});
  pipe.add_gpu_stage("same", SameInt{}, from(on), into(out), {.blocks = 1, .threads_per_block = 32});
  std::uint64_t got = 0;
  pipe.add_cpu_stage(
      "count", [&](int const&) { ++got; }, from(out));
  TunnelReport const t = pipe.run().tunnels[1];
  EXPECT_EQ(got + t.dropped, std::uint64_t{total});
  EXPECT_EQ(t.items, got);
}

TEST(WhenFull, IsRefusedWhereItCannotBe) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto const said = [&]<class T>(T, Direction direction, TunnelConfig config) {
    return text_of_error<ConfigError>([&] { pipe.create_tunnel<T>("t", direction, config); });
  };
  constexpr auto oldest = WhenFull::drop_oldest;
  EXPECT_EQ(said(1, Direction::cpu_to_gpu, {.when_full = oldest}),
            "tunnel 't': WhenFull::drop_oldest is for tunnels within one home, as a put reaches no item on the other "
            "side of the bus; use drop_newest");
  EXPECT_EQ(said(std::array<char, 257>{}, Direction::cpu_to_cpu, {.when_full = oldest}),
            "tunnel 't': WhenFull::drop_oldest is for items of at most 256 bytes, as readers work on larger ones in "
            "their slots: 257; use drop_newest");
  EXPECT_EQ(said(1, Direction::cpu_to_cpu, {.shards = 2, .when_full = oldest}),
            "tunnel 't': WhenFull::drop_oldest is for tunnels of one shard, as each has an oldest item of its own: 2; "
            "use drop_newest");
  for (WhenFull const when_full : {WhenFull::drop_newest, oldest, WhenFull::fail}) {
    EXPECT_EQ(said(1, Direction::cpu_to_cpu, {.when_full = when_full, .planned = true}),
              "tunnel 't': planned makes a put wait for room: it goes with WhenFull::wait or automatic");
    EXPECT_EQ(said(1, Direction::cpu_to_cpu, {.when_full = when_full, .grow_to_items = 2048}),
              "tunnel 't': grow_to_items makes a put wait for room: it goes with WhenFull::wait or automatic");
  }
}
// What only the stages tell.
TEST(WhenFull, DropOldestIsRefusedWhereStagesMakeTheTunnelTwoHalves) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& in = pipe.create_tunnel<int>("in", Direction::cpu_to_gpu);
  auto& on = pipe.create_tunnel<int>("on", Direction::gpu_to_gpu, {.when_full = WhenFull::drop_oldest});
  auto& out = pipe.create_tunnel<int>("out", Direction::gpu_to_cpu);
  pipe.add_cpu_stage(
      "feed", [](Inlet<int>) {}, into(in));
  pipe.add_batch_stage("pass on", pass_on, from(in), into(on), {.device = 0});
  pipe.add_gpu_stage("same", SameInt{}, from(on), into(out));
  pipe.add_cpu_stage(
      "count", [](int const&) {}, from(out));
  EXPECT_EQ(text_of_error<ConfigError>([&] { pipe.prepare(); }),
            "tunnel 'on': WhenFull::drop_oldest is not for tunnels of a device's batch stages, or between devices; use "
            "drop_newest");
}
TEST(WhenFull, SeveralDevicesDropTheNewest) {
  HIWAY_NEEDS_DEVICES(2);
  for (WhenFull const when_full : {WhenFull::drop_newest, WhenFull::drop_oldest}) {
    Pipeline pipe(bounded());
    constexpr int total = 1000;
    auto& in =
        pipe.create_tunnel<int>("in", Direction::cpu_to_gpu, {.capacity_items = 8, .when_full = WhenFull::drop_newest});
    auto& on = pipe.create_tunnel<int>("on", Direction::gpu_to_gpu, {.when_full = when_full});
    auto& out = pipe.create_tunnel<int>("out", Direction::gpu_to_cpu);
    GpuStageOptions const both{.blocks = 1, .threads_per_block = 32, .devices = {0, 1}};
    pipe.add_cpu_stage(
        "feed",
        [](Inlet<int> to) {
          for (int i = 0; i < total; ++i) to.put_h(i);
        },
        into(in));
    pipe.add_gpu_stage("same", SameInt{}, from(in), into(on), both);
    pipe.add_gpu_stage("again", SameInt{}, from(on), into(out), both);
    std::uint64_t got = 0;
    pipe.add_cpu_stage(
        "count", [&](int const&) { ++got; }, from(out));
    if (when_full == WhenFull::drop_oldest) {
      EXPECT_THAT(
          text_of_error<ConfigError>([&] { pipe.prepare(); }),
          HasSubstr("tunnel 'on': WhenFull::drop_oldest is not for stages on several devices; use drop_newest"));
      continue;
    }
    std::uint64_t dropped = 0;
    for (TunnelReport const& t : pipe.run().tunnels) dropped += t.dropped;
    EXPECT_EQ(got + dropped, std::uint64_t{total});
  }
}

}  // namespace
