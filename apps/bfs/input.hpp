// Input: graphs that are made, and graphs from files.
#pragma once
#include <cstdint>
#include <string>

#include "bfs/graph.hpp"

namespace bfs {

inline constexpr std::uint32_t most_vertices = 1U << 28;
inline constexpr std::uint64_t most_edges = std::uint64_t{1} << 31;

/// Streets: a grid of crossings, each joined both ways to its neighbours on the right and below. One street of five is
/// missing, and one crossing of sixteen is also joined to the one on the right below. Many steps from end to end.
[[nodiscard]] Graph make_road(std::uint32_t width, std::uint32_t height, std::uint64_t seed);

/// Graph500's: 2^scale vertices, `edge_factor` edges for each, in both directions, by its recursive quadrants (0.57,
/// 0.19, 0.19, 0.05); vertices are shuffled, and what an edge repeats, or leads back to itself, stays. Few steps, and a
/// few vertices with a great many edges.
[[nodiscard]] Graph make_power_law(std::uint32_t scale, std::uint32_t edge_factor, std::uint64_t seed);

/// A file of the 9th DIMACS challenge, plain or gzip: `c` comment, `p sp VERTICES EDGES`, and `a FROM TO LENGTH` for
/// each edge, vertices from 1 on. Lengths are not used. *Throws* BadInput in one line with the file's name.
[[nodiscard]] Graph read_dimacs(std::string const& path);

/// The vertex with most edges, the first of several; 0 where there is none.
[[nodiscard]] std::uint32_t busiest(Graph const& graph);

}  // namespace bfs
