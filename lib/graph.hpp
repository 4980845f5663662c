// The declared graph of tunnels and stages, as numbers: its strongly connected components, which are the units of the
// end check and decide flow control.
#pragma once
#include <cstdint>
#include <vector>

namespace hiway {

/// For each node, its component's number. Components are numbered in reverse topological order: a component's number is
/// smaller than those of the components that lead to it. `edges[n]` lists the nodes that n leads to.
[[nodiscard]] std::vector<std::uint32_t> strong_components(std::vector<std::vector<std::uint32_t>> const& edges);

}  // namespace hiway
