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

/// Of a picture, counted on the GPU.
using Points = hiway::Word<std::uint64_t>;

/// A patch is halved, and its halves put back; or it is a leaf, or out of sight.
struct SplitInCycle {
  View view;
  HIWAY_DEVICE void operator()(PatchTask const& task, hiway::Inlet<PatchTask> halves, hiway::Inlet<Leaf> leaves) const {
    Bound const b = bound(view, task.patch, task.splits);
    if (b.fate == Fate::leaf) {
      leaves.put_last({task.patch, task.picture, b.sides_u, b.sides_v});
    } else if (b.fate != Fate::unseen) {
      PatchTask both[2];
      halve(task.patch, b.fate == Fate::halved_in_u ? Along::u : Along::v, both[0].patch, both[1].patch);
      for (PatchTask& half : both) {
        half.picture = task.picture;
        half.splits = task.splits + 1;
      }
      halves.put(both[0]);
      halves.put_last(both[1]);
    }
  }
};

struct Dice {
  HIWAY_DEVICE void operator()(Leaf const& leaf, hiway::Inlet<Grid> out) const {
    std::uint32_t const last = leaf.grids() - 1;
    for (std::uint32_t k = 0; k < last; ++k) out.put_d(dice(leaf, k));
    out.put_last_d(dice(leaf, last));
  }
};

struct Shade {
  View view;
  picture::Pixel* pixels;
  Points* points;
  HIWAY_DEVICE void operator()(Grid const& grid) const {
    hiway::anywhere([&](auto m) {
      shade(m, view, grid, pixels + std::size_t{grid.picture} * view.pixels());
      m.fetch_add(points[grid.picture], std::uint64_t{grid.owned}, hiway::Order::relaxed);
    });
  }
};

/// A warp cuts a finished picture into strips, or sends one and clears its part of the depth buffer for the next run.
struct Resolve {
  View view;
  picture::Pixel* pixels;

  HIWAY_DEVICE void operator()(hiway::Outlet<Finished> finished, hiway::Outlet<StripTask> tasks,
                               hiway::Inlet<StripTask> more, hiway::Inlet<Strip> out) const {
    hiway::anywhere([&](auto m) {
      while (m.ballot(m.lanes(), tasks.is_terminate()) == 0) {
        if (!send_strip(m, tasks, out)) take_finished(m, finished, more);
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
        seen[k] = i + k * lanes < count ? m.load(from[i + k * lanes], hiway::Order::relaxed) : 0;
      for (unsigned k = 0; k < at_once; ++k) {
        std::uint32_t const at = i + k * lanes;
        if (at >= count) break;
        strip.colours[at] = picture::colour_of(seen[k], background);
        m.store(from[at], picture::nothing, hiway::Order::relaxed);
      }
    }
  }
};

}  // namespace reyes
