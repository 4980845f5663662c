// Summary: what a run says of its boards, and what is known.
#pragma once
#include <cstdint>
#include <vector>

#include "nqueens/stages.hpp"

namespace nqueens {

struct Summary {
  std::uint64_t solutions = 0;
  std::vector<std::uint64_t> boards{};  ///< with 0 to n rows placed; empty: the method does not count them
};

/// Of `n` queens, least_queens to most_queens (OEIS A000170).
std::uint64_t known_solutions(std::uint32_t n);

/// Whether the number of solutions is the known one, and boards, where both count them, are the oracle's.
bool is_right(Summary const& summary, std::uint32_t n, Summary const& oracle);

}  // namespace nqueens
