// Places, how far they are, and how they are told apart: the arithmetic of all methods on a device.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

#include "hiway/config.hpp"

namespace knn {

/// In degrees.
struct alignas(8) Place {
  float latitude;
  float longitude;
  friend bool operator==(Place const&, Place const&) = default;
};

/// The square of the distance in degrees, as on a plane. No multiplication may be fused with an addition:
/// cmake/HiwayApps.cmake forbids it, for distances must be the same on every device. So are square roots, which are
/// rounded correctly everywhere.
HIWAY_DEVICE inline float squared_distance(Place a, Place b) {
  float const across = a.latitude - b.latitude;
  float const along = a.longitude - b.longitude;
  return across * across + along * along;
}

/// A distance in the high bits, the number of a place in the low ones: the nearer place has the smaller key, of several
/// as near the one with the lower number.
using Key = std::uint64_t;
inline constexpr Key farthest = ~Key{0};  ///< of no place

HIWAY_DEVICE inline Key key_of(float squared, std::uint32_t number) {
  return Key{std::bit_cast<std::uint32_t>(sqrtf(squared))} << 32 | number;
}
[[nodiscard]] inline float distance_of(Key key) { return std::bit_cast<float>(static_cast<std::uint32_t>(key >> 32)); }
[[nodiscard]] inline std::uint32_t number_of(Key key) { return static_cast<std::uint32_t>(key); }

}  // namespace knn
