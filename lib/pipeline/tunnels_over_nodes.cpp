#include "tunnels_over_nodes.hpp"

#include <algorithm>
#include <iterator>

#include "../graph.hpp"

namespace hiway {
namespace {

using Nodes = std::vector<int>;

bool has(Nodes const& nodes, int node) { return std::ranges::binary_search(nodes, node); }

void add(Nodes& nodes, Nodes const& more) {
  Nodes all;
  std::ranges::set_union(nodes, more, std::back_inserter(all));
  nodes = std::move(all);
}

/// All of `others`, or if the node is among them those that `own` has not, and the node itself.
Nodes partners(int node, Nodes const& own, Nodes const& others) {
  Nodes all;
  for (int const other : others) {
    if (!has(others, node) || !has(own, other) || other == node) all.push_back(other);
  }
  return all;
}

std::vector<std::string> cycles_that_cross(GraphOverNodes const& graph, std::vector<TunnelOverNodes> const& tunnels) {
  std::vector<std::vector<std::uint32_t>> edges(graph.tunnels.size());
  for (GraphOverNodes::Stage const& s : graph.stages) {
    for (std::uint32_t const from : s.from) edges[from].insert(edges[from].end(), s.into.begin(), s.into.end());
  }
  std::vector<std::uint32_t> const unit = strong_components(edges);
  std::vector<std::string> problems;
  for (std::uint32_t t = 0; t < edges.size(); ++t) {
    auto const is_of_its_unit = [&](std::uint32_t to) { return unit[to] == unit[t]; };
    if (!tunnels[t].crosses() || std::ranges::none_of(edges[t], is_of_its_unit)) continue;
    problems.push_back("tunnel '" + graph.tunnels[t] +
                       "' is in a cycle and leads from one node to another: a cycle stays within each node");
  }
  return problems;
}

}  // namespace

bool TunnelOverNodes::is_put_at(int node) const { return has(writers, node); }
bool TunnelOverNodes::is_got_at(int node) const { return has(readers, node); }
std::vector<int> TunnelOverNodes::to(int node) const { return partners(node, writers, readers); }
std::vector<int> TunnelOverNodes::from(int node) const { return partners(node, readers, writers); }

TunnelsOverNodes tunnels_over_nodes(GraphOverNodes const& graph) {
  TunnelsOverNodes all;
  all.tunnels.resize(graph.tunnels.size());
  for (GraphOverNodes::Stage const& s : graph.stages) {
    for (std::uint32_t const t : s.into) add(all.tunnels[t].writers, s.nodes);
    for (std::uint32_t const t : s.from) add(all.tunnels[t].readers, s.nodes);
  }
  all.problems = cycles_that_cross(graph, all.tunnels);
  return all;
}

}  // namespace hiway
