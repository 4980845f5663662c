// The stage code of rasterization that runs on a device, the same in every method there: a triangle is cut into tiles, and the
// pixels of a tile are drawn.
#pragma once
#include <cstdint>

#include "hiway/config.hpp"
#include "hiway/launch/stage_words.hpp"
#include "hiway/machine/on_this_device.hpp"
#include "picture/depth_buffer.hpp"
#include "rasterization/triangle.hpp"

namespace rasterization {

inline constexpr std::int32_t tile_width = 32;
inline constexpr std::int32_t tile_height = 16;

/// A part of a picture in which a triangle may cover pixels.
struct alignas(16) Tile {
  Triangle triangle;
  std::int32_t column, row;  ///< among the picture's tiles
};

/// Pictures in a row, each row by row from the top.
struct Frames {
  picture::Pixel* pixels;
  std::int32_t width, height;

  [[nodiscard]] HIWAY_DEVICE picture::Pixel* row(std::uint32_t picture, std::int32_t y) const {
    return pixels + (std::uint64_t{picture} * static_cast<std::uint32_t>(height) + static_cast<std::uint32_t>(y)) *
                        static_cast<std::uint32_t>(width);
  }
};

/// A rectangle of a picture's tiles.
struct TileBox {
  std::int32_t first_column, first_row;
  std::int32_t columns, rows;  ///< none where the triangle is small and between centres, or outside

  [[nodiscard]] HIWAY_DEVICE std::int32_t count() const { return columns > 0 && rows > 0 ? columns * rows : 0; }
};

/// Of the tiles that have pixels whose centres lie between the triangle's left and right, top and bottom.
HIWAY_DEVICE inline TileBox box_of(Triangle const& t, std::int32_t width, std::int32_t height) {
  auto const least = [](std::int32_t a, std::int32_t b) { return a < b ? a : b; };
  auto const most = [](std::int32_t a, std::int32_t b) { return a > b ? a : b; };
  auto const& [a, b, c] = t.corner;
  // A pixel's centre is half a pixel from its left: the first one not left of x, the last one not right of it.
  auto const first = [](std::int32_t x) { return (x + grid / 2 - 1) >> grid_bits; };
  auto const last = [](std::int32_t x) { return (x - grid / 2) >> grid_bits; };
  std::int32_t const left = most(0, first(least(a.x, least(b.x, c.x))));
  std::int32_t const top = most(0, first(least(a.y, least(b.y, c.y))));
  std::int32_t const right = least(width - 1, last(most(a.x, most(b.x, c.x))));
  std::int32_t const bottom = least(height - 1, last(most(a.y, most(b.y, c.y))));
  if (left > right || top > bottom) return {0, 0, 0, 0};
  TileBox box{left / tile_width, top / tile_height, 0, 0};
  box.columns = right / tile_width - box.first_column + 1;
  box.rows = bottom / tile_height - box.first_row + 1;
  return box;
}

/// False only where all pixels of the tile are outside of one edge.
HIWAY_DEVICE inline bool may_cover(Triangle const& t, std::int32_t column, std::int32_t row) {
  auto const reaches = [=](Edge const& edge) {
    std::int64_t const x = edge.step_x() > 0 ? (tile_width - 1) * edge.step_x() : 0;
    std::int64_t const y = edge.step_y() > 0 ? (tile_height - 1) * edge.step_y() : 0;
    return edge.at(column * tile_width, row * tile_height) + x + y >= edge.least();
  };
  auto const& [a, b, c] = t.corner;
  return reaches({a, b}) && reaches({b, c}) && reaches({c, a});
}

/// The lanes of a warp look at the tiles of a triangle side by side: `put(tile, is_wanted)` in all lanes together.
template <class Machine, class Put>
HIWAY_DEVICE inline void cut(Machine m, Triangle const& triangle, std::int32_t width, std::int32_t height, Put&& put) {
  TileBox const box = box_of(triangle, width, height);
  std::int32_t const count = box.count();
  auto const lanes = static_cast<std::int32_t>(m.count(m.lanes()));
  for (std::int32_t first = 0; first < count; first += lanes) {
    std::int32_t const i = first + static_cast<std::int32_t>(m.lane());
    Tile const tile{triangle, box.first_column + i % box.columns, box.first_row + i / box.columns};
    put(tile, i < count && may_cover(triangle, tile.column, tile.row));
  }
}

/// The lanes of a warp have columns of the tile's pixels. Returns how many pixels the triangle covers in the lane's columns.
template <class Machine>
HIWAY_DEVICE inline std::uint32_t draw(Machine m, Tile const& tile, Frames const& frames) {
  Triangle const& t = tile.triangle;
  Edge const edge0{t.corner[1], t.corner[2]};
  Edge const edge1{t.corner[2], t.corner[0]};
  Edge const edge2{t.corner[0], t.corner[1]};
  std::int32_t const left = tile.column * tile_width;
  std::int32_t const top = tile.row * tile_height;
  std::int32_t const right = frames.width - left < tile_width ? frames.width : left + tile_width;
  std::int32_t const rows = frames.height - top < tile_height ? frames.height - top : tile_height;
  auto const lanes = static_cast<std::int32_t>(m.count(m.lanes()));
  std::uint32_t covered = 0;
  for (std::int32_t x = left + static_cast<std::int32_t>(m.lane()); x < right; x += lanes) {
    std::int64_t v0 = edge0.at(x, top);
    std::int64_t v1 = edge1.at(x, top);
    std::int64_t v2 = edge2.at(x, top);
    picture::Pixel* pixel = frames.row(t.picture, top) + x;
    for (std::int32_t row = 0; row < rows; ++row) {
      if (v0 >= edge0.least() && v1 >= edge1.least() && v2 >= edge2.least()) {
        ++covered;
        picture::show(m, *pixel, picture::surface(depth_at(t, v0, v1, v2), t.colour));
      }
      v0 += edge0.step_y();
      v1 += edge1.step_y();
      v2 += edge2.step_y();
      pixel += frames.width;
    }
  }
  return covered;
}

/// Adds what the lanes of a warp, of which all come, have counted.
template <class Machine>
HIWAY_DEVICE inline void add_up(Machine m, std::uint64_t counted, hiway::Word<std::uint64_t>& sum) {
  for (unsigned step = m.count(m.lanes()) / 2; step > 0; step /= 2)
    counted += m.shuffle(m.lanes(), counted, m.lane() ^ step);
  if (m.lane() == 0) m.fetch_add(sum, counted, hiway::MemoryOrder::relaxed);
}

/// A kernel: pictures that show nothing, and a list of tiles that is empty.
struct Clear {
  picture::Pixel* pixels;
  std::uint64_t count;
  hiway::Word<std::uint32_t>* tiles;  ///< or null
  HIWAY_DEVICE void operator()() const {
    for (std::uint64_t i = hiway::thread_index(); i < count; i += hiway::thread_count())
      pixels[i].bits = picture::nothing;
    if (tiles != nullptr && hiway::thread_index() == 0) tiles->bits = 0;
  }
};

}  // namespace rasterization
