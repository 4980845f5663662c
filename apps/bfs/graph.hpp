// Graph: whose edges lead from a vertex to others, stored vertex by vertex.
#pragma once
#include <cstdint>
#include <vector>

namespace bfs {

struct Graph {
  std::vector<std::uint32_t> first{0};  ///< of each vertex: its first edge; the last entry is the number of edges
  std::vector<std::uint32_t> targets;   ///< of each edge

  [[nodiscard]] std::uint32_t vertices() const { return static_cast<std::uint32_t>(first.size() - 1); }
  [[nodiscard]] std::uint32_t edges() const { return first.back(); }
  [[nodiscard]] std::uint32_t edges_of(std::uint32_t vertex) const { return first[vertex + 1] - first[vertex]; }
};

/// The graph of the edges that `each(add)` gives to `add(from, to)`. It is called twice, and gives the same both times.
template <class Each>
Graph graph_of(std::uint32_t vertices, Each const& each) {
  Graph graph;
  graph.first.assign(std::size_t{vertices} + 1, 0);
  each([&](std::uint32_t from, std::uint32_t) { ++graph.first[from + 1]; });
  for (std::uint32_t v = 0; v < vertices; ++v) graph.first[v + 1] += graph.first[v];
  graph.targets.resize(graph.edges());
  std::vector<std::uint32_t> next(graph.first.begin(), graph.first.end() - 1);
  each([&](std::uint32_t from, std::uint32_t to) { graph.targets[next[from]++] = to; });
  return graph;
}

}  // namespace bfs
