// QueryTable: where each word of eight bases occurs in the query.
#pragma once
#include <cstdint>
#include <vector>

#include "genome/sequence.hpp"
#include "hiway/config.hpp"

namespace blast {

inline constexpr std::int32_t seed_bases = 8;
inline constexpr std::uint32_t words_in_table = 1U << (2 * seed_bases);
inline constexpr std::uint32_t bitmap_words = words_in_table / 32;
/// Of one word.
inline constexpr unsigned most_positions = 16;

/// A word's positions: how many, and the only one, or where in the list the first one stands.
struct Entry {
  std::uint32_t bits;  ///< the number in the low 5

  HIWAY_DEVICE unsigned count() const { return bits & 31U; }
  HIWAY_DEVICE std::int32_t first() const { return static_cast<std::int32_t>(bits >> 5); }
};

/// *Lifetime*: points at memory of the device that reads it, owns nothing.
struct WordTable {
  std::uint32_t const* bitmap;  ///< a bit a word, 8 KiB: a first test that stays near the lanes
  Entry const* entries;         ///< words_in_table of them
  std::int32_t const* positions;

  HIWAY_DEVICE bool has(std::uint32_t word) const { return (bitmap[word / 32] >> (word % 32) & 1U) != 0; }
  /// The word's position number k < entry.count().
  HIWAY_DEVICE std::int32_t position(Entry entry, unsigned k) const {
    return entry.count() == 1 ? entry.first() : positions[entry.first() + static_cast<std::int32_t>(k)];
  }
};

struct QueryTable {
  std::vector<std::uint32_t> bitmap;
  std::vector<Entry> entries;
  std::vector<std::int32_t> positions;  ///< of words that have several, ascending in each; never empty

  /// *Lifetime*: the table's.
  [[nodiscard]] WordTable view() const { return {bitmap.data(), entries.data(), positions.data()}; }
};

/// `query` has no N. *Throws* cli::BadInput when a word occurs more than most_positions times.
QueryTable make_query_table(genome::Sequence const& query);

}  // namespace blast
