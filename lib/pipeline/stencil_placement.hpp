// The memory of stencil tunnels: matrices and boards. Each is also two plain tunnels.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "placed_tunnel.hpp"

namespace hiway {

/// Places matrices and boards. The tunnel's homes are known, and its references have their memory.
void place_stencil(Homes& homes, PlacedTunnel& tunnel);

/// Its words that say which values are set: one for each buffer and region.
[[nodiscard]] std::span<Word<std::uint32_t>> set_words(PlacedTunnel const& tunnel);

/// Describes an incomplete frame of a stencil tunnel after a run; empty if all frames that were begun are complete.
[[nodiscard]] std::string incomplete_frame_of(Homes const& homes, PlacedTunnel const& tunnel);

}  // namespace hiway
