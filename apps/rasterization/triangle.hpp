// Triangle: three corners in a picture, its colour, and which pixels it covers, in whole numbers, so that neighbours agree
// about each pixel.
//
//   Corners lie on a grid of 1/256 pixel, in an order in which a point inside has positive values at all three edges. The
//   value of an edge at a pixel's centre is exact, and that of the same edge the other way round is its negative: of two
//   neighbours on whose common edge a centre lies it is a top or a left edge (y grows downwards) to one, which has the pixel.
#pragma once
#include <cstdint>

#include "hiway/config.hpp"

namespace rasterization {

inline constexpr std::int32_t grid_bits = 8;
inline constexpr std::int32_t grid = 1 << grid_bits;  ///< steps a pixel

struct Corner {
  std::int32_t x, y;  ///< steps
  float nearness;     ///< 1 / depth, which between corners grows like x and y, as depth does not
};

struct alignas(16) Triangle {
  std::uint32_t picture;
  std::uint32_t colour;
  Corner corner[3];
};

/// From `a` to `b`. A product of two differences fits: corners lie within 2^29 steps.
class Edge {
 public:
  HIWAY_DEVICE Edge(Corner const& a, Corner const& b)
      : x_(a.x), y_(a.y), dx_(std::int64_t{b.x} - a.x), dy_(std::int64_t{b.y} - a.y) {}

  /// At the centre of a pixel: twice the area of the triangle that they make.
  [[nodiscard]] HIWAY_DEVICE std::int64_t at(std::int32_t x, std::int32_t y) const {
    return dx_ * (centre(y) - y_) - dy_ * (centre(x) - x_);
  }
  /// What a pixel to the right, and one below, has more.
  [[nodiscard]] HIWAY_DEVICE std::int64_t step_x() const { return -grid * dy_; }
  [[nodiscard]] HIWAY_DEVICE std::int64_t step_y() const { return grid * dx_; }
  /// Of a pixel that may be inside.
  [[nodiscard]] HIWAY_DEVICE std::int64_t least() const {
    bool const top_or_left = dy_ < 0 || (dy_ == 0 && dx_ > 0);
    return top_or_left ? 0 : 1;
  }

 private:
  HIWAY_DEVICE static std::int64_t centre(std::int32_t pixel) { return std::int64_t{grid} * pixel + grid / 2; }

  std::int64_t x_, y_, dx_, dy_;
};

/// Twice its area; negative when its corners are in the wrong order.
inline std::int64_t area_of(Triangle const& t) {
  auto const& [a, b, c] = t.corner;
  return (std::int64_t{b.x} - a.x) * (std::int64_t{c.y} - a.y) - (std::int64_t{b.y} - a.y) * (std::int64_t{c.x} - a.x);
}

/// At a pixel whose values at the edges opposite of the three corners are these.
HIWAY_DEVICE inline float depth_at(Triangle const& t, std::int64_t v0, std::int64_t v1, std::int64_t v2) {
  float const nearness = static_cast<float>(v0) * t.corner[0].nearness + static_cast<float>(v1) * t.corner[1].nearness +
                         static_cast<float>(v2) * t.corner[2].nearness;
  return static_cast<float>(v0 + v1 + v2) / nearness;
}

}  // namespace rasterization
