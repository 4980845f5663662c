#include "bfs/summary.hpp"

#include <algorithm>

#include "cli/hash.hpp"

namespace bfs {

Summary summarize(Graph const& graph, std::span<std::uint32_t const> levels) {
  Summary summary;
  summary.levels_hash = cli::first_hash;
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    summary.levels_hash = cli::hash_on(summary.levels_hash, levels[v]);
    if (levels[v] == unreached) continue;
    ++summary.reached;
    summary.edges += graph.edges_of(v);
    summary.depth = std::max(summary.depth, levels[v]);
  }
  return summary;
}

}  // namespace bfs
