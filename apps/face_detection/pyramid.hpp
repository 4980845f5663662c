// Pyramid: the image in ever smaller sizes, so that windows of one size find faces of every size.
//
// Nothing here holds the levels' pixels: pyramid_value gives any of them, from the original image alone and in whole
// numbers, so that every device gets the same, for a whole level or a tile of one, in any order.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "face_detection/image.hpp"
#include "face_detection/rectangle.hpp"
#include "hiway/config.hpp"

namespace face_detection {

/// Where a pixel of a level lies along one axis of the original: between pixels `first` and `first + 1`, both of which
/// are in the image.
struct Tap {
  std::uint16_t first;
  std::uint16_t weight_of_second;  ///< of tap_unit; the rest is the first's
};
inline constexpr std::uint32_t tap_unit = 256;

struct Level {
  float scale;                      ///< how much smaller than the original
  std::int32_t width;               ///< not less than the window's
  std::int32_t height;              ///< not less than the window's
  std::int32_t step;                ///< from a window to the next one, right or down
  std::int32_t columns;             ///< of windows: window (i, j) begins at pixel (i * step, j * step)
  std::int32_t rows;                ///< of windows
  std::int32_t face_width;          ///< what the window covers of the original
  std::int32_t face_height;         ///< what the window covers of the original
  std::uint32_t first_tap_x;        ///< its `width` taps begin there
  std::uint32_t first_tap_y;        ///< its `height` taps begin there
  std::size_t first_rejected_word;  ///< where its words of rejected windows begin (stages.hpp)
};

/// What stage code reads. *Lifetime*: points at memory of the device that runs it, owns nothing.
struct PyramidView {
  PixelView original;
  Level const* levels;
  Tap const* taps;
  std::int32_t level_count;
};

struct Pyramid {
  std::int32_t image_width;
  std::int32_t image_height;
  std::vector<Level> levels{};  ///< from the largest to the smallest; none where the window does not fit the image
  std::vector<Tap> taps{};
  std::size_t rejected_words = 0;  ///< of all levels

  /// *Lifetime*: until a vector changes its size.
  [[nodiscard]] PyramidView view(PixelView original) const {
    return {original, levels.data(), taps.data(), static_cast<std::int32_t>(levels.size())};
  }
};

/// The levels of an image: scales 1, scale_factor, scale_factor^2, ... as long as the scaled window fits.
/// The window has 2 pixels or more each way. scale_factor is above 1; the closer, the more levels (input.hpp has the
/// bound).
Pyramid make_pyramid(std::int32_t image_width, std::int32_t image_height, std::int32_t window_width,
                     std::int32_t window_height, double scale_factor);

/// Pixel (x, y) of a level: bilinear between four of the original's, half up. As OpenCV's INTER_LINEAR_EXACT has it.
HIWAY_DEVICE inline std::uint8_t pyramid_value(PyramidView const& pyramid, Level const& level, std::int32_t x,
                                               std::int32_t y) {
  Tap const column = pyramid.taps[level.first_tap_x + static_cast<std::uint32_t>(x)];
  Tap const row = pyramid.taps[level.first_tap_y + static_cast<std::uint32_t>(y)];
  PixelView const four = pyramid.original.from(column.first, row.first);
  std::uint32_t const right = column.weight_of_second;
  std::uint32_t const below = row.weight_of_second;
  std::uint32_t const upper = four.at(0, 0) * (tap_unit - right) + four.at(1, 0) * right;
  std::uint32_t const lower = four.at(0, 1) * (tap_unit - right) + four.at(1, 1) * right;
  constexpr std::uint32_t unit = tap_unit * tap_unit;
  return static_cast<std::uint8_t>((upper * (tap_unit - below) + lower * below + unit / 2) / unit);
}

/// The `width` x `height` pixels of a level from (x, y) on, to `out`, whose rows begin `pitch` pixels apart.
HIWAY_DEVICE inline void resize_tile(PyramidView const& pyramid, Level const& level, std::int32_t x, std::int32_t y,
                                     std::int32_t width, std::int32_t height, std::uint8_t* out, std::int32_t pitch) {
  for (std::int32_t row = 0; row < height; ++row) {
    for (std::int32_t column = 0; column < width; ++column)
      out[std::ptrdiff_t{row} * pitch + column] = pyramid_value(pyramid, level, x + column, y + row);
  }
}

/// A whole level.
Image resize_level(PyramidView const& pyramid, Level const& level);

/// The place in the original of the window that begins at pixel (x, y) of the level. Rounding may have it reach one
/// pixel beyond the image.
HIWAY_DEVICE inline Rectangle face_at(Level const& level, std::int32_t x, std::int32_t y) {
  auto const scaled = [&](std::int32_t at) {
    return static_cast<std::int32_t>(lrintf(static_cast<float>(at) * level.scale));
  };
  return {scaled(x), scaled(y), level.face_width, level.face_height};
}

}  // namespace face_detection
