// Fine matching without a matrix.
//
// Cells of one anti-diagonal (row + column = d) depend on the two diagonals before only, so a diagonal is one loop that
// the compiler turns into vector code. Rows index the arrays: cell (x, d - x) of diagonal d is element x.
//
// The traceback is carried forward instead of stored: besides its score each cell knows the column in which the way
// back from it meets row 0, which is that of the cell it took its score from. This is exactly where the traceback of
// the rules ends: it follows the same choices (a tie goes to the diagonal, then to the row above) and stops in row 0.
//
// Narrow numbers make wider vectors. A score lies in [-(rows + 1), 4 * rows]: it is at least its diagonal neighbour's
// minus one, and gains at most 4 a row. So 16 bits hold scores and columns of queries up to max_narrow_query.
#include "gene_alignment/stages.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace gene_alignment {
namespace {

constexpr std::size_t max_narrow_query = 8000;
constexpr std::int32_t match_score = 4;
constexpr std::int32_t mismatch_score = -1;
constexpr std::int32_t gap_cost = 2;

template <class Int>
struct Diagonal {
  std::vector<Int> score;
  std::vector<Int> origin;  // column in row 0
};

template <class Int>
struct Scratch {
  std::vector<Int> query;
  std::vector<Int> reversed_window;  // so that a diagonal reads it upwards too
  std::array<Diagonal<Int>, 3> diagonals;

  void fit(std::size_t bases) {
    if (query.size() >= bases) return;
    query.resize(bases);
    reversed_window.resize(bases);
    for (Diagonal<Int>& diagonal : diagonals) {
      diagonal.score.resize(bases);
      diagonal.origin.resize(bases);
    }
  }
};

template <class Int>
Int score_of(Int query_base, Int target_base) {
  return static_cast<Int>(query_base == target_base ? match_score : mismatch_score);
}

/// `count` cells of one diagonal from row `first` (>= 1) on, none of them in column 0. `window` points at the target's
/// base in row `first`'s column.
template <class Int>
void fill(std::size_t first, std::size_t count, Int const* __restrict query, Int const* __restrict window,
          Diagonal<Int> const& before, Diagonal<Int> const& before_that, Diagonal<Int>& now) {
  Int const* __restrict const near_score = before.score.data() + (first - 1);
  Int const* __restrict const near_origin = before.origin.data() + (first - 1);
  Int const* __restrict const far_score = before_that.score.data() + (first - 1);
  Int const* __restrict const far_origin = before_that.origin.data() + (first - 1);
  Int* __restrict const score = now.score.data() + first;
  Int* __restrict const origin = now.origin.data() + first;
  for (std::size_t i = 0; i < count; ++i) {
    // Everything is loaded before anything is chosen: a load that depends on a choice is not vectorised.
    Int const left_origin = near_origin[i + 1];
    Int const above_origin = near_origin[i];
    Int const diagonal_origin = far_origin[i];
    Int const left = static_cast<Int>(near_score[i + 1] - gap_cost);
    Int const above = static_cast<Int>(near_score[i] - gap_cost);
    Int const diagonal = static_cast<Int>(far_score[i] + score_of(query[i], window[i]));
    Int const best_of_two = diagonal >= above ? diagonal : above;
    Int const origin_of_two = diagonal >= above ? diagonal_origin : above_origin;
    score[i] = left > best_of_two ? left : best_of_two;
    origin[i] = left > best_of_two ? left_origin : origin_of_two;
  }
}

template <class Int>
Alignment align(std::span<Base const> target, std::span<Base const> query, std::int32_t position) {
  thread_local Scratch<Int> scratch;
  auto const start = static_cast<std::size_t>(position);
  std::size_t const rows = query.size();
  std::size_t const columns = std::min(rows, target.size() - start);
  scratch.fit(rows);

  // A query's N becomes a value that no base of the target has, and so matches nothing.
  constexpr Int query_n = 5;
  for (std::size_t x = 0; x < rows; ++x) {
    scratch.query[x] = query[x] == Base::n ? query_n : static_cast<Int>(query[x]);
  }
  for (std::size_t y = 0; y < columns; ++y) {
    scratch.reversed_window[columns - 1 - y] = static_cast<Int>(target[start + y]);
  }
  Int const* const bases = scratch.query.data();
  Int const* const window = scratch.reversed_window.data();

  Alignment best{position, 0, 0};
  bool found = false;
  for (std::size_t d = 0; d + 1 < rows + columns; ++d) {
    Diagonal<Int>& now = scratch.diagonals[d % 3];
    std::size_t const first = d < columns ? 1 : d - columns + 1;
    std::size_t const end = std::min(rows, d);  // rows from here on lie in column 0, or below the matrix
    if (first < end) {
      fill(first, end - first, bases + first, window + (columns - 1 + first - d), scratch.diagonals[(d + 2) % 3],
           scratch.diagonals[(d + 1) % 3], now);
    }
    if (d < columns) {
      now.score[0] = score_of(bases[0], window[columns - 1 - d]);
      now.origin[0] = static_cast<Int>(d);
    }
    if (d > 0 && d < rows) {
      now.score[d] = score_of(bases[d], window[columns - 1]);
      now.origin[d] = 0;
    }
    if (d + 1 >= rows) {  // the last row, in ascending columns: the first of equal scores stays
      Int const score = now.score[rows - 1];
      if (!found || score > best.similarity) {
        best.similarity = score;
        best.target_index = position + now.origin[rows - 1];
        found = true;
      }
    }
  }
  return best;
}

}  // namespace

std::vector<std::uint32_t> make_seeds(std::span<Base const> query) {
  std::vector<std::uint32_t> seeds(static_cast<std::size_t>(seed_count(static_cast<std::int32_t>(query.size()))),
                                   no_seed);
  if (query.size() < static_cast<std::size_t>(seed_bases)) return seeds;
  for (std::size_t k = 0; k < seeds.size(); ++k) seeds[k] = pack_seed(query.data() + k);
  std::sort(seeds.begin(), seeds.end());
  return seeds;
}

Alignment fine_match(std::span<Base const> target, std::span<Base const> query, Match match) {
  return query.size() <= max_narrow_query ? align<std::int16_t>(target, query, match.position)
                                          : align<std::int32_t>(target, query, match.position);
}

}  // namespace gene_alignment
