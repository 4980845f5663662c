// The stage code of the five-point stencil: every method on a device runs `five_point`, and makes its input by `input_value`.
#pragma once
#include <cstdint>

#include "hiway/config.hpp"

namespace stencil {

/// What is asked for.
struct Problem {
  std::uint32_t width = 256;
  std::uint32_t height = 256;
  std::uint32_t region_width = 0;  ///< 0: the library chooses
  std::uint32_t region_height = 0;
  std::uint32_t frames = 4;
  std::uint32_t iterations = 1;
  std::uint64_t seed = 1;

  HIWAY_DEVICE bool is_inside(std::uint32_t x, std::uint32_t y) const {
    return x != 0 && y != 0 && x + 1 != width && y + 1 != height;
  }
  /// Of a frame.
  [[nodiscard]] HIWAY_DEVICE std::uint64_t values() const { return std::uint64_t{width} * height; }
};

/// Number `x` of row `y`: a row's hash goes on by additions, so that CPUs make several at a time.
HIWAY_DEVICE inline std::uint32_t row_hash(Problem const& p, std::uint32_t y, std::uint32_t frame) {
  std::uint32_t h = static_cast<std::uint32_t>(p.seed) * 0x9e3779b1u + y * 0x85ebca77u + frame * 0xc2b2ae3du;
  h ^= h >> 16;
  return h * 0x7feb352du;
}
HIWAY_DEVICE inline float hashed_value(std::uint32_t hash_of_row, std::uint32_t x) {
  std::uint32_t h = hash_of_row + x * 0x01000193u;
  h ^= h >> 13;
  return static_cast<float>(static_cast<std::int32_t>(h & 0xffffffu)) * 0x1p-24f;
}
/// A value of the input, in [0, 1).
HIWAY_DEVICE inline float input_value(Problem const& p, std::uint32_t x, std::uint32_t y, std::uint32_t frame) {
  return hashed_value(row_hash(p, y, frame), x);
}

/// A value and its neighbours.
struct Cross {
  float centre, left, right, up, down;
};
HIWAY_DEVICE inline float five_point(Cross const& c) {
  return 0.2f * ((((c.centre + c.left) + c.right) + c.up) + c.down);
}

}  // namespace stencil
