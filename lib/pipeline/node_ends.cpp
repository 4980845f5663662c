#include "node_ends.hpp"

#include <algorithm>
#include <numeric>

#include "check.hpp"
#include "views.hpp"

namespace hiway {
namespace {

constexpr std::size_t most_lane_bytes = std::size_t{8} << 20;

/// What a tunnel that leads to other nodes cannot have. At the CPU, its open ends are at tunnels of their own.
void check_crossing(std::vector<std::string>& found, DeclaredTunnel const& t) {
  bool const is_opened = t.ends == EndsHere::both && (t.open_inlets != 0 || t.open_outlets != 0);
  if (is_opened)
    found.push_back(t.title() +
                    " leads from one node to another, and has an open end at a GPU, which stays in its node");
}

/// Slots of each lane between two nodes.
std::size_t lane_items(TunnelBase const& tunnel) {
  std::size_t const most = std::max<std::size_t>(1, most_lane_bytes / tunnel.item_bytes());
  return std::min(tunnel.config().capacity_items, most);
}

}  // namespace

std::vector<int> nodes_of(std::string const& title, int node, std::vector<int> const& nodes, int count) {
  auto const refuse = [&](std::string const& why) { throw ConfigError(title + ": " + why); };
  if (node >= 0 && !nodes.empty()) refuse("node and nodes are both given");
  if (nodes == all_nodes) {
    std::vector<int> all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  std::vector<int> sorted = nodes.empty() ? std::vector<int>{std::max(node, 0)} : nodes;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end()) refuse("nodes: each number once");
  for (int const n : sorted) {
    if (n < 0 || n >= count)
      refuse("node " + std::to_string(n) + ": there " +
             (count == 1 ? "is one node, number 0" : "are " + std::to_string(count) + " nodes, from 0"));
  }
  return sorted;
}

void split_over_nodes(Layout& layout) {
  OverNodes& here = layout.over_nodes;
  here.declared = layout.graph.over_nodes();
  here.plan = tunnels_over_nodes(here.declared.graph);
  std::vector<std::string> found = here.plan.problems;
  for (std::size_t i = 0; i < here.plan.tunnels.size(); ++i) {
    if (here.plan.tunnels[i].crosses()) check_crossing(found, layout.graph.tunnels()[here.declared.ids[i]]);
  }
  refuse_problems(found);
  for (std::size_t i = 0; i < here.plan.tunnels.size(); ++i) {
    TunnelOverNodes const& t = here.plan.tunnels[i];
    std::uint32_t const id = here.declared.ids[i];
    bool const puts = t.is_put_at(here.node);
    bool const gets = t.is_got_at(here.node);
    if (layout.graph.tunnels()[id].carried_by != no_id) {
      layout.graph.split_carried(id, puts, gets);
    } else if (t.crosses() && !layout.graph.tunnels()[id].branches.empty()) {
      layout.graph.split_with_branches(id, puts, gets);
    } else if (t.crosses() || (!puts && !gets && !(t.writers.empty() && t.readers.empty()))) {
      layout.graph.split(id, puts, gets);
    }
  }
  layout.placement.follow();
  for (PlacedTunnel& t : layout.placement.tunnels()) {
    bool const is_used = layout.graph.tunnels()[t.base->id()].ends != EndsHere::none;
    if (!is_used) t.capacity = t.base->config().shards;  // the least
  }
}

void open_node_ends(Layout& layout) {
  OverNodes& here = layout.over_nodes;
  for (std::size_t i = 0; i < here.plan.tunnels.size(); ++i) {
    TunnelOverNodes const& t = here.plan.tunnels[i];
    DeclaredTunnel const& declared = layout.graph.tunnels()[here.declared.ids[i]];
    std::uint32_t const id = declared.between == no_id ? declared.base->id() : declared.between;
    std::uint32_t const arriving = layout.graph.tunnels()[id].arrival;
    std::uint32_t const arrival = arriving == no_id ? id : arriving;
    std::size_t const item_bytes = declared.base->item_bytes();
    std::size_t const capacity = lane_items(*declared.base);
    auto const number = static_cast<std::uint32_t>(i);
    if (!t.crosses() || declared.carried_by != no_id) continue;
    if (std::ranges::find(here.opened, number) != here.opened.end()) continue;
    if (t.is_put_at(here.node)) {
      OutletView const view =
          open_outlet_view(layout, layout.placement.tunnels()[id], layout.graph.add_open_outlet(id));
      here.departures.push_back({number, view, item_bytes, capacity, t.to(here.node)});
    }
    if (t.is_got_at(here.node)) {
      InletView const view =
          open_inlet_view(layout, layout.placement.tunnels()[arrival], layout.graph.add_open_inlet(arrival));
      here.arrivals.push_back({number, view, item_bytes, capacity, t.from(here.node)});
    }
    here.opened.push_back(number);
  }
}

}  // namespace hiway
