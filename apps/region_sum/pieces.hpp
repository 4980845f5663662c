// Pieces: ints as they go through a tunnel, so that no device need hold all of them: so many of them, and of which regions they
// are. A region may be in several pieces.
#pragma once
#include <cstdint>

#include "hiway/config.hpp"
#include "region_sum/problem.hpp"

namespace region_sum {

/// A region, or a part of one.
struct Part {
  std::uint32_t region;
  std::uint16_t first;  ///< in the piece
  std::uint16_t count;
};

struct Piece {
  static constexpr std::uint32_t most_parts = 96;
  static constexpr std::uint32_t most_ints = (8192 - 16 - most_parts * sizeof(Part)) / sizeof(std::uint32_t);

  alignas(16) std::uint32_t parts;
  std::uint32_t unused[3];
  Part part[most_parts];
  std::uint32_t ints[most_ints];
};
static_assert(sizeof(Piece) == 8192);

/// Cuts ints, in their order, into pieces. Empty regions are in none. *Lifetime*: the problem's.
class Cutter {
 public:
  /// The ints from `first` to before `end`.
  Cutter(Problem const& problem, std::uint64_t first, std::uint64_t end);
  [[nodiscard]] bool is_done() const { return next_ == end_; }
  /// Writes the next piece; nothing behind its ints.
  void cut(Piece& piece);

 private:
  Problem const& problem_;
  std::uint64_t next_;
  std::uint64_t end_;
  std::uint64_t region_;  ///< of the next int
};

}  // namespace region_sum
