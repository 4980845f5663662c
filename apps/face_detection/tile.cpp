#include "face_detection/tile.hpp"

#include <algorithm>

namespace face_detection {

Mosaic make_mosaic(Pyramid const& pyramid) {
  auto const tiles = [](std::int32_t pixels) { return (pixels + tile_side - 1) / tile_side; };
  Mosaic mosaic{.width = 3};  // a stencil's
  for (Level const& level : pyramid.levels) mosaic.width = std::max(mosaic.width, tiles(level.width));
  std::int32_t shelf_x = 0;
  std::int32_t shelf_rows = 0;  // the first level's of the shelf: those behind are smaller
  for (Level const& level : pyramid.levels) {
    TilePlace place{};
    place.columns = tiles(level.width);
    place.rows = tiles(level.height);
    if (shelf_rows == 0 || shelf_x + place.columns > mosaic.width) {
      mosaic.height += shelf_rows;
      shelf_x = 0;
      shelf_rows = place.rows;
    } else {
      TilePlace& before = mosaic.places.back();
      before.owned_columns = before.columns;
    }
    place.x = shelf_x;
    place.y = mosaic.height;
    place.owned_columns = mosaic.width - shelf_x;  // until another one comes beside it
    place.owned_rows = shelf_rows;
    shelf_x += place.columns;
    mosaic.places.push_back(place);
  }
  if (std::int32_t const lacking = 3 - mosaic.height - shelf_rows; lacking > 0) {
    for (TilePlace& place : mosaic.places) {
      if (place.y == mosaic.height) place.owned_rows += lacking;
    }
    shelf_rows += lacking;
  }
  mosaic.height += shelf_rows;
  return mosaic;
}

}  // namespace face_detection
