#include "stagings.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "check.hpp"
#include "hiway/inlet/admission.hpp"

namespace hiway {
namespace {

class StagingPlacer {
 public:
  explicit StagingPlacer(Layout& layout) : homes_(layout.homes), graph_(layout.graph), prepared_(layout.prepared) {}

  /// Gives the threads of CPU stages that put into the tunnel, and its open inlets, their stagings, if puts may go that
  /// way.
  void place(PlacedTunnel const& t) {
    if (t.put.home != at_host) return;
    bool const is_read_here = t.get.home == at_host && !t.crosses();
    if (is_read_here) homes_.host().words->image(t.get.words).staged = nullptr;
    std::vector<std::size_t> writers = stages_at(prepared_.stages, *t.base, EndOf::writers);
    std::erase_if(writers, [&](std::size_t s) { return !may_stage(s, t); });
    std::size_t threads = 0;
    for (std::size_t const s : writers) threads += prepared_.stages[s].executors;
    bool const stages_from_outside = may_stage_from_outside(t);
    if (stages_from_outside) threads += t.open.inlets.size() * detail::inlet_stripes;
    std::uint32_t const slots =
        threads == 0 ? 0
                     : Staging::slots_for(t.base->item_bytes(), t.base->config().capacity_items, threads, t.crosses());
    for (InletView const& inlet : t.open.inlets) take_stagings(inlet);
    if (slots == 0) return;
    StagedPuts& staged = prepared_.staged[t.base->id()];
    staged.taken = homes_.plan(at_host).place<TakenCount>(threads);
    for (std::size_t const s : writers) give_stagings(s, t, slots, staged);
    if (stages_from_outside) give_stagings_to_stripes(t, slots, staged);
    if (is_read_here) homes_.host().words->image(t.get.words).staged = staged.first;
  }

 private:
  /// Whether puts of single items into the tunnel may wait in memory of the threads that put them: nothing looks at the
  /// tunnel's counts but its end, and somebody moves them.
  [[nodiscard]] bool may_stage(PlacedTunnel const& t) const {
    DeclaredTunnel const& tunnel = graph_.tunnels()[t.base->id()];
    TunnelConfig const& config = t.base->config();
    bool const is_plain = tunnel.stencil == nullptr && t.base->item_bytes() <= copied_bytes && !config.low_latency &&
                          config.shards == 1 && !config.planned && config.grow_to_items == 0 && !config.keyed &&
                          !t.base->is_restored() && !drops_or_fails(config.when_full);
    bool const is_moved = !t.crosses() || t.bus.put_relays != nullptr;
    return is_plain && is_moved && tunnel.branches.empty() && prepared_.flow_of(t).throttled_by == FlowPlan::none;
  }
  /// The same of a CPU stage that ends its tasks many at a time, or has none.
  [[nodiscard]] bool may_stage(std::size_t writer, PlacedTunnel const& t) const {
    Stage const& stage = prepared_.stages[writer];
    std::vector<TunnelBase*> const& into = stage.description.into;
    std::size_t const at = static_cast<std::size_t>(std::ranges::find(into, t.base) - into.begin());
    bool const is_branch = at >= graph_.cpu()[stage.owner].stage.into.size();
    if (is_branch || !may_stage(t)) return false;
    return std::ranges::all_of(prepared_.places[writer].outlet_ports,
                               [&](OutletPort* ports) { return homes_.plan(stage.home).image(ports).hand != nullptr; });
  }
  /// The same of clients: the monitor moves what they leave there.
  [[nodiscard]] bool may_stage_from_outside(PlacedTunnel const& t) const {
    return t.bus.put_relays != nullptr && inlets_to_close(graph_, t.base->id()) != 0 && may_stage(t);
  }
  /// One more of the tunnel's.
  static std::unique_ptr<Staging> make(std::size_t item_bytes, std::uint32_t slots, StagedPuts& staged) {
    auto staging = std::make_unique<Staging>(item_bytes, slots, &staged.taken[staged.threads++].items);
    staging->next_of_tunnel = std::exchange(staged.first, staging.get());
    return staging;
  }
  void take_stagings(InletView const& inlet) {
    InletPort const& port = homes_.words(at_host).image(inlet.ports);
    for (std::uint32_t i = 0; i < port.stripe_count; ++i)
      homes_.words(at_host).image(port.stripes + i).staging = nullptr;
  }
  void give_stagings_to_stripes(PlacedTunnel const& t, std::uint32_t slots, StagedPuts& staged) {
    for (InletView const& inlet : t.open.inlets) {
      InletPort const& port = homes_.words(at_host).image(inlet.ports);
      for (std::uint32_t i = 0; i < port.stripe_count; ++i) {
        auto& staging = staged.of_stripes.emplace_back(make(inlet.ring.item_bytes, slots, staged));
        homes_.words(at_host).image(port.stripes + i).staging = staging.get();
      }
    }
  }
  void give_stagings(std::size_t writer, PlacedTunnel const& t, std::uint32_t slots, StagedPuts& staged) {
    Stage const& stage = prepared_.stages[writer];
    StagePlace& place = prepared_.places[writer];
    Arena& arena = homes_.plan(stage.home);
    for (std::size_t i = 0; i < stage.description.into.size(); ++i) {
      if (stage.description.into[i] != t.base) continue;
      for (std::size_t e = 0; e < place.threads.size(); ++e) {
        auto& stagings = place.threads[e]->stagings;
        stagings.resize(stage.description.into.size());
        stagings[i] = make(t.put.ring.item_bytes, slots, staged);
        arena.image(place.inlet_ports[i] + e).staging = stagings[i].get();
        for (StagedEnd& end : place.threads[e]->staged)
          stagings[i]->next_of_thread = std::exchange(end.writes, stagings[i].get());
      }
    }
  }

  Homes& homes_;
  Graph const& graph_;
  Prepared& prepared_;
};

}  // namespace

void place_stagings(Layout& layout) {
  layout.prepared.staged = std::vector<StagedPuts>(layout.placement.tunnels().size());
  StagingPlacer placer(layout);
  for (PlacedTunnel const& t : layout.placement.tunnels()) placer.place(t);
}

}  // namespace hiway
