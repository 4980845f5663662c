// What method hiway's GPU stages do, and the items that they take.
#pragma once
#include <cstdint>
#include <hiway/pipeline.hpp>
#include <span>

#include "reyes/stages.hpp"

namespace reyes {

/// A patch that is to be split. Aligned so that a lane copies it by few and wide words; so are Leaf and Grid.
struct alignas(16) PatchTask {
  Patch patch;
  std::uint32_t picture;
  std::uint32_t splits;
};
/// All patches of a picture are split.
struct Whole {
  std::uint32_t picture;
  std::uint32_t grids;
};
struct Finished {
  std::uint32_t picture;
};
struct StripTask {
  std::uint32_t picture;
  std::uint32_t strip;
};
/// Some of a picture's colours, on their way to the CPU.
struct Strip {
  static constexpr std::uint32_t most = 4096 - 4;
  std::uint32_t picture;
  std::uint32_t first;
  std::uint32_t count;
  std::uint32_t unused;  ///< colours begin where 16 bytes do
  std::uint32_t colours[most];
};

/// What is counted of a picture on the GPU: points << 32, plus what is open, modulo 2^64. What is open comes back to 0,
/// so that the points remain.
using Progress = hiway::Word<std::uint64_t>;
/// Of a picture. A grid owns 9 points at most, so that its points fit into 32 bits, and its grids anyway.
inline constexpr std::uint64_t most_grids = 0xffffffffU / 9;
constexpr char const* too_many_points = "a picture has more points than can be counted";

/// Counts `points`, and by how many more (or fewer) things of a picture are open; true for the lane that closes the
/// last. Then all that the others showed before they counted can be seen: each releases it here, and the last acquires.
template <class Machine>
HIWAY_DEVICE inline bool is_finished(Machine m, Progress& progress, std::uint64_t points, std::int64_t open) {
  std::uint64_t const more = (points << 32) + static_cast<std::uint64_t>(open);
  return static_cast<std::uint32_t>(m.fetch_add(progress, more, hiway::MemoryOrder::acq_rel) + more) == 0;
}

/// A patch is halved, and its halves put back; or it is a leaf, or nobody sees it. All patches of a picture are open at
/// first.
struct SplitInCycle {
  View view;
  Progress* progress;
  HIWAY_DEVICE void operator()(PatchTask const& task, hiway::Inlet<PatchTask> halves, hiway::Inlet<Leaf> leaves,
                               hiway::Inlet<Finished> finished) const {
    Bound const b = bound(view, task.patch, task.splits);
    hiway::anywhere([&](auto m) {
      Progress& open = progress[task.picture];
      if (b.fate == Fate::leaf) {
        Leaf const leaf{task.patch, task.picture, b.sides_u, b.sides_v};
        // The leaf was open; now its grids are.
        if (leaf.grids() != 1) m.fetch_add(open, std::uint64_t{leaf.grids() - 1}, hiway::MemoryOrder::relaxed);
        leaves.put(leaf);
      } else if (b.fate == Fate::unseen) {
        if (is_finished(m, open, 0, -1)) finished.put({task.picture});
      } else {
        PatchTask both[2];
        halve(task.patch, b.fate == Fate::halved_in_u ? Along::u : Along::v, both[0].patch, both[1].patch);
        for (PatchTask& half : both) {
          half.picture = task.picture;
          half.splits = task.splits + 1;
        }
        m.fetch_add(open, std::uint64_t{1}, hiway::MemoryOrder::relaxed);
        halves.put(std::span<PatchTask const>(both));
      }
    });
  }
};

struct Dice {
  HIWAY_DEVICE void operator()(Leaf const& leaf, hiway::Inlet<Grid> out) const {
    for (std::uint32_t k = 0; k < leaf.grids(); ++k) out.put_d(dice(leaf, k));
  }
};

struct Shade {
  View view;
  picture::Pixel* pixels;
  Progress* progress;
  std::int64_t opens;  ///< by a grid: -1 where it was counted before, 1 where the number of all will be subtracted
  HIWAY_DEVICE void operator()(Grid const& grid, hiway::Inlet<Finished> finished) const {
    hiway::anywhere([&](auto m) {
      shade(m, view, grid, pixels + std::size_t{grid.picture} * view.pixels());
      if (is_finished(m, progress[grid.picture], grid.owned, opens)) finished.put_d({grid.picture});
    });
  }
};

/// A warp cuts a finished picture into strips, or sends one and clears its part of the depth buffer for the next run.
struct Resolve {
  View view;
  picture::Pixel* pixels;
  Progress* progress;

  HIWAY_DEVICE void operator()(hiway::Outlet<Finished> finished, hiway::Outlet<StripTask> tasks,
                               hiway::Inlet<StripTask> more, hiway::Inlet<Strip> out) const {
    hiway::anywhere([&](auto m) {
      while (m.ballot(m.lanes(), tasks.is_terminate()) == 0) {
        if (!send_strip(m, tasks, out)) take_finished(m, finished, more);
      }
    });
  }
  HIWAY_DEVICE void operator()(hiway::Outlet<Whole> whole, hiway::Outlet<Finished> finished,
                               hiway::Outlet<StripTask> tasks, hiway::Inlet<StripTask> more,
                               hiway::Inlet<Strip> out) const {
    hiway::anywhere([&](auto m) {
      while (m.ballot(m.lanes(), tasks.is_terminate()) == 0) {
        if (send_strip(m, tasks, out)) continue;
        take_finished(m, finished, more);
        Whole all{};
        if (whole.get_warp(all)) {
          std::uint32_t last = 0;
          if (m.lane() == 0) last = is_finished(m, progress[all.picture], 0, -std::int64_t{all.grids}) ? 1 : 0;
          m.sync_warp(
              m.lanes());  // a shuffle orders nothing: what lane 0 acquired comes before the tasks that other lanes put
          if (m.shuffle(m.lanes(), last, 0) != 0) cut(m, all.picture, more);
          whole.end_task_warp();
        }
      }
    });
  }

 private:
  static constexpr unsigned at_once =
      8;  ///< pixels that a lane has asked for, so that it waits for memory once for all

  template <class Machine>
  HIWAY_DEVICE bool send_strip(Machine m, hiway::Outlet<StripTask> const& tasks, hiway::Inlet<Strip> const& out) const {
    StripTask task{};
    if (!tasks.get_warp(task)) return false;
    out.put_in_place_warp([&](Strip& strip) { fill(m, task, strip); });
    tasks.end_task_warp();
    return true;
  }
  template <class Machine>
  HIWAY_DEVICE void take_finished(Machine m, hiway::Outlet<Finished> const& finished,
                                  hiway::Inlet<StripTask> const& more) const {
    Finished one{};
    if (!finished.get_warp(one)) return;
    cut(m, one.picture, more);
    finished.end_task_warp();
  }
  template <class Machine>
  HIWAY_DEVICE void cut(Machine m, std::uint32_t picture, hiway::Inlet<StripTask> const& more) const {
    std::uint32_t const strips = (view.pixels() + Strip::most - 1) / Strip::most;
    for (std::uint32_t i = m.lane(); i < strips; i += m.count(m.lanes())) more.put({picture, i});
  }
  template <class Machine>
  HIWAY_DEVICE void fill(Machine m, StripTask const& task, Strip& strip) const {
    std::uint32_t const first = task.strip * Strip::most;
    std::uint32_t const count = view.pixels() - first < Strip::most ? view.pixels() - first : Strip::most;
    if (m.lane() == 0) {
      strip.picture = task.picture;
      strip.first = first;
      strip.count = count;
    }
    picture::Pixel* const from = pixels + std::size_t{task.picture} * view.pixels() + first;
    std::uint32_t const lanes = m.count(m.lanes());
    for (std::uint32_t i = m.lane(); i < count; i += at_once * lanes) {
      std::uint64_t seen[at_once];
      for (unsigned k = 0; k < at_once; ++k)
        seen[k] = i + k * lanes < count ? m.load(from[i + k * lanes], hiway::MemoryOrder::relaxed) : 0;
      for (unsigned k = 0; k < at_once; ++k) {
        std::uint32_t const at = i + k * lanes;
        if (at >= count) break;
        strip.colours[at] = picture::colour_of(seen[k], background);
        m.store(from[at], picture::nothing, hiway::MemoryOrder::relaxed);
      }
    }
  }
};

}  // namespace reyes
