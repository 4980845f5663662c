// Search: what both pipelines have. The picture goes to where the pyramid is made, piece by piece; levels make levels;
// a level is cut into tiles; what becomes of them is each method's own; what was found is grouped.
//
//   grey (CPU) -Piece-> pyramid -TileTask-> windows -...-> lbp (CPU) -Candidate-> grouping (CPU)
//                        ^   |
//                        +---+ LevelTask
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <hiway/pipeline.hpp>
#include <hiway/stencil/stencil_tunnel.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "face_detection/methods.hpp"
#include "face_detection/scan.hpp"
#include "face_detection/tile.hpp"
#include "face_detection/tile_tester.hpp"

namespace face_detection {

/// Some of the picture's pixels.
struct Piece {
  static constexpr std::uint32_t most = 4096 - 8;
  std::uint32_t first;
  std::uint32_t count;
  std::uint8_t pixels[most];
};
struct LevelTask {
  std::int32_t level;
};
struct TileTask {
  std::int32_t level;
  std::int32_t column;  ///< of the level's own tiles
  std::int32_t row;
};

/// What the stages read that make levels and cut them, where they run.
struct Levels {
  PyramidView pyramid;
  TilePlace const* places;
};

/// Puts the picture, by pieces.
struct PutPieces {
  PixelView picture;
  std::uint32_t pixels;
  void operator()(hiway::Inlet<Piece> out) const {
    std::uint32_t const step = hiway::thread_count() * Piece::most;
    for (std::uint32_t first = hiway::thread_index() * Piece::most; first < pixels; first += step) {
      out.put_in_place_h([&](Piece& piece) {
        piece.first = first;
        piece.count = std::min(Piece::most, pixels - first);
        std::memcpy(piece.pixels, picture.pixels + first, piece.count);
      });
    }
  }
};

/// Puts the picture together. The warp that has the last pixels begins with the first level; each level begins the next
/// one, then puts its tiles. A warp works on one item.
struct MakeLevels {
  Levels levels;
  std::uint8_t* picture;
  std::uint32_t pixels;
  hiway::Word<std::uint32_t>* placed;  ///< pixels that are in it; 0 between runs
  HIWAY_DEVICE void operator()(hiway::Outlet<Piece> in, hiway::Outlet<LevelTask> again, hiway::Inlet<LevelTask> next,
                               hiway::Inlet<TileTask> out) const {
    hiway::anywhere([&](auto m) {
      std::uint32_t const lane = m.lane();
      std::uint32_t const lanes = m.count(m.lanes());
      in.for_each_warp([&](Piece const& piece) {
        std::uint32_t mine = 0;
        for (std::uint32_t i = lane; i < piece.count; i += lanes, ++mine) picture[piece.first + i] = piece.pixels[i];
        if (mine == 0) return;
        std::uint32_t const so_far = m.fetch_add(*placed, mine, hiway::MemoryOrder::acq_rel) + mine;
        if (so_far == pixels) {
          m.store(*placed, 0U, hiway::MemoryOrder::relaxed);  // for the next run
          next.put(LevelTask{0});
        }
      });
      again.for_each_warp([&](LevelTask const& task) {
        if (task.level + 1 < levels.pyramid.level_count) next.put_warp(LevelTask{task.level + 1});
        TilePlace const& place = levels.places[task.level];
        auto const tiles = static_cast<std::uint32_t>(place.owned_columns * place.owned_rows);
        for (std::uint32_t i = lane; i < tiles; i += lanes) {
          auto const tile = static_cast<std::int32_t>(i);
          out.put(TileTask{task.level, tile % place.owned_columns, tile / place.owned_columns});
        }
      });
    });
  }
};

/// What was found, at the host.
struct Findings {
  hiway::Word<std::uint32_t>* rejected;  ///< by the first stage: a bit a window (stages.hpp)
  hiway::Word<std::uint32_t>* passed;    ///< likewise, where nobody groups; else null
};

/// Tells of the windows of a tile that were rejected, and of those that passed.
inline void tell(TileTester::Rows const& rows, Level const& l, std::int32_t level, Findings const& findings,
                 hiway::Inlet<Candidate> const& out) {
  hiway::anywhere([&](auto m) {
    for_each_found(
        rows, rows.windows, l, level,
        [&](std::size_t word, std::uint32_t bits) {
          m.fetch_or(findings.rejected[word], bits, hiway::MemoryOrder::relaxed);
        },
        [&](Candidate const& c) {
          if (findings.passed == nullptr) {
            out.put_h(c);
          } else {
            m.fetch_or(findings.passed[rejected_word(l, c.column, c.row)], rejected_bit(c.column),
                       hiway::MemoryOrder::relaxed);
          }
        });
  });
}

/// Collects what was found; at the end makes the answer of it.
struct Group {
  Pyramid const* pyramid;
  std::vector<hiway::Word<std::uint32_t>> const* rejected;
  std::int32_t min_neighbours;
  Summary* summary;
  void operator()(hiway::Outlet<Candidate> in) const;
};

class Search {
 public:
  Search(Search const&) = delete;
  Search& operator=(Search const&) = delete;

  void prepare() { pipe_.prepare(); }
  Measurement run();
  [[nodiscard]] std::string graph() const { return pipe_.graph(); }

 protected:
  Search(Input const& input, Job const& job, Options const& options);
  ~Search() = default;

  /// Adds a stage on the GPU, of so many blocks, or on all CPU threads.
  template <class Stage, class From, class Into>
  void add(char const* name, bool on_gpu, unsigned blocks, Stage stage, From from, Into into) {
    if (on_gpu) {
      pipe_.add_gpu_stage(name, stage, from, into, grid(blocks));
    } else {
      pipe_.add_cpu_stage(name, stage, from, into, {.threads = threads_});
    }
  }
  [[nodiscard]] hiway::GpuStageOptions grid(unsigned blocks) const {
    if (emulated_) return {.blocks = 1, .threads_per_block = 32};
    return {.blocks = blocks, .threads_per_block = 128};
  }
  /// Of the stage that makes tiles: many warps, for each waits for the pixels that it reads.
  [[nodiscard]] unsigned windows_blocks() const { return options_.blocks == 0 ? 256 : options_.blocks; }
  [[nodiscard]] bool windows_on_gpu() const { return options_.placement != Placement::cpu; }
  [[nodiscard]] bool scans_on_gpu() const { return options_.placement == Placement::paper; }
  /// From the tiles to the stage that needs their neighbours.
  [[nodiscard]] hiway::Direction to_fourth() const {
    return windows_on_gpu() ? hiway::Direction::gpu_to_cpu : hiway::Direction::cpu_to_cpu;
  }
  [[nodiscard]] CascadeView cascade() const { return input_.cascade.view(); }
  [[nodiscard]] Level const* level_list() const { return pyramid_.levels.data(); }

  Input const& input_;
  Options options_;
  Pyramid pyramid_;
  Mosaic mosaic_;
  hiway::Pipeline pipe_;
  Levels levels_{};
  hiway::Tunnel<TileTask>* tiles_ = nullptr;
  hiway::Tunnel<Candidate>* candidates_ = nullptr;  ///< where CPU threads test windows
  hiway::Tunnel<SummedArea>* areas_ = nullptr;      ///< where the GPU does
  bool emulated_;
  unsigned threads_;
  Findings findings_{};

 private:
  void group_candidates(Job const& job);
  void scan_on_gpu(Job const& job);
  /// A copy of `list` where levels are made.
  template <class T>
  T const* at_levels(std::vector<T> const& list);

  std::uint32_t pixels_ = 0;
  std::vector<hiway::Word<std::uint32_t>> rejected_;
  std::vector<hiway::Word<std::uint32_t>> passed_;
  std::vector<std::uint8_t> picture_;  ///< of stages on the CPU
  hiway::Word<std::uint32_t> placed_{0};
  Summary found_;
};

template <class Method>
std::vector<Measurement> run_search(Input const& input, Job const& job, Options const& options) {
  Method search{input, job, options};
  search.prepare();
  return cli::repeated(job, [&] { return search.run(); });
}

}  // namespace face_detection
