// Stencil tunnels whose producers are on one node and whose consumers are on another.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "hiway/hiway.hpp"
#include "tests/nodes/ucx/clusters.hpp"

namespace {

using hiway::Direction;
using hiway::StencilConfig;
using hiway_tests::on_nodes;
using hiway_tests::over;
using hiway_tests::shared_memory;
using hiway_tests::tcp;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using NodesStencil = hiway_tests::OverUcx;

INSTANTIATE_TEST_SUITE_P(Over, NodesStencil, testing::Values(tcp, shared_memory), hiway_tests::name_of_way);

template <std::size_t Words>
struct Value {
  std::array<std::uint64_t, Words> words;
};

HIWAY_DEVICE std::uint64_t number_of(std::int64_t x, std::int64_t y, std::uint32_t frame) {
  return (static_cast<std::uint64_t>(frame) << 40 | static_cast<std::uint64_t>(y) << 20 |
          static_cast<std::uint64_t>(x)) +
         1;
}

template <std::size_t Words>
struct Produce {
  StencilConfig shape;
  HIWAY_DEVICE void operator()(hiway::StencilInlet<Value<Words>> out) const {
    hiway::anywhere([&](auto m) {
      for (std::uint32_t frame = 0; frame < shape.frames; ++frame) {
        for (std::uint32_t i = m.lane(); i < shape.width * shape.height; i += m.count(m.lanes())) {
          Value<Words> value;
          for (std::size_t k = 0; k != Words; ++k)
            value.words[k] = number_of(i % shape.width, i / shape.width, frame) * (k + 1);
          out.set(i % shape.width, i / shape.width, value, frame);
        }
      }
    });
  }
};

/// Puts whether all values around a task's place are right.
template <std::size_t Words>
struct Look {
  HIWAY_DEVICE void operator()(hiway::StencilOutlet<Value<Words>> in, hiway::Inlet<int> out) const {
    in.for_each([&](hiway::StencilTask const& task) {
      bool right = true;
      for (std::int64_t y = std::int64_t{task.y} - 1; y <= task.y + 1; ++y) {
        for (std::int64_t x = std::int64_t{task.x} - 1; x <= task.x + 1; ++x) {
          Value<Words> const& value = in.fetch(x, y);
          for (std::size_t k = 0; k != Words; ++k)
            right = right && value.words[k] == number_of(x, y, task.frame) * (k + 1);
        }
      }
      out.put(right ? 1 : 0);
    });
  }
};

/// What node 0 hears of the consumers on node 1: how many places were right, of how many, in three runs.
template <std::size_t Words>
std::string heard(hiway::Cluster& nodes, Direction direction, StencilConfig const& shape) {
  hiway::Pipeline pipe(over(nodes));
  bool const from_gpu = direction == Direction::gpu_to_cpu || direction == Direction::gpu_to_gpu;
  bool const to_gpu = direction == Direction::cpu_to_gpu || direction == Direction::gpu_to_gpu;
  auto& matrix = pipe.create_stencil_tunnel<Value<Words>>("matrix", direction, shape);
  auto& looked = pipe.create_tunnel<int>("looked", to_gpu ? Direction::gpu_to_cpu : Direction::cpu_to_cpu);
  if (from_gpu) {
    pipe.add_gpu_stage("produce", Produce<Words>{shape}, hiway::into(matrix), {.blocks = 1, .threads_per_block = 32});
  } else {
    pipe.add_cpu_stage("produce", Produce<Words>{shape}, hiway::into(matrix));
  }
  if (to_gpu) {
    pipe.add_gpu_stage("look", Look<Words>{}, hiway::from(matrix), hiway::into(looked),
                       {.blocks = 2, .threads_per_block = 32, .node = 1});
  } else {
    pipe.add_cpu_stage("look", Look<Words>{}, hiway::from(matrix), hiway::into(looked), {.threads = 2, .node = 1});
  }
  long right = 0;
  long all = 0;
  pipe.add_cpu_stage(
      "hear",
      [&](hiway::Outlet<int> in) {
        in.for_each_h([&](int is_right) {
          right += is_right;
          ++all;
        });
      },
      hiway::from(looked));
  for (int run = 0; run < 3; ++run) pipe.run();
  return std::to_string(right) + " of " + std::to_string(all);
}

std::string expected(StencilConfig const& shape) {
  std::string const all = std::to_string(3L * (shape.width - 2) * (shape.height - 2) * shape.frames);
  return all + " of " + all;
}

TEST_P(NodesStencil, EachTaskHasItsValues) {
  constexpr std::uint32_t width = 37;
  for (std::uint32_t const region_width : {8U, width}) {
    StencilConfig const shape{.width = width,
                              .height = 21,
                              .stencil_width = 3,
                              .stencil_height = 3,
                              .region_width = region_width,
                              .region_height = 5,
                              .frames = 7};
    for (Direction const direction :
         {Direction::cpu_to_cpu, Direction::cpu_to_gpu, Direction::gpu_to_cpu, Direction::gpu_to_gpu}) {
      auto const said =
          on_nodes(GetParam(), 2, [&](hiway::Cluster& nodes) { return heard<1>(nodes, direction, shape); });
      EXPECT_THAT(said, ElementsAre(expected(shape), "0 of 0")) << static_cast<int>(direction);
    }
  }
}

// Of twelve items: a task that came with the first would find values that have not.
TEST_P(NodesStencil, ARegionMayBeLarge) {
  StencilConfig const shape{.width = 13,
                            .height = 9,
                            .stencil_width = 3,
                            .stencil_height = 3,
                            .region_width = 12,
                            .region_height = 8,
                            .frames = 3};
  for (Direction const direction : {Direction::cpu_to_gpu, Direction::gpu_to_cpu}) {
    auto const said =
        on_nodes(GetParam(), 2, [&](hiway::Cluster& nodes) { return heard<1000>(nodes, direction, shape); });
    EXPECT_THAT(said, ElementsAre(expected(shape), "0 of 0")) << static_cast<int>(direction);
  }
}

// The producers' node looks, once the run is over.
TEST_P(NodesStencil, AFrameThatIsNotCompleteIsNamed) {
  auto const said = on_nodes(GetParam(), 2, [](hiway::Cluster& nodes) {
    hiway::Pipeline pipe(over(nodes));
    auto& matrix = pipe.create_stencil_tunnel<int>("matrix", Direction::cpu_to_cpu, {.width = 4, .height = 4});
    pipe.add_cpu_stage(
        "produce", [](hiway::StencilInlet<int> out) { out.set_h(1, 2, 3); }, hiway::into(matrix));
    pipe.add_cpu_stage("look", [](hiway::StencilOutlet<int> in) { in.for_each_h([](auto const&) {}); },
                       hiway::from(matrix), {.node = 1});
    pipe.run();
    return std::string("ended");
  });
  EXPECT_THAT(said,
              ElementsAre(HasSubstr("'matrix': its writers have returned, but frame 0 is not complete"), "ended"));
}

// At once, or after it was prepared for one.
TEST_P(NodesStencil, ConsumersOnTwoNodesAreRefused) {
  for (bool const later : {false, true}) {
    auto const said = on_nodes(GetParam(), 2, [later](hiway::Cluster& nodes) {
      hiway::Pipeline pipe(over(nodes));
      auto& matrix = pipe.create_stencil_tunnel<int>("matrix", Direction::cpu_to_cpu, {.width = 4, .height = 4});
      auto const look = [](hiway::StencilOutlet<int> in) { in.for_each_h([](auto const&) {}); };
      pipe.add_cpu_stage(
          "produce", [](hiway::StencilInlet<int> out) { out.set_h(1, 2, 3); }, hiway::into(matrix));
      pipe.add_cpu_stage("look", look, hiway::from(matrix), {.node = 1});
      if (later) pipe.prepare();
      pipe.add_cpu_stage("look, too", look, hiway::from(matrix), {.node = 0});
      pipe.run();
      return std::string("ended");
    });
    EXPECT_THAT(said, Each(HasSubstr("stencil tunnel 'matrix' leads from one node to another: then one node puts into "
                                     "it, and one gets from it")));
  }
}

}  // namespace
