// Open ends of pipelines over several nodes.
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "hiway/hiway.hpp"
#include "tests/nodes/ucx/clusters.hpp"

namespace {

using hiway::Direction;
using hiway_tests::on_nodes;
using hiway_tests::over;
using hiway_tests::shared_memory;
using hiway_tests::tcp;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;
using NodesOpenEnd = hiway_tests::OverUcx;

INSTANTIATE_TEST_SUITE_P(Over, NodesOpenEnd, testing::Values(tcp, shared_memory), hiway_tests::name_of_way);

constexpr long many = 20000;
constexpr long sum_of_doubles = many * (many + 1);

struct Double {
  HIWAY_DEVICE long operator()(int const& i) const { return 2L * i; }
};

struct PutNothing {
  HIWAY_DEVICE void operator()(hiway::Inlet<int>) const {}
};
struct PutThree {
  hiway::Inlet<int> out;
  HIWAY_DEVICE void operator()() const {
    out.put_d(3);
    out.close_d();
  }
};

void put_all(hiway::Inlet<int> const& out) {
  for (int i = 1; i <= many; ++i) out.put_h(i);
  out.close_h();
}

struct Heard {
  long items = 0;
  long sum = 0;
};

void hear_all(hiway::Outlet<long> const& in, Heard& heard) {
  for (long i; in.next_h(i);) {
    heard.sum += i;
    ++heard.items;
    in.end_task_h();
  }
}

std::string text(Heard const& heard) { return std::to_string(heard.sum) + " of " + std::to_string(heard.items); }

/// In three runs node `from` puts the numbers, and nodes `to` hear of their doubles: what each has heard.
std::vector<std::string> double_over_nodes(hiway_tests::Way way, int size, int from, std::vector<int> const& to) {
  return on_nodes(way, size, [&](hiway::Cluster& nodes) {
    hiway::Pipeline pipe(over(nodes));
    auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_gpu);
    auto& doubled = pipe.create_tunnel<long>("doubled", Direction::gpu_to_cpu);
    auto const out = numbers.open_inlet({.node = from});
    pipe.add_gpu_stage("double", Double{}, hiway::from(numbers), hiway::into(doubled), {.nodes = hiway::all_nodes});
    auto const in = doubled.open_outlet({.nodes = to});
    bool const hears = std::ranges::find(to, nodes.node()) != to.end();
    Heard heard;
    for (int run = 0; run < 3; ++run) {
      pipe.start();
      std::thread puts([&] {
        if (nodes.node() == from) put_all(out);
      });
      if (hears) hear_all(in, heard);
      puts.join();
      pipe.wait();
    }
    return text(heard);
  });
}

TEST_P(NodesOpenEnd, OfOneNodeServeAll) {
  EXPECT_THAT(double_over_nodes(GetParam(), 3, 0, {0}),
              ElementsAre(text({3 * many, 3 * sum_of_doubles}), "0 of 0", "0 of 0"));
}

TEST_P(NodesOpenEnd, MayBeAtDifferentNodes) {
  EXPECT_THAT(double_over_nodes(GetParam(), 2, 1, {0}), ElementsAre(text({3 * many, 3 * sum_of_doubles}), "0 of 0"));
  EXPECT_THAT(double_over_nodes(GetParam(), 2, 0, {1}), ElementsAre("0 of 0", text({3 * many, 3 * sum_of_doubles})));
}

// Threads of every node put, each by an inlet of its own, and the node's own threads hear.
TEST_P(NodesOpenEnd, OfEveryNode) {
  auto const said = on_nodes(GetParam(), 2, [](hiway::Cluster& nodes) {
    hiway::Pipeline pipe(over(nodes));
    auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu);
    auto& doubled = pipe.create_tunnel<long>("doubled", Direction::cpu_to_cpu);
    std::vector<hiway::Inlet<int>> outs;
    for (int i = 0; i < 3; ++i) outs.push_back(numbers.open_inlet({.nodes = hiway::all_nodes}));
    auto const in = doubled.open_outlet({.nodes = hiway::all_nodes});
    pipe.add_cpu_stage("double", [](int i) { return 2L * i; }, hiway::from(numbers), hiway::into(doubled),
                       {.nodes = hiway::all_nodes});
    Heard heard;
    pipe.start();
    std::vector<std::thread> threads;
    for (auto const& out : outs) threads.emplace_back([&out] { put_all(out); });
    hear_all(in, heard);
    for (auto& thread : threads) thread.join();
    pipe.wait();
    return text(heard);
  });
  EXPECT_THAT(said, Each(text({3 * many, 3 * sum_of_doubles})));
}

// A tunnel has one at each of two nodes: two ends, of which each node closes its own.
TEST_P(NodesOpenEnd, OfOneTunnelAtTwoNodes) {
  auto const said = on_nodes(GetParam(), 2, [](hiway::Cluster& nodes) {
    hiway::Pipeline pipe(over(nodes));
    auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu);
    std::vector<hiway::Inlet<int>> const outs{numbers.open_inlet({.node = 0}), numbers.open_inlet({.node = 1})};
    Heard heard;
    auto const sum = [&](int i) {
      heard.sum += i;
      ++heard.items;
    };
    pipe.add_cpu_stage("sum", sum, hiway::from(numbers));
    pipe.start();
    put_all(outs[static_cast<std::size_t>(nodes.node())]);
    pipe.wait();
    return text(heard);
  });
  EXPECT_THAT(said, ElementsAre(text({2 * many, sum_of_doubles}), "0 of 0"));
}

std::string thrown_by(auto const& call) {
  try {
    call();
  } catch (hiway::Error const& error) {
    return error.what();
  }
  return "nothing";
}

TEST_P(NodesOpenEnd, RefusesCallsWhereItIsNot) {
  auto const said = on_nodes(GetParam(), 2, [](hiway::Cluster& nodes) {
    hiway::Pipeline pipe(over(nodes));
    auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu);
    auto const out = numbers.open_inlet();
    auto const in = numbers.open_outlet({.node = 1});
    std::string first;
    pipe.start();
    if (nodes.node() == 0) {
      int i = 0;
      first = thrown_by([&] { static_cast<void>(in.get_h(i)); });
      first += "; " + thrown_by([&] { static_cast<void>(in.next_h(i)); });
      out.put_h(7);
    } else {
      first = thrown_by([&] { out.put_h(7); }) + "; " + thrown_by([&] { static_cast<void>(out.try_put_h(7)); });
      for (int i = 0; in.next_h(i); in.end_task_h()) first += "; got " + std::to_string(i);
    }
    out.close_h();
    pipe.wait();
    return first;
  });
  std::string const at_1 = "tunnel 'numbers': its open outlet at node 1, and this is node 0";
  std::string const at_0 = "tunnel 'numbers': its open inlet at node 0, and this is node 1";
  EXPECT_THAT(said, ElementsAre(at_1 + "; " + at_1, at_0 + "; " + at_0 + "; got 7"));
}

TEST_P(NodesOpenEnd, OfTheOtherNodeIsNamedByAStageThatCallsIt) {
  auto const said = on_nodes(GetParam(), 2, [](hiway::Cluster& nodes) {
    hiway::Pipeline pipe(over(nodes));
    auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu);
    auto& more = pipe.create_tunnel<int>("more", Direction::cpu_to_cpu);
    auto const out = numbers.open_inlet();
    pipe.add_cpu_stage("call", [&](hiway::Inlet<int>) { out.put_h(1); }, hiway::into(more), {.node = 1});
    pipe.add_cpu_stage(
        "hear", [](int) {}, hiway::from(more));
    pipe.add_cpu_stage(
        "sum", [](int) {}, hiway::from(numbers));
    pipe.run();
    return std::string("ended");
  });
  EXPECT_THAT(said, Each(EndsWith("stage 'call': tunnel 'numbers': its open inlet at node 0, and this is node 1")));
}

// Kernels of the user's have theirs, within each node.
TEST_P(NodesOpenEnd, AtAGpuIsEachNodesOwn) {
  auto const said = on_nodes(GetParam(), 2, [](hiway::Cluster& nodes) {
    hiway::Pipeline pipe(over(nodes));
    auto& numbers = pipe.create_tunnel<int>("numbers", Direction::gpu_to_cpu);
    std::string const refused = thrown_by([&] { static_cast<void>(numbers.open_inlet()); });
    auto const out = numbers.open_inlet({.nodes = hiway::all_nodes});
    long sum = 0;
    pipe.add_cpu_stage("sum", [&](int i) { sum += i; }, hiway::from(numbers), {.nodes = hiway::all_nodes});
    pipe.start();
    pipe.launch("put", PutThree{out}, {.blocks = 1, .threads_per_block = 1});
    pipe.wait();
    return refused + "; " + std::to_string(sum);
  });
  EXPECT_THAT(said, Each("tunnel 'numbers': its open inlet is at a GPU: each node has its own, with {.nodes = "
                         "hiway::all_nodes}; 3"));
}

TEST_P(NodesOpenEnd, AtAGpuStaysInItsNode) {
  auto const said = on_nodes(GetParam(), 2, [](hiway::Cluster& nodes) {
    hiway::Pipeline pipe(over(nodes));
    auto& numbers = pipe.create_tunnel<int>("numbers", Direction::gpu_to_cpu);
    static_cast<void>(numbers.open_inlet({.nodes = hiway::all_nodes}));
    pipe.add_gpu_stage("put", PutNothing{}, hiway::into(numbers), {.node = 1});
    pipe.add_cpu_stage(
        "sum", [](int) {}, hiway::from(numbers));
    pipe.run();
    return std::string("ended");
  });
  EXPECT_THAT(said, Each(HasSubstr("tunnel 'numbers' leads from one node to another, and has an open end at a GPU, "
                                   "which stays in its node")));
}

TEST(NodesOpenEnds, OfANodeThatIsNotThereAreRefused) {
  hiway::Pipeline pipe({.device = "simt"});
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu);
  EXPECT_EQ(thrown_by([&] { static_cast<void>(numbers.open_inlet({.node = 1})); }),
            "tunnel 'numbers': an open inlet: node 1: there is one node, number 0");
  EXPECT_EQ(thrown_by([&] {
              static_cast<void>(numbers.open_outlet({.nodes = {0, 0}}));
            }),
            "tunnel 'numbers': an open outlet: nodes: each number once");
}

}  // namespace
