// The dimensions of a stencil tunnel: a matrix of values in row-major order, cut into regions that are moved whole. The
// same on both sides; copied into kernels.
#pragma once
#include <cstddef>
#include <cstdint>

#include "hiway/config.hpp"

namespace hiway {

struct StencilShape {
  std::uint32_t width = 1, height = 1;
  std::uint32_t left = 0, right = 0, up = 0, down = 0;  ///< how many values a place needs on each side of its own
  std::uint32_t region_width = 1, region_height = 1;
  std::uint32_t regions_x = 1, regions_y = 1;
  std::uint32_t frames = 1;
  std::uint32_t buffers = 1;  ///< frame f lies in buffer f % buffers, as its lap f / buffers

  HIWAY_DEVICE std::size_t values() const { return std::size_t{width} * height; }
  HIWAY_DEVICE std::uint32_t regions() const { return regions_x * regions_y; }
  HIWAY_DEVICE bool has(std::int64_t x, std::int64_t y) const { return x >= 0 && x < width && y >= 0 && y < height; }
  /// A value's number in its matrix.
  HIWAY_DEVICE std::size_t at(std::uint32_t x, std::uint32_t y) const { return std::size_t{y} * width + x; }
  HIWAY_DEVICE std::uint32_t buffer(std::uint32_t frame) const { return frame % buffers; }
  HIWAY_DEVICE std::uint32_t lap(std::uint32_t frame) const { return frame / buffers; }
};

/// A region's place.
struct StencilRegion {
  std::uint32_t x, y;  ///< of its first value
  std::uint32_t width, height;
  HIWAY_DEVICE std::uint32_t values() const { return width * height; }
};
HIWAY_DEVICE inline StencilRegion region_place(StencilShape const& s, std::uint32_t region) {
  std::uint32_t const x = region % s.regions_x * s.region_width;
  std::uint32_t const y = region / s.regions_x * s.region_height;
  std::uint32_t const w = s.width - x;
  std::uint32_t const h = s.height - y;
  return {x, y, w < s.region_width ? w : s.region_width, h < s.region_height ? h : s.region_height};
}

/// What crosses the tunnel in place of a region's values; it says that they are there.
struct RegionReference {
  std::uint32_t frame;
  std::uint32_t region;
};

}  // namespace hiway
