// Method baseline: picture by picture, as Hetero-Mark's authors write it. All CPU threads split; whoever has a chunk of
// leaves copies it and launches a kernel for each stage, while the others go on; when all are done, the picture is
// copied back.
#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <hiway/cpus.hpp>
#include <hiway/pipeline.hpp>
#include <mutex>
#include <semaphore>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/host_array.hpp"
#include "reyes/methods.hpp"

namespace reyes {

/// A leaf, and where its first grid goes.
struct PlacedLeaf {
  Leaf leaf;
  std::uint32_t first_grid;
};

/// A thread for each leaf.
struct DiceLeaves {
  PlacedLeaf const* leaves;
  std::uint32_t count;
  Grid* grids;
  HIWAY_DEVICE void operator()() const {
    for (std::uint32_t i = hiway::thread_index(); i < count; i += hiway::thread_count()) {
      for (std::uint32_t k = 0; k < leaves[i].leaf.grids(); ++k)
        grids[leaves[i].first_grid + k] = dice(leaves[i].leaf, k);
    }
  }
};
/// A thread for each grid.
struct ShadeGrids {
  View view;
  Grid const* grids;
  std::uint32_t count;
  picture::Pixel* pixels;
  HIWAY_DEVICE void operator()() const {
    hiway::anywhere([&](auto m) {
      for (std::uint32_t i = m.thread_index(); i < count; i += m.thread_count()) shade(m, view, grids[i], pixels);
    });
  }
};
/// A thread for each pixel; clears it for the next picture.
struct ResolvePixels {
  picture::Pixel* pixels;
  std::uint32_t* colours;
  std::uint32_t count;
  HIWAY_DEVICE void operator()() const {
    for (std::uint32_t i = hiway::thread_index(); i < count; i += hiway::thread_count()) {
      colours[i] = picture::colour_of(pixels[i].bits, background);
      pixels[i].bits = picture::nothing;
    }
  }
};

namespace {

constexpr std::size_t chunk = 2048;  ///< leaves
constexpr unsigned at_once = 3;      ///< from so many halvings on a patch is one thread's
constexpr auto nobody = [](auto&&...) {};

/// The most leaves and grids that a picture has.
Splits most_of_a_picture(Problem const& problem) {
  Splits most;
  for (Patches const& patches : problem.pictures) {
    Splits const of_picture = splits_of(problem.view, patches);
    most.dice = std::max(most.dice, of_picture.dice);
    most.grids = std::max(most.grids, of_picture.grids);
  }
  return most;
}

/// What one picture at a time has on the device. Kernels and copies of one canvas do not wait for those of another.
class Canvas {
 public:
  Canvas(View const& view, Job const& job, Splits const& most)
      : view_(view),
        emulated_(job.device == "simt"),
        pipe_(job.pipeline()),
        leaves_(pipe_.create_buffer<PlacedLeaf>(std::max<std::size_t>(1, most.dice))),
        grids_(pipe_.create_buffer<Grid>(std::max<std::size_t>(1, most.grids))),
        pixels_(pipe_.create_buffer<picture::Pixel>(view.pixels())),
        colours_(pipe_.create_buffer<std::uint32_t>(view.pixels())) {
    pixels_.copy_in(std::vector<picture::Pixel>(pixels_.size(), picture::Pixel{picture::nothing}));
    send({});  // loads the kernels
    resolve();
    finish();
  }
  Canvas(Canvas const&) = delete;
  Canvas& operator=(Canvas const&) = delete;

  /// Another picture's leaves may be sent. `launches`: at once; else by launch_all.
  void begin(bool launches) {
    launches_ = launches;
    sent_leaves_ = 0;
    sent_grids_ = 0;
  }
  /// Copies leaves behind those that are there, and has them diced and shaded. *Threads*: any number at once.
  void send(std::span<PlacedLeaf> leaves) {
    std::scoped_lock const lock(mutex_);
    std::uint32_t const first_leaf = sent_leaves_;
    std::uint32_t const first_grid = sent_grids_;
    for (PlacedLeaf& placed : leaves) {
      placed.first_grid = sent_grids_;
      sent_grids_ += placed.leaf.grids();
      points_ += (placed.leaf.sides_u + 1U) * (placed.leaf.sides_v + 1U);
    }
    sent_leaves_ += static_cast<std::uint32_t>(leaves.size());
    leaves_.copy_in(leaves, first_leaf);
    if (launches_) launch(first_leaf, sent_leaves_ - first_leaf, first_grid, sent_grids_ - first_grid);
  }
  void launch_all() { launch(0, sent_leaves_, 0, sent_grids_); }
  void resolve() {
    pipe_.launch("resolve", ResolvePixels{pixels_.view().data, colours_.view().data, view_.pixels()},
                 grid_for(view_.pixels()));
  }
  /// *Waits* for the kernels.
  void finish() { pipe_.synchronize(); }
  void copy_out(std::span<std::uint32_t> colours) { colours_.copy_out(colours); }
  /// That were sent since the last call.
  [[nodiscard]] std::uint64_t take_points() { return std::exchange(points_, 0); }
  [[nodiscard]] hiway::Pipeline& pipe() { return pipe_; }

 private:
  void launch(std::uint32_t first_leaf, std::uint32_t leaves, std::uint32_t first_grid, std::uint32_t grids) {
    Grid* const all = grids_.view().data;
    pipe_.launch("dice", DiceLeaves{leaves_.view().data + first_leaf, leaves, all}, grid_for(leaves));
    pipe_.launch("shade", ShadeGrids{view_, all + first_grid, grids, pixels_.view().data}, grid_for(grids));
  }
  [[nodiscard]] hiway::GpuStageOptions grid_for(std::uint32_t threads) const {
    if (emulated_) return {.blocks = 1, .threads_per_block = 32};
    return {.blocks = std::clamp((threads + 127) / 128, 1U, 4096U), .threads_per_block = 128};
  }

  View view_;
  bool emulated_;
  hiway::Pipeline pipe_;
  hiway::Buffer<PlacedLeaf>& leaves_;
  hiway::Buffer<Grid>& grids_;
  hiway::Buffer<picture::Pixel>& pixels_;
  hiway::Buffer<std::uint32_t>& colours_;
  std::mutex mutex_;  // of what follows, and of copies and launches
  bool launches_ = true;
  std::uint32_t sent_leaves_ = 0;
  std::uint32_t sent_grids_ = 0;
  std::uint64_t points_ = 0;
};

class Painter {
 public:
  Painter(Problem const& problem, Job const& job, Pictures& pictures)
      : problem_(problem),
        most_(most_of_a_picture(problem)),
        canvases_{Canvas{problem.view, job, most_}, Canvas{problem.view, job, most_}},
        pictures_(pictures),
        threads_(std::max(2U, hiway::available_cpus())),
        ready_(canvases_[0].pipe(), threads_ * chunk, job.pinned),
        copied_(canvases_[0].pipe(), job.pinned ? problem.pictures.size() * problem.view.pixels() : 0, job.pinned) {}

  Measurement run() {
    std::barrier meeting(static_cast<std::ptrdiff_t>(threads_));
    std::counting_semaphore<> free(static_cast<std::ptrdiff_t>(canvases_.size()));
    std::counting_semaphore<> split(0);
    all_ = {};
    Measurement measured;
    auto const begin = std::chrono::steady_clock::now();
    {
      std::vector<std::jthread> others;
      others.emplace_back([&] {
        for (std::size_t i = 0; i < problem_.pictures.size(); ++i) {
          split.acquire();
          Canvas& canvas = canvas_of(i);
          canvas.resolve();
          canvas.finish();
          canvas.copy_out(at_host(i));
          free.release();
        }
      });
      for (unsigned t = 1; t < threads_; ++t) {
        others.emplace_back([&, t] {
          for (std::size_t i = 0; i < problem_.pictures.size(); ++i) {
            meeting.arrive_and_wait();
            split_parts(canvas_of(i), t);
            meeting.arrive_and_wait();
          }
        });
      }
      for (std::size_t i = 0; i < problem_.pictures.size(); ++i) {
        free.acquire();
        canvas_of(i).begin(true);
        make_parts(canvas_of(i), problem_.pictures[i]);
        meeting.arrive_and_wait();
        split_parts(canvas_of(i), 0);
        meeting.arrive_and_wait();
        split.release();
      }
    }
    measured.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    for (std::size_t i = 0; i < pictures_.size(); ++i) {
      if (at_host(i).data() != pictures_[i].data()) std::ranges::copy(at_host(i), pictures_[i].begin());
    }
    return told(measured);
  }

  /// Measures kernels alone: the leaves of a picture are on the device before.
  Measurement run_kernels() {
    all_ = {};
    Measurement measured;
    Canvas& canvas = canvases_.front();
    for (std::size_t i = 0; i < problem_.pictures.size(); ++i) {
      canvas.begin(false);
      make_parts(canvas, problem_.pictures[i]);
      split_parts(canvas, 0);
      auto const begin = std::chrono::steady_clock::now();
      canvas.launch_all();
      canvas.resolve();
      canvas.finish();
      measured.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      canvas.copy_out(pictures_[i]);
    }
    return told(measured);
  }

 private:
  struct Part {
    Patch patch;
    unsigned splits;
  };

  [[nodiscard]] Canvas& canvas_of(std::size_t picture) { return canvases_[picture % canvases_.size()]; }

  /// Halves a picture's patches until there are enough for all threads.
  void make_parts(Canvas& canvas, Patches const& patches) {
    parts_.clear();
    next_part_ = 0;
    std::vector<Part> todo;
    std::vector<PlacedLeaf> ready;
    for (Patch const& patch : patches) todo.push_back({patch, 0});
    for (std::size_t i = 0; i < todo.size(); ++i) {
      Part const part = todo[i];
      if (part.splits == at_once) {
        parts_.push_back(part);
        continue;
      }
      constexpr unsigned one_by_one = most_splits + 2;
      split(
          problem_.view, part.patch, 0, part.splits, one_by_one, all_,
          [&](Patch const& piece, unsigned splits) {
            todo.push_back({piece, splits});
          },
          [&](Leaf const& leaf) {
            ready.push_back({leaf, 0});
          });
    }
    if (!ready.empty()) canvas.send(ready);
  }
  /// `thread`: the caller's number.
  void split_parts(Canvas& canvas, unsigned thread) {
    std::span<PlacedLeaf> const ready = ready_.all().subspan(thread * chunk, chunk);
    std::size_t count = 0;
    Splits mine;
    for (std::size_t i = next_part_.fetch_add(1); i < parts_.size(); i = next_part_.fetch_add(1)) {
      split(problem_.view, parts_[i].patch, 0, parts_[i].splits, 0, mine, nobody, [&](Leaf const& leaf) {
        ready[count++] = {leaf, 0};
        if (count == chunk) {
          canvas.send(ready);
          count = 0;
        }
      });
    }
    if (count != 0) canvas.send(ready.first(count));
    std::scoped_lock const lock(mutex_);
    all_ += mine;
  }
  /// Where picture number `i` is copied to.
  [[nodiscard]] std::span<std::uint32_t> at_host(std::size_t i) {
    return copied_.all().empty() ? std::span(pictures_[i])
                                 : copied_.all().subspan(i * problem_.view.pixels(), problem_.view.pixels());
  }
  Measurement told(Measurement measured) {
    std::uint64_t points = 0;
    for (Canvas& canvas : canvases_) points += canvas.take_points();
    measured.summary = {all_.split, all_.dice, points, checksum(pictures_)};
    measured.items = all_.split + all_.dice + measured.summary.shade;
    return measured;
  }

  Problem const& problem_;
  Splits most_;
  std::array<Canvas, 2> canvases_;
  Pictures& pictures_;
  unsigned threads_;
  cli::HostArray<PlacedLeaf> ready_;      ///< a chunk for each thread
  cli::HostArray<std::uint32_t> copied_;  ///< pictures, where they are not copied to their place
  std::vector<Part> parts_;
  std::atomic<std::size_t> next_part_ = 0;
  std::mutex mutex_;
  Splits all_;
};

}  // namespace

std::vector<Measurement> run_baseline(Problem const& problem, Job const& job, bool kernels_only, Pictures& pictures) {
  Painter painter{problem, job, pictures};
  return cli::repeated(job, [&] { return kernels_only ? painter.run_kernels() : painter.run(); });
}

}  // namespace reyes
