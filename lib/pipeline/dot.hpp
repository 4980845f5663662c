// The graph of stages and tunnels in Graphviz' dot language, with the numbers of a run if there is one.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "graph.hpp"
#include "hiway/report.hpp"
#include "homes.hpp"

namespace hiway {

/// What the picture shows besides the graph.
struct DotNumbers {
  RunReport const& report;                   ///< empty if there was no run
  bool running = false;                      ///< the report is of a run under way
  std::vector<std::size_t> const& capacity;  ///< of each tunnel, in items
};
[[nodiscard]] std::string dot_of(Graph const& graph, Homes const& homes, DotNumbers const& numbers);

}  // namespace hiway
