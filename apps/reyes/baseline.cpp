// Method baseline: picture by picture, a kernel for each stage.
//   the GPU splits      by a kernel for each level of halvings. Several pictures are under way, each in its own
//                       stream, so that some are drawn while one is copied back
//   CPU threads split   as Hetero-Mark's authors write it: each chunk of leaves is copied and gets a kernel for each
//                       stage, while the threads split others; when all are done, the picture is copied back
#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <deque>
#include <hiway/cpus.hpp>
#include <latch>
#include <mutex>
#include <optional>
#include <semaphore>
#include <span>
#include <thread>
#include <vector>

#include "cli/host_array.hpp"
#include "reyes/canvas.hpp"
#include "reyes/methods.hpp"

namespace reyes {
namespace {

constexpr std::size_t chunk = 2048;  ///< leaves
constexpr unsigned at_once = 3;      ///< from so many halvings on a patch is one thread's
constexpr auto nobody = [](auto&&...) {};

/// The most patches, leaves and grids that a picture has.
Splits most_of_a_picture(Problem const& problem) {
  Splits most;
  for (Patches const& patches : problem.pictures) {
    Splits const of_picture = splits_of(problem.view, patches);
    most.split = std::max(most.split, of_picture.split);
    most.dice = std::max(most.dice, of_picture.dice);
    most.grids = std::max(most.grids, of_picture.grids);
  }
  return most;
}

/// Where pictures are copied to: their place, or pinned memory.
class Copies {
 public:
  Copies(hiway::Pipeline& pipe, Pictures& pictures, bool pinned)
      : pictures_(pictures),
        pixels_(pictures.front().size()),
        copied_(pipe, pinned ? pictures.size() * pixels_ : 0, pinned) {}

  [[nodiscard]] std::span<std::uint32_t> of(std::size_t i) const {
    return copied_.all().empty() ? std::span(pictures_[i]) : copied_.all().subspan(i * pixels_, pixels_);
  }
  /// Has them in their place.
  void hand_over() const {
    if (copied_.all().empty()) return;
    for (std::size_t i = 0; i < pictures_.size(); ++i) std::ranges::copy(of(i), pictures_[i].begin());
  }

 private:
  Pictures& pictures_;
  std::size_t pixels_;  ///< of a picture
  cli::HostArray<std::uint32_t> copied_;
};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}
Measurement measurement(double seconds, Splits const& all, std::uint64_t points, Pictures const& pictures) {
  return {.summary = {all.split, all.dice, points, checksum(pictures)},
          .seconds = seconds,
          .items = all.split + all.dice + points};
}

/// CPU threads split.
class CpuPainter {
 public:
  CpuPainter(Problem const& problem, Job const& job, Pictures& pictures)
      : problem_(problem),
        most_(most_of_a_picture(problem)),
        canvases_{SentCanvas{problem.view, job, most_}, SentCanvas{problem.view, job, most_}},
        pictures_(pictures),
        threads_(std::max(2U, hiway::available_cpus())),
        ready_(canvases_[0].pipe(), threads_ * chunk, job.pinned),
        copies_(canvases_[0].pipe(), pictures, job.pinned) {}

  Measurement run() {
    std::barrier meeting(static_cast<std::ptrdiff_t>(threads_));
    std::counting_semaphore<> free(static_cast<std::ptrdiff_t>(canvases_.size()));
    std::counting_semaphore<> split(0);
    all_ = {};
    auto const begin = std::chrono::steady_clock::now();
    {
      std::vector<std::jthread> others;
      others.emplace_back([&] {
        for (std::size_t i = 0; i < problem_.pictures.size(); ++i) {
          split.acquire();
          SentCanvas& canvas = canvas_of(i);
          canvas.resolve();
          canvas.finish();
          canvas.copy_out(copies_.of(i));
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
        canvas_of(i).begin();
        make_parts(canvas_of(i), problem_.pictures[i]);
        meeting.arrive_and_wait();
        split_parts(canvas_of(i), 0);
        meeting.arrive_and_wait();
        split.release();
      }
    }
    double const seconds = seconds_since(begin);
    copies_.hand_over();
    std::uint64_t points = 0;
    for (SentCanvas& canvas : canvases_) points += canvas.take_points();
    return measurement(seconds, all_, points, pictures_);
  }

 private:
  struct Part {
    Patch patch;
    unsigned splits;
  };

  [[nodiscard]] SentCanvas& canvas_of(std::size_t picture) { return canvases_[picture % canvases_.size()]; }

  /// Halves a picture's patches until there are enough for all threads.
  void make_parts(SentCanvas& canvas, Patches const& patches) {
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
  void split_parts(SentCanvas& canvas, unsigned thread) {
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

  Problem const& problem_;
  Splits most_;
  std::array<SentCanvas, 2> canvases_;
  Pictures& pictures_;
  unsigned threads_;
  cli::HostArray<PlacedLeaf> ready_;  ///< a chunk for each thread
  Copies copies_;
  std::vector<Part> parts_;
  std::atomic<std::size_t> next_part_ = 0;
  std::mutex mutex_;
  Splits all_;
};

/// The GPU splits. Each canvas has a CPU thread, which gives it every so many-th picture.
class GpuPainter {
 public:
  GpuPainter(Problem const& problem, Job const& job, BaselineOptions const& options, Pictures& pictures)
      : problem_(problem), options_(options), pictures_(pictures) {
    std::size_t roots = 0;  // of a picture
    std::size_t all = 0;
    for (Patches const& patches : problem.pictures) {
      roots = std::max(roots, patches.size());
      all += patches.size();
    }
    Splits const most = most_of_a_picture(problem);
    std::size_t const canvases = std::min<std::size_t>(options.canvases, problem.pictures.size());
    for (std::size_t i = 0; i < canvases; ++i)
      canvases_.emplace_back(problem.view, job, most, roots, problem.pictures.size());
    copies_.emplace(canvases_.front().pipe(), pictures, job.pinned);
    patches_.emplace(canvases_.front().pipe(), job.pinned ? all : 0, job.pinned);
  }

  Measurement run() {
    prepare();
    double const seconds = options_.kernels_only ? draw_kernels() : draw_pictures();
    copies_->hand_over();
    Splits all;
    std::uint64_t points = 0;
    for (Patches const& patches : problem_.pictures) all.split += patches.size();
    for (SplitCanvas const& canvas : canvases_) {
      for (Counts const& counts : canvas.counts()) {
        for (Count const& halves : counts.halves) all.split += halves.bits;
        all.dice += counts.leaves.bits;
        points += counts.points.bits;
      }
    }
    return measurement(seconds, all, points, pictures_);
  }

 private:
  void prepare() {
    for (SplitCanvas& canvas : canvases_) canvas.clear_counts();
    sources_.clear();
    std::span<Patch> pinned = patches_->all();
    for (Patches const& patches : problem_.pictures) {
      sources_.emplace_back(patches);
      if (pinned.empty()) continue;
      std::ranges::copy(patches, pinned.begin());
      sources_.back() = pinned.first(patches.size());
      pinned = pinned.subspan(patches.size());
    }
  }
  double draw_pictures() {
    auto const draw_on = [this](std::size_t canvas) {
      SplitCanvas& own = canvases_[canvas];
      for (std::size_t i = canvas; i < sources_.size(); i += canvases_.size()) {
        own.copy_in(sources_[i]);
        own.launch(i);
        own.finish();
        own.copy_out(copies_->of(i));
      }
    };
    std::latch start(1);
    std::vector<std::jthread> others;
    for (std::size_t canvas = 1; canvas < canvases_.size(); ++canvas) {
      others.emplace_back([&, canvas] {
        start.wait();
        draw_on(canvas);
      });
    }
    auto const begin = std::chrono::steady_clock::now();
    start.count_down();
    draw_on(0);
    for (std::jthread& other : others) other.join();
    return seconds_since(begin);
  }
  /// Measures kernels alone, picture by picture: from patches on the device to colours there.
  double draw_kernels() {
    double seconds = 0;
    SplitCanvas& canvas = canvases_.front();
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      canvas.copy_in(sources_[i]);
      auto const begin = std::chrono::steady_clock::now();
      canvas.launch(i);
      canvas.finish();
      seconds += seconds_since(begin);
      canvas.copy_out(copies_->of(i));
    }
    return seconds;
  }

  Problem const& problem_;
  BaselineOptions options_;
  Pictures& pictures_;
  std::deque<SplitCanvas> canvases_;
  std::optional<Copies> copies_;
  std::optional<cli::HostArray<Patch>> patches_;  ///< where they are copied from pinned memory
  std::vector<std::span<Patch const>> sources_;   ///< each picture's patches
};

}  // namespace

std::vector<Measurement> run_baseline(Problem const& problem, Job const& job, BaselineOptions const& options,
                                      Pictures& pictures) {
  if (options.splitter == Splitter::gpu) {
    GpuPainter painter{problem, job, options, pictures};
    return cli::repeated(job, [&] { return painter.run(); });
  }
  CpuPainter painter{problem, job, pictures};
  return cli::repeated(job, [&] { return painter.run(); });
}

}  // namespace reyes
