// Method baseline: task-based copies. A task carries its tile and the eight around it.
#include "face_detection/search.hpp"

namespace face_detection {

/// A tile, in the middle, with its neighbours; what lies beyond the level is 0.
struct Area {
  static constexpr std::int32_t side = 3 * tile_side;
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
            std::int32_t const x = (task.column - 1) * tile_side + i % Area::side;
            std::int32_t const y = (task.row - 1) * tile_side + i / Area::side;
            bool const is_there = x >= 0 && x < level.width && y >= 0 && y < level.height;
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
      PixelView const tile = PixelView{area.pixels, Area::side}.from(tile_side, tile_side);
      tell(tester.test(level, area.column, area.row, tile), level, area.level, findings, out);
    });
  }
};

namespace {

class CopyingSearch final : public Search {
 public:
  CopyingSearch(Input const& input, Job const& job, Options const& options) : Search(input, job, options) {
    auto& areas = pipe_.create_tunnel<Area>(
        "areas", to_lbp(),
        job.scheme.tunnel({.capacity_items = 4096,
                           .movement = windows_on_gpu() ? hiway::Movement::dma : hiway::Movement::automatic}));
    add("windows", windows_on_gpu(), CutAreas{levels_}, hiway::from(*tiles_), hiway::into(areas));
    pipe_.add_cpu_stage("lbp", TestAreas{cascade(), level_list(), findings_}, hiway::from(areas),
                        hiway::into(*candidates_), {.threads = threads_});
  }
};

}  // namespace

std::vector<Measurement> run_baseline(Input const& input, Job const& job, Options const& options) {
  std::vector<Measurement> runs = run_search<CopyingSearch>(input, job, options);
  for (Measurement& run : runs) {
    for (hiway::TunnelReport const& tunnel : run.tunnels) {
      if (tunnel.name == "areas" && tunnel.movement != "memory")
        run.bytes_moved = tunnel.items * Area::side * Area::side;
    }
  }
  return runs;
}

}  // namespace face_detection
