// The tree, and how a node gets into it: by one atomic operation on the link that it hangs from, without locks.
//
//   child     from `none` to a node's number, once, by compare and swap; then it stays
//   key       of a node: written before its number is in a link
//   Orders    release: a node is whole before its link -> acquire: a thread that follows the link sees its key
//
// A thread that finds the link taken, before or at its own swap, goes on at the node that took it, and compares with
// that one's key. So each link lies where a search for the new key ends: a search tree, with equal keys on the right.
#pragma once
#include <cstdint>

#include "bst/problem.hpp"
#include "hiway/config.hpp"
#include "hiway/machine/machine.hpp"

namespace bst {

inline constexpr std::uint32_t none = ~0U;

struct Node {
  Key key = 0;
  hiway::Word<std::uint32_t> child[2]{{none}, {none}};  ///< less; not less
};

/// Makes the node, and hangs it into the tree.
template <class Machine>
HIWAY_DEVICE inline void insert(Machine m, Node* nodes, std::uint32_t node, Key key) {
  nodes[node].key = key;
  nodes[node].child[0].bits = none;
  nodes[node].child[1].bits = none;
  std::uint32_t at = 0;
  while (true) {
    hiway::Word<std::uint32_t>& link = nodes[at].child[key < nodes[at].key ? 0 : 1];
    std::uint32_t next = m.load(link, hiway::MemoryOrder::acquire);
    if (next != none) {
      at = next;
    } else if (m.compare_exchange(link, next, node, hiway::MemoryOrder::release)) {
      return;
    }
  }
}

}  // namespace bst
