// A round on the device: rows times ranks.
#pragma once
#include <cstdint>

#include "hiway/config.hpp"
#include "hiway/machine/machine.hpp"
#include "pagerank/problem.hpp"

namespace pagerank {

/// A matrix on the device.
struct Matrix {
  std::uint32_t const* rows;
  Entry const* entries;
  std::uint32_t nodes;
};

/// A lane's entries of a row. The first ones are held, for they do not change from round to round.
struct Part {
  static constexpr std::uint32_t most_held = 4;
  Entry held[most_held];
  std::uint32_t count;  ///< of those that are held
  std::uint32_t next;   ///< the first that is not
  std::uint32_t end;    ///< of the row

  HIWAY_DEVICE Part(Matrix const& matrix, std::uint32_t node, std::uint32_t lane, std::uint32_t lanes)
      : held{}, count(0), next(0), end(0) {
    if (node >= matrix.nodes) return;
    next = matrix.rows[node] + lane;
    end = matrix.rows[node + 1];
    for (Entry& entry : held) {
      if (next >= end) break;
      entry = matrix.entries[next];
      next += lanes;
      ++count;
    }
  }
  HIWAY_DEVICE float times(Matrix const& matrix, float const* ranks, std::uint32_t lanes) const {
    float sum = 0;
    for (std::uint32_t k = 0; k < most_held; ++k)
      if (k < count) sum += held[k].value * ranks[held[k].column];
    for (std::uint32_t e = next; e < end; e += lanes) sum += matrix.entries[e].value * ranks[matrix.entries[e].column];
    return sum;
  }
};

/// Which rows the calling lane works on, by how many lanes a row has; and its part of the first of them.
struct Share {
  std::uint32_t lanes;
  std::uint32_t lane;     ///< within the row
  std::uint32_t row;      ///< of the warp's, which go on together
  std::uint32_t first;    ///< the warp's first node
  std::uint32_t at_once;  ///< nodes of all warps
  Part part;

  template <class Machine>
  HIWAY_DEVICE Share(Machine m, Matrix const& matrix, std::uint32_t lanes_of_row)
      : lanes(lanes_of_row),
        lane(m.lane() % lanes),
        row(m.lane() / lanes),
        first((m.thread_index() - m.lane()) / lanes),
        at_once(m.thread_count() / lanes),
        part(matrix, first + row, lane, lanes) {}
};

/// A round. All threads call it together; of the lanes that share a row the first calls `take(node, rank)`. The order
/// of a row's sum depends on how many lanes share it alone.
template <class Machine, class Take>
HIWAY_DEVICE inline void multiply(Machine m, Matrix const& matrix, Share const& share, float const* ranks,
                                  Take const& take) {
  for (std::uint32_t begin = share.first; begin < matrix.nodes; begin += share.at_once) {
    std::uint32_t const node = begin + share.row;
    Part const part = begin == share.first ? share.part : Part(matrix, node, share.lane, share.lanes);
    float sum = part.times(matrix, ranks, share.lanes);
    for (std::uint32_t apart = share.lanes / 2; apart != 0; apart /= 2)
      sum += m.shuffle(m.lanes(), sum, m.lane() ^ apart);
    if (node < matrix.nodes && share.lane == 0) take(node, sum);
  }
}

}  // namespace pagerank
