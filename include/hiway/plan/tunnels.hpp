// What a pipeline's tunnels get of a plan (docs/planner.md).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hiway/config.hpp"
#include "hiway/plan/plan.hpp"

namespace hiway::plan {

struct RingOptions {
  std::optional<std::int64_t> memory_bytes{};  ///< for all rings together
  std::vector<std::string> crossing{};         ///< streams whose tunnels cross the bus: they have a ring on each side
};

/// Capacities of the tunnels that carry a plan's streams.
///
///   plan::Rings const rings(plan::make_plan(program));
///   auto& x = pipe.create_tunnel<Item>("x", Direction::cpu_to_gpu, rings.tunnel("x"));
///
/// A ring's slots are a power of two: of the plan's corners the one is taken whose rings take least bytes.
class Rings {
 public:
  /// Of a search that was cut short the corners found so far: each of them runs. *Throws* ConfigError, one line: the program
  /// runs in no memory, the rings of no corner fit `memory_bytes`, or `crossing` names no stream.
  explicit Rings(Plan const& plan, RingOptions const& options = {});

  /// `config` with the stream's capacity. A put into a full one waits, in a cycle, too: the plan proves that it comes to an
  /// end. *Throws* ConfigError: no such stream; `config` asks to spill, or for shards, of which one may be full alone.
  [[nodiscard]] TunnelConfig tunnel(std::string_view stream, TunnelConfig config = {}) const;
  /// In the order of the program's streams.
  [[nodiscard]] Capacities const& capacities() const { return capacities_; }
  /// Of all rings, rounded up, without their words.
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  std::vector<std::string> streams_;
  Capacities capacities_;
  std::int64_t bytes_ = 0;
};

}  // namespace hiway::plan
