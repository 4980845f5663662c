// The graph of stages and tunnels in Graphviz' dot language, with the numbers of a run if there is one.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "graph.hpp"
#include "hiway/report.hpp"
#include "homes.hpp"
#include "lib/dot_text.hpp"

namespace hiway {

/// What the picture shows besides the graph.
struct DotNumbers {
  RunReport const& report;                   ///< empty if there was no run
  bool running = false;                      ///< the report is of a run under way
  std::vector<std::size_t> const& capacity;  ///< of each tunnel, in items
};
/// `prefix`: of the stages' names, which other nodes have, too. A tunnel that leads to other nodes ends, or begins, at
/// a thing that has the same name on all of them.
[[nodiscard]] DotPart dot_part_of(Graph const& graph, Homes const& homes, DotNumbers const& numbers,
                                  std::string const& prefix);

}  // namespace hiway
