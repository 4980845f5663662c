// The stage code of k-means: which centroid is nearest to a point.
#pragma once
#include <cstddef>
#include <cstdint>

#include "hiway/config.hpp"
#include "hiway/launch/stage_words.hpp"

namespace kmeans {

/// Points on the device: a feature of all of them lies together, so that lanes with points side by side read side by
/// side. Centroids likewise.
struct Points {
  float const* features;
  std::uint32_t count;
  std::uint32_t of_each;
};

/// No cluster.
inline constexpr std::uint16_t none = 0xffff;

/// A point has gone from one cluster, or from none, to another. One to none ends an iteration: its number is how many
/// changes the iteration had.
struct Change {
  std::uint32_t number;
  std::uint16_t from;
  std::uint16_t to;
};

/// The cluster whose centroid is nearest to the point, the lowest of several. Squares are added up from the first
/// feature on, and no multiplication may be fused with an addition: cmake/HiwayApps.cmake forbids it, for memberships
/// must be the same on every device.
HIWAY_DEVICE inline std::uint32_t nearest(Points const& points, std::uint32_t point, float const* centroids,
                                          std::uint32_t clusters) {
  constexpr std::uint32_t at_once = 5;  // whose sums lie in registers
  constexpr float farther_than_all = 3.40282347e38F;
  std::uint32_t best = 0;
  float least = farther_than_all;
  for (std::uint32_t first = 0; first < clusters; first += at_once) {
    std::uint32_t const some = clusters - first < at_once ? clusters - first : at_once;
    float sums[at_once] = {};
    for (std::uint32_t f = 0; f < points.of_each; ++f) {
      float const value = points.features[std::size_t{f} * points.count + point];
      float const* const centroid = centroids + std::size_t{f} * clusters + first;
      for (std::uint32_t k = 0; k < at_once; ++k) {
        if (k >= some) continue;
        float const difference = value - centroid[k];
        sums[k] += difference * difference;
      }
    }
    for (std::uint32_t k = 0; k < at_once; ++k) {
      if (k >= some || !(sums[k] < least)) continue;
      least = sums[k];
      best = first + k;
    }
  }
  return best;
}

/// An ordinary kernel: from points one after another to features that lie together.
struct Transpose {
  float const* rows;
  float* features;
  std::uint32_t points, of_each;
  HIWAY_DEVICE void operator()() const {
    for (std::uint32_t p = hiway::thread_index(); p < points; p += hiway::thread_count()) {
      for (std::uint32_t f = 0; f < of_each; ++f)
        features[std::size_t{f} * points + p] = rows[std::size_t{p} * of_each + f];
    }
  }
};

}  // namespace kmeans
