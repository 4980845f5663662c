// Placement: the memory of a pipeline's tunnels, for the pipeline's life. A tunnel is placed when the first open end is
// asked for, or by prepare(). Then its words lie at the homes of its ends, and its items where its movement needs them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "flow_plan.hpp"
#include "graph.hpp"
#include "homes.hpp"
#include "lib/movement_table.hpp"
#include "placed_tunnel.hpp"

namespace hiway {

/// Capacity in items of the tunnel's spill pool, if it has one.
[[nodiscard]] std::size_t spill_items(TunnelBase const& tunnel);
/// Whether the writes of CPU threads into the tunnel need not go through their caches: a copy engine reads them, and
/// they are more than the caches hold.
[[nodiscard]] bool is_past_caches(PlacedTunnel const& tunnel);
/// "memory" if both ends have one home, else the movement's name, or "automatic" until it is settled.
[[nodiscard]] char const* movement_name(PlacedTunnel const& tunnel);
/// The relays of a half-ring of the tunnel.
[[nodiscard]] Relays make_relays(PlacedTunnel const& tunnel, Ring const& half);

class Placement {
 public:
  Placement(Homes& homes, Graph const& graph) : homes_(homes), graph_(graph) {}

  [[nodiscard]] std::vector<PlacedTunnel>& tunnels() { return tunnels_; }
  [[nodiscard]] std::vector<PlacedTunnel> const& tunnels() const { return tunnels_; }

  /// Reads the movement table if a tunnel like this needs it: an error now, not at prepare(). *Throws* ConfigError.
  void read_table_for(TunnelBase const& tunnel);
  /// Takes the graph's new tunnels.
  void follow();

  /// Takes the homes of the tunnels' ends and slots from the stages. Adds to `found` what contradicts the memory that a
  /// tunnel has.
  void find_homes(std::vector<Stage> const& stages, FlowPlan const& flow, std::vector<std::string>& found);
  /// Gives all tunnels their memory, unless they have it already, and settles their movements.
  void place_all();
  /// Places the tunnel before all stages are known.
  void place_as_it_is(PlacedTunnel& tunnel);
  /// Chooses the movement of a tunnel that leaves it to the library, once.
  void settle(PlacedTunnel& tunnel);
  /// Gives memory to the pools of tunnels that spill, and to the rings of tunnels with keys.
  void give_spill_memory(FlowPlan const& flow);

 private:
  void find_home(PlacedTunnel& tunnel, EndOf end, std::vector<Stage> const& stages, std::vector<std::string>& found);
  void find_slots(PlacedTunnel& tunnel, std::vector<Stage> const& stages, FlowPlan const& flow,
                  std::vector<std::string>& found);
  void find_threads_of_keys(PlacedTunnel& tunnel, std::vector<Stage> const& stages, FlowPlan const& flow,
                            std::vector<std::string>& found) const;
  void place_keys(PlacedTunnel& tunnel);
  [[nodiscard]] Home home_of_slots(PlacedTunnel const& tunnel, std::vector<Stage> const& stages) const;
  [[nodiscard]] Home device_of(Stage const& stage) const;
  void place(PlacedTunnel& tunnel);
  void place_crossing(PlacedTunnel& tunnel);
  void place_whole(PlacedTunnel& tunnel);
  [[nodiscard]] MovementTable const& table();
  [[nodiscard]] BusUse bus_use() const;
  [[nodiscard]] std::byte* place_spilled(PlacedTunnel& tunnel, std::size_t bytes);

  Homes& homes_;
  Graph const& graph_;
  std::vector<PlacedTunnel> tunnels_;
  std::optional<MovementTable> table_;  ///< read when a tunnel first needs it
};

}  // namespace hiway
