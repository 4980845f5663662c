// Sequence: bases, one a byte. An N (unknown base) matches nothing, not even another N.
#pragma once
#include <cstdint>
#include <vector>

#include "hiway/config.hpp"

namespace genome {

enum class Base : std::uint8_t { a, c, g, t, n };
using Sequence = std::vector<Base>;

/// Positions are 32 bit, on the device as in the results: a longer sequence is refused where it is read.
inline constexpr std::int32_t max_bases = 2'000'000'000;

HIWAY_DEVICE inline bool matches(Base one, Base other) { return one == other && one != Base::n; }

}  // namespace genome
