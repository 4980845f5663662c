// What runs on the device: levels, and how edges lower them.
//
// A level only falls: by an atomic minimum, to one more than that of a vertex at the edge's other end. A lane that
// lowers one puts a visit of the vertex, so the last of its visits has its final level. When all visits are done, no
// edge could lower anything: levels are the lengths of shortest paths, whatever the order.
#pragma once
#include <cstdint>
#include <hiway/memory.hpp>

#include "bfs/summary.hpp"
#include "hiway/config.hpp"
#include "hiway/machine/machine.hpp"

namespace bfs {

using Level = hiway::Word<std::uint32_t>;

/// Edges `first` to `last` of a vertex are to be followed.
struct Visit {
  std::uint32_t vertex;
  std::uint32_t level;
  std::uint32_t first;
  std::uint32_t last;
};

/// A graph on the device.
struct Edges {
  std::uint32_t const* first;
  std::uint32_t const* targets;

  HIWAY_DEVICE Visit visit_of(std::uint32_t vertex, std::uint32_t level) const {
    return {vertex, level, first[vertex], first[vertex + 1]};
  }
};

/// Lowers what the visit's edges lead to, and calls `lowered(next)` with a visit of each vertex that was higher. Of
/// several edges the loads are under way together, and so are the atomic minima.
template <class Machine, class Lowered>
HIWAY_DEVICE inline void follow(Machine m, Edges const& edges, Level* levels, Visit const& visit,
                                Lowered const& lowered) {
  constexpr std::uint32_t at_once = 4;
  std::uint32_t const level = visit.level + 1;
  for (std::uint32_t e = visit.first; e < visit.last; e += at_once) {
    std::uint32_t vertex[at_once];
    std::uint32_t before[at_once];
    for (std::uint32_t k = 0; k < at_once; ++k) vertex[k] = edges.targets[e + k < visit.last ? e + k : e];
    for (std::uint32_t k = 0; k < at_once; ++k) before[k] = m.load(levels[vertex[k]], hiway::MemoryOrder::relaxed);
    for (std::uint32_t k = 0; k < at_once; ++k) {
      bool const may_lower = e + k < visit.last && before[k] > level;  // most edges need no atomic minimum
      before[k] = may_lower ? m.fetch_min(levels[vertex[k]], level, hiway::MemoryOrder::relaxed) : level;
    }
    Visit next[at_once]{};
    for (std::uint32_t k = 0; k < at_once; ++k)
      if (before[k] > level) next[k] = edges.visit_of(vertex[k], level);
    for (std::uint32_t k = 0; k < at_once; ++k)
      if (before[k] > level) lowered(next[k]);
  }
}

/// Nothing is reached but `source`.
struct Clear {
  hiway::View<Level> levels;
  std::uint32_t source;
  HIWAY_DEVICE void operator()() const {
    hiway::anywhere([&](auto m) {
      for (std::size_t v = m.thread_index(); v < levels.size; v += m.thread_count())
        levels[v].bits = v == source ? 0 : unreached;
    });
  }
};

}  // namespace bfs
