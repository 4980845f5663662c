// The stage code of gene alignment: every method on a device runs these two functions and nothing else.
//
//   coarse_match   does the query occur around this position of the target at all? Cheap, for every position.
//   fine_match     how well, and where does the best alignment end? A matrix of query x window cells, for each match.
//
// The rules are Hetero-Mark's GA; reference.cpp has them in their plainest form and is what both are tested against.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "genome/sequence.hpp"
#include "hiway/config.hpp"

namespace gene_alignment {

using genome::Base;
using genome::matches;

/// Bases that have to agree at a position. A shorter query has to agree as a whole, but for one base.
inline constexpr std::int32_t seed_bases = 11;
/// Above every word of seed_bases bases (two bits each).
inline constexpr std::uint32_t no_seed = 0xffff'ffffU;

/// A position of the target that passed the coarse matching.
struct Match {
  std::int32_t position;
};

/// What the coarse matching found at a position.
struct Tested {
  std::int32_t position;
  std::int32_t matches;  ///< 1 or 0
};

/// The best alignment of the query with the window of the target that begins at `position`.
struct Alignment {
  std::int32_t position;
  std::int32_t similarity;
  std::int32_t target_index;  ///< where in the target the alignment's first base lies
  friend bool operator==(Alignment const&, Alignment const&) = default;
};

/// What the coarse matching reads. *Lifetime*: points at memory of the device that runs it, owns nothing.
struct CoarseProblem {
  Base const* target;
  Base const* query;
  std::uint32_t const* seeds;  ///< make_seeds(query)
  std::int32_t target_bases;
  std::int32_t query_bases;
  std::int32_t seed_count;
};

/// Positions 0 .. coarse_positions - 1 are tested. The last position at which a seed would fit is not one of them: so
/// the rules have it.
HIWAY_DEVICE inline std::int32_t coarse_positions(std::int32_t target_bases, std::int32_t query_bases) {
  std::int32_t const bases = query_bases < seed_bases ? query_bases : seed_bases;
  return target_bases > bases ? target_bases - bases : 0;
}

/// The bases from `bases` on as one word, or no_seed when there is an N among them.
HIWAY_DEVICE inline std::uint32_t pack_seed(Base const* bases) {
  std::uint32_t word = 0;
  bool unknown = false;
  for (std::int32_t i = 0; i < seed_bases; ++i) {
    unknown |= bases[i] == Base::n;
    word = word << 2 | (static_cast<std::uint32_t>(bases[i]) & 3U);
  }
  return unknown ? no_seed : word;
}

/// Seeds of a query of this length: a number that depends on nothing else, and never 0.
inline std::int32_t seed_count(std::int32_t query_bases) {
  return query_bases < seed_bases ? 1 : query_bases - seed_bases + 1;
}

/// Every seed of the query in ascending order; no_seed stands for one with an N, and for a query shorter than a seed.
std::vector<std::uint32_t> make_seeds(std::span<Base const> query);

/// Whether some seed of the query equals the one at `position` of the target (0 <= position < coarse_positions).
HIWAY_DEVICE inline bool coarse_match(CoarseProblem const& problem, std::int32_t position) {
  Base const* const here = problem.target + position;
  if (problem.query_bases < seed_bases) {
    std::int32_t mismatches = 0;
    for (std::int32_t i = 0; i < problem.query_bases; ++i) mismatches += matches(here[i], problem.query[i]) ? 0 : 1;
    return mismatches <= 1;
  }
  std::uint32_t const word = pack_seed(here);
  if (word == no_seed) return false;
  std::int32_t first = 0;  // the lowest seed not below `word` lies in [first, end]
  std::int32_t end = problem.seed_count;
  while (first < end) {
    std::int32_t const middle = first + (end - first) / 2;
    if (problem.seeds[middle] < word) {
      first = middle + 1;
    } else {
      end = middle;
    }
  }
  return first < problem.seed_count && problem.seeds[first] == word;
}

/// Aligns `query` with the window of `target` that begins at the match and is as long as the query, or shorter where
/// the target ends.
/// *Threads*: any number at once; each keeps scratch memory for the longest query it has seen.
Alignment fine_match(std::span<Base const> target, std::span<Base const> query, Match match);

}  // namespace gene_alignment
