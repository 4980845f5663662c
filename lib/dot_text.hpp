// Graphs in Graphviz' dot language, put together from their parts. Pure functions.
#pragma once
#include <string>
#include <vector>

namespace hiway {

/// Of a pipeline, or of what one node has of it.
struct DotPart {
  std::string stages{};  ///< a line each, as are the edges
  std::string edges{};
};

[[nodiscard]] std::string dot_of(DotPart const& part);

struct DotOfNode {
  DotPart part{};
  std::string missing{};  ///< why there is no part
};

/// A frame for each node, by number. Edges that have an end in common connect them.
[[nodiscard]] std::string dot_of_nodes(std::vector<DotOfNode> const& nodes);

}  // namespace hiway
