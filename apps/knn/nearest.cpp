#include "knn/nearest.hpp"

#include <cmath>
#include <cstddef>
#include <limits>

namespace knn {
namespace {

/// A place whose squared distance is greater has a greater key: rounded up by more than what is rounded off elsewhere.
float square_above(Key limit) {
  constexpr float more = 1.0F + 8 * std::numeric_limits<float>::epsilon();
  if (limit == farthest) return std::numeric_limits<float>::infinity();
  float const distance = distance_of(limit);
  return distance * distance * more + std::numeric_limits<float>::min();
}

}  // namespace

void Nearest::search(std::span<Place const> places, Range range, Place from, Key limit) {
  float enough = square_above(std::min(limit, last()));
  for (std::uint32_t i = range.first; i < range.end; ++i) {
    float const squared = squared_distance(from, places[i]);
    if (squared > enough) continue;  // without a square root
    add(key_of(squared, i));
    enough = square_above(std::min(limit, last()));
  }
}

}  // namespace knn
