// Method baseline: task-based copies. A task carries its tile and those of its neighbours that its windows reach into:
// right of it, below it, and below right.
#include "face_detection/search.hpp"

namespace face_detection {

/// A tile, at the top left, with the neighbours; what lies beyond the level is 0.
struct Area {
  static constexpr std::int32_t side = 2 * tile_side;
  std::int32_t level;
  std::int32_t column;
  std::int32_t row;
  std::uint8_t pixels[side * side];
};

/// A warp fills an area where it will be read.
struct CutAreas {
  Levels levels;
  HIWAY_DEVICE void operator()(hiway::Outlet<TileTask> in, hiway::Inlet<Area> out) const {
    hiway::anywhere([&](auto m) {
      auto const lane = static_cast<std::int32_t>(m.lane());
      auto const lanes = static_cast<std::int32_t>(m.count(m.lanes()));
      in.for_each_warp([&](TileTask const& task) {
        TilePlace const& place = levels.places[task.level];
        if (task.column >= place.columns || task.row >= place.rows) return;
        Level const& level = levels.pyramid.levels[task.level];
        out.put_in_place_warp([&](Area& area) {
          if (lane == 0) {
            area.level = task.level;
            area.column = task.column;
            area.row = task.row;
          }
          for (std::int32_t i = lane; i < Area::side * Area::side; i += lanes) {
            std::int32_t const x = task.column * tile_side + i % Area::side;
            std::int32_t const y = task.row * tile_side + i / Area::side;
            bool const is_there = x < level.width && y < level.height;
            area.pixels[i] = is_there ? pyramid_value(levels.pyramid, level, x, y) : 0;
          }
        });
      });
    });
  }
};

struct TestAreas {
  CascadeView cascade;
  Level const* levels;
  Findings findings;
  void operator()(hiway::Outlet<Area> in, hiway::Inlet<Candidate> out) const {
    TileTester tester{cascade};
    in.for_each_h([&](Area const& area) {
      Level const& level = levels[area.level];
      tell(tester.test(level, area.column, area.row, {area.pixels, Area::side}), level, area.level, findings, out);
    });
  }
};

struct SumAreas {
  CascadeView cascade;
  Level const* levels;
  void operator()(hiway::Outlet<Area> in, hiway::Inlet<SummedArea> out) const {
    in.for_each_h([&](Area const& from) {
      Level const& level = levels[from.level];
      TileWindows const windows = windows_of(level, from.column, from.row);
      if (windows.columns == 0 || windows.rows == 0) return;
      out.put_in_place_h([&](SummedArea& area) {
        area.level = from.level;
        area.column = from.column;
        area.row = from.row;
        auto const pixels = [&](std::int32_t x, std::int32_t y) { return from.pixels + y * Area::side + x; };
        sum_area(
            cascade, level.step, windows, [&](std::int32_t y) { return pixels(0, y); },
            [&](std::int32_t y) { return pixels(tile_side, y); }, area);
      });
    });
  }
};

namespace {

class CopyingSearch final : public Search {
 public:
  CopyingSearch(Input const& input, Job const& job, Options const& options) : Search(input, job, options) {
    auto& areas = pipe_.create_tunnel<Area>(
        "tiles with neighbours", to_fourth(),
        job.scheme.tunnel({.capacity_items = 4096,
                           .movement = windows_on_gpu() ? hiway::Movement::dma : hiway::Movement::automatic}));
    add("windows", windows_on_gpu(), windows_blocks(), CutAreas{levels_}, hiway::from(*tiles_), hiway::into(areas));
    if (scans_on_gpu()) {
      pipe_.add_cpu_stage("sums", SumAreas{cascade(), level_list()}, hiway::from(areas), hiway::into(*areas_),
                          {.threads = threads_});
      return;
    }
    pipe_.add_cpu_stage("lbp", TestAreas{cascade(), level_list(), findings_}, hiway::from(areas),
                        hiway::into(*candidates_), {.threads = threads_});
  }
};

}  // namespace

std::vector<Measurement> run_baseline(Input const& input, Job const& job, Options const& options) {
  std::vector<Measurement> runs = run_search<CopyingSearch>(input, job, options);
  for (Measurement& run : runs) {
    for (hiway::TunnelReport const& tunnel : run.tunnels) {
      if (tunnel.name == "tiles with neighbours" && tunnel.movement != "memory")
        run.bytes_moved = tunnel.items * Area::side * Area::side;
    }
  }
  return runs;
}

}  // namespace face_detection
