#include "graph.hpp"

#include <algorithm>
#include <set>

#include "check.hpp"

namespace hiway {
namespace {

constexpr std::size_t max_tunnels = 65536;

}  // namespace

char const* direction_name(Direction direction) {
  switch (direction) {
    case Direction::cpu_to_cpu: return "cpu_to_cpu";
    case Direction::cpu_to_gpu: return "cpu_to_gpu";
    case Direction::gpu_to_cpu: return "gpu_to_cpu";
    case Direction::gpu_to_gpu: return "gpu_to_gpu";
  }
  return "unknown direction";
}

Direction put_end_of(Direction whole) {
  return whole == Direction::gpu_to_cpu || whole == Direction::gpu_to_gpu ? Direction::gpu_to_cpu
                                                                          : Direction::cpu_to_cpu;
}

bool contains(std::vector<TunnelBase*> const& tunnels, TunnelBase const* tunnel) {
  return std::ranges::find(tunnels, tunnel) != tunnels.end();
}

std::vector<std::uint32_t> ids_of(std::vector<TunnelBase*> const& tunnels) {
  std::vector<std::uint32_t> all;
  for (TunnelBase const* t : tunnels) all.push_back(t->id());
  return all;
}

unsigned rank_of(StageDescription const& stage, std::size_t from) {
  std::set<int> higher;
  for (TunnelBase const* t : stage.from) {
    if (t->config().priority > stage.from[from]->config().priority) higher.insert(t->config().priority);
  }
  return static_cast<unsigned>(higher.size());
}

bool is_outranked(std::vector<Stage> const& stages, TunnelBase const& tunnel) {
  return std::ranges::any_of(stages_at(stages, tunnel, EndOf::readers), [&](std::size_t s) {
    StageDescription const& d = stages[s].description;
    auto const from = static_cast<std::size_t>(std::ranges::find(d.from, &tunnel) - d.from.begin());
    return rank_of(d, from) != 0;
  });
}

std::vector<std::size_t> stages_at(std::vector<Stage> const& stages, TunnelBase const& tunnel, EndOf end) {
  std::vector<std::size_t> all;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    StageDescription const& d = stages[s].description;
    if (contains(end == EndOf::writers ? d.into : d.from, &tunnel)) all.push_back(s);
  }
  return all;
}

bool has_worker(Graph const& graph, TunnelBase const& tunnel, EndOf end) {
  return std::ranges::any_of(graph.workers(), [&](StageDescription const& w) {
    return contains(end == EndOf::writers ? w.into : w.from, &tunnel);
  });
}

std::uint32_t inlets_to_close(Graph const& graph, std::uint32_t tunnel) {
  DeclaredTunnel const& t = graph.tunnels()[tunnel];
  bool const from_outside = std::ranges::any_of(
      graph.workers(), [&](StageDescription const& w) { return w.from.empty() && contains(w.into, t.base.get()); });
  return from_outside || !has_worker(graph, *t.base, EndOf::writers) ? t.open_inlets : 0;
}

std::vector<std::size_t> stages_of_kernel(std::vector<Stage> const& stages, std::size_t kernel) {
  std::vector<std::size_t> all;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    if (stages[s].gpu && stages[s].owner == kernel) all.push_back(s);
  }
  return all;
}

void Graph::check_new(TunnelBase const& tunnel) const {
  check_config(tunnel);
  std::string const who = "tunnel '" + tunnel.name() + "'";
  if (tunnels_.size() == max_tunnels)
    throw ConfigError(who + ": a pipeline has at most " + std::to_string(max_tunnels) + " tunnels");
  if (tunnel_names_.contains(tunnel.name())) throw ConfigError(who + " is there already; names are unique");
}

void Graph::add_tunnel(std::unique_ptr<TunnelBase> tunnel, StencilTunnelBase* stencil) {
  Direction const declared = tunnel->direction();
  if (tunnel->config().readers == Readers::each) tunnel->direction_ = put_end_of(declared);  // its reader copies
  check_new(*tunnel);
  may_grow_ = may_grow_ || tunnel->config().grow_to_items != 0;
  tunnels_.push_back({.base = std::move(tunnel), .stencil = stencil, .direction = declared});
  tunnel_names_.insert(tunnels_.back().base->name());
}

void Graph::add_on_each(GpuKernelDescription const& description, std::vector<BranchDevice> const& devices) {
  std::vector<int> numbers;
  for (BranchDevice const& d : devices) numbers.push_back(d.number);
  for (StageDescription const& stage : description.stages) {
    for (TunnelBase const* t : stage.from) branch_out(*t, devices);
    for (TunnelBase const* t : stage.into) branch_out(*t, devices);
  }
  for (std::size_t i = 0; i < devices.size(); ++i) {
    GpuKernelDescription one = description;
    one.options.devices = numbers;
    one.options.device = devices[i].number;
    std::string const where = " on " + devices[i].name;
    one.name += where;
    for (StageDescription& stage : one.stages) {
      stage.name += where;
      for (std::vector<TunnelBase*>* const ends : {&stage.from, &stage.into}) {
        for (TunnelBase*& t : *ends) {
          if (i != 0) t = tunnels_[tunnels_[t->id()].branches[i - 1]].base.get();
        }
      }
    }
    add_gpu(std::move(one), devices[i].home);
  }
}

/// Gives the tunnel a branch for each of `devices`; the tunnel itself is the first device's branch.
void Graph::branch_out(TunnelBase const& tunnel, std::vector<BranchDevice> const& devices) {
  std::string const who = "tunnel '" + tunnel.name() + "'";
  std::uint32_t const id = tunnel.id();
  std::vector<int> numbers;
  for (BranchDevice const& d : devices) numbers.push_back(d.number);
  if (tunnels_[id].branch_devices == numbers) return;
  if (!tunnels_[id].branch_devices.empty()) throw ConfigError(who + ": its stages are on different devices");
  if (tunnel.tasks() != nullptr || tunnel.holds_all())
    throw ConfigError(who + ": a stencil tunnel has its stage on one device");
  if (tunnel.config().shards > 1) throw ConfigError(who + ": shards are for tunnels whose stages are on one device");
  for (std::size_t i = 1; i < devices.size(); ++i) {
    tunnels_[id].branches.push_back(static_cast<std::uint32_t>(tunnels_.size()));
    static_cast<void>(add_made(tunnel, tunnel.name() + " of " + devices[i].name));
  }
  tunnels_[id].branch_devices = numbers;
}

/// A tunnel that the user has not declared.
TunnelBase& Graph::add_made(TunnelBase const& like, std::string name) {
  add_tunnel(std::make_unique<TunnelBase>(std::move(name), like.direction(), like.config(), like.item_bytes(),
                                          static_cast<std::uint32_t>(tunnels_.size()), Puts::may_wait, like.scopes()));
  tunnels_.back().is_made = true;
  return *tunnels_.back().base;
}

bool Graph::is_named(std::vector<TunnelBase*> StageDescription::*ends, TunnelBase const& tunnel) const {
  auto const names_it = [&](StageDescription const& s) { return contains(s.*ends, &tunnel); };
  return std::ranges::any_of(cpu_, [&](CpuStageDescription const& c) { return names_it(c.stage); }) ||
         std::ranges::any_of(
             kernels_, [&](DeclaredKernel const& k) { return std::ranges::any_of(k.description.stages, names_it); });
}
bool Graph::has_writer(TunnelBase const& tunnel) const {
  return tunnels_.at(tunnel.id()).open_inlets > 0 || is_named(&StageDescription::into, tunnel);
}
bool Graph::has_reader(TunnelBase const& tunnel) const {
  return tunnels_.at(tunnel.id()).open_outlets > 0 || is_named(&StageDescription::from, tunnel);
}

Home Graph::home_of_end(TunnelBase const& tunnel, EndOf end) const {
  bool const puts = end == EndOf::writers;
  if (!(puts ? tunnel.from_gpu() : tunnel.to_gpu())) return at_host;
  for (CpuStageDescription const& c : cpu_) {
    if (c.stage.on_device && contains(puts ? c.stage.into : c.stage.from, &tunnel)) return at_host;
  }
  for (DeclaredKernel const& k : kernels_) {
    for (StageDescription const& stage : k.description.stages) {
      if (contains(puts ? stage.into : stage.from, &tunnel)) return k.home;
    }
  }
  return own_device;
}

StageDescription Graph::with_branches(StageDescription stage) const {
  for (std::vector<TunnelBase*>* const ends : {&stage.from, &stage.into}) {
    for (std::size_t i = 0, own = ends->size(); i < own; ++i) {
      for (std::uint32_t const b : tunnels_[(*ends)[i]->id()].branches) ends->push_back(tunnels_[b].base.get());
    }
  }
  return stage;
}

std::vector<Stage> Graph::number_stages() const {
  std::vector<Stage> stages;
  for (std::size_t c = 0; c < cpu_.size(); ++c)
    stages.push_back({.description = with_branches(cpu_[c].stage), .owner = c, .executors = cpu_[c].options.threads});
  for (std::size_t k = 0; k < kernels_.size(); ++k) {
    for (StageDescription const& description : kernels_[k].description.stages)
      stages.push_back({.description = description, .gpu = true, .home = kernels_[k].home, .owner = k});
  }
  return stages;
}

FlowGraph Graph::flow_graph(std::vector<Stage> const& stages) const {
  FlowGraph graph;
  for (Stage const& s : stages) {
    auto const node = static_cast<std::uint32_t>(s.gpu ? cpu_.size() + s.owner : s.owner);
    graph.stages.push_back({s.description.name, node, ids_of(s.description.from), ids_of(s.description.into)});
  }
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    auto const node = static_cast<std::uint32_t>(cpu_.size() + kernels_.size() + w);
    graph.stages.push_back({workers_[w].name, node, ids_of(workers_[w].from), ids_of(workers_[w].into), true});
  }
  for (DeclaredTunnel const& t : tunnels_) {
    TunnelConfig const& c = t.base->config();
    graph.tunnels.push_back({.name = t.base->name(),
                             .when_full = c.when_full,
                             .planned = c.planned,
                             .may_grow = c.grow_to_items != 0,
                             .holds_all = t.base->holds_all(),
                             .open_inlets = inlets_to_close(*this, t.base->id())});
  }
  return graph;
}

}  // namespace hiway
