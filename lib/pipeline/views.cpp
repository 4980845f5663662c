#include "views.hpp"

#include <algorithm>

#include "check.hpp"
#include "hiway/inlet/keyed.hpp"

namespace hiway {
namespace {

/// The views of one stage's ends.
class StageViews {
 public:
  StageViews(Layout const& layout, std::size_t stage, unsigned executor)
      : layout_(layout),
        stage_(layout.prepared.stages[stage]),
        place_(layout.prepared.places[stage]),
        number_(static_cast<std::uint32_t>(stage)),
        executor_(executor) {}

  [[nodiscard]] InletView inlet(std::size_t index) const {
    PlacedTunnel const& t = tunnel(stage_.description.into[index]);
    InletView v;
    v.stage = number_;
    v.ring = t.put.ring;
    v.ring.grouping = chosen_grouping(*t.base);
    v.spill = layout_.prepared.flow.stages[number_].spills[index] ? t.pool.ring : nullptr;
    v.relays = t.bus.put_relays;
    v.control = layout_.homes.control(stage_.home);
    v.end = t.put.words;
    bool const throttled = layout_.prepared.flow_of(t).throttled_by != FlowPlan::none;
    v.throttled = throttled && v.spill == nullptr ? &v.end->throttled : nullptr;
    v.past_caches = !stage_.gpu && is_past_caches(t);
    v.when_full = t.base->config().when_full;
    v.ports = place_.inlet_ports[index] + executor_;
    v.closed_executors = place_.closed_executors[index];
    v.home = executor_;
    v.tunnel = t.base->id();
    return v;
  }

  [[nodiscard]] OutletView outlet(std::size_t index) const {
    PlacedTunnel const& t = tunnel(stage_.description.from[index]);
    OutletView v;
    v.ring = t.get.ring;
    v.ring.grouping = chosen_grouping(*t.base);
    v.spill = layout_.prepared.flow_of(t).spills && !t.crosses() ? t.pool.ring : nullptr;
    v.relays = t.bus.get_relays;
    v.control = layout_.homes.control(stage_.home);
    v.end = t.get.words;
    v.ports = place_.outlet_ports[index] + executor_;
    v.stage_ended = &place_.words->ended;
    v.alone = is_read_alone(layout_.graph, layout_.prepared.stages, layout_.prepared.grids,
                            layout_.graph.tunnels()[t.base->id()]);
    v.home = executor_;
    v.rank = static_cast<std::uint8_t>(rank_of(stage_.description, index));
    v.stage = number_;
    v.tunnel = t.base->id();
    if (!t.keys.rings.empty()) {
      v.ring = t.keys.rings[executor_];
      v.spill = &t.keys.placed->tunnel;
    }
    return v;
  }

 private:
  [[nodiscard]] PlacedTunnel const& tunnel(TunnelBase const* base) const {
    return layout_.placement.tunnels()[base->id()];
  }

  // Warps share claims only in the library's kernels: only these clear the block's meeting places (enter_block). With
  // automatic and few threads, sharing a claim saves nothing, and asking whether it would costs up to 5 %
  // (docs/adr/0019).
  [[nodiscard]] Grouping chosen_grouping(TunnelBase const& base) const {
    Grouping const asked = base.config().grouping;
    if (asked == Grouping::none) return asked;
    if (!stage_.gpu || stage_.description.own_kernel) return Grouping::warp;
    constexpr unsigned many_threads = 65536;
    simt::Grid const& grid = layout_.prepared.grids[stage_.owner];
    if (asked == Grouping::automatic && grid.blocks * grid.threads_per_block < many_threads) return Grouping::warp;
    return asked;
  }

  Layout const& layout_;
  Stage const& stage_;
  StagePlace const& place_;
  std::uint32_t number_;
  unsigned executor_;
};

/// Links each end of a CPU stage to its further branches (Graph::with_branches).
template <class View>
void add_branches(Graph const& graph, std::vector<View>& views, std::vector<TunnelBase*> const& own) {
  std::size_t at = own.size();
  for (std::size_t i = 0; i < own.size(); ++i) {
    views[i].branches = views.data() + at;
    views[i].further_branches = static_cast<std::uint32_t>(graph.tunnels()[own[i]->id()].branches.size());
    at += views[i].further_branches;
  }
}

}  // namespace

StageEnds stage_ends(Layout const& layout, std::vector<std::size_t> const& stages, unsigned executor) {
  StageEnds ends;
  ends.first_stage = static_cast<std::uint32_t>(stages.front());
  for (std::size_t const s : stages) {
    Stage const& stage = layout.prepared.stages[s];
    StageViews const views(layout, s, executor);
    for (std::size_t i = 0; i < stage.description.from.size(); ++i) ends.outlets.push_back(views.outlet(i));
    for (std::size_t i = 0; i < stage.description.into.size(); ++i) ends.inlets.push_back(views.inlet(i));
    ends.stages.push_back(layout.prepared.places[s].words);
    ends.control = layout.homes.control(stage.home);
    if (stage.gpu) ends.slice = layout.prepared.slices[stage.owner];
    if (stage.gpu) continue;
    StageDescription const& declared = layout.graph.cpu()[stage.owner].stage;
    add_branches(layout.graph, ends.outlets, declared.from);
    add_branches(layout.graph, ends.inlets, declared.into);
  }
  return ends;
}

namespace {

/// Which lanes share a claim at an open end: blocks would need their kernel's help.
Grouping open_grouping(TunnelBase const& base) {
  return base.config().grouping == Grouping::none ? Grouping::none : Grouping::warp;
}

/// Whether the user's own threads and kernels put into the tunnel inside a cycle, where no put may wait. The check
/// finds those that differ.
bool do_workers_spill(Graph const& graph, TunnelBase const& base) {
  if (!has_worker(graph, base, EndOf::writers)) return false;
  FlowGraph const declared = graph.flow_graph(graph.number_stages());
  FlowPlan const flow = plan_flow(declared);
  for (std::size_t s = 0; s < declared.stages.size(); ++s) {
    auto const& into = declared.stages[s].into;
    auto const at = std::ranges::find(into, base.id());
    if (declared.stages[s].is_worker && at != into.end())
      return flow.stages[s].spills[static_cast<std::size_t>(at - into.begin())];
  }
  return false;
}

}  // namespace

void give_stripes(Arena& arena, InletPort* port, std::uint32_t count) {
  InletStripe* const stripes = arena.place<InletStripe>(count);
  arena.image(port).stripes = stripes;
  arena.image(port).stripe_count = count;
}

InletView open_inlet_view(Layout& layout, PlacedTunnel& tunnel, std::uint32_t index) {
  layout.placement.place_as_it_is(tunnel);
  if (tunnel.put.home != at_host) layout.placement.settle(tunnel);  // the view keeps the address of the items
  InletView v;
  v.ring = tunnel.put.ring;
  v.ring.grouping = open_grouping(*tunnel.base);
  v.relays = tunnel.bus.put_relays;
  v.control = layout.homes.control(tunnel.put.home);
  v.end = tunnel.put.words;
  v.past_caches = tunnel.put.home == at_host && is_past_caches(tunnel);
  v.when_full = tunnel.base->config().when_full;
  if (do_workers_spill(layout.graph, *tunnel.base)) {
    v.spill = tunnel.pool.ring;
  } else {
    v.throttled = &v.end->throttled;  // taken before the graph is known; stays 0 if no cycle throttles it
  }
  v.ports = layout.homes.words(tunnel.put.home).place<InletPort>();
  if (tunnel.put.home == at_host) give_stripes(layout.homes.words(at_host), v.ports, detail::inlet_stripes);
  if (v.relays != nullptr) layout.homes.words(tunnel.put.home).image(v.ports).bell = &layout.monitors_bell;
  v.closed_executors = tunnel.open.closed;
  v.tunnel = tunnel.base->id();
  v.home = index;
  v.open = true;
  return v;
}

OutletView open_outlet_view(Layout& layout, PlacedTunnel& tunnel, std::uint32_t index) {
  layout.placement.place_as_it_is(tunnel);
  if (tunnel.get.home != at_host) layout.placement.settle(tunnel);
  OutletView v;
  v.ring = tunnel.get.ring;
  v.ring.grouping = open_grouping(*tunnel.base);
  v.spill = tunnel.crosses() ? nullptr : tunnel.pool.ring;
  v.relays = tunnel.bus.get_relays;
  v.control = layout.homes.control(tunnel.get.home);
  v.end = tunnel.get.words;
  v.ports = layout.homes.words(tunnel.get.home).place<OutletPort>();
  v.stage_ended = &v.end->ended;
  v.tunnel = tunnel.base->id();
  v.home = index;
  v.open = true;
  tunnel.open.outlets.push_back(v.ports);
  return v;
}

}  // namespace hiway
