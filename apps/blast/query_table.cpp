#include "blast/query_table.hpp"

#include <string>

#include "cli/bad_input.hpp"

namespace blast {
namespace {

std::string letters(std::uint32_t word) {
  std::string text;
  for (int shift = 2 * seed_bases - 2; shift >= 0; shift -= 2) text += "ACGT"[word >> shift & 3U];
  return text;
}

/// Calls body(word, position) for each word of the query, in ascending position.
template <class Body>
void for_each_word(genome::Sequence const& query, Body body) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < query.size(); ++i) {
    word = (word << 2 | static_cast<std::uint32_t>(query[i])) % words_in_table;
    if (i + 1 >= seed_bases) body(word, static_cast<std::int32_t>(i + 1 - seed_bases));
  }
}

}  // namespace

QueryTable make_query_table(genome::Sequence const& query) {
  std::vector<std::uint32_t> counts(words_in_table);
  for_each_word(query, [&](std::uint32_t word, std::int32_t) { ++counts[word]; });

  QueryTable table;
  table.bitmap.resize(words_in_table / 32);
  table.entries.resize(words_in_table);
  std::uint32_t listed = 0;
  for (std::uint32_t word = 0; word < words_in_table; ++word) {
    std::uint32_t const count = counts[word];
    if (count > most_positions)
      throw cli::BadInput{"the query has the word " + letters(word) + " " + std::to_string(count) + " times; at most " +
                          std::to_string(most_positions)};
    if (count == 0) continue;
    table.bitmap[word / 32] |= 1U << (word % 32);
    table.entries[word].bits = listed << 5 | count;  // of a word that has one position, that is set below
    if (count > 1) listed += count;
  }
  table.positions.resize(listed + 1);
  std::vector<std::uint32_t> filled(words_in_table);
  for_each_word(query, [&](std::uint32_t word, std::int32_t position) {
    Entry& entry = table.entries[word];
    if (entry.count() == 1) {
      entry.bits = static_cast<std::uint32_t>(position) << 5 | 1U;
    } else {
      table.positions[static_cast<std::uint32_t>(entry.first()) + filled[word]++] = position;
    }
  });
  return table;
}

}  // namespace blast
