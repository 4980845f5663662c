// The node code of the n queens, and what it works on: a row's node takes boards that have queens in all rows before it, and
// gives each board with one more.
#pragma once
#include <cstdint>
#include <vector>

#include "hiway/config.hpp"
#include "hiway/segment/node.hpp"
#include "nqueens/board.hpp"

namespace nqueens {

inline constexpr std::uint32_t least_queens = 4;
inline constexpr std::uint32_t most_cpu_rows = 6;

/// What is asked for: in how many ways `n` queens stand on n x n squares, none attacking another.
struct Problem {
  std::uint32_t n = 10;
  std::uint32_t cpu_rows = 4;  ///< placed on the CPU, less than n
};

/// An expander: a queen on each free square of the next row, lowest column first. MaxGain: squares that can be free, at most n
/// less the rows before.
template <unsigned MaxGain = most_queens>
struct Place {
  static constexpr unsigned max_gain = MaxGain;
  std::uint32_t n;

  struct Cursor {
    std::uint32_t free;  ///< squares still to be tried
  };
  HIWAY_DEVICE Cursor start(Board const& board) const { return {free_squares(board, n)}; }
  HIWAY_DEVICE bool more(Board const&, Cursor const& cursor) const { return cursor.free != 0; }
  HIWAY_DEVICE Board next(Board const& board, Cursor& cursor) const {
    std::uint32_t const lowest = cursor.free & (0U - cursor.free);
    cursor.free ^= lowest;
    return with_queen(board, lowest);
  }
};

/// The same with what MERCATOR's users write themselves: all lanes of a replica together, and each time that there may be no
/// room for another push, everything is put aside.
struct PlaceByHand {
  using Input = Board;
  using Output = Board;
  static constexpr unsigned max_gain = most_queens;
  struct Saved {
    std::uint32_t free;
  };
  std::uint32_t n;

  template <class Lanes, class Push>
  HIWAY_DEVICE hiway::segment::Progress operator()(Lanes lanes, Board const& board, bool valid, Saved& saved,
                                                   bool resumed, Push push) const {
    using hiway::segment::Progress;
    std::uint32_t free = !valid ? 0 : resumed ? saved.free : free_squares(board, n);
    while (lanes.any(free != 0)) {
      std::uint32_t const lowest = free & (0U - free);
      free ^= lowest;
      bool const room = push(with_queen(board, lowest), lowest != 0);
      if (!room && lanes.any(free != 0)) {
        saved.free = free;
        return Progress::suspended;
      }
    }
    return Progress::finished;
  }
};

/// All boards with queens in the first `rows` rows.
std::vector<Board> boards_of_row(std::uint32_t n, std::uint32_t rows);

}  // namespace nqueens
