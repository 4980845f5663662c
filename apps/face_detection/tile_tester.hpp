// TileTester: all windows that begin in a tile, by a CPU thread: a row of them side by side as long as enough go on, then one
// by one.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "face_detection/stages.hpp"
#include "face_detection/tile.hpp"

namespace face_detection {

/// *Threads*: one at a time.
class TileTester {
 public:
  /// *Lifetime*: keeps what the view names. The window is at most largest_tiled_window wide and high.
  explicit TileTester(CascadeView const& cascade);

  /// What became of the windows that begin in a tile: a word for each row of them, bit i for window first_column + i.
  struct Rows {
    TileWindows windows;
    std::array<std::uint32_t, tile_side> rejected;  ///< by the first stage
    std::array<std::uint32_t, tile_side> passed;    ///< every stage
  };

  /// Tests those of tile (column, row) of a level. `area` begins with the tile's first pixel, and has the tiles right of it and
  /// below it as far as the level has them.
  Rows const& test(Level const& level, std::int32_t column, std::int32_t row, PixelView area);

 private:
  // Sums of what lies above and left, modulo 2^16: cells of at most 11 x 11 pixels have less. Those at even columns and those
  // at odd ones apart, where windows are two pixels apart, so that neighbours are side by side.
  static constexpr std::int32_t most = tile_side + largest_tiled_window;  ///< sums a side
  static constexpr std::int32_t pitch = 72;
  static constexpr std::int32_t odd = 36;
  static_assert(most <= odd * 2 && largest_tiled_window / 3 * (largest_tiled_window / 3) * 255 < 1 << 15);

  template <std::int32_t Step>
  [[nodiscard]] static std::int32_t place_of(std::int32_t x, std::int32_t y) {
    return y * pitch + (Step == 2 ? (x & 1) * odd + x / 2 : x);
  }
  /// Of a feature: the sums at the 4 x 4 corners of its cells, from the window's first on.
  using Corners = std::array<std::int32_t, 16>;

  template <std::int32_t Step>
  void add_up(PixelView area, std::int32_t width, std::int32_t height);
  /// Bit i: whether window i of N, the first of which begins at `first`, passes the stage.
  template <std::int32_t Step, std::int32_t N>
  [[nodiscard]] std::uint32_t passes(Stage const& stage, std::uint16_t const* first) const;
  template <std::int32_t Step>
  void test_row(std::int32_t row);

  CascadeView cascade_;
  std::vector<float> leaves_;                    ///< of weak classifier w and code c: at 256 w + c
  std::array<std::vector<Corners>, 2> corners_;  ///< of weak classifier w, where windows are one pixel apart; where two
  std::vector<std::uint16_t> sums_;
  Rows rows_{};
};

}  // namespace face_detection
