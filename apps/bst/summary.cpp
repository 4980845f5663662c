#include "bst/summary.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "cli/hash.hpp"

namespace bst {
namespace {

std::uint64_t hash_key(std::uint64_t hash, Key key) { return cli::hash_on(hash, static_cast<std::uint64_t>(key)); }

/// A node that is still to be passed, with what lies on its right; its keys may be `least` to `below`.
struct Waiting {
  std::uint32_t node;
  Key least;
  Key below;
  std::uint32_t depth;
};

}  // namespace

Summary summarize(std::span<Node const> nodes) {
  Summary summary{.nodes = 0, .is_search_tree = true, .keys_hash = cli::first_hash, .depth = 0};
  std::vector<bool> seen(nodes.size());
  std::vector<Waiting> stack;
  Waiting at{0, std::numeric_limits<Key>::min(), std::numeric_limits<Key>::max(), 1};
  while (at.node != none || !stack.empty()) {
    if (at.node != none) {
      if (at.node >= nodes.size() || seen[at.node]) {  // no tree: the rest means nothing
        summary.is_search_tree = false;
        return summary;
      }
      seen[at.node] = true;
      Key const key = nodes[at.node].key;
      if (key < at.least || key >= at.below) summary.is_search_tree = false;
      stack.push_back(at);
      at = {nodes[at.node].child[0].bits, at.least, key, at.depth + 1};
      continue;
    }
    at = stack.back();
    stack.pop_back();
    Node const& node = nodes[at.node];
    ++summary.nodes;
    summary.depth = std::max(summary.depth, at.depth);
    summary.keys_hash = hash_key(summary.keys_hash, node.key);
    at = {node.child[1].bits, node.key, at.below, at.depth + 1};
  }
  return summary;
}

bool is_right(Summary const& summary, std::span<Key const> keys) {
  std::vector<Key> sorted(keys.begin(), keys.end());
  std::ranges::sort(sorted);
  std::uint64_t hash = cli::first_hash;
  for (Key const key : sorted) hash = hash_key(hash, key);
  return summary.is_search_tree && summary.nodes == keys.size() && summary.keys_hash == hash;
}

}  // namespace bst
