// Methods baseline and kernels: an ordinary kernel for each stage, with lists in the device's memory between them.
//   baseline   picture by picture, in two sets of buffers: while the kernels of one draw, the next picture's triangles are
//              made and copied for the other
//   kernels    one set, one launch of each kernel for all pictures
// Triangles are made by one thread; the launches of a set follow one another on the device without the host.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <hiway/pipeline.hpp>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/bad_input.hpp"
#include "rasterization/methods.hpp"
#include "rasterization/stages.hpp"

namespace rasterization {

/// The tiles that later kernels draw.
struct TileList {
  Tile* tiles;
  hiway::Word<std::uint32_t>* count;
};

/// A warp for each triangle, whose lanes share a place in the list.
struct RasterAll {
  Triangle const* triangles;
  std::uint32_t count;
  std::int32_t width, height;
  TileList out;
  HIWAY_DEVICE void operator()() const {
    hiway::anywhere([&](auto m) {
      std::uint32_t const lanes = m.count(m.lanes());
      for (std::uint32_t t = m.thread_index() / lanes; t < count; t += m.thread_count() / lanes) {
        cut(m, triangles[t], width, height, [&](Tile const& tile, bool is_wanted) {
          std::uint32_t const wanted = m.ballot(m.lanes(), is_wanted);
          std::uint32_t place = 0;
          if (m.lane() == 0 && wanted != 0)
            place = m.fetch_add(*out.count, m.count(wanted), hiway::MemoryOrder::relaxed);
          place = m.shuffle(m.lanes(), place, 0);
          if (is_wanted) out.tiles[place + m.count(wanted & hiway::lanes_below(m.lane()))] = tile;
        });
      }
    });
  }
};
/// A warp for each tile.
struct DrawList {
  TileList in;
  Frames frames;
  hiway::Word<std::uint64_t>* covered;
  HIWAY_DEVICE void operator()() const {
    hiway::anywhere([&](auto m) {
      std::uint32_t const lanes = m.count(m.lanes());
      std::uint32_t const count = m.load(*in.count, hiway::MemoryOrder::relaxed);
      std::uint64_t counted = 0;
      for (std::uint32_t t = m.thread_index() / lanes; t < count; t += m.thread_count() / lanes)
        counted += draw(m, in.tiles[t], frames);
      add_up(m, counted, *covered);
    });
  }
};

namespace {

constexpr std::uint64_t most_list_bytes = std::uint64_t{4} << 30;

/// What is drawn by one launch of each kernel: pictures that lie side by side in their set.
struct Batch {
  std::vector<std::uint32_t> pictures;  ///< their numbers
  std::uint32_t place;                  ///< of the first one in the set
  std::uint64_t first_triangle = 0;     ///< in the set's buffer
  std::uint64_t triangles = 0;
  std::uint64_t tiles = 0;
};

std::uint64_t count_tiles(Problem const& problem, std::vector<Triangle> const& triangles) {
  std::uint64_t count = 0;
  hiway::anywhere([&](auto m) {
    for (Triangle const& triangle : triangles)
      cut(m, triangle, problem.width, problem.height, [&](Tile const&, bool is_wanted) { count += is_wanted ? 1 : 0; });
  });
  return count;
}

/// Pictures with the buffers and launches that draw them.
class PictureSet {
 public:
  PictureSet(Problem const& problem, std::string const& device, std::vector<Batch> batches, Measured measured)
      : problem_(problem),
        emulated_(device == "simt"),
        stay_(measured == Measured::kernels_only),
        batches_(std::move(batches)),
        vertices_(problem),
        pipe_(hiway::PipelineConfig{.device = device}) {
    std::vector<Triangle> all;
    std::uint64_t most_triangles = 1;
    std::uint64_t most_tiles = 1;
    std::uint64_t pictures = 0;
    for (Batch& batch : batches_) {
      make_triangles(batch);
      batch.triangles = made_.size();
      batch.tiles = count_tiles(problem, made_);
      if (stay_) {
        batch.first_triangle = all.size();
        all.insert(all.end(), made_.begin(), made_.end());
      }
      most_triangles = std::max({most_triangles, batch.triangles, std::uint64_t{all.size()}});
      most_tiles = std::max(most_tiles, batch.tiles);
      pictures += batch.pictures.size();
      require_room(most_triangles * sizeof(Triangle) + most_tiles * sizeof(Tile));
    }
    pixels_ = &pipe_.create_buffer<picture::Pixel>(pictures * problem.pixels_a_picture());
    triangles_ = &pipe_.create_buffer<Triangle>(most_triangles);
    tiles_ = &pipe_.create_buffer<Tile>(most_tiles);
    tile_count_ = &pipe_.create_buffer<hiway::Word<std::uint32_t>>(1);
    covered_ = &pipe_.create_buffer<hiway::Word<std::uint64_t>>(1);
    if (stay_) triangles_->copy_in(all);
    launch_clear(0, pixels_->size());  // loads the kernels
    launch_stages(0, 0);
    synchronize();
  }
  PictureSet(PictureSet const&) = delete;
  PictureSet& operator=(PictureSet const&) = delete;

  void begin() { covered_->copy_in(std::vector<hiway::Word<std::uint64_t>>(1)); }
  void draw(std::size_t number) {
    Batch const& batch = batches_[number];
    if (!stay_) synchronize();  // the batch before has the triangles
    launch_clear(batch.place * problem_.pixels_a_picture(), batch.pictures.size() * problem_.pixels_a_picture());
    if (!stay_) {
      make_triangles(batch);
      triangles_->copy_in(made_);
    }
    launch_stages(batch.first_triangle, static_cast<std::uint32_t>(batch.triangles));
  }
  void synchronize() { pipe_.synchronize(); }

  /// Adds what it has to the pictures of all sets.
  void hand_over(Drawn& drawn) const {
    std::vector<hiway::Word<std::uint64_t>> covered(1);
    covered_->copy_out(covered);
    drawn.covered_pixels += covered[0].bits;
    std::uint64_t const pixels = problem_.pixels_a_picture();
    for (Batch const& batch : batches_) {
      drawn.triangles += batch.triangles;
      for (std::size_t i = 0; i < batch.pictures.size(); ++i)
        pixels_->copy_out(std::span{drawn.pixels}.subspan(batch.pictures[i] * pixels, pixels),
                          (batch.place + i) * pixels);
    }
  }
  [[nodiscard]] std::size_t batches() const { return batches_.size(); }
  [[nodiscard]] std::uint64_t tiles() const {
    std::uint64_t sum = 0;
    for (Batch const& batch : batches_) sum += batch.tiles;
    return sum;
  }

 private:
  static void require_room(std::uint64_t bytes) {
    if (bytes > most_list_bytes)
      throw cli::BadInput{"--method baseline, kernels: lists of triangles and tiles of " + std::to_string(bytes >> 20) +
                          " MiB or more; at most " + std::to_string(most_list_bytes >> 20)};
  }
  void make_triangles(Batch const& batch) {
    made_.clear();
    for (std::size_t i = 0; i < batch.pictures.size(); ++i) {
      std::vector<Triangle> const& triangles =
          vertices_.of(batch.pictures[i], batch.place + static_cast<std::uint32_t>(i));
      made_.insert(made_.end(), triangles.begin(), triangles.end());
    }
  }
  [[nodiscard]] hiway::GpuStageOptions grid_of(std::uint64_t blocks, unsigned warps) const {
    return {.blocks = emulated_ ? 1U : static_cast<unsigned>(std::clamp(blocks, std::uint64_t{1}, std::uint64_t{1056})),
            .threads_per_block = 32 * (emulated_ ? 1U : warps)};
  }
  void launch_clear(std::uint64_t first, std::uint64_t count) {
    pipe_.launch("clear", Clear{pixels_->view().data + first, count, tile_count_->view().data}, grid_of(1056, 8));
  }
  void launch_stages(std::uint64_t first, std::uint32_t count) {
    TileList const list{tiles_->view().data, tile_count_->view().data};
    std::int32_t const width = problem_.width;
    std::int32_t const height = problem_.height;
    pipe_.launch("raster", RasterAll{triangles_->view().data + first, count, width, height, list},
                 grid_of(count / 2, 2));
    pipe_.launch("pixel", DrawList{list, {pixels_->view().data, width, height}, covered_->view().data},
                 grid_of(660, 4));
  }

  Problem const& problem_;
  bool emulated_;
  bool stay_;  ///< triangles, on the device from the beginning
  std::vector<Batch> batches_;
  Vertices vertices_;
  std::vector<Triangle> made_;
  hiway::Pipeline pipe_;
  hiway::Buffer<picture::Pixel>* pixels_ = nullptr;
  hiway::Buffer<Triangle>* triangles_ = nullptr;
  hiway::Buffer<Tile>* tiles_ = nullptr;
  hiway::Buffer<hiway::Word<std::uint32_t>>* tile_count_ = nullptr;
  hiway::Buffer<hiway::Word<std::uint64_t>>* covered_ = nullptr;
};

using Sets = std::vector<std::unique_ptr<PictureSet>>;

std::vector<Measurement> run_sets(Problem const& problem, Job const& job, Oracle const* oracle, Sets const& sets) {
  return cli::repeated(job, [&] {
    for (auto const& set : sets) set->begin();
    auto const begin = std::chrono::steady_clock::now();
    for (std::size_t batch = 0; batch < sets.front()->batches(); ++batch) {
      for (auto const& set : sets) {
        if (batch < set->batches()) set->draw(batch);
      }
    }
    for (auto const& set : sets) set->synchronize();
    double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

    Drawn drawn{.pixels = Pixels(problem.pixels())};
    std::uint64_t tiles = 0;
    for (auto const& set : sets) {
      set->hand_over(drawn);
      tiles += set->tiles();
    }
    Measurement measured = measurement_of(problem, drawn, oracle);
    measured.seconds = seconds;
    measured.items = drawn.triangles + tiles;
    measured.tiles = tiles;
    return measured;
  });
}

}  // namespace

std::vector<Measurement> run_baseline(Problem const& problem, Job const& job, Oracle const* oracle, Measured measured) {
  Sets sets;
  for (std::uint32_t first = 0; first < std::min(problem.pictures, 2U); ++first) {
    std::vector<Batch> batches;
    for (std::uint32_t i = first; i < problem.pictures; i += 2) batches.push_back({{i}, i / 2});
    sets.push_back(std::make_unique<PictureSet>(problem, job.device, std::move(batches), measured));
  }
  return run_sets(problem, job, oracle, sets);
}

std::vector<Measurement> run_kernels(Problem const& problem, Job const& job, Oracle const* oracle, Measured measured) {
  Batch all{{}, 0};
  for (std::uint32_t i = 0; i < problem.pictures; ++i) all.pictures.push_back(i);
  Sets sets;
  sets.push_back(std::make_unique<PictureSet>(problem, job.device, std::vector<Batch>{all}, measured));
  return run_sets(problem, job, oracle, sets);
}

}  // namespace rasterization
