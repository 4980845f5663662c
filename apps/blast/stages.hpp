// The node functions of BLAST: every method on a device runs these and nothing else.
//
//   FindSeed      does the query have the eight bases at this place of the database?         one place in seven does
//   Positions     all places of the query that have them                                     1.1 a seed, 16 at most
//   ExtendExact   do equal bases beside them make it eleven?                                 one in twenty
//   Score         the best score of an extension without gaps, 28 bases to either side
//
//   FindSeeds     FindSeed for sixteen places in a row: an item and a read for all of them
//
// The rates are those of random bases and a query of 10,000. reference.cpp has the rules in their plainest form.
#pragma once
#include <compare>
#include <cstdint>
#include <hiway/config.hpp>
#include <hiway/launch/stage_words.hpp>
#include <hiway/segment/node.hpp>

#include "blast/packed.hpp"
#include "blast/query_table.hpp"

namespace blast {

using hiway::segment::Maybe;

/// What the nodes read. *Lifetime*: points at memory of the device that runs them, owns nothing.
struct Search {
  Packed database;
  Packed query;
  WordTable words;
  std::int32_t stride;  ///< bases from a seed to the next: 4, a byte, or 1

  /// Places of the database that are tested.
  HIWAY_DEVICE std::int32_t places() const {
    return database.bases < seed_bases ? 0 : (database.bases - seed_bases) / stride + 1;
  }
};

/// A place of the database, by its number; the range that a segment begins with.
using Place = std::uint64_t;

/// Eight bases of the database that the query has too.
struct Seed {
  std::int32_t position;
  std::uint32_t word;
};

/// Eight bases that are the same.
struct Pair {
  std::int32_t database_position;
  std::int32_t query_position;
};

struct Hit {
  std::int32_t database_position;  ///< of the seed's first base, as query_position
  std::int32_t query_position;
  std::int32_t score;  ///< what the bases on both sides add to the seed's own
  friend auto operator<=>(Hit const&, Hit const&) = default;
};

/// Where 32 bases differ from 32 others.
struct Differences {
  std::uint64_t bits;
  HIWAY_DEVICE bool at(int base) const { return (bits >> (62 - 2 * base) & 3U) != 0; }
};

/// How far both sequences reach beyond a pair, on either side: no extension goes further.
struct Room {
  std::int32_t left;
  std::int32_t right;
};

HIWAY_DEVICE inline Room room_beside(Search const& search, Pair const& pair) {
  std::int32_t const database_right = search.database.bases - seed_bases - pair.database_position;
  std::int32_t const query_right = search.query.bases - seed_bases - pair.query_position;
  return {pair.database_position < pair.query_position ? pair.database_position : pair.query_position,
          database_right < query_right ? database_right : query_right};
}

/// Of the 32 bases that begin `offset` bases behind the seed's first one.
HIWAY_DEVICE inline Differences differences(Search const& search, Pair const& pair, std::int32_t offset) {
  return {search.database.window(pair.database_position + offset) ^ search.query.window(pair.query_position + offset)};
}

/// Likewise, of 16: two words of either sequence, not three.
HIWAY_DEVICE inline Differences few_differences(Search const& search, Pair const& pair, std::int32_t offset) {
  std::uint32_t const bits =
      search.database.sixteen(pair.database_position + offset) ^ search.query.sixteen(pair.query_position + offset);
  return {std::uint64_t{bits} << 32};
}

inline constexpr std::int32_t exact_left = 3;
inline constexpr std::int32_t exact_right = 4;
inline constexpr std::int32_t least_exact = 3;    ///< of both sides together
inline constexpr std::int32_t scored_bases = 28;  ///< of each side
inline constexpr std::int32_t match_score = 1;
inline constexpr std::int32_t mismatch_score = -3;
inline constexpr std::int32_t least_score = 3;

struct FindSeed {
  Search search;
  HIWAY_DEVICE Maybe<Seed> operator()(Place const& place) const {
    std::int32_t const position = static_cast<std::int32_t>(place) * search.stride;
    std::uint32_t const word = search.database.eight(position);
    if (!search.words.has(word)) return Maybe<Seed>::none();
    return Seed{position, word};
  }
};

struct Positions {
  Search search;
  static constexpr unsigned max_gain = most_positions;
  struct Cursor {
    Entry entry;
    unsigned next;
  };
  HIWAY_DEVICE Cursor start(Seed const& seed) const { return {search.words.entries[seed.word], 0}; }
  HIWAY_DEVICE bool more(Seed const&, Cursor const& cursor) const { return cursor.next < cursor.entry.count(); }
  HIWAY_DEVICE Pair next(Seed const& seed, Cursor& cursor) const {
    return {seed.position, search.words.position(cursor.entry, cursor.next++)};
  }
};

struct ExtendExact {
  Search search;
  static constexpr unsigned items_per_lane = 2;  ///< a pair's bases are read anywhere in the database
  HIWAY_DEVICE Maybe<Pair> operator()(Pair const& pair) const {
    Room const room = room_beside(search, pair);
    static_assert(exact_left + seed_bases + exact_right <= 16);
    Differences const differ = few_differences(search, pair, -exact_left);
    std::int32_t left = 0;
    while (left < exact_left && left < room.left && !differ.at(exact_left - 1 - left)) ++left;
    std::int32_t right = 0;
    while (right < exact_right && right < room.right && !differ.at(exact_left + seed_bases + right)) ++right;
    if (left + right < least_exact) return Maybe<Pair>::none();
    return pair;
  }
};

struct Score {
  Search search;
  HIWAY_DEVICE Maybe<Hit> operator()(Pair const& pair) const {
    Room const room = room_beside(search, pair);
    Differences const left = differences(search, pair, -scored_bases);
    Differences const right = differences(search, pair, seed_bases);
    std::int32_t const score = best_prefix(room.left, [&](int base) { return left.at(scored_bases - 1 - base); }) +
                               best_prefix(room.right, [&](int base) { return right.at(base); });
    if (score < least_score) return Maybe<Hit>::none();
    return Hit{pair.database_position, pair.query_position, score};
  }

  /// The highest sum of the first bases of one side, of none of them too. `differs(0)` is the base beside the seed.
  template <class Differs>
  HIWAY_DEVICE static std::int32_t best_prefix(std::int32_t room, Differs const& differs) {
    std::int32_t const bases = room < scored_bases ? room : scored_bases;
    std::int32_t best = 0;
    std::int32_t sum = 0;
    for (std::int32_t base = 0; base < bases; ++base) {
      sum += differs(base) ? mismatch_score : match_score;
      best = sum > best ? sum : best;
    }
    return best;
  }
};

inline constexpr std::int32_t places_a_stretch = 16;

/// Of a stretch of sixteen places; a stretch is known by its number. It reads the database's words once, where a lane of
/// FindSeed reads two for each place; and the query's bitmap in shared memory, for 32 lanes look at 26 lines of a cache.
struct FindSeeds {
  Search search;
  struct Table {
    std::uint32_t bitmap[bitmap_words];
  };
  HIWAY_DEVICE void fill(Table& table, unsigned thread, unsigned threads) const {
    for (unsigned i = thread; i < bitmap_words; i += threads) table.bitmap[i] = search.words.bitmap[i];
  }
  HIWAY_DEVICE void use(Table const& table) { search.words.bitmap = table.bitmap; }
  static constexpr unsigned max_gain = places_a_stretch;
  struct Cursor {
    std::uint32_t found;  ///< a bit a place, the first in the low bit
  };
  HIWAY_DEVICE Cursor start(Place const& stretch) const {
    std::int32_t const first = static_cast<std::int32_t>(stretch) * places_a_stretch;
    std::int32_t const rest = search.places() - first;
    std::uint32_t const found = search.stride == 1 ? found_from<1>(first) : found_from<4>(first);
    return {rest < places_a_stretch ? found & ((1U << rest) - 1U) : found};
  }
  HIWAY_DEVICE bool more(Place const&, Cursor const& cursor) const { return cursor.found != 0; }
  HIWAY_DEVICE Seed next(Place const& stretch, Cursor& cursor) const {
    std::int32_t const place = static_cast<std::int32_t>(stretch) * places_a_stretch +
                               static_cast<std::int32_t>(hiway::lowest_bit(cursor.found));
    cursor.found &= cursor.found - 1;
    std::int32_t const position = place * search.stride;
    return {position, search.database.eight(position)};
  }

  /// Stride is the search's. A stretch begins where a word of the database does.
  template <std::int32_t Stride>
  HIWAY_DEVICE std::uint32_t found_from(std::int32_t first) const {
    constexpr std::int32_t places_a_word = bases_a_word / Stride;
    std::uint32_t const* const here = search.database.words + first / places_a_word;
    std::uint32_t found = 0;
    std::uint32_t next = here[0];
    for (std::int32_t w = 0; w < places_a_stretch / places_a_word; ++w) {
      std::uint64_t const both = std::uint64_t{next} << 32 | here[w + 1];
      next = here[w + 1];
      for (std::int32_t i = 0; i < places_a_word; ++i) {
        std::uint32_t const word = static_cast<std::uint32_t>(both >> (48 - 2 * Stride * i)) & 0xffffU;
        found |= (search.words.has(word) ? 1U : 0U) << (w * places_a_word + i);
      }
    }
    return found;
  }
};

/// Stretches that cover all places.
HIWAY_DEVICE inline std::int32_t stretches(Search const& search) {
  return (search.places() + places_a_stretch - 1) / places_a_stretch;
}

}  // namespace blast
