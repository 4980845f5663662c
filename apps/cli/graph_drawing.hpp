// GraphDrawing: a pipeline's stages and tunnels in layers from left to right, as inline SVG.
//
// Sugiyama's way, small: what goes backwards in a depth-first walk from the sources is turned round; a node's layer is
// the longest way to it; an edge over several layers gets a point in each; a few sweeps order each layer by the middle
// of its neighbours, and place it.
#pragma once
#include <hiway/report.hpp>
#include <string>
#include <utility>
#include <vector>

namespace cli {

/// From a stage into a tunnel, or from a tunnel into a stage. Stages have the first numbers.
using GraphEdges = std::vector<std::pair<std::size_t, std::size_t>>;
[[nodiscard]] GraphEdges edges_of(hiway::RunReport const& stats);

struct GraphLayers {
  std::vector<std::size_t> layer;  ///< of each node
  std::vector<bool> backwards;     ///< of each edge
};
/// Every edge that is not backwards leads to a higher layer, the others to a lower one, or to the same node's.
[[nodiscard]] GraphLayers layers_of(std::size_t nodes, GraphEdges const& edges);

/// `subject`: the stage or tunnel that is set off, or "".
[[nodiscard]] std::string draw_graph(hiway::RunReport const& stats, std::string const& subject);

}  // namespace cli
