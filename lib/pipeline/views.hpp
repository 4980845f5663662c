// The views of tunnels' ends that stages and open ends get.
#pragma once
#include <cstdint>
#include <vector>

#include "layout.hpp"

namespace hiway {

/// The ends of these stages of one owner, for one thread; for a kernel, `executor` is 0.
[[nodiscard]] StageEnds stage_ends(Layout const& layout, std::vector<std::size_t> const& stages, unsigned executor);

/// To an inlet's port at the host, placed in `arena` (inlet/admission.hpp).
void give_stripes(Arena& arena, InletPort* port, std::uint32_t count);

/// Open ends, asked for before the graph is known. `index`: how many of its kind the tunnel had before.
[[nodiscard]] InletView open_inlet_view(Layout& layout, PlacedTunnel& tunnel, std::uint32_t index);
[[nodiscard]] OutletView open_outlet_view(Layout& layout, PlacedTunnel& tunnel, std::uint32_t index);

}  // namespace hiway
