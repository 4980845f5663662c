// Summary: what a tree says of itself. Its shape depends on the order in which keys came; what is compared does not.
#pragma once
#include <cstdint>
#include <span>

#include "bst/stages.hpp"

namespace bst {

struct Summary {
  std::uint64_t nodes = 0;      ///< that the root leads to
  bool is_search_tree = false;  ///< each node once; less on the left of each, the others on the right
  std::uint64_t keys_hash = 0;  ///< from left to right
  std::uint32_t depth = 0;      ///< nodes on the longest way
};

/// Of the tree whose root is node 0.
[[nodiscard]] Summary summarize(std::span<Node const> nodes);

/// Whether it is a search tree, and has these keys and no others.
[[nodiscard]] bool is_right(Summary const& summary, std::span<Key const> keys);

}  // namespace bst
