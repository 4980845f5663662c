// Tunnels that grow where stages wait for each other: the run goes on, items keep their order, and what is in no circle
// keeps its size.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "tests/device.hpp"

namespace {

using namespace hiway;
using hiway_tests::bounded;
using hiway_tests::text_of_error;
using std::chrono::milliseconds;
using testing::HasSubstr;

PipelineConfig quick() {
  PipelineConfig config = bounded();
  config.grow_after = milliseconds(1);
  return config;
}

TunnelReport const& of(RunReport const& report, std::string_view name) {
  return *std::ranges::find(report.tunnels, name, &TunnelReport::name);
}

/// A stage that puts `pairs` numbers to a, then to b; the next takes them in pairs, b's first: so a must hold all of
/// them. Both keep a reference.
auto put_pairs(int const& pairs) {
  return [&pairs](Inlet<int> into_a, Inlet<int> into_b) {
    for (int i = 0; i < pairs; ++i) into_a.put_h(i);
    for (int i = 0; i < pairs; ++i) into_b.put_h(i);
  };
}
auto take_pairs(int& joined) {
  return [&joined](Outlet<int> from_a, Outlet<int> from_b) {
    int x = 0;
    int y = 0;
    while (from_b.next_h(y)) {
      ASSERT_TRUE(from_a.next_h(x));
      EXPECT_EQ(x, y);
      EXPECT_EQ(x, joined++);
      from_a.end_task_h();
      from_b.end_task_h();
    }
  };
}

struct ForkAndJoin {
  ForkAndJoin(int of, TunnelConfig a, PipelineConfig config = quick()) : pipe(config), pairs(of) {
    auto& to_a = pipe.create_tunnel<int>("a", Direction::cpu_to_cpu, a);
    auto& to_b = pipe.create_tunnel<int>("b", Direction::cpu_to_cpu, {.capacity_items = 1, .grow_to_items = 64});
    pipe.add_cpu_stage("fork", put_pairs(pairs), into(to_a, to_b));
    pipe.add_cpu_stage("join", take_pairs(joined), from(to_a, to_b));
  }
  Pipeline pipe;
  int pairs;
  int joined = 0;
};

TEST(Growth, AFullTunnelOfACircleGrowsAndTheRunGoesOn) {
  ForkAndJoin run(40, {.capacity_items = 3, .grow_to_items = 100});
  RunReport const first = run.pipe.run();
  EXPECT_EQ(run.joined, 40);
  EXPECT_EQ(of(first, "a").capacity_items, 48U);  // 3, 6, 12, 24, 48
  EXPECT_EQ(of(first, "b").capacity_items, 1U);
}

TEST(Growth, TheNextRunBeginsWithWhatTheLastCameTo) {
  PipelineConfig slow = quick();
  slow.grow_after = milliseconds(300);
  ForkAndJoin run(5, {.capacity_items = 3, .grow_to_items = 100}, slow);
  EXPECT_GE(run.pipe.run().seconds, 0.3);
  run.joined = 0;
  run.pairs = 6;
  RunReport const second = run.pipe.run();
  EXPECT_EQ(run.joined, 6);
  EXPECT_EQ(of(second, "a").capacity_items, 6U);
  EXPECT_LT(second.seconds, 0.3);
}

TEST(Growth, EndsAtTheMostThatWasGiven) {
  PipelineConfig config = quick();
  config.stall_after = milliseconds(100);
  config.on_stall = OnStall::abort;
  ForkAndJoin run(40, {.capacity_items = 3, .grow_to_items = 39}, config);
  std::string const text = text_of_error<Aborted>([&] { run.pipe.run(); });
  EXPECT_THAT(text, HasSubstr("tunnel 'a', cpu_to_cpu memory: holds 39 of 39"));
  EXPECT_THAT(text, HasSubstr("stages wait for each other: 'fork' for room in tunnel 'a' until 'join' gets from it, "
                              "'join' for items of tunnel 'b' until 'fork' puts into it"));
}

TEST(Growth, ATunnelThatIsFullBecauseItsReaderIsSlowKeepsItsSize) {
  Pipeline pipe(quick());
  auto& slow = pipe.create_tunnel<int>("slow", Direction::cpu_to_cpu, {.capacity_items = 2, .grow_to_items = 64});
  pipe.add_cpu_stage(
      "feed",
      [](Inlet<int> out) {
        for (int i = 0; i < 6; ++i) out.put_h(i);
      },
      into(slow));
  pipe.add_cpu_stage(
      "sink", [](int const&) { std::this_thread::sleep_for(milliseconds(20)); }, from(slow));
  EXPECT_EQ(of(pipe.run(), "slow").capacity_items, 2U);
}

struct Same {
  HIWAY_DEVICE int operator()(int const& x) const { return x; }
};
TEST(Growth, GoesOnWhereTheCircleLeadsOverTheDevice) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(quick());
  auto& a = pipe.create_tunnel<int>("a", Direction::cpu_to_cpu, {.capacity_items = 1, .grow_to_items = 64});
  auto& b = pipe.create_tunnel<int>("b", Direction::cpu_to_gpu, {.capacity_items = 4});
  auto& c = pipe.create_tunnel<int>("c", Direction::gpu_to_cpu, {.capacity_items = 4});
  int const pairs = 30;
  pipe.add_cpu_stage("fork", put_pairs(pairs), into(a, b));
  pipe.add_gpu_stage("same", Same{}, from(b), into(c), {.blocks = 1, .threads_per_block = 1});
  int joined = 0;
  pipe.add_cpu_stage("join", take_pairs(joined), from(a, c));
  RunReport const report = pipe.run();
  EXPECT_EQ(joined, pairs);
  EXPECT_EQ(of(report, "a").capacity_items, 32U);
}

/// A stage that feeds itself two for each, through a ring that grows: nothing spills. Large items stay in their slots.
template <std::size_t bytes>
void grow_a_tree(unsigned threads) {
  struct Node {
    std::uint32_t depth;
    std::uint32_t number;
    std::byte more[bytes];
  };
  constexpr std::uint32_t depth = 8;
  Pipeline pipe(quick());
  auto& roots = pipe.create_tunnel<Node>("roots", Direction::cpu_to_cpu, {.capacity_items = 1});
  auto& again = pipe.create_tunnel<Node>("again", Direction::cpu_to_cpu, {.capacity_items = 1, .grow_to_items = 1024});
  std::vector<std::atomic<int>> leaves(1 << depth);
  pipe.add_cpu_stage(
      "root",
      [](Inlet<Node> out) {
        out.put_h({0, 0, {}});
      },
      into(roots));
  pipe.add_cpu_stage("grow",
                     [&](Node const& node, Inlet<Node> out) {
                       if (node.depth == depth) {
                         ++leaves[node.number];
                         return;
                       }
                       for (std::uint32_t i = 0; i < 2; ++i) out.put_h({node.depth + 1, 2 * node.number + i, {}});
                     },
                     from(roots, again), into(again), {.threads = threads});
  RunReport const report = pipe.run();
  EXPECT_EQ(of(report, "again").spilled, 0U);
  EXPECT_GT(of(report, "again").capacity_items, 1U);
  EXPECT_TRUE(std::ranges::all_of(leaves, [](auto const& n) { return n == 1; }));
}
TEST(Growth, AStageThatFeedsItselfNeedsNoPool) {
  for (unsigned const threads : {1U, 3U}) {
    grow_a_tree<1>(threads);
    grow_a_tree<300>(threads);
  }
}

/// One thread works on a large item in its slot until the other has gone round often: more often than there are slots.
TEST(Growth, WhoIsHeldUpByALargeItemInItsSlotWaitsForRoom) {
  enum class Kind : std::uint8_t { root, stays, goes_round };
  struct Large {
    Kind kind;
    std::byte more[300];
  };
  PipelineConfig config = quick();
  config.stall_after = milliseconds(100);
  config.on_stall = OnStall::abort;
  Pipeline pipe(config);
  auto& roots = pipe.create_tunnel<Large>("roots", Direction::cpu_to_cpu);
  auto& again = pipe.create_tunnel<Large>("again", Direction::cpu_to_cpu, {.capacity_items = 2, .grow_to_items = 8});
  pipe.add_cpu_stage(
      "root",
      [](Inlet<Large> out) {
        out.put_h({Kind::root, {}});
      },
      into(roots));
  std::atomic<int> rounds{0};
  pipe.add_cpu_stage("loop",
                     [&](Large const& item, Inlet<Large> out) {
                       if (item.kind == Kind::root) out.put_h({Kind::stays, {}});
                       if (item.kind != Kind::stays) {
                         ++rounds;
                         return out.put_h({Kind::goes_round, {}});
                       }
                       auto const until = std::chrono::steady_clock::now() + milliseconds(500);
                       while (rounds < 100 && std::chrono::steady_clock::now() < until) std::this_thread::yield();
                     },
                     from(roots, again), into(again), {.threads = 2});
  std::string const text = text_of_error<Aborted>([&] { pipe.run(); });
  EXPECT_THAT(text, HasSubstr("tunnel 'again', cpu_to_cpu memory: holds 8 of 8"));
  EXPECT_THAT(text, HasSubstr("tunnel 'again' is full (8 of 8): 'loop' must wait for room"));
}

/// Three processes, each with a stream to each other: puts and gets in one random order that is possible, which each process
/// follows for its own. Whatever the capacities were, it ends: they grow.
class Processes {
 public:
  static constexpr unsigned count = 3;
  explicit Processes(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::array<unsigned, 2 * count> under_way{};
    for (unsigned step = 0; step < 60; ++step) {
      auto const stream = static_cast<unsigned>(random() % (2 * count));
      if (random() % 2 == 0) {
        put(stream, under_way);
      } else {
        get(stream, under_way);
      }
    }
    for (unsigned stream = 0; stream < 2 * count; ++stream) {
      while (under_way[stream] != 0) get(stream, under_way);
    }
  }

  /// What the streams' capacities were at the end.
  RunReport run() {
    Pipeline pipe(quick());
    std::vector<Tunnel<unsigned>*> starts;
    std::vector<Tunnel<unsigned>*> streams;
    for (unsigned p = 0; p < count; ++p)
      starts.push_back(&pipe.create_tunnel<unsigned>("start " + std::to_string(p), Direction::cpu_to_cpu));
    for (unsigned s = 0; s < 2 * count; ++s)
      streams.push_back(&pipe.create_tunnel<unsigned>("stream " + std::to_string(s), Direction::cpu_to_cpu,
                                                      {.capacity_items = 1, .grow_to_items = 64}));
    pipe.add_cpu_stage(
        "start",
        [](Inlet<unsigned> a, Inlet<unsigned> b, Inlet<unsigned> c) {
          for (Inlet<unsigned> const& inlet : {a, b, c}) inlet.put_h(0);
        },
        into(*starts[0], *starts[1], *starts[2]));
    for (unsigned p = 0; p < count; ++p) {
      pipe.add_cpu_stage(
          "process " + std::to_string(p),
          [this, p](Outlet<unsigned> start, Outlet<unsigned> from_next, Outlet<unsigned> from_last,
                    Inlet<unsigned> to_next, Inlet<unsigned> to_last) {
            unsigned begun = 0;
            if (!start.next_h(begun)) return;
            follow(p, {from_next, from_last}, {to_next, to_last});
            start.end_task_h();
          },
          from(*starts[p], *streams[incoming(p, 0)], *streams[incoming(p, 1)]),
          into(*streams[outgoing(p, 0)], *streams[outgoing(p, 1)]));
    }
    return pipe.run();
  }

 private:
  struct Act {
    bool is_put;
    unsigned side;
  };
  // Stream 2p leads from p to the next process, 2p + 1 to the one before.
  static unsigned outgoing(unsigned p, unsigned side) { return 2 * p + side; }
  static unsigned incoming(unsigned p, unsigned side) {
    return side == 0 ? 2 * ((p + 1) % count) + 1 : 2 * ((p + count - 1) % count);
  }
  void put(unsigned stream, std::array<unsigned, 2 * count>& under_way) {
    if (under_way[stream] == 50) return;
    ++under_way[stream];
    acts_[stream / 2].push_back({true, stream % 2});
  }
  void get(unsigned stream, std::array<unsigned, 2 * count>& under_way) {
    if (under_way[stream] == 0) return;
    --under_way[stream];
    unsigned const reader = (stream / 2 + (stream % 2 == 0 ? 1 : count - 1)) % count;
    acts_[reader].push_back({false, stream % 2 == 0 ? 1U : 0U});
  }
  void follow(unsigned p, std::array<Outlet<unsigned>, 2> from, std::array<Inlet<unsigned>, 2> to) const {
    std::array<unsigned, 2> next_put{};
    std::array<unsigned, 2> next_got{};
    for (Act const& act : acts_[p]) {
      if (act.is_put) {
        to[act.side].put_h(next_put[act.side]++);
        continue;
      }
      unsigned x = 0;
      ASSERT_TRUE(from[act.side].next_h(x));
      EXPECT_EQ(x, next_got[act.side]++);
      from[act.side].end_task_h();
    }
  }
  std::array<std::vector<Act>, count> acts_;
};
TEST(Growth, RandomProcessesEndWhateverTheyNeed) {
  unsigned grown = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RunReport const report = Processes(seed).run();
    for (TunnelReport const& t : report.tunnels) grown += t.name.starts_with("stream") && t.capacity_items > 1 ? 1 : 0;
    if (HasFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(grown, 60U);
}

TEST(Growth, IsRefusedWhereItCannotBe) {
  Pipeline pipe(bounded());
  auto const said = [&](Direction direction, TunnelConfig config) {
    return text_of_error<ConfigError>([&] { pipe.create_tunnel<int>("t", direction, config); });
  };
  EXPECT_EQ(said(Direction::cpu_to_gpu, {.grow_to_items = 2048}),
            "tunnel 't': grow_to_items is for tunnels from CPU to CPU");
  EXPECT_EQ(said(Direction::cpu_to_cpu, {.shards = 2, .grow_to_items = 2048}),
            "tunnel 't': grow_to_items is for tunnels of one shard: 2");
  EXPECT_EQ(said(Direction::cpu_to_cpu, {.capacity_items = 8, .grow_to_items = 7}),
            "tunnel 't': grow_to_items must be from capacity_items (8) to 2^30: 7");
  EXPECT_THAT(said(Direction::cpu_to_cpu, {.when_full = WhenFull::spill, .grow_to_items = 2048}),
              HasSubstr("grow_to_items makes a put wait for room"));
  PipelineConfig config = bounded();
  config.grow_after = milliseconds(-1);
  EXPECT_EQ(text_of_error<ConfigError>([&] { Pipeline{config}; }), "grow_after is negative: -1 ms");
}

// The watcher lets a tunnel grow while graph() reads how much room it has: a race that TSan saw.
TEST(Growth, TheGraphMayBeAskedForMeanwhile) {
  ForkAndJoin run(1000, {.capacity_items = 1, .grow_to_items = 2048});
  run.pipe.start();
  std::string seen;
  while (!run.pipe.wait_for(std::chrono::microseconds(50))) seen = run.pipe.graph();
  run.pipe.wait();
  EXPECT_EQ(run.joined, 1000);
  EXPECT_THAT(run.pipe.graph(), HasSubstr("a (1024)"));
}

}  // namespace
