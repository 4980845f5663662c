// Tiles: the levels of the pyramid, cut into squares of pixels and laid side by side into one matrix, whose values they are.
//
//   a level's tiles keep their places to each other; levels fill shelves, from left to right:
//
//     0 0 0 0 0 0 0 0        window (i, j) of a level begins in the tile that has its first pixel, and needs no more than
//     0 0 0 0 0 0 0 0        that tile and the ones right of it, below it, and below right: a stencil of 3 x 3 has them
//     0 0 0 0 0 0 0 0
//     1 1 1 1 1 1 1 .
//     1 1 1 1 1 1 1 .        .  belongs to the level left of it, or above, and has no pixels of it: an empty tile
//     2 2 2 2 2 3 3 3
//     2 2 2 2 2 3 3 3
#pragma once
#include <cstdint>
#include <vector>

#include "face_detection/pyramid.hpp"

namespace face_detection {

inline constexpr std::int32_t tile_side = 32;  ///< in pixels
/// A larger window does not lie in the tile that it begins in and the next one, wherever it begins.
inline constexpr std::int32_t largest_tiled_window = tile_side + 1;

/// A value of the matrix.
struct Tile {
  std::int32_t level;   ///< -1: empty
  std::int32_t column;  ///< of the level's tiles
  std::int32_t row;
  std::uint8_t pixels[tile_side * tile_side];  ///< what lies beyond the level is 0
};

/// Where a level's tiles are in the matrix. What the level has: (x, y) to (x + owned_columns, y + owned_rows), of which the
/// first `columns` of the first `rows` have pixels.
struct TilePlace {
  std::int32_t x;
  std::int32_t y;
  std::int32_t columns;
  std::int32_t rows;
  std::int32_t owned_columns;
  std::int32_t owned_rows;
};

struct Mosaic {
  std::int32_t width = 0;           ///< in tiles
  std::int32_t height = 0;          ///< in tiles
  std::vector<TilePlace> places{};  ///< one a level; what they have does not overlap, and is the whole matrix
};

/// At least 3 x 3. The pyramid has a level.
Mosaic make_mosaic(Pyramid const& pyramid);

/// Makes tile (column, row) of a level's own: lane `lane` of `lanes` its part.
HIWAY_DEVICE inline void fill_tile(PyramidView const& pyramid, std::int32_t level, TilePlace const& place,
                                   std::int32_t column, std::int32_t row, std::int32_t lane, std::int32_t lanes,
                                   Tile& tile) {
  bool const is_empty = column >= place.columns || row >= place.rows;
  if (lane == 0) {
    tile.level = is_empty ? -1 : level;
    tile.column = column;
    tile.row = row;
  }
  if (is_empty) return;
  Level const& l = pyramid.levels[level];
  for (std::int32_t i = lane; i < tile_side * tile_side; i += lanes) {
    std::int32_t const x = column * tile_side + i % tile_side;
    std::int32_t const y = row * tile_side + i / tile_side;
    tile.pixels[i] = x < l.width && y < l.height ? pyramid_value(pyramid, l, x, y) : std::uint8_t{0};
  }
}

/// The windows that begin in a tile.
struct TileWindows {
  std::int32_t first_column;
  std::int32_t first_row;
  std::int32_t columns;  ///< may be none
  std::int32_t rows;     ///< may be none
};
HIWAY_DEVICE inline TileWindows windows_of(Level const& level, std::int32_t column, std::int32_t row) {
  std::int32_t const in_tile = tile_side / level.step;
  auto const some = [in_tile](std::int32_t all, std::int32_t first) {
    std::int32_t const left = all - first;
    return left < 0 ? 0 : left < in_tile ? left : in_tile;
  };
  return {column * in_tile, row * in_tile, some(level.columns, column * in_tile), some(level.rows, row * in_tile)};
}

}  // namespace face_detection
