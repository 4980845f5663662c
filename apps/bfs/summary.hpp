// Summary: what a search says of the levels that it has found.
#pragma once
#include <cstdint>
#include <span>

#include "bfs/graph.hpp"

namespace bfs {

/// The level of a vertex that no path leads to.
inline constexpr std::uint32_t unreached = ~0U;

struct Summary {
  std::uint64_t reached = 0;      ///< vertices
  std::uint64_t edges = 0;        ///< that lead away from them: the least that a search looks at
  std::uint32_t depth = 0;        ///< the highest level
  std::uint64_t levels_hash = 0;  ///< of all vertices' levels, in order
  bool operator==(Summary const&) const = default;
};

/// `levels`: of each vertex of the graph.
[[nodiscard]] Summary summarize(Graph const& graph, std::span<std::uint32_t const> levels);

}  // namespace bfs
