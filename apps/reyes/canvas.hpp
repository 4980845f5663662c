// Canvas: what method baseline has of one picture at a time on the device, and the kernels that draw it: one for each
// stage, and split's for each level.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <hiway/machine/warp_sum.hpp>
#include <hiway/pipeline.hpp>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "reyes/methods.hpp"

namespace reyes {

using Count = hiway::Word<std::uint32_t>;

/// How many there are of something: known at the launch, or counted by a kernel before.
struct Many {
  std::uint32_t known = 0;
  Count* counted = nullptr;
  template <class Machine>
  [[nodiscard]] HIWAY_DEVICE std::uint32_t get(Machine m) const {
    return counted == nullptr ? known : m.load(*counted, hiway::MemoryOrder::relaxed);
  }
};

/// Of a picture whose patches are split on the GPU.
struct Counts {
  Count halves[most_splits + 1];  ///< that a level has made: those of the patches that have been halved so often
  Count leaves;
  Count grids;
  hiway::Word<std::uint64_t> points;
};

/// Counts `mine` of each lane up by one atomic addition; where the caller's begin. All lanes of the warp call it
/// together, and add().
template <class Machine>
HIWAY_DEVICE inline std::uint32_t claim(Machine m, Count& count, std::uint32_t mine) {
  std::uint32_t const upto = hiway::sum_up_to_lane(m, mine);
  std::uint32_t const all = m.shuffle(m.lanes(), upto, m.count(m.lanes()) - 1);
  std::uint32_t first = 0;
  if (m.lane() == 0 && all != 0) first = m.fetch_add(count, all, hiway::MemoryOrder::relaxed);
  return m.shuffle(m.lanes(), first, 0) + (upto - mine);
}
/// The same where the place is not asked for. It does not wait.
template <class Machine>
HIWAY_DEVICE inline void add(Machine m, hiway::Word<std::uint64_t>& count, std::uint32_t mine) {
  std::uint64_t const upto = hiway::sum_up_to_lane(m, mine);
  if (m.lane() == m.count(m.lanes()) - 1) m.fetch_add(count, upto, hiway::MemoryOrder::relaxed);
}

/// A leaf, and where its first grid goes.
struct PlacedLeaf {
  Leaf leaf;
  std::uint32_t first_grid;
};

/// A thread for each patch of a level. Its halves are the next level's.
struct SplitLevel {
  View view;
  unsigned splits;  ///< how often its patches have been halved
  Many many;
  Patch const* patches;
  Patch* halves;
  PlacedLeaf* leaves;
  Counts* counts;
  HIWAY_DEVICE void operator()() const {
    hiway::anywhere([&](auto m) {
      std::uint32_t const count = many.get(m);
      for (std::uint32_t first = m.thread_index() - m.lane(); first < count; first += m.thread_count()) {
        std::uint32_t const i = first + m.lane();
        Patch const patch = patches[i < count ? i : first];
        Bound const b = i < count ? bound(view, patch, splits) : Bound{Fate::unseen};
        put_leaves(m, patch, b);
        put_halves(m, patch, b.fate);
      }
    });
  }

 private:
  template <class Machine>
  HIWAY_DEVICE void put_halves(Machine m, Patch const& patch, Fate fate) const {
    bool const is_halved = fate == Fate::halved_in_u || fate == Fate::halved_in_v;
    std::uint32_t const at = claim(m, counts->halves[splits], is_halved ? 2 : 0);
    if (!is_halved) return;
    Patch low, high;
    halve(patch, fate == Fate::halved_in_u ? Along::u : Along::v, low, high);
    halves[at] = low;
    halves[at + 1] = high;
  }
  template <class Machine>
  HIWAY_DEVICE void put_leaves(Machine m, Patch const& patch, Bound const& b) const {
    bool const is_leaf = b.fate == Fate::leaf;
    if (m.ballot(m.lanes(), is_leaf) == 0) return;
    PlacedLeaf const placed{{patch, 0, b.sides_u, b.sides_v}, 0};
    std::uint32_t const at = claim(m, counts->leaves, is_leaf ? 1 : 0);
    std::uint32_t const grid = claim(m, counts->grids, is_leaf ? placed.leaf.grids() : 0);
    add(m, counts->points, is_leaf ? placed.leaf.points() : 0);
    if (is_leaf) leaves[at] = {placed.leaf, grid};
  }
};
/// A thread for each leaf.
struct DiceLeaves {
  PlacedLeaf const* leaves;
  Many many;
  Grid* grids;
  HIWAY_DEVICE void operator()() const {
    hiway::anywhere([&](auto m) {
      std::uint32_t const count = many.get(m);
      for (std::uint32_t i = m.thread_index(); i < count; i += m.thread_count()) {
        PlacedLeaf const placed = leaves[i];
        for (std::uint32_t k = 0; k < placed.leaf.grids(); ++k) grids[placed.first_grid + k] = dice(placed.leaf, k);
      }
    });
  }
};
/// A thread for each grid.
struct ShadeGrids {
  View view;
  Grid const* grids;
  Many many;
  picture::Pixel* pixels;
  HIWAY_DEVICE void operator()() const {
    hiway::anywhere([&](auto m) {
      std::uint32_t const count = many.get(m);
      for (std::uint32_t i = m.thread_index(); i < count; i += m.thread_count()) {
        Grid const grid = grids[i];
        shade(m, view, grid, pixels);
      }
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

/// Kernels and copies of one canvas do not wait for those of another. *Threads*: one at a time.
class Canvas {
 public:
  /// `most`: of a picture.
  Canvas(View const& view, Job const& job, Splits const& most)
      : view_(view),
        emulated_(job.device == "simt"),
        pipe_(job.pipeline()),
        leaves_(buffer<PlacedLeaf>(most.dice)),
        grids_(buffer<Grid>(most.grids)),
        pixels_(buffer<picture::Pixel>(view.pixels())),
        colours_(buffer<std::uint32_t>(view.pixels())) {
    pixels_.copy_in(std::vector<picture::Pixel>(pixels_.size(), picture::Pixel{picture::nothing}));
  }
  Canvas(Canvas const&) = delete;
  Canvas& operator=(Canvas const&) = delete;

  void resolve() {
    pipe_.launch("resolve", ResolvePixels{pixels_.view().data, colours_.view().data, view_.pixels()},
                 grid_for(view_.pixels()));
  }
  /// *Waits* for the kernels.
  void finish() { pipe_.synchronize(); }
  void copy_out(std::span<std::uint32_t> colours) { colours_.copy_out(colours); }
  [[nodiscard]] hiway::Pipeline& pipe() { return pipe_; }

 protected:
  template <class T>
  [[nodiscard]] hiway::Buffer<T>& buffer(std::size_t count) {
    return pipe_.create_buffer<T>(std::max<std::size_t>(1, count));
  }
  void dice_and_shade(std::uint32_t first_leaf, Many leaves, std::uint32_t first_grid, Many grids) {
    Grid* const all = grids_.view().data;
    auto const most = [](Many many, std::size_t room) { return many.counted == nullptr ? many.known : room; };
    pipe_.launch("dice", DiceLeaves{leaves_.view().data + first_leaf, leaves, all},
                 grid_for(most(leaves, leaves_.size())));
    pipe_.launch("shade", ShadeGrids{view_, all + first_grid, grids, pixels_.view().data},
                 grid_for(most(grids, grids_.size())));
  }
  [[nodiscard]] hiway::GpuStageOptions grid_for(std::uint64_t threads, unsigned of_block = 128) const {
    if (emulated_) return {.blocks = 1, .threads_per_block = 32};
    std::uint64_t const blocks = std::clamp<std::uint64_t>((threads + of_block - 1) / of_block, 1, 4096);
    return {.blocks = static_cast<unsigned>(blocks), .threads_per_block = of_block};
  }
  [[nodiscard]] View const& view() const { return view_; }
  [[nodiscard]] hiway::Buffer<PlacedLeaf>& leaves() { return leaves_; }

 private:
  View view_;
  bool emulated_;
  hiway::Pipeline pipe_;
  hiway::Buffer<PlacedLeaf>& leaves_;
  hiway::Buffer<Grid>& grids_;
  hiway::Buffer<picture::Pixel>& pixels_;
  hiway::Buffer<std::uint32_t>& colours_;
};

/// One whose leaves come from CPU threads.
class SentCanvas : public Canvas {
 public:
  SentCanvas(View const& view, Job const& job, Splits const& most) : Canvas(view, job, most) {
    send({});  // loads the kernels
    resolve();
    finish();
  }

  /// Another picture's leaves may be sent.
  void begin() {
    sent_leaves_ = 0;
    sent_grids_ = 0;
  }
  /// Copies leaves after those that are there, and has them diced and shaded. *Threads*: any number at once.
  void send(std::span<PlacedLeaf> sent) {
    std::scoped_lock const lock(mutex_);
    std::uint32_t const first_leaf = sent_leaves_;
    std::uint32_t const first_grid = sent_grids_;
    for (PlacedLeaf& placed : sent) {
      placed.first_grid = sent_grids_;
      sent_grids_ += placed.leaf.grids();
      points_ += placed.leaf.points();
    }
    sent_leaves_ += static_cast<std::uint32_t>(sent.size());
    leaves().copy_in(sent, first_leaf);
    dice_and_shade(first_leaf, {sent_leaves_ - first_leaf}, first_grid, {sent_grids_ - first_grid});
  }
  /// That were sent since the last call.
  [[nodiscard]] std::uint64_t take_points() { return std::exchange(points_, 0); }

 private:
  std::mutex mutex_;  // of what follows, and of copies and launches
  std::uint32_t sent_leaves_ = 0;
  std::uint32_t sent_grids_ = 0;
  std::uint64_t points_ = 0;
};

/// One whose patches are split on the device, level by level. No level waits for the CPU: as many are launched as there
/// can be, for counts that the device knows; kernels that find nothing end at once.
class SplitCanvas : public Canvas {
 public:
  /// `roots`: the most patches of a picture; `pictures`: of a run.
  SplitCanvas(View const& view, Job const& job, Splits const& most, std::size_t roots, std::size_t pictures)
      : Canvas(view, job, most), counts_(buffer<Counts>(pictures)) {
    // As many as there are leaves, and patches that nobody sees, may be of one level.
    for (hiway::Buffer<Patch>*& list : lists_) list = &buffer<Patch>((most.split + roots) / 2);
    clear_counts();
    launch(0);  // loads the kernels
    finish();
  }

  void copy_in(std::span<Patch const> patches) {
    lists_[0]->copy_in(patches);
    roots_ = static_cast<std::uint32_t>(patches.size());
  }
  /// Draws the patches that were copied, and counts them as picture number `i`.
  void launch(std::size_t i) {
    Counts* const counts = counts_.view().data + i;
    Many many{roots_};
    for (unsigned splits = 0; splits <= most_splits; ++splits) {
      hiway::Buffer<Patch> const& halves = *lists_[(splits + 1) % 2];
      std::uint64_t const most = std::min<std::uint64_t>(std::uint64_t{roots_} << splits, halves.size());
      pipe().launch("split",
                    SplitLevel{view(), splits, many, lists_[splits % 2]->view().data, halves.view().data,
                               leaves().view().data, counts},
                    grid_for(most, 64));
      many.counted = &counts->halves[splits];
    }
    dice_and_shade(0, {0, &counts->leaves}, 0, {0, &counts->grids});
    resolve();
  }
  void clear_counts() { counts_.copy_in(std::vector<Counts>(counts_.size())); }
  [[nodiscard]] std::vector<Counts> counts() const {
    std::vector<Counts> counts(counts_.size());
    counts_.copy_out(counts);
    return counts;
  }

 private:
  hiway::Buffer<Counts>& counts_;
  std::array<hiway::Buffer<Patch>*, 2> lists_{};  ///< of even and odd levels
  std::uint32_t roots_ = 0;
};

}  // namespace reyes
