#include "hiway/plan/tunnels.hpp"

#include <algorithm>
#include <bit>

#include "hiway/error.hpp"

namespace hiway::plan {
namespace {

std::int64_t slots_of(std::int64_t capacity) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(1, capacity))));
}

}  // namespace

Rings::Rings(Plan const& plan, RingOptions const& options) : streams_(plan.streams) {
  if (plan.pareto.empty() || plan.verdict == Verdict::deadlock || plan.verdict == Verdict::starved)
    throw ConfigError(std::string("plan: ") + name_of(plan.verdict) + ": " + plan.why);
  Capacities ring_bytes = plan.element_bytes;
  for (std::string const& name : options.crossing) {
    auto const at = std::ranges::find(streams_, name);
    if (at == streams_.end()) throw ConfigError("plan: crossing: no stream '" + name + "'");
    ring_bytes[static_cast<std::size_t>(at - streams_.begin())] *= 2;
  }
  for (Corner const& corner : plan.pareto) {
    std::int64_t bytes = 0;
    for (std::size_t s = 0; s != streams_.size(); ++s) bytes += slots_of(corner.capacities[s]) * ring_bytes[s];
    if (!capacities_.empty() && bytes >= bytes_) continue;
    capacities_ = corner.capacities;
    bytes_ = bytes;
  }
  if (options.memory_bytes && bytes_ > *options.memory_bytes)
    throw ConfigError("plan: rings of powers of two slots take " + std::to_string(bytes_) + " bytes, " +
                      std::to_string(*options.memory_bytes) + " are given");
}

TunnelConfig Rings::tunnel(std::string_view stream, TunnelConfig config) const {
  std::string const who = "plan: stream '" + std::string(stream) + "'";
  auto const at = std::ranges::find(streams_, stream);
  if (at == streams_.end()) throw ConfigError(who + " is not in it");
  if (config.when_full == WhenFull::spill || config.shards != 1)
    throw ConfigError(who + ": a planned tunnel neither spills nor has shards");
  if (drops_or_fails(config.when_full)) throw ConfigError(who + ": a planned tunnel neither drops nor fails");
  config.capacity_items =
      static_cast<std::size_t>(std::max<std::int64_t>(1, capacities_[static_cast<std::size_t>(at - streams_.begin())]));
  config.batch_items = std::min(config.batch_items, config.capacity_items);
  config.when_full = WhenFull::wait;
  config.planned = true;
  return config;
}

}  // namespace hiway::plan
