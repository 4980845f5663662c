// The serial oracle: Hetero-Mark's rules word for word, with the whole matrix of directions and a traceback.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "gene_alignment/methods.hpp"

namespace gene_alignment {
namespace {

bool coarse(Sequence const& target, Sequence const& query, std::size_t position) {
  std::size_t const length = std::min<std::size_t>(query.size(), 11);
  int const allowed_mismatches = query.size() < 11 ? 1 : 0;
  for (std::size_t k = 0; k + length <= query.size(); ++k) {
    int mismatches = 0;
    for (std::size_t i = 0; i < length && mismatches <= allowed_mismatches; ++i) {
      if (!matches(target[position + i], query[k + i])) ++mismatches;
    }
    if (mismatches <= allowed_mismatches) return true;
  }
  return false;
}

}  // namespace

Alignment reference_fine_match(Sequence const& target, Sequence const& query, std::int32_t position) {
  auto const start = static_cast<std::size_t>(position);
  std::size_t const rows = query.size();
  std::size_t const columns = std::min(rows, target.size() - start);
  std::vector<std::uint8_t> direction(rows * columns);  // 1: to y - 1, 2: to both, 3: to x - 1
  std::vector<std::int32_t> row(columns);
  std::vector<std::int32_t> row_above(columns);
  for (std::size_t x = 0; x < rows; ++x) {
    std::swap(row, row_above);
    for (std::size_t y = 0; y < columns; ++y) {
      std::int32_t const s = matches(query[x], target[start + y]) ? 4 : -1;
      std::uint8_t& d = direction[x * columns + y];
      if (x == 0 || y == 0) {
        row[y] = s;
        d = x == 0 && y == 0 ? 2 : x == 0 ? 1 : 3;
        continue;
      }
      std::int32_t const up = row[y - 1] - 2;
      std::int32_t const diagonal = row_above[y - 1] + s;
      std::int32_t const forward = row_above[y] - 2;
      if (up > diagonal && up > forward) {
        d = 1;
        row[y] = up;
      } else if (diagonal >= up && diagonal >= forward) {
        d = 2;
        row[y] = diagonal;
      } else {
        d = 3;
        row[y] = forward;
      }
    }
  }
  auto const best = std::max_element(row.begin(), row.end());  // the first of equal ones
  std::size_t x = rows - 1;
  auto y = static_cast<std::size_t>(best - row.begin());
  while (x > 0) {
    std::uint8_t const d = direction[x * columns + y];
    if (d != 3) --y;
    if (d != 1) --x;
  }
  return {position, *best, position + static_cast<std::int32_t>(y)};
}

std::vector<Alignment> reference_alignments(Sequence const& target, Sequence const& query) {
  std::vector<Alignment> alignments;
  std::size_t const length = std::min<std::size_t>(query.size(), 11);
  for (std::size_t position = 0; position + length < target.size(); ++position) {
    if (!coarse(target, query, position)) continue;
    alignments.push_back(reference_fine_match(target, query, static_cast<std::int32_t>(position)));
  }
  return alignments;
}

std::vector<Measurement> run_reference(Input const& input, Job const& job) {
  std::vector<Measurement> runs;
  for (unsigned i = 0; i < job.repeat; ++i) {
    auto const begin = std::chrono::steady_clock::now();
    Measurement run{.summary = summarize(reference_alignments(input.target, input.query))};
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    run.items = static_cast<std::uint64_t>(run.summary.coarse_matches);
    runs.push_back(run);
    job.ran();
  }
  return runs;
}

}  // namespace gene_alignment
