// Pair: a place that a taxi passed, as one item of 16 bytes.
#pragma once
#include <compare>
#include <cstdint>

#include "hiway/config.hpp"

namespace taxi {

/// A coordinate in degrees, in which its text can be read again digit by digit: sign, up to six decimals, and all digits as one
/// number of at most 180,000,000.
struct Coordinate {
  std::uint32_t bits;  ///< 31: minus; 28 to 30: decimals; 0 to 27: the digits

  static constexpr std::uint32_t minus = 1U << 31;
  static constexpr std::uint32_t most_decimals = 6;

  HIWAY_DEVICE bool is_negative() const { return (bits & minus) != 0; }
  HIWAY_DEVICE std::uint32_t decimals() const { return bits >> 28 & 7U; }
  HIWAY_DEVICE std::uint32_t digits() const { return bits & 0xfffffffU; }
  friend auto operator<=>(Coordinate const&, Coordinate const&) = default;
};

/// As it is written: latitude first. In the input it is the other way round. Pairs in order are in the input's order.
struct Pair {
  std::uint32_t line;   ///< its number in the file; the header is 1
  std::uint32_t place;  ///< of its `[` in the line, from 0
  Coordinate latitude;
  Coordinate longitude;
  friend auto operator<=>(Pair const&, Pair const&) = default;
};
static_assert(sizeof(Pair) == 16);

}  // namespace taxi
