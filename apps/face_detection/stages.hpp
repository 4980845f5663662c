// The stage code of face detection: is there a face in a window, and which windows count?
//
// A window is tested by its pixels alone, so windows may be tested in any order, by tiles. What counts is another
// matter: OpenCV goes through a row from left to right, and behind a window that the cascade's first stage rejects it
// leaves one out. So a tile tests every window that begins in it, and keeps where the first stage rejected; of the few
// that passed every stage, is_visited then says which OpenCV would have come to:
//
//   rejected by the first stage   0 0 1 1 1 0 1 0
//   visited                       y y y - y - y -
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>

#include "face_detection/cascade.hpp"
#include "face_detection/image.hpp"
#include "face_detection/pyramid.hpp"
#include "hiway/config.hpp"

namespace face_detection {

/// A window that passed every stage.
struct Candidate {
  std::int32_t level;
  std::int32_t row;     ///< of windows: the window begins at pixel row * step of the level
  std::int32_t column;  ///< as row
  friend auto operator<=>(Candidate const&, Candidate const&) = default;
};

// ---- sums of cells: two ways to get them, which the functions below take as Cells. sum(x, y, width, height) adds up
// the pixels of a rectangle of the window.

/// From the pixels themselves: no preparation, many reads.
struct PixelCells {
  PixelView window;  ///< begins at the window's first pixel

  [[nodiscard]] HIWAY_DEVICE std::uint32_t sum(std::int32_t x, std::int32_t y, std::int32_t width,
                                               std::int32_t height) const {
    std::uint32_t total = 0;
    for (std::int32_t row = y; row < y + height; ++row) {
      for (std::int32_t column = x; column < x + width; ++column) total += window.at(column, row);
    }
    return total;
  }
};

/// From sums that somebody has made ready with `integrate`, for the window alone or for more around it.
struct IntegralCells {
  std::uint32_t const* corner;  ///< of the window: the sum of what lies above and left of its first pixel
  std::int32_t pitch;           ///< from a row of sums to the next

  [[nodiscard]] HIWAY_DEVICE std::uint32_t sum(std::int32_t x, std::int32_t y, std::int32_t width,
                                               std::int32_t height) const {
    std::uint32_t const* const top = corner + std::ptrdiff_t{y} * pitch + x;
    std::uint32_t const* const bottom = top + std::ptrdiff_t{height} * pitch;
    return bottom[width] - bottom[0] - top[width] + top[0];
  }
};

/// Writes (width + 1) x (height + 1) sums: sum (x, y) is that of the pixels left of x and above y. They are modulo
/// 2^32; the differences that IntegralCells takes are right for cells of up to 2^24 pixels.
HIWAY_DEVICE inline void integrate(PixelView pixels, std::int32_t width, std::int32_t height, std::uint32_t* sums,
                                   std::int32_t pitch) {
  for (std::int32_t x = 0; x <= width; ++x) sums[x] = 0;
  for (std::int32_t y = 0; y < height; ++y) {
    std::uint32_t const* const above = sums + std::ptrdiff_t{y} * pitch;
    std::uint32_t* const here = sums + std::ptrdiff_t{y + 1} * pitch;
    std::uint32_t of_row = 0;
    here[0] = 0;
    for (std::int32_t x = 0; x < width; ++x) {
      of_row += pixels.at(x, y);
      here[x + 1] = above[x + 1] + of_row;
    }
  }
}

// ---- one window

/// Which of the outer cells are at least as bright as the one in the middle: clockwise from the top left, which is 128.
template <class Cells>
HIWAY_DEVICE inline std::uint32_t code_of(Feature const& feature, Cells const& cells) {
  std::int32_t const w = feature.width;
  std::int32_t const h = feature.height;
  auto const cell = [&](std::int32_t column, std::int32_t row) {
    return cells.sum(feature.x + column * w, feature.y + row * h, w, h);
  };
  std::uint32_t const centre = cell(1, 1);
  auto const bit = [&](std::int32_t column, std::int32_t row) { return cell(column, row) >= centre ? 1U : 0U; };
  return bit(0, 0) << 7 | bit(1, 0) << 6 | bit(2, 0) << 5 | bit(2, 1) << 4 | bit(2, 2) << 3 | bit(1, 2) << 2 |
         bit(0, 2) << 1 | bit(0, 1);
}

template <class Cells>
HIWAY_DEVICE inline bool passes_stage(CascadeView const& cascade, std::int32_t stage, Cells const& cells) {
  Stage const& s = cascade.stages[stage];
  double sum = 0;  // of leaves in this order: as OpenCV rounds
  for (std::int32_t i = s.first_weak; i < s.first_weak + s.weak_count; ++i) {
    WeakClassifier const& weak = cascade.weaks[i];
    std::uint32_t const code = code_of(cascade.features[weak.feature], cells);
    bool const is_set = (weak.subset[code / 32] >> code % 32 & 1U) != 0;
    sum += static_cast<double>(is_set ? weak.leaf_of_set : weak.leaf_of_clear);
  }
  return sum >= static_cast<double>(s.threshold);
}

/// The first stage in [first, end) that rejects the window, or `end`.
template <class Cells>
HIWAY_DEVICE inline std::int32_t run_stages(CascadeView const& cascade, std::int32_t first, std::int32_t end,
                                            Cells const& cells) {
  std::int32_t stage = first;
  while (stage < end && passes_stage(cascade, stage, cells)) ++stage;
  return stage;
}

/// How many stages the window passes before one rejects it: all of them when it is a face.
template <class Cells>
HIWAY_DEVICE inline std::int32_t run_window(CascadeView const& cascade, Cells const& cells) {
  return run_stages(cascade, 0, cascade.stage_count, cells);
}

// ---- which windows count

/// Whether OpenCV visits the window of this column, given `is_rejected(c)`: whether the first stage rejects the window
/// of column c of the same row. It is asked for columns left of this one, from right to left, until the first that is
/// not rejected.
template <class IsRejected>
HIWAY_DEVICE inline bool is_visited(std::int32_t column, IsRejected const& is_rejected) {
  bool visited = true;
  for (std::int32_t left = column - 1; left >= 0 && is_rejected(left); --left) visited = !visited;
  return visited;
}

// Where the first stage rejects is kept in one bit a window, for the windows of all levels: pyramid.rejected_words
// words, 0 at first. A row begins with a word of its own.

/// The word of a window.
HIWAY_DEVICE inline std::size_t rejected_word(Level const& level, std::int32_t column, std::int32_t row) {
  auto const words_of_row = static_cast<std::size_t>(level.columns + 31) / 32;
  return level.first_rejected_word + static_cast<std::size_t>(row) * words_of_row +
         static_cast<std::size_t>(column) / 32;
}
/// The bit of a window in its word.
HIWAY_DEVICE inline std::uint32_t rejected_bit(std::int32_t column) {
  return 1U << (static_cast<std::uint32_t>(column) % 32);
}
HIWAY_DEVICE inline bool is_visited(Level const& level, std::uint32_t const* rejected, std::int32_t column,
                                    std::int32_t row) {
  return is_visited(
      column, [&](std::int32_t left) { return (rejected[rejected_word(level, left, row)] & rejected_bit(left)) != 0; });
}

}  // namespace face_detection
