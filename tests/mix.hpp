// Numbers that look random, on either device.
#pragma once
#include <cstdint>

#include "hiway/config.hpp"

namespace hiway_tests {

/// What splitmix64 adds from number to number.
inline constexpr std::uint64_t mix_step = 0x9e3779b97f4a7c15u;

/// What splitmix64 gives when its state was `x`.
HIWAY_DEVICE inline std::uint64_t mix(std::uint64_t x) {
  x += mix_step;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace hiway_tests
