#include "region_sum/pieces.hpp"

#include <algorithm>
#include <cstring>

namespace region_sum {

Cutter::Cutter(Problem const& problem, std::uint64_t first, std::uint64_t end)
    : problem_(problem),
      next_(first),
      end_(end),
      region_(static_cast<std::uint64_t>(std::ranges::upper_bound(problem.offsets, first) - problem.offsets.begin()) -
              1) {}

void Cutter::cut(Piece& piece) {
  piece.parts = 0;
  for (std::uint32_t used = 0; next_ != end_ && used != Piece::most_ints && piece.parts != Piece::most_parts;) {
    while (problem_.offsets[region_ + 1] <= next_) ++region_;
    std::uint64_t const left = std::min(problem_.offsets[region_ + 1], end_) - next_;
    auto const count = static_cast<std::uint32_t>(std::min<std::uint64_t>(left, Piece::most_ints - used));
    piece.part[piece.parts++] = {static_cast<std::uint32_t>(region_), static_cast<std::uint16_t>(used),
                                 static_cast<std::uint16_t>(count)};
    std::memcpy(piece.ints + used, problem_.ints.data() + next_, count * sizeof(std::uint32_t));
    used += count;
    next_ += count;
  }
}

}  // namespace region_sum
