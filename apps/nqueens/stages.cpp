#include "nqueens/stages.hpp"

#include <utility>

namespace nqueens {

std::vector<Board> boards_of_row(std::uint32_t n, std::uint32_t rows) {
  Place<> const place{n};
  std::vector<Board> boards{Board{}};
  for (std::uint32_t row = 0; row < rows; ++row) {
    std::vector<Board> longer;
    for (Board const& board : boards) {
      for (auto cursor = place.start(board); place.more(board, cursor);) longer.push_back(place.next(board, cursor));
    }
    boards = std::move(longer);
  }
  return boards;
}

}  // namespace nqueens
