// The layout of a stencil tunnel, computed before memory is allocated: bands, cells, strips. Also how its regions are
// copied.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "hiway/backend.hpp"
#include "hiway/stencil/stencil_tunnel.hpp"

namespace hiway {

/// One axis of the matrix.
struct PlannedAxis {
  std::vector<StencilBand> bands;
  std::vector<BandRange> of_region;
  std::vector<std::uint32_t> of_place;
};
/// Cuts the places of an axis of `extent` values into bands. A place needs the `before` values in front of it and the
/// `behind` values behind it.
[[nodiscard]] PlannedAxis plan_axis(std::uint32_t extent, std::uint32_t region, std::uint32_t before,
                                    std::uint32_t behind, StencilEdges edges);

struct StencilTunnelBase::Plan {
  StencilShape shape;
  PlannedAxis x, y;
  StripShape strips;
  std::uint64_t frame_tasks = 0;
  std::uint64_t frame_strips = 0;
  std::uint32_t marks_a_row = 1;
};

/// How the regions of a tunnel are copied from one home to the other.
struct RegionCopies {
  StencilShape shape;
  std::size_t value_bytes = 1;
  std::byte* from_values = nullptr;
  std::byte* to_values = nullptr;

  /// The size of the largest region.
  [[nodiscard]] std::size_t region_bytes() const {
    return std::size_t{shape.region_width} * shape.region_height * value_bytes;
  }
  [[nodiscard]] Copy copy(RegionReference const& reference) const;
};

/// "value (x, y) of frame f", from a fault's item (detail::place_item).
[[nodiscard]] std::string fault_place(std::uint64_t item);

/// For a run that has ended or is stuck: the first frame that was begun and is not complete, and what it lacks. Empty
/// when every frame that was begun is complete. `set`: the values set, for each buffer and region.
[[nodiscard]] std::string incomplete_frame(StencilShape const& shape, std::vector<std::uint32_t> const& set);

}  // namespace hiway
