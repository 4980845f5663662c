// Reports of several nodes as one: names begin with their node, or have a label for it. Pure functions.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dot_text.hpp"
#include "hiway/report.hpp"

namespace hiway {

/// "node 1: "
[[nodiscard]] std::string prefix_of_node(int node);
/// The report, whose stages, tunnels and latencies have the prefix.
[[nodiscard]] RunReport of_node(RunReport report, int node);
/// Of all nodes' reports, without prefixes, by number; null: there is none. The time is that of the node with the
/// longest one.
[[nodiscard]] RunReport merged(std::vector<RunReport const*> const& nodes);
/// The same as to_prometheus writes it, with a label `node` for each.
[[nodiscard]] std::string prometheus_of_nodes(std::vector<RunReport const*> const& nodes);

/// What a node tells node 0 of a run.
struct NodePart {
  RunReport report{};               ///< without stencils, which files have not
  std::string events{};             ///< of the trace; empty if the run is not traced
  DotPart graph{};                  ///< whose stages have the prefix; empty if it was not asked for
  std::int64_t clock_error_ns = 0;  ///< of the events' times
};

[[nodiscard]] std::string packed(NodePart const& part);
/// None if it is something else.
[[nodiscard]] std::optional<NodePart> unpacked(std::string_view bytes);

}  // namespace hiway
