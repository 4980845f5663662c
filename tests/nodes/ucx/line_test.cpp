// Lines between nodes: every item that is put on one comes once to another.
#include "tests/nodes/ucx/line_traffic.hpp"

namespace {

using hiway_tests::error_of;
using hiway_tests::expect;
using hiway_tests::Got;
using hiway_tests::in_processes;
using hiway_tests::Node;
using hiway_tests::Parcel;
using hiway_tests::Road;
using hiway_tests::shared_memory;
using hiway_tests::steady_clock;
using hiway_tests::tcp;
using hiway_tests::Traffic;
using hiway_tests::Way;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using NodesUcxLine = hiway_tests::OverUcx;
using Strings = std::vector<std::string>;

INSTANTIATE_TEST_SUITE_P(Over, NodesUcxLine, testing::Values(tcp, shared_memory), hiway_tests::name_of_way);

// One run of one road. Where only one lane leads to each reader, and one thread reads, a writer's items keep their
// order.
template <class Item>
Strings one_run(Way way, int size, Road const& road) {
  return in_processes(way, size, [&](Node& node) {
    Traffic traffic(node);
    Got const& got = traffic.add<Item>(road);
    traffic.connect();
    traffic.run();
    (void)traffic.shares(got);
    expect(got.in_order(), "each writer's items keep their order");
  });
}

TEST_P(NodesUcxLine, OneToOne) {
  EXPECT_THAT(one_run<Parcel<16>>(GetParam(), 2, {.writers = {0}, .readers = {1}, .items = 20000}), Each(IsEmpty()));
}

TEST_P(NodesUcxLine, ItemsOfAllSizes) {
  Way const way = GetParam();
  EXPECT_THAT(one_run<Parcel<4>>(way, 2, {.writers = {0}, .readers = {1}, .items = 20000}), Each(IsEmpty()));
  EXPECT_THAT(one_run<Parcel<200>>(way, 2, {.writers = {1}, .readers = {0}, .items = 5000, .capacity = 77}),
              Each(IsEmpty()));
  EXPECT_THAT(one_run<Parcel<65536>>(way, 2, {.writers = {0}, .readers = {1}, .items = 300, .capacity = 9}),
              Each(IsEmpty()));
}

TEST_P(NodesUcxLine, ATunnelOfOneItem) {
  EXPECT_THAT(one_run<Parcel<16>>(GetParam(), 2, {.writers = {0}, .readers = {1}, .items = 500, .capacity = 1}),
              Each(IsEmpty()));
}

TEST_P(NodesUcxLine, NoItems) {
  EXPECT_THAT(one_run<Parcel<16>>(GetParam(), 3, {.writers = {0, 2}, .readers = {1, 2}, .items = 0}), Each(IsEmpty()));
}

TEST_P(NodesUcxLine, ThreeToOne) {
  EXPECT_THAT(one_run<Parcel<16>>(GetParam(), 4, {.writers = {1, 2, 3}, .readers = {0}, .items = 5000}),
              Each(IsEmpty()));
}

// Readers that take their time share the items; so do they if there are few.
TEST_P(NodesUcxLine, OneToThree) {
  auto const share = [&](Road const& road, unsigned microseconds, std::uint64_t least) {
    return in_processes(GetParam(), 4, [&](Node& node) {
      Traffic traffic(node);
      Got const& got = traffic.add<Parcel<16>>(road, [&](std::uint32_t) {
        if (microseconds != 0) usleep(microseconds);
      });
      traffic.connect();
      traffic.run();
      auto const shares = traffic.shares(got);
      for (int const reader : road.readers)
        expect(shares[static_cast<std::size_t>(reader)] >= least, "node " + std::to_string(reader) + " gets its share");
      expect(got.in_order(), "of those that a node gets the order is kept");
    });
  };
  EXPECT_THAT(share({.writers = {0}, .readers = {1, 2, 3}, .items = 600, .capacity = 8}, 300, 100), Each(IsEmpty()));
  EXPECT_THAT(share({.writers = {0}, .readers = {1, 2, 3}, .items = 12}, 0, 1), Each(IsEmpty()));
  EXPECT_THAT(share({.writers = {0}, .readers = {1, 2, 3}, .items = 20000}, 0, 0), Each(IsEmpty()));
}

// A reader that is ten times as slow as the other gets much less.
TEST_P(NodesUcxLine, TheQuickReaderGetsMore) {
  Road const road{.writers = {0}, .readers = {1, 2}, .items = 500, .capacity = 4};
  auto const errors = in_processes(GetParam(), 3, [&](Node& node) {
    Traffic traffic(node);
    Got const& got = traffic.add<Parcel<16>>(road, [&](std::uint32_t) { usleep(node.number() == 1 ? 10000 : 1000); });
    traffic.connect();
    traffic.run();
    auto const shares = traffic.shares(got);
    expect(shares[2] > 2 * shares[1],
           "items go where there is room: " + std::to_string(shares[1]) + ", " + std::to_string(shares[2]));
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

// Senders that always have something to send get their turns while the reader takes its time.
TEST_P(NodesUcxLine, NoSenderIsForgotten) {
  Road const road{.writers = {1, 2, 3}, .readers = {0}, .items = 400, .capacity = 8};
  auto const errors = in_processes(GetParam(), 4, [&](Node& node) {
    Traffic traffic(node);
    std::vector<unsigned> of_first_half(3);
    unsigned count = 0;
    Got const& got = traffic.add<Parcel<16>>(road, [&](std::uint32_t n) {
      if (++count <= 600) ++of_first_half[n / 400];
      usleep(100);
    });
    traffic.connect();
    traffic.run();
    (void)traffic.shares(got);
    for (unsigned const n : of_first_half)
      expect(node.number() != 0 || n > 100,
             "of the first 600 items each sender has its share, not " + std::to_string(n));
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

// A departure has not ended while an item waits at the other node for room in the tunnel there.
TEST_P(NodesUcxLine, AnItemIsInOneTunnelOrTheOther) {
  auto const errors = in_processes(GetParam(), 2, [&](Node& node) {
    std::atomic<bool> waits{true};
    Traffic traffic(node);
    Got const& got =
        traffic.add<Parcel<16>>({.writers = {0}, .readers = {1}, .items = 20, .capacity = 16}, [&](std::uint32_t) {
          while (waits) usleep(100);
        });
    traffic.connect();
    traffic.begin();
    traffic.pipe.start();
    auto const until = steady_clock::now() + std::chrono::milliseconds(300);
    traffic.step_until([&] { return steady_clock::now() >= until; });
    expect(!traffic.line().is_done(), "an item that is not yet put is a task");
    expect(!traffic.pipe.wait_for(std::chrono::milliseconds(0)), "the run goes on");
    traffic.all_are_done();  // with that
    waits = false;
    traffic.finish();
    (void)traffic.shares(got);
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

// Stages that are on several nodes at once: their tunnel leads to the same node and to others.
TEST_P(NodesUcxLine, ToItselfAndOthers) {
  Way const way = GetParam();
  EXPECT_THAT(one_run<Parcel<16>>(way, 2, {.writers = {0}, .readers = {0, 1}, .items = 5000}), Each(IsEmpty()));
  EXPECT_THAT(one_run<Parcel<16>>(way, 3, {.writers = {0, 1}, .readers = {1, 2}, .items = 5000}), Each(IsEmpty()));
  EXPECT_THAT(one_run<Parcel<4>>(way, 3, {.writers = {0, 1, 2}, .readers = {1}, .items = 5000}), Each(IsEmpty()));
}

TEST_P(NodesUcxLine, SeveralTunnelsAndRuns) {
  auto const errors = in_processes(GetParam(), 2, [&](Node& node) {
    Traffic traffic(node);
    Got const& there = traffic.add<Parcel<16>>({.writers = {0}, .readers = {1}, .items = 5000});
    Got const& back = traffic.add<Parcel<200>>({.writers = {1}, .readers = {0}, .items = 3000, .capacity = 5});
    Got const& both = traffic.add<Parcel<4>>({.writers = {0, 1}, .readers = {1}, .items = 3000});
    traffic.connect();
    for (int run = 0; run != 4; ++run) {
      traffic.run();
      (void)traffic.shares(there);
      (void)traffic.shares(back);
      (void)traffic.shares(both);
    }
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

// Node 0 takes nothing for a while. Of what node 1 sends meanwhile, items, that items were put, that a tunnel has
// ended, no more is under way than there may be; all of it comes when node 0 goes on.
TEST(NodesUcxLineByTcp, ANodeThatTakesNothingForAWhile) {
  setenv("UCX_TCP_SNDBUF", "64k", 1);
  setenv("UCX_TCP_RCVBUF", "64k", 1);
  auto const errors = in_processes(tcp, 2, [&](Node& node) {
    Traffic traffic(node);
    auto const slowly = [](std::uint32_t) { usleep(100); };
    auto const at_once = [](std::uint32_t) {};
    Got const& large = traffic.add<Parcel<65536>>({.writers = {1}, .readers = {0}, .items = 100, .capacity = 32});
    Got const& small =
        traffic.add<Parcel<16>>({.writers = {1}, .readers = {0}, .items = 2000, .capacity = 2000}, at_once, slowly);
    Got const& other =
        traffic.add<Parcel<16>>({.writers = {0}, .readers = {1}, .items = 2000, .capacity = 1000}, slowly);
    Road const none{.writers = {1}, .readers = {0}};
    auto& late = traffic.pipe.create_tunnel<Parcel<16>>("late", hiway::Direction::cpu_to_cpu);
    if (node.number() == 1) {
      traffic.depart(late, 3, none);
      traffic.pipe.add_cpu_stage(
          "late", [](hiway::Inlet<Parcel<16>>) { usleep(300'000); }, hiway::into(late));
    } else {
      traffic.arrive(late, 3, none);
      traffic.pipe.add_cpu_stage(
          "late", [](hiway::Outlet<Parcel<16>> from) { from.for_each_h([](Parcel<16> const&) {}); }, hiway::from(late));
    }
    traffic.connect();
    traffic.begin();
    traffic.pipe.start();
    auto const began = steady_clock::now();
    auto const is_past = [&](int ms) { return steady_clock::now() - began > std::chrono::milliseconds(ms); };
    traffic.step_until([&] { return is_past(50); });
    while (node.number() == 0 && !is_past(500)) usleep(1000);
    traffic.finish();
    for (Got const* const got : {&large, &small, &other}) (void)traffic.shares(*got);
  });
  unsetenv("UCX_TCP_SNDBUF");
  unsetenv("UCX_TCP_RCVBUF");
  EXPECT_THAT(errors, Each(IsEmpty()));
}

// A run fails at its reader, in the midst of what it gets; nothing of it comes in the next one.
TEST_P(NodesUcxLine, AfterARunThatFailed) {
  auto const errors = in_processes(GetParam(), 3, [&](Node& node) {
    Traffic traffic(node);
    bool fails = false;
    Got const& got = traffic.add<Parcel<200>>({.writers = {0, 2}, .readers = {1}, .items = 20000, .capacity = 64},
                                              [&](std::uint32_t n) {
                                                if (fails && n % 20000 == 1000) throw std::runtime_error("enough");
                                              });
    traffic.connect();
    for (int run = 0; run != 6; ++run) {
      fails = run % 2 == 0;
      if (!fails) {
        traffic.run();
        (void)traffic.shares(got);
        continue;
      }
      std::string const error = traffic.run_that_fails(1);
      expect(error.find(node.number() == 1 ? "enough" : "aborted") != std::string::npos, "it fails: " + error);
    }
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

// A run is aborted while one tunnel is busy and in another one nothing comes. What was on its way does not come in the
// next run.
TEST_P(NodesUcxLine, AnAbortIsHeardWhileNothingComes) {
  auto const errors = in_processes(GetParam(), 2, [&](Node& node) {
    std::atomic<bool> holds{true};
    Traffic traffic(node);
    Got const& busy = traffic.add<Parcel<16>>({.writers = {0}, .readers = {1}, .items = 50000, .capacity = 64});
    Got const& quiet = traffic.add<Parcel<16>>(
        {.writers = {0}, .readers = {1}, .items = 1}, [](std::uint32_t) {},
        [&](std::uint32_t) {
          while (holds) usleep(100);
        });
    traffic.connect();
    traffic.begin();
    traffic.pipe.start();
    auto until = steady_clock::now() + std::chrono::milliseconds(node.number() == 0 ? 20 : 200);
    traffic.step_until([&] { return steady_clock::now() >= until; });
    usleep(2000);  // the writer goes on
    traffic.pipe.abort();
    until = steady_clock::now() + std::chrono::seconds(10);
    (void)error_of([&] { traffic.step_until([&] { return steady_clock::now() >= until; }); });
    expect(steady_clock::now() < until, "the line hears of the abort");
    holds = false;
    (void)error_of([&] { traffic.pipe.wait(); });
    (void)node.meeting.exchange({});
    traffic.run();
    (void)traffic.shares(busy);
    (void)traffic.shares(quiet);
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

// The others have met for a run that one node could not begin. The next one begins on all.
TEST_P(NodesUcxLine, AfterARunThatBeganOnSomeNodesOnly) {
  auto const errors = in_processes(GetParam(), 3, [&](Node& node) {
    Traffic traffic(node);
    Got const& got = traffic.add<Parcel<16>>({.writers = {0, 2}, .readers = {1}, .items = 1000, .capacity = 64});
    traffic.connect();
    for (int const where : {1, 0, 2}) {
      traffic.begin_without(where);
      traffic.run();
      (void)traffic.shares(got);
    }
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

struct PassOn {
  HIWAY_DEVICE Parcel<16> operator()(Parcel<16> const& item) const { return item; }
};

// On each node a tunnel leads to the CPU and comes from there, whatever the stages' side is.
TEST_P(NodesUcxLine, FromAnEmulatedGpuToAnother) {
  Road const road{.writers = {0}, .readers = {1}, .items = 3000, .capacity = 128};
  auto const errors = in_processes(GetParam(), 2, [&](Node& node) {
    using Item = Parcel<16>;
    Traffic traffic(node, {.device = "simt"});
    Got got(road);
    hiway::Pipeline& pipe = traffic.pipe;
    hiway::GpuStageOptions const grid{.blocks = 2, .threads_per_block = 32};
    auto& up = pipe.create_tunnel<Item>("up", hiway::Direction::cpu_to_gpu);
    auto& down = pipe.create_tunnel<Item>("down", hiway::Direction::gpu_to_cpu);
    pipe.add_gpu_stage("pass on", PassOn{}, hiway::from(up), hiway::into(down), grid);
    if (node.number() == 0) {
      pipe.add_cpu_stage("write", traffic.writer<Item>(road), hiway::into(up));
      traffic.depart(down, 0, road);
    } else {
      traffic.arrive(up, 0, road);
      pipe.add_cpu_stage(
          "read", [&](Item const& item) { got.note(item); }, hiway::from(down));
    }
    traffic.connect();
    for (int run = 0; run != 2; ++run) {
      got.clear();
      traffic.run();
      (void)traffic.shares(got);
    }
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

// The nodes' tunnels do not fit together.
TEST_P(NodesUcxLine, EndsThatDiffer) {
  auto const errors = in_processes(GetParam(), 2, [&](Node& node) {
    Traffic traffic(node);
    Road road{.writers = {0}, .readers = {1}, .items = 1};
    if (node.number() == 1) road.capacity = 255;
    (void)traffic.add<Parcel<16>>(road);
    traffic.connect();
  });
  EXPECT_THAT(errors,
              ElementsAre(HasSubstr("node 1: tunnel number 0 has other items, or another capacity, than at node 0"),
                          HasSubstr("node 0: tunnel number 0 has other items, or another capacity, than at node 1")));
}

}  // namespace
