#include "nqueens/summary.hpp"

#include <array>

namespace nqueens {

std::uint64_t known_solutions(std::uint32_t n) {
  constexpr std::array<std::uint64_t, most_queens - least_queens + 1> from_four{
      2,     10,     4,       40,       92,       352,       724,        2680,       14200,
      73712, 365596, 2279184, 14772512, 95815104, 666090624, 4968057848, 39029188884};
  return from_four.at(n - least_queens);
}

bool is_right(Summary const& summary, std::uint32_t n, Summary const& oracle) {
  bool const compares_boards = !summary.boards.empty() && !oracle.boards.empty();
  return summary.solutions == known_solutions(n) && (!compares_boards || summary.boards == oracle.boards);
}

}  // namespace nqueens
