// A tree of fan-out 4 that a stage grows by feeding itself, through rings of 8.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/device.hpp"

namespace hiway_tests {

struct Node {
  std::int32_t depth;
  std::uint32_t number;  ///< among its depth's nodes
};

/// Four children of every node above the last depth, whose nodes are counted.
struct Grow {
  std::int32_t depth;
  hiway::View<hiway::Word<std::uint32_t>> leaves;
  HIWAY_DEVICE void operator()(Node const& node, hiway::Inlet<Node> again) const {
    if (node.depth == depth) {
      hiway::anywhere([&](auto m) { m.fetch_add(leaves[node.number], 1u, hiway::MemoryOrder::relaxed); });
      return;
    }
    for (std::uint32_t i = 0; i < 4; ++i) again.put(Node{node.depth + 1, 4 * node.number + i});
  }
};

enum class GrownBy : std::uint8_t { cpu_threads, device };

struct Tree {
  /// `spill_items` 0: as many as the library chooses. `lanes`: of the device.
  Tree(GrownBy by, std::int32_t depth, std::size_t spill_items, hiway::GpuStageOptions lanes)
      : pipe(bounded()), leaves(std::size_t{1} << (2 * depth)) {
    using hiway::Direction;
    bool const on_device = by == GrownBy::device;
    auto& roots = pipe.create_tunnel<Node>("roots", on_device ? Direction::cpu_to_gpu : Direction::cpu_to_cpu,
                                           {.capacity_items = 8});
    auto& again = pipe.create_tunnel<Node>("again", on_device ? Direction::gpu_to_gpu : Direction::cpu_to_cpu,
                                           {.capacity_items = 8, .spill_items = spill_items});
    pipe.add_cpu_stage(
        "root",
        [](hiway::Inlet<Node> out) {
          out.put_h({0, 0});
        },
        hiway::into(roots));
    if (on_device) {
      on_the_device = &pipe.create_buffer<hiway::Word<std::uint32_t>>(leaves);
      pipe.add_gpu_stage("grow", Grow{depth, on_the_device->view()}, hiway::from(roots, again), hiway::into(again),
                         lanes);
    } else {
      pipe.add_cpu_stage("grow", Grow{depth, {leaves.data(), leaves.size()}}, hiway::from(roots, again),
                         hiway::into(again), {.threads = 2});
    }
  }
  /// Leaves that were grown once; the others were lost or grown twice.
  std::int64_t grown_once() {
    if (on_the_device != nullptr) on_the_device->copy_out(leaves);
    return std::count_if(leaves.begin(), leaves.end(), [](auto const& count) { return count.bits == 1; });
  }
  hiway::Pipeline pipe;
  std::vector<hiway::Word<std::uint32_t>> leaves;
  hiway::Buffer<hiway::Word<std::uint32_t>>* on_the_device = nullptr;
};

}  // namespace hiway_tests
