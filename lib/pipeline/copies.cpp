#include "copies.hpp"

#include <memory>
#include <utility>

#include "copying.hpp"

namespace hiway {
namespace {

TunnelConfig config_of_copy(TunnelConfig config, bool to_gpu) {
  config.readers = Readers::share;
  if (to_gpu) config.priority = 0;
  return config;
}

}  // namespace

void Copies::give(StageDescription& stage, bool on_gpu) {
  for (TunnelBase*& t : stage.from) {
    if (t->config().readers == Readers::each) t = &add(*t, stage.name, on_gpu);
  }
}

TunnelBase& Copies::of_open_outlet(TunnelBase& tunnel) {
  if (tunnel.config().readers != Readers::each) return tunnel;
  Direction const declared = graph_.tunnels()[tunnel.id()].direction;
  std::size_t const before = graph_.has_reader(tunnel) ? copying_stage_of(tunnel).stage.into.size() : 0;
  bool const to_gpu = declared == Direction::cpu_to_gpu || declared == Direction::gpu_to_gpu;
  return add(tunnel, "open outlet " + std::to_string(before + 1), to_gpu);
}

TunnelBase& Copies::add(TunnelBase& tunnel, std::string const& reader, bool to_gpu) {
  Direction const direction = to_gpu ? Direction::cpu_to_gpu : Direction::cpu_to_cpu;
  auto made = std::make_unique<TunnelBase>(
      tunnel.name() + " of " + reader, direction, config_of_copy(tunnel.config(), to_gpu), tunnel.item_bytes(),
      static_cast<std::uint32_t>(graph_.tunnels().size()), Puts::may_wait, tunnel.scopes());
  TunnelBase& copy = *made;
  graph_.add_tunnel(std::move(made));
  graph_.tunnels_.back().is_made = true;
  copying_stage_of(tunnel).stage.into.push_back(&copy);
  return copy;
}

/// The tunnel's one reader.
CpuStageDescription& Copies::copying_stage_of(TunnelBase& tunnel) {
  std::size_t& number = graph_.tunnels_[tunnel.id()].carrier;
  if (!graph_.has_reader(tunnel)) {
    number = graph_.cpu_.size();
    graph_.add_cpu(copying_stage(tunnel.name() + " (to each reader)", tunnel));
  }
  return graph_.cpu_[number];
}

}  // namespace hiway
