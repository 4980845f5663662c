// What methods on a device do with a line and its characters. A line, 1,062 characters, has 45 pairs:
//
//   first_pair    where the line's pairs begin, behind eight fields
//   begins_pair   does a pair begin at this character?                one in twenty-two does
//   read_pair     the pair that begins here, or that it is none
//
// A line is broken when first_pair or one read_pair says so: a pair is one only when the next one, or the line's end, follows
// it, so that together they leave no character out. reference.cpp has the rules in their plainest form.
#pragma once
#include <cstdint>
#include <hiway/config.hpp>
#include <hiway/segment/node.hpp>

#include "taxi/pair.hpp"

namespace taxi {

using hiway::segment::Maybe;

/// *Lifetime*: points at memory of the device that reads it, owns nothing.
struct Text {
  char const* first;
  std::uint32_t length;
  /// Behind the end a newline, which no line has.
  HIWAY_DEVICE char operator[](std::uint32_t place) const { return place < length ? first[place] : '\n'; }
};

/// Where a line lies in the file.
struct Line {
  std::uint64_t offset;
  std::uint32_t length;  ///< without its end
  std::uint32_t number;  ///< in the file; the header is 1
  friend bool operator==(Line const&, Line const&) = default;
};

inline constexpr std::uint32_t fields_a_line = 9;
inline constexpr std::uint32_t nowhere = ~0U;

/// Of the first pair; the line's length where the list is empty; nowhere when the line is broken before any pair.
HIWAY_DEVICE inline std::uint32_t first_pair(Text text) {
  std::uint32_t list = 0;
  std::uint32_t commas = 0;
  for (bool quoted = false; commas < fields_a_line - 1; ++list) {
    if (list >= text.length) return nowhere;
    char const c = text[list];
    if (c == '"') quoted = !quoted;
    if (c == ',' && !quoted) ++commas;
  }
  bool const quoted = text[list] == '"';
  if (quoted) ++list;
  if (text[list] != '[') return nowhere;
  if (text[list + 1] == ']') {
    bool const is_last = quoted ? text[list + 2] == '"' && list + 3 == text.length : list + 2 == text.length;
    return is_last ? text.length : nowhere;
  }
  return quoted && text[list + 1] == '[' && text[list + 2] != '[' ? list + 1 : nowhere;
}

/// At the first pair or behind it.
HIWAY_DEVICE inline bool begins_pair(Text text, std::uint32_t place) {
  return text[place] == '[' && text[place + 1] != '[';
}

/// The coordinate that begins at `place`, which then is behind it.
HIWAY_DEVICE inline Maybe<Coordinate> read_coordinate(Text text, std::uint32_t& place) {
  Coordinate read{0};
  if (text[place] == '-') {
    read.bits = Coordinate::minus;
    ++place;
  }
  std::uint32_t const begin = place;
  std::uint32_t digits = 0;
  std::uint32_t decimals = 0;
  std::uint32_t most = 180;  // of so many decimals
  bool has_point = false;
  for (;; ++place) {
    char const c = text[place];
    if (c == '.' && !has_point && place != begin) {
      has_point = true;
      continue;
    }
    if (c < '0' || c > '9') break;
    if (has_point) {
      if (decimals++ == Coordinate::most_decimals) return Maybe<Coordinate>::none();
      most *= 10;
    }
    digits = 10 * digits + static_cast<std::uint32_t>(c - '0');
    if (digits > most) return Maybe<Coordinate>::none();
  }
  bool const has_digits = place != begin && has_point == (decimals != 0);
  bool const has_zero_before = text[begin] == '0' && text[begin + 1] >= '0' && text[begin + 1] <= '9';
  if (!has_digits || has_zero_before) return Maybe<Coordinate>::none();
  read.bits |= decimals << 28 | digits;
  return read;
}

/// Of the line `number`, at a place where begins_pair is true.
HIWAY_DEVICE inline Maybe<Pair> read_pair(Text text, std::uint32_t number, std::uint32_t place) {
  std::uint32_t at = place + 1;
  Maybe<Coordinate> const longitude = read_coordinate(text, at);
  if (!longitude.ok || text[at++] != ',') return Maybe<Pair>::none();
  Maybe<Coordinate> const latitude = read_coordinate(text, at);
  if (!latitude.ok || text[at++] != ']') return Maybe<Pair>::none();
  bool const another = text[at] == ',' && begins_pair(text, at + 1);
  bool const last = text[at] == ']' && text[at + 1] == '"' && at + 2 == text.length;
  if (!another && !last) return Maybe<Pair>::none();
  return Pair{number, place, latitude.value, longitude.value};
}

HIWAY_DEVICE inline bool is_broken(Text text) {
  std::uint32_t place = first_pair(text);
  if (place == nowhere) return true;
  for (; place < text.length; ++place) {
    if (begins_pair(text, place) && !read_pair(text, 0, place).ok) return true;
  }
  return false;
}

}  // namespace taxi
