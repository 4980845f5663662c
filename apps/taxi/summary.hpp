// Summary: what a conversion says; two are the same when their summaries are equal.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "cli/hash.hpp"
#include "taxi/pair.hpp"

namespace taxi {

/// A file converted.
struct Conversion {
  std::vector<Pair> pairs;            ///< in order; of broken lines none
  std::vector<std::uint32_t> broken;  ///< numbers of lines, ascending
  friend bool operator==(Conversion const&, Conversion const&) = default;
};

/// What was found, in any order, of a broken line perhaps more than once: put in order, without the pairs of broken lines.
void put_in_order(Conversion& conversion);

struct Summary {
  std::uint64_t lines = 0;  ///< without the header
  std::uint64_t pairs = 0;
  std::uint64_t broken_lines = 0;
  /// FNV-1a, 64 bit, over the words line, latitude, longitude of every pair in order.
  std::uint64_t checksum = cli::first_hash;
  friend bool operator==(Summary const&, Summary const&) = default;
};

Summary summarize(Conversion const& conversion, std::uint64_t lines);

/// Its text in the input.
std::string to_text(Coordinate coordinate);

/// A line a pair: the number of its line, latitude, longitude.
std::string to_csv(std::vector<Pair> const& pairs);

}  // namespace taxi
