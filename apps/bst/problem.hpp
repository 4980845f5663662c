// Problem: keys, and which of them the CPU inserts into the tree, or the GPU.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace bst {

using Key = std::int64_t;

/// A node has the number of its key; node 0 is the root.
struct Problem {
  std::vector<Key> keys;       ///< of all nodes: the tree's that is there before, then the CPU's, then the GPU's
  std::uint32_t initial = 10;  ///< in the tree before; at least 1
  std::uint32_t by_cpu = 0;    ///< inserted by the CPU

  [[nodiscard]] std::uint32_t nodes() const { return static_cast<std::uint32_t>(keys.size()); }
  [[nodiscard]] std::uint32_t first_of_gpu() const { return initial + by_cpu; }
  [[nodiscard]] std::span<Key const> of_gpu() const { return std::span(keys).subspan(first_of_gpu()); }
};

/// `inserted` keys of 31 bits beside the `initial` ones, at random, `percent` of them (rounded down) by the CPU.
[[nodiscard]] Problem make_problem(std::uint32_t inserted, std::uint32_t initial, std::uint32_t percent,
                                   std::uint64_t seed);

}  // namespace bst
