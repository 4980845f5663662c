// Board: the attacked squares of a chess board's next row, below rows that have a queen each; 8 bytes.
//
//   bits   0..19   diagonals to the right: one column lower, row by row
//   bits  20..39   columns
//   bits  44..63   diagonals to the left: one column higher, row by row
//
// Bit c of a field is column c. A diagonal that leaves the board to the right falls out of its field below; one that leaves it
// to the left falls out of the word, or, where the board has less than 20 columns, moves on above them, where nobody looks.
#pragma once
#include <cstdint>

#include "hiway/config.hpp"

namespace nqueens {

inline constexpr std::uint32_t most_queens = 20;

struct Board {
  std::uint64_t bits;
};

/// The columns of `n` that no queen attacks.
HIWAY_DEVICE constexpr std::uint32_t free_squares(Board board, std::uint32_t n) {
  std::uint64_t const attacked = board.bits | board.bits >> 20 | board.bits >> 44;
  return ~static_cast<std::uint32_t>(attacked) & ((1U << n) - 1U);
}

/// The board with a queen in the next row, at the one bit of `square`, and the row behind that as its next.
HIWAY_DEVICE constexpr Board with_queen(Board board, std::uint32_t square) {
  constexpr std::uint64_t field = (1U << most_queens) - 1U;
  std::uint64_t const queen = square;
  return {((board.bits & field) | queen) >> 1 | (board.bits & field << 20) | queen << 20 |
          ((board.bits & field << 44) | queen << 44) << 1};
}

}  // namespace nqueens
