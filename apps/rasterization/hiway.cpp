// Method hiway: vertex (CPU) -> raster (GPU) -> pixel (GPU). Tiles are drawn while later pictures are still looked at: nothing
// waits for the last triangle of a picture, or for the last tile of a triangle.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <hiway/cpus.hpp>
#include <hiway/pipeline.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rasterization/methods.hpp"
#include "rasterization/stages.hpp"

namespace rasterization {

/// A thread has a picture at a time.
struct Vertex {
  Problem const* problem;
  void operator()(hiway::Inlet<Triangle> out) const {
    Vertices vertices{*problem};
    for (std::uint32_t number = hiway::thread_index(); number < problem->pictures; number += hiway::thread_count())
      out.put_h(std::span<Triangle const>(vertices.of(number, number)));
  }
};

/// A warp has a triangle; its lanes put tiles.
struct Raster {
  std::int32_t width, height;
  HIWAY_DEVICE void operator()(hiway::Outlet<Triangle> in, hiway::Inlet<Tile> out) const {
    hiway::anywhere([&](auto m) {
      in.for_each_warp([&](Triangle const& triangle) {
        cut(m, triangle, width, height, [&](Tile const& tile, bool is_wanted) {
          if (is_wanted) out.put(tile);
        });
      });
    });
  }
};

/// A warp has a tile; its lanes draw columns.
struct DrawTiles {
  Frames frames;
  hiway::Word<std::uint64_t>* covered;
  HIWAY_DEVICE void operator()(hiway::Outlet<Tile> in) const {
    hiway::anywhere([&](auto m) {
      std::uint64_t counted = 0;
      in.for_each_warp([&](Tile const& tile) { counted += draw(m, tile, frames); });
      add_up(m, counted, *covered);
    });
  }
};

namespace {

class Drawing {
 public:
  Drawing(Problem const& problem, Job const& job)
      : problem_(problem),
        pipe_(job.pipeline()),
        pixels_(pipe_.create_buffer<picture::Pixel>(problem.pixels())),
        covered_(pipe_.create_buffer<hiway::Word<std::uint64_t>>(1)) {
    bool const emulated = job.device == "simt";
    auto const grid_of = [&](unsigned blocks, unsigned warps) {
      return hiway::GpuStageOptions{.blocks = emulated ? 1U : blocks,
                                    .threads_per_block = 32 * (emulated ? 1U : warps)};
    };
    clear_grid_ = grid_of(1056, 8);
    using hiway::Direction;
    // Vertex never waits for room where the cube is drawn a hundred times, raster seldom.
    auto& triangles =
        pipe_.create_tunnel<Triangle>("triangles", Direction::cpu_to_gpu, job.scheme.tunnel({.capacity_items = 4096}));
    auto& tiles =
        pipe_.create_tunnel<Tile>("tiles", Direction::gpu_to_gpu, job.scheme.tunnel({.capacity_items = 32768}));
    using hiway::from;
    using hiway::into;
    pipe_.add_cpu_stage("vertex", Vertex{&problem_}, into(triangles),
                        {.threads = std::clamp(hiway::available_cpus(), 1U, 4U)});
    // A stage counts with whole processors: with 88 registers a thread raster has 23, pixel 90, the monitor one.
    pipe_.add_gpu_stage("raster", Raster{problem.width, problem.height}, from(triangles), into(tiles), grid_of(112, 4));
    pipe_.add_gpu_stage("pixel", DrawTiles{{pixels_.view().data, problem.width, problem.height}, covered_.view().data},
                        from(tiles), grid_of(448, 4));
  }
  Drawing(Drawing const&) = delete;
  Drawing& operator=(Drawing const&) = delete;

  void prepare() {
    pipe_.prepare();
    clear();
  }
  Measurement run(Oracle const* oracle) {
    hiway::Word<std::uint64_t> covered{0};
    covered_.copy_in(std::span<hiway::Word<std::uint64_t> const>(&covered, 1));
    auto const begin = std::chrono::steady_clock::now();
    clear();
    hiway::RunReport report = pipe_.run();
    double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

    covered_.copy_out({&covered, 1});
    Drawn drawn{Pixels(problem_.pixels()), report.tunnels[0].items, covered.bits};
    pixels_.copy_out(drawn.pixels);
    Measurement measured = measurement_of(problem_, drawn, oracle);
    measured.tiles = report.tunnels[1].items;
    cli::take_report(measured, std::move(report));
    measured.seconds = seconds;
    return measured;
  }
  [[nodiscard]] std::string graph() const { return pipe_.graph(); }

 private:
  void clear() {
    pipe_.launch("clear", Clear{pixels_.view().data, pixels_.size(), nullptr}, clear_grid_);
    pipe_.synchronize();
  }

  Problem problem_;
  hiway::Pipeline pipe_;
  hiway::Buffer<picture::Pixel>& pixels_;
  hiway::Buffer<hiway::Word<std::uint64_t>>& covered_;
  hiway::GpuStageOptions clear_grid_;
};

}  // namespace

std::vector<Measurement> run_hiway(Problem const& problem, Job const& job, Oracle const* oracle) {
  Drawing drawing{problem, job};
  drawing.prepare();
  return cli::repeated(job, [&] { return drawing.run(oracle); });
}

std::string hiway_graph(std::string const& device) {
  return Drawing{{.pictures = 1, .width = 1, .height = 1}, {.device = device}}.graph();
}

}  // namespace rasterization
