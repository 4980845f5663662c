#include "open_ends_over_nodes.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "forwarding.hpp"

namespace hiway {
namespace {

std::string text_of(std::vector<int> const& nodes) {
  std::string text = nodes.size() == 1 ? "node" : "nodes";
  for (int const node : nodes) text += (node == nodes.front() ? " " : ", ") + std::to_string(node);
  return text;
}

/// A tunnel for the open ends at `nodes`, and the stage that carries their items, on all nodes alike.
std::uint32_t make(Layout& layout, TunnelBase& tunnel, EndOf end, std::vector<int> const& nodes,
                   std::string const& what) {
  Graph& graph = layout.graph;
  auto made = std::make_unique<TunnelBase>(tunnel.name() + " (" + what + ")", Direction::cpu_to_cpu,
                                           TunnelConfig{.capacity_items = tunnel.config().capacity_items},
                                           tunnel.item_bytes(), static_cast<std::uint32_t>(graph.tunnels().size()));
  TunnelBase& own = *made;
  graph.add_tunnel(std::move(made));
  CpuStageDescription stage = end == EndOf::writers
                                  ? forwarding_stage(tunnel.name() + " (from its " + what + ")", own, tunnel)
                                  : forwarding_stage(tunnel.name() + " (to its " + what + ")", tunnel, own);
  stage.stage.nodes = nodes;
  graph.declare(stage.stage);
  layout.placement.follow();
  if (std::ranges::binary_search(nodes, layout.over_nodes.node)) {
    graph.add_cpu(std::move(stage));
  } else {
    layout.placement.tunnels()[own.id()].capacity = 1;  // nothing is put
  }
  return own.id();
}

}  // namespace

OpenEndPlace place_open_end(Layout& layout, TunnelBase& tunnel, EndOf end, std::vector<int> const& nodes) {
  OverNodes& here = layout.over_nodes;
  if (here.count == 1) return {tunnel.id()};
  std::string const kind = end == EndOf::writers ? "open inlet" : "open outlet";
  std::string const title = "tunnel '" + tunnel.name() + "': ";
  if (end == EndOf::writers ? tunnel.from_gpu() : tunnel.to_gpu()) {
    if (static_cast<int>(nodes.size()) == here.count) return {tunnel.id()};
    throw ConfigError(title + "its " + kind + " is at a GPU: each node has its own, with {.nodes = hiway::all_nodes}");
  }
  std::string const what = kind + " at " + text_of(nodes);
  auto const is_there = [&](OverNodes::OpenEnds const& open) {
    return open.tunnel == tunnel.id() && open.end == end && open.nodes == nodes;
  };
  auto found = std::ranges::find_if(here.open_ends, is_there);
  if (found == here.open_ends.end()) {
    here.open_ends.push_back({tunnel.id(), end, nodes, make(layout, tunnel, end, nodes, what)});
    found = here.open_ends.end() - 1;
  }
  if (std::ranges::binary_search(nodes, here.node)) return {found->made};
  return {found->made, title + "its " + what + ", and this is node " + std::to_string(here.node)};
}

}  // namespace hiway
