// The last two of the five stages where the paper has them: sums on the CPU, which needs a tile's neighbours; scan on
// the GPU, which does not: an area has all that the windows need which begin in its tile.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <hiway/pipeline.hpp>
#include <utility>
#include <vector>

#include "face_detection/stages.hpp"
#include "face_detection/summary.hpp"
#include "face_detection/tile.hpp"

namespace face_detection {

/// Sums of a tile's pixels and of those right of it and below it, as far as windows reach that begin in the tile.
struct alignas(16) SummedArea {
  static constexpr std::int32_t side = tile_side + largest_tiled_window;  ///< sums
  static constexpr std::int32_t pitch = side + 1;                         ///< from a row of sums to the next
  std::int32_t level;
  std::int32_t column;  ///< of the level's tiles
  std::int32_t row;
  std::int32_t unused;
  std::uint16_t sums[side * pitch];  ///< of what lies above and left, modulo 2^16
};

/// Of a cell of at most 11 x 11 pixels, whose sum 16 bits hold.
struct AreaCells {
  static_assert(largest_tiled_window / 3 * (largest_tiled_window / 3) * 255 < 1 << 16);
  std::uint16_t const* corner;  ///< of the window: the sum of what lies above and left of its first pixel

  [[nodiscard]] HIWAY_DEVICE std::uint32_t sum(std::int32_t x, std::int32_t y, std::int32_t width,
                                               std::int32_t height) const {
    std::uint16_t const* const top = corner + y * SummedArea::pitch + x;
    std::uint16_t const* const bottom = top + height * SummedArea::pitch;
    return static_cast<std::uint16_t>(bottom[width] - bottom[0] - top[width] + top[0]);
  }
};

/// Makes the sums of tile (column, row), whose windows are `windows`, there are some. `left(y)` and `right(y)`: row y
/// of the area's pixels, in the tile's columns and after them.
template <class Left, class Right>
void sum_area(CascadeView const& cascade, std::int32_t step, TileWindows const& windows, Left const& left,
              Right const& right, SummedArea& area) {
  std::int32_t const width = (windows.columns - 1) * step + cascade.window_width;
  std::int32_t const height = (windows.rows - 1) * step + cascade.window_height;
  std::int32_t const in_tile = std::min(width, tile_side);
  std::uint16_t of_row[SummedArea::pitch] = {};
  std::uint16_t* above = area.sums;
  std::fill_n(above, SummedArea::pitch, std::uint16_t{0});
  for (std::int32_t y = 0; y < height; ++y, above += SummedArea::pitch) {
    std::uint16_t sum = 0;
    std::uint8_t const* const first = left(y);
    for (std::int32_t x = 0; x < in_tile; ++x) of_row[x + 1] = sum = static_cast<std::uint16_t>(sum + first[x]);
    if (in_tile < width) {
      std::uint8_t const* const second = right(y);
      for (std::int32_t x = in_tile; x < width; ++x)
        of_row[x + 1] = sum = static_cast<std::uint16_t>(sum + second[x - in_tile]);
    }
    for (std::int32_t i = 0; i < SummedArea::pitch; ++i)
      above[SummedArea::pitch + i] = static_cast<std::uint16_t>(above[i] + of_row[i]);
  }
}

/// What became of the windows that begin in a tile: a word for each row of them, bit i for window first_column + i.
struct TestedArea {
  std::int32_t level;
  std::int32_t column;  ///< of the level's tiles
  std::int32_t row;
  std::int32_t unused;
  std::uint32_t rejected[tile_side];  ///< by the first stage
  std::uint32_t passed[tile_side];    ///< every stage
};

/// A warp tests the windows of an area, 32 at a time: a row of them, or two rows where windows are two pixels apart.
struct ScanAreas {
  CascadeView cascade;
  Level const* levels;

  HIWAY_DEVICE void operator()(hiway::Outlet<SummedArea> in, hiway::Inlet<TestedArea> out) const {
    hiway::anywhere([&](auto m) {
      in.for_each_warp([&](SummedArea const& area) {
        std::uint32_t const lane = m.lane();
        std::uint32_t rejected = 0;  // a lane has the words of its row
        std::uint32_t passed = 0;
        scan(m, area, lane, rejected, passed);
        out.put_in_place_warp([&](TestedArea& tested) {
          if (lane == 0) {
            tested.level = area.level;
            tested.column = area.column;
            tested.row = area.row;
          }
          tested.rejected[lane] = rejected;
          tested.passed[lane] = passed;
        });
      });
    });
  }

 private:
  template <class Machine>
  HIWAY_DEVICE void scan(Machine m, SummedArea const& area, std::uint32_t lane, std::uint32_t& rejected,
                         std::uint32_t& passed) const {
    Level const& level = levels[area.level];
    TileWindows const windows = windows_of(level, area.column, area.row);
    auto const in_row = static_cast<std::uint32_t>(tile_side / level.step);
    std::uint32_t const rows = 32 / in_row;  // at a time
    std::uint32_t const mask = in_row == 32 ? ~0U : (1U << in_row) - 1;
    for (std::uint32_t first = 0; first < static_cast<std::uint32_t>(windows.rows); first += rows) {
      std::uint32_t const row = first + lane / in_row;
      std::uint32_t const column = lane % in_row;
      bool const is_there =
          row < static_cast<std::uint32_t>(windows.rows) && column < static_cast<std::uint32_t>(windows.columns);
      std::int32_t stages = -1;
      if (is_there) {
        auto const step = static_cast<std::uint32_t>(level.step);
        stages = run_window(cascade, AreaCells{area.sums + row * step * SummedArea::pitch + column * step});
      }
      std::uint32_t const all_rejected = m.ballot(m.lanes(), stages == 0);
      std::uint32_t const all_passed = m.ballot(m.lanes(), stages == cascade.stage_count);
      if (lane - first >= rows) continue;  // not a row of this lane's
      rejected = all_rejected >> (lane - first) * in_row & mask;
      passed = all_passed >> (lane - first) * in_row & mask;
    }
  }
};

/// Calls `rejected(word, bits)` with the words of rejected windows of a tile that have some, and `passed(Candidate)`
/// with those that passed. `rows`: has both for each row of windows.
template <class Rows, class Rejected, class Passed>
void for_each_found(Rows const& rows, TileWindows const& windows, Level const& l, std::int32_t level,
                    Rejected const& rejected, Passed const& passed) {
  std::int32_t const column = windows.first_column;
  for (std::int32_t y = 0; y < windows.rows; ++y) {
    std::int32_t const row = windows.first_row + y;
    auto const at = static_cast<std::size_t>(y);
    if (rows.rejected[at] != 0)
      rejected(rejected_word(l, column, row), rows.rejected[at] << static_cast<std::uint32_t>(column) % 32);
    for (std::uint32_t left = rows.passed[at]; left != 0; left &= left - 1)
      passed(Candidate{level, row, column + std::countr_zero(left)});
  }
}

/// Collects what scan found; at the end makes the answer of it.
struct GroupTested {
  Pyramid const* pyramid;
  std::int32_t min_neighbours;
  Summary* summary;
  void operator()(hiway::Outlet<TestedArea> in) const {
    std::vector<std::uint32_t> rejected(pyramid->rejected_words);
    std::vector<Candidate> found;
    in.for_each_h([&](TestedArea const& tested) {
      Level const& level = pyramid->levels[static_cast<std::size_t>(tested.level)];
      for_each_found(
          tested, windows_of(level, tested.column, tested.row), level, tested.level,
          [&](std::size_t word, std::uint32_t bits) { rejected[word] |= bits; },
          [&](Candidate const& candidate) { found.push_back(candidate); });
    });
    *summary = summarize(*pyramid, rejected, std::move(found), min_neighbours);
  }
};

}  // namespace face_detection
