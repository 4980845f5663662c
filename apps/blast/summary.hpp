// Summary: what BLAST answers; two runs gave the same hits when their summaries are equal.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "blast/stages.hpp"
#include "cli/hash.hpp"

namespace blast {

using Hits = std::vector<Hit>;

struct Summary {
  std::uint64_t hits = 0;
  /// FNV-1a, 64 bit, over the words database position, query position, score of every hit in ascending order.
  std::uint64_t checksum = cli::first_hash;
  friend bool operator==(Summary const&, Summary const&) = default;
};

/// What came through the stages, one after another.
struct Counts {
  std::uint64_t seeds_found = 0;
  std::uint64_t positions = 0;   ///< of the query, for all seeds found
  std::uint64_t kept_exact = 0;  ///< by the exact extension
  friend bool operator==(Counts const&, Counts const&) = default;
};

/// Puts `hits` in order and sums them up.
Summary summarize(Hits& hits);

/// A line of names, then a line a hit.
std::string to_tsv(Hits const& hits);

}  // namespace blast
