// Method hiway: tiles are values of a stencil tunnel; a tile with its neighbours is a task.
#include "face_detection/search.hpp"

namespace face_detection {

/// A warp makes a tile where it will be copied from.
struct SetTiles {
  Levels levels;
  HIWAY_DEVICE void operator()(hiway::Outlet<TileTask> in, hiway::StencilInlet<Tile> out) const {
    hiway::anywhere([&](auto m) {
      auto const lane = static_cast<std::int32_t>(m.lane());
      auto const lanes = static_cast<std::int32_t>(m.count(m.lanes()));
      in.for_each_warp([&](TileTask const& task) {
        TilePlace const& place = levels.places[task.level];
        out.set_in_place_warp(place.x + task.column, place.y + task.row, [&](Tile& tile) {
          fill_tile(levels.pyramid, task.level, place, task.column, task.row, lane, lanes, tile);
        });
      });
    });
  }
};

struct TestTiles {
  CascadeView cascade;
  Level const* levels;
  TilePlace const* places;
  Findings findings;
  void operator()(hiway::StencilOutlet<Tile> in, hiway::Inlet<Candidate> out) const {
    TileTester tester{cascade};
    std::vector<std::uint8_t> area(std::size_t{4} * tile_side * tile_side);
    in.for_each_h([&](hiway::StencilTask const& task) {
      Tile const& tile = in.fetch_h(task.x, task.y);
      if (tile.level < 0) return;
      TilePlace const& place = places[tile.level];
      for (std::int32_t down = 0; down < 2 && tile.row + down < place.rows; ++down) {
        for (std::int32_t right = 0; right < 2 && tile.column + right < place.columns; ++right) {
          Tile const& from = in.fetch_h(task.x + right, task.y + down);
          for (std::int32_t y = 0; y < tile_side; ++y)
            std::memcpy(area.data() + ((down * tile_side + y) * 2 + right) * tile_side, from.pixels + y * tile_side,
                        tile_side);
        }
      }
      Level const& level = levels[tile.level];
      tell(tester.test(level, tile.column, tile.row, {area.data(), 2 * tile_side}), level, tile.level, findings, out);
    });
  }
};

struct SumTiles {
  CascadeView cascade;
  Level const* levels;
  void operator()(hiway::StencilOutlet<Tile> in, hiway::Inlet<SummedArea> out) const {
    in.for_each_h([&](hiway::StencilTask const& task) {
      Tile const& tile = in.fetch_h(task.x, task.y);
      if (tile.level < 0) return;
      Level const& level = levels[tile.level];
      TileWindows const windows = windows_of(level, tile.column, tile.row);
      if (windows.columns == 0 || windows.rows == 0) return;
      auto const pixels = [&](std::int32_t right, std::int32_t y) {
        return in.fetch_h(task.x + right, task.y + y / tile_side).pixels + y % tile_side * tile_side;
      };
      out.put_in_place_h([&](SummedArea& area) {
        area.level = tile.level;
        area.column = tile.column;
        area.row = tile.row;
        sum_area(
            cascade, level.step, windows, [&](std::int32_t y) { return pixels(0, y); },
            [&](std::int32_t y) { return pixels(1, y); }, area);
      });
    });
  }
};

namespace {

class TiledSearch final : public Search {
 public:
  TiledSearch(Input const& input, Job const& job, Options const& options) : Search(input, job, options) {
    auto& matrix = pipe_.create_stencil_tunnel<Tile>("matrix", to_fourth(),
                                                     {.width = static_cast<std::uint32_t>(mosaic_.width),
                                                      .height = static_cast<std::uint32_t>(mosaic_.height),
                                                      .edges = hiway::StencilEdges::clipped,
                                                      .movement = job.scheme.movement});
    add("windows", windows_on_gpu(), windows_blocks(), SetTiles{levels_}, hiway::from(*tiles_), hiway::into(matrix));
    if (scans_on_gpu()) {
      pipe_.add_cpu_stage("sums", SumTiles{cascade(), level_list()}, hiway::from(matrix), hiway::into(*areas_),
                          {.threads = threads_});
      return;
    }
    pipe_.add_cpu_stage("lbp", TestTiles{cascade(), level_list(), mosaic_.places.data(), findings_},
                        hiway::from(matrix), hiway::into(*candidates_), {.threads = threads_});
  }
};

}  // namespace

std::string hiway_graph(std::string const& device, Options const& options) {
  Input const smallest{.image = {2, 2, std::vector<std::uint8_t>(4)},
                       .cascade = {.window_width = 2, .window_height = 2},
                       .scale_factor = 2,
                       .min_neighbours = 0};
  return TiledSearch{smallest, {.device = device}, options}.graph();
}

std::vector<Measurement> run_hiway(Input const& input, Job const& job, Options const& options) {
  return run_search<TiledSearch>(input, job, options);
}

}  // namespace face_detection
