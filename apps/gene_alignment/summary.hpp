// Summary: what gene alignment answers; two runs gave the same alignments when their summaries are equal.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "gene_alignment/stages.hpp"

namespace gene_alignment {

struct Summary {
  std::int64_t coarse_matches = 0;
  std::int64_t similarity_sum = 0;
  std::optional<Alignment> first;  ///< the one with the lowest position
  /// FNV-1a, 64 bit, over (position, similarity, target_index) of every match in ascending position, each number as 4
  /// bytes, low byte first.
  std::uint64_t matches_checksum = 0xcbf2'9ce4'8422'2325U;
  friend bool operator==(Summary const&, Summary const&) = default;
};

/// Sums up alignments that come in any order, one a position.
Summary summarize(std::vector<Alignment> alignments);

}  // namespace gene_alignment
