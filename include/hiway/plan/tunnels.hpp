// How a pipeline's tunnels get their capacities from a plan (docs/planner.md).
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
/// A ring has a power of two of slots, so the corner of the plan is taken whose rings need the fewest bytes.
class Rings {
 public:
  /// If the plan's search was cut short, it uses the corners found so far: each of them runs. *Throws* ConfigError with
  /// one line of text: the program does not run in any memory, the rings of no corner fit `memory_bytes`, or `crossing`
  /// names no stream.
  explicit Rings(Plan const& plan, RingOptions const& options = {});

  /// `config` with the stream's capacity. A put into a full tunnel waits, in a cycle, too: the plan proves that the
  /// wait ends. *Throws* ConfigError: there is no such stream; or `config` asks to spill, drop or fail, or for shards,
  /// one of which may be full alone.
  [[nodiscard]] TunnelConfig tunnel(std::string_view stream, TunnelConfig config = {}) const;
  /// The capacities, in the order of the program's streams.
  [[nodiscard]] Capacities const& capacities() const { return capacities_; }
  /// The bytes of all rings, rounded up, without the rings' words.
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  std::vector<std::string> streams_;
  Capacities capacities_;
  std::int64_t bytes_ = 0;
};

}  // namespace hiway::plan
