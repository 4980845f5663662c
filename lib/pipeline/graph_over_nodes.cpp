// What a graph has besides where its pipeline runs on several nodes.
#include <algorithm>
#include <utility>

#include "check.hpp"
#include "forwarding.hpp"
#include "graph.hpp"

namespace hiway {
namespace {

Direction get_end_of(Direction whole) {
  return whole == Direction::cpu_to_gpu || whole == Direction::gpu_to_gpu ? Direction::cpu_to_gpu
                                                                          : Direction::cpu_to_cpu;
}

EndsHere ends_here(bool puts, bool gets) {
  if (puts) return gets ? EndsHere::departs_and_arrives : EndsHere::departs;
  return gets ? EndsHere::arrives : EndsHere::none;
}

}  // namespace

void Graph::split(std::uint32_t tunnel, bool is_put_here, bool is_got_here) {
  EndsHere const ends = ends_here(is_put_here, is_got_here);
  EndsHere const before = std::exchange(tunnels_[tunnel].ends, ends);
  TunnelBase& base = *tunnels_[tunnel].base;
  if (before != ends && before != EndsHere::both)
    throw ConfigError(tunnels_[tunnel].title() + ": which nodes use it has changed since the pipeline was prepared");
  Direction const declared = tunnels_[tunnel].direction;
  base.direction_ = is_put_here ? put_end_of(declared) : is_got_here ? get_end_of(declared) : Direction::cpu_to_cpu;
  check_config(base);
  if (ends != EndsHere::departs_and_arrives) return;
  if (tunnels_[tunnel].arrival == no_id) {
    TunnelBase& arrival = add_made(base, base.name() + " (arriving)");  // apps/cli/joined_tunnels.cpp reads it
    arrival.direction_ = get_end_of(declared);
    tunnels_[tunnel].arrival = arrival.id();
    check_config(arrival);
  }
  TunnelBase* const arrival = tunnels_[tunnels_[tunnel].arrival].base.get();
  auto const get_from_arrival = [&](StageDescription& stage) { std::ranges::replace(stage.from, &base, arrival); };
  for (CpuStageDescription& c : cpu_) get_from_arrival(c.stage);
  for (DeclaredKernel& k : kernels_) std::ranges::for_each(k.description.stages, get_from_arrival);
}

void Graph::split_with_branches(std::uint32_t tunnel, bool is_put_here, bool is_got_here) {
  TunnelBase& base = *tunnels_[tunnel].base;
  Direction const declared = tunnels_[tunnel].direction;
  bool const is_put_by_devices = is_put_here && put_end_of(declared) == Direction::gpu_to_cpu;
  bool const is_got_by_devices = is_got_here && get_end_of(declared) == Direction::cpu_to_gpu;
  if (is_put_by_devices && is_got_by_devices)
    throw ConfigError(tunnels_[tunnel].title() + " leads from one node to another, and on a node several devices " +
                      "both put into it and get from it");
  if (tunnels_[tunnel].between == no_id) put_between(tunnel, is_put_by_devices);
  base.direction_ = is_put_by_devices ? Direction::gpu_to_cpu : Direction::cpu_to_gpu;
  for (std::uint32_t const branch : tunnels_[tunnel].branches) tunnels_[branch].base->direction_ = base.direction_;
  TunnelBase* const between = tunnels_[tunnels_[tunnel].between].base.get();
  for (std::size_t c = 0; c < cpu_.size(); ++c) {
    if (c == tunnels_[tunnel].carrier) continue;
    std::ranges::replace(cpu_[c].stage.from, &base, between);
    std::ranges::replace(cpu_[c].stage.into, &base, between);
  }
  split(between->id(), is_put_here, is_got_here);
}

void Graph::put_between(std::uint32_t tunnel, bool is_put_by_devices) {
  TunnelBase& base = *tunnels_[tunnel].base;
  TunnelBase& between = add_made(base, base.name() + " (between nodes)");  // apps/cli/joined_tunnels.cpp reads it
  tunnels_.back().direction = between.direction_ = Direction::cpu_to_cpu;
  tunnels_[tunnel].between = between.id();
  tunnels_[tunnel].carrier = cpu_.size();
  if (is_put_by_devices) {
    add_cpu(forwarding_stage(base.name() + " (from devices)", base, between));
  } else {
    add_cpu(forwarding_stage(base.name() + " (to devices)", between, base));
  }
}

void Graph::split_carried(std::uint32_t stencil, bool is_put_here, bool is_got_here) {
  if (!is_put_here && !is_got_here) return split(stencil, false, false);
  TunnelBase& base = *tunnels_[stencil].base;
  Direction const declared = tunnels_[stencil].direction;
  base.direction_ = is_put_here ? put_end_of(declared) : get_end_of(declared);
  base.tasks()->direction_ = base.to_gpu() ? Direction::gpu_to_gpu : Direction::cpu_to_cpu;
}

DeclaredOverNodes Graph::over_nodes() const {
  DeclaredOverNodes all;
  std::vector<std::uint32_t> place(tunnels_.size(), no_id);  // of each tunnel in all.graph
  for (DeclaredTunnel const& t : tunnels_) {
    if (t.is_made) continue;
    place[t.base->id()] = static_cast<std::uint32_t>(all.ids.size());
    all.ids.push_back(t.base->id());
    all.graph.tunnels.push_back(t.base->name());
    all.text.append(t.title()).append(": ").append(direction_name(t.direction)).append(", ");
    all.text.append(std::to_string(t.base->config().capacity_items)).append(" items of ");
    all.text.append(std::to_string(t.base->item_bytes())).append(" bytes\n");
  }
  auto const places = [&](std::vector<TunnelBase*> const& tunnels) {
    std::vector<std::uint32_t> found;
    for (TunnelBase const* t : tunnels) found.push_back(place[t->id()]);
    return found;
  };
  auto const names = [](char const* what, std::vector<TunnelBase*> const& tunnels) {
    std::string list;
    for (TunnelBase const* t : tunnels)
      list.append(list.empty() ? what : ", ").append("'").append(t->name()).append("'");
    return list;
  };
  for (StageDescription const& s : over_nodes_) {
    all.graph.stages.push_back({places(s.from), places(s.into), s.nodes});
    all.text.append("stage '").append(s.name).append("' on node");
    for (int const node : s.nodes) all.text.append(" ").append(std::to_string(node));
    all.text.append(names(", from ", s.from)).append(names(", into ", s.into)).append("\n");
  }
  return all;
}

}  // namespace hiway
