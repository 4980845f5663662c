#include "flow_plan.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "../graph.hpp"

namespace hiway {
namespace {

using Ids = std::vector<std::uint32_t>;
using Edges = std::vector<Ids>;

void append_quoted(std::string& list, std::string const& name) { list += (list.empty() ? "'" : ", '") + name + "'"; }

class Planner {
 public:
  explicit Planner(FlowGraph const& graph)
      : graph_(graph), writers_(graph.tunnels.size()), readers_(graph.tunnels.size()) {
    for (std::uint32_t s = 0; s < graph.stages.size(); ++s) {
      for (std::uint32_t const t : distinct(graph.stages[s].from)) readers_[t].push_back(s);
      for (std::uint32_t const t : distinct(graph.stages[s].into)) writers_[t].push_back(s);
    }
    plan_.stages.resize(graph.stages.size());
    plan_.tunnels.resize(graph.tunnels.size());
  }

  FlowPlan plan() && {
    find_units();
    find_components();
    for (std::uint32_t s = 0; s < graph_.stages.size(); ++s) decide_spilling(s);
    find_units_without_source();
    find_shared_inlets();
    find_unplanned_cycles();
    find_cycles();
    return std::move(plan_);
  }

 private:
  [[nodiscard]] static std::set<std::uint32_t> distinct(Ids const& ids) { return {ids.begin(), ids.end()}; }
  [[nodiscard]] std::uint32_t unit_of(std::uint32_t tunnel) const { return plan_.tunnels[tunnel].unit; }
  [[nodiscard]] std::uint32_t component_of(std::uint32_t stage) const { return plan_.stages[stage].component; }

  void find_units() {
    Edges edges(graph_.tunnels.size());
    for (FlowGraph::Stage const& s : graph_.stages) {
      for (std::uint32_t const from : s.from) edges[from].insert(edges[from].end(), s.into.begin(), s.into.end());
    }
    Ids const component = strong_components(edges);
    plan_.units = component.empty() ? 0 : *std::ranges::max_element(component) + 1;
    // From the sources on, so that one round of the end check may end all.
    for (std::size_t t = 0; t < component.size(); ++t) plan_.tunnels[t].unit = plan_.units - 1 - component[t];
  }

  void find_components() {
    std::uint32_t nodes = 0;
    for (FlowGraph::Stage const& s : graph_.stages) nodes = std::max(nodes, s.node + 1);
    Edges edges(nodes);
    for (std::size_t t = 0; t < graph_.tunnels.size(); ++t) {
      for (std::uint32_t const w : writers_[t]) {
        for (std::uint32_t const r : readers_[t]) edges[graph_.stages[w].node].push_back(graph_.stages[r].node);
      }
    }
    Ids const component = strong_components(edges);
    for (std::size_t s = 0; s < graph_.stages.size(); ++s) plan_.stages[s].component = component[graph_.stages[s].node];
  }

  /// A put between components may wait; one inside a component must not.
  void decide_spilling(std::uint32_t stage) {
    for (std::uint32_t const t : graph_.stages[stage].into) {
      FlowGraph::Tunnel const& tunnel = graph_.tunnels[t];
      bool const inside = !tunnel.holds_all && std::ranges::any_of(readers_[t], [&](std::uint32_t r) {
        return component_of(r) == component_of(stage);
      });
      bool const may_wait = tunnel.planned || tunnel.may_grow;
      if (inside && !may_wait && tunnel.when_full == WhenFull::wait) refuse_to_wait(stage, tunnel);
      if (tunnel.planned && is_read_in_its_group(stage, t)) {
        plan_.problems.push_back("tunnel '" + tunnel.name + "': stage '" + graph_.stages[stage].name +
                                 "' is in one group with its reader, which a plan knows nothing of: use automatic or "
                                 "spill");
      }
      bool const may_stay = may_wait || drops_or_fails(tunnel.when_full);
      bool const spills = (inside && !may_stay) || tunnel.when_full == WhenFull::spill;
      plan_.stages[stage].spills.push_back(spills);
      if (spills) plan_.tunnels[t].spills = true;
    }
  }
  void refuse_to_wait(std::uint32_t stage, FlowGraph::Tunnel const& tunnel) {
    std::string members;
    for (std::uint32_t other = 0; other < graph_.stages.size(); ++other) {
      if (component_of(other) == component_of(stage)) append_quoted(members, graph_.stages[other].name);
    }
    plan_.problems.push_back("tunnel '" + tunnel.name + "': WhenFull::wait can deadlock inside the cycle or group of " +
                             members + "; use automatic or spill, a plan's capacity (plan::Rings), or grow_to_items");
  }
  [[nodiscard]] bool is_read_in_its_group(std::uint32_t stage, std::uint32_t tunnel) const {
    return std::ranges::any_of(readers_[tunnel], [&](std::uint32_t r) {
      return r != stage && graph_.stages[r].node == graph_.stages[stage].node;
    });
  }

  /// For each unit with a tunnel that passes `test`, the names of those tunnels.
  template <class Test>
  [[nodiscard]] std::map<std::uint32_t, std::string> names_by_unit(Test&& test) const {
    std::map<std::uint32_t, std::string> names;
    for (std::uint32_t t = 0; t < graph_.tunnels.size(); ++t) {
      if (test(t)) append_quoted(names[unit_of(t)], graph_.tunnels[t].name);
    }
    return names;
  }

  /// A tunnel without a writer is another problem, which the pipeline finds.
  void find_units_without_source() {
    std::vector<bool> has_source(plan_.units);
    auto const comes_from_outside = [&](std::uint32_t writer, std::uint32_t unit) {
      Ids const& from = graph_.stages[writer].from;
      return from.empty() || std::ranges::any_of(from, [&](std::uint32_t f) { return unit_of(f) != unit; });
    };
    for (std::uint32_t t = 0; t < graph_.tunnels.size(); ++t) {
      std::uint32_t const unit = unit_of(t);
      if (graph_.tunnels[t].open_inlets > 0 || writers_[t].empty() ||
          std::ranges::any_of(writers_[t], [&](std::uint32_t w) { return comes_from_outside(w, unit); }))
        has_source[unit] = true;
    }
    for (auto const& [unit, names] : names_by_unit([&](std::uint32_t t) { return !has_source[unit_of(t)]; }))
      plan_.problems.push_back("tunnel " + names + " has no source: nothing enters the cycle from outside");
  }

  /// A put by an open inlet does not tell whose it is, so all workers there spill, or all wait.
  void find_shared_inlets() {
    for (std::uint32_t t = 0; t < graph_.tunnels.size(); ++t) {
      std::string names[2];
      for (std::uint32_t const w : writers_[t]) {
        if (graph_.stages[w].is_worker) append_quoted(names[spills(w, t) ? 1 : 0], graph_.stages[w].name);
      }
      if (names[0].empty() || names[1].empty()) continue;
      plan_.problems.push_back("tunnel '" + graph_.tunnels[t].name + "' is put inside a cycle by " + names[1] +
                               ", and from outside by " + names[0] + ": connect these to a tunnel of their own");
    }
  }

  void find_unplanned_cycles() {
    auto const leads_to_itself = [&](std::uint32_t t) {
      return std::ranges::any_of(readers_[t], [&](std::uint32_t r) {
        return std::ranges::any_of(graph_.stages[r].into, [&](std::uint32_t to) { return unit_of(to) == unit_of(t); });
      });
    };
    auto const may_spill_unasked = [&](std::uint32_t t) {
      return plan_.tunnels[t].spills && graph_.tunnels[t].when_full == WhenFull::automatic && leads_to_itself(t);
    };
    for (auto const& [unit, names] : names_by_unit(may_spill_unasked)) plan_.unplanned_cycles.push_back(names);
  }

  /// A tunnel whose readers are of several components is held back by the first component that can.
  void find_cycles() {
    std::set<std::uint32_t> components;
    for (FlowPlan::Stage const& s : plan_.stages) components.insert(s.component);
    for (std::uint32_t const component : components) {
      FlowPlan::Cycle cycle;
      for (std::uint32_t t = 0; t < graph_.tunnels.size(); ++t) add_tunnel(cycle, component, t);
      if (cycle.pools.empty() || cycle.entries.empty()) continue;
      for (std::uint32_t const t : cycle.entries) plan_.tunnels[t].throttled_by = plan_.cycles.size();
      plan_.cycles.push_back(std::move(cycle));
    }
  }
  void add_tunnel(FlowPlan::Cycle& cycle, std::uint32_t component, std::uint32_t t) const {
    auto const inside = [&](std::uint32_t s) { return component_of(s) == component; };
    if (std::ranges::none_of(readers_[t], inside)) return;
    FlowPlan::Tunnel const& planned = plan_.tunnels[t];
    if (planned.spills && !graph_.tunnels[t].holds_all && std::ranges::any_of(writers_[t], inside))
      cycle.pools.push_back(t);
    bool const waits = graph_.tunnels[t].open_inlets > 0 ||
                       std::ranges::any_of(writers_[t], [&](std::uint32_t w) { return !inside(w) && !spills(w, t); });
    if (waits && !drops_or_fails(graph_.tunnels[t].when_full) && planned.throttled_by == FlowPlan::none)
      cycle.entries.push_back(t);
  }
  [[nodiscard]] bool spills(std::uint32_t stage, std::uint32_t tunnel) const {
    Ids const& into = graph_.stages[stage].into;
    return plan_.stages[stage].spills[static_cast<std::size_t>(std::ranges::find(into, tunnel) - into.begin())];
  }

  FlowGraph const& graph_;
  Edges writers_;  ///< for each tunnel, its stages
  Edges readers_;
  FlowPlan plan_;
};

}  // namespace

FlowPlan plan_flow(FlowGraph const& graph) { return Planner(graph).plan(); }

}  // namespace hiway
