// What a graph has besides for tunnels of which each reader gets every item (Readers::each).
#include <utility>

#include "check.hpp"
#include "copying.hpp"
#include "graph.hpp"

namespace hiway {
namespace {

/// The tunnel's direction with its readers at the CPU: the copying stage.
Direction to_cpu(Direction whole) {
  bool const from_gpu = whole == Direction::gpu_to_cpu || whole == Direction::gpu_to_gpu;
  return from_gpu ? Direction::gpu_to_cpu : Direction::cpu_to_cpu;
}

TunnelConfig config_of_copy(TunnelConfig config) {
  config.readers = Readers::share;
  return config;
}

}  // namespace

void Graph::put_at_cpu(TunnelBase& tunnel) {
  if (tunnel.config().readers == Readers::each) tunnel.direction_ = to_cpu(tunnel.direction_);
}

TunnelBase& Graph::add_copy(TunnelBase& tunnel, std::string const& reader, bool to_gpu) {
  auto made = std::make_unique<TunnelBase>(
      tunnel.name() + " of " + reader, to_gpu ? Direction::cpu_to_gpu : Direction::cpu_to_cpu,
      config_of_copy(tunnel.config()), tunnel.item_bytes(), static_cast<std::uint32_t>(tunnels_.size()), Puts::may_wait,
      tunnel.scopes());
  TunnelBase& copy = *made;
  add_tunnel(std::move(made));
  tunnels_.back().is_made = true;
  std::size_t& copier = tunnels_[tunnel.id()].carrier;
  if (!is_named(&StageDescription::from, tunnel)) {
    copier = cpu_.size();
    add_cpu(copying_stage(tunnel.name() + " (to each reader)", tunnel));
  }
  cpu_[copier].stage.into.push_back(&copy);
  return copy;
}

void Graph::give_copies(StageDescription& stage, bool on_gpu) {
  for (TunnelBase*& t : stage.from) {
    if (t->config().readers == Readers::each) t = &add_copy(*t, stage.name, on_gpu);
  }
}

TunnelBase& Graph::end_for_open_outlet(TunnelBase& tunnel) {
  if (tunnel.config().readers != Readers::each) return tunnel;
  DeclaredTunnel& declared = tunnels_[tunnel.id()];
  bool const to_gpu = declared.direction == Direction::cpu_to_gpu || declared.direction == Direction::gpu_to_gpu;
  return add_copy(tunnel, "open outlet " + std::to_string(++declared.open_copies), to_gpu);
}

}  // namespace hiway
