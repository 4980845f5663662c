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
  constexpr std::uint32_t clusters_at_once = 5;  // whose sums lie in registers
  constexpr std::uint32_t values_at_once = 12;   // are on their way before the first has come
  constexpr float farther_than_all = 3.40282347e38F;
  std::uint32_t best = 0;
  float least = farther_than_all;
  for (std::uint32_t first = 0; first < clusters; first += clusters_at_once) {
    float sums[clusters_at_once] = {};
    for (std::uint32_t f = 0; f < points.of_each; f += values_at_once) {
      float values[values_at_once] = {};
      for (std::uint32_t j = 0; j < values_at_once; ++j) {
        if (f + j < points.of_each) values[j] = points.features[std::size_t{f + j} * points.count + point];
      }
      for (std::uint32_t j = 0; j < values_at_once && f + j < points.of_each; ++j) {
        for (std::uint32_t k = 0; k < clusters_at_once; ++k) {
          if (first + k >= clusters) continue;
          float const difference = values[j] - centroids[(f + j) * clusters + first + k];
          sums[k] += difference * difference;
        }
      }
    }
    for (std::uint32_t k = 0; k < clusters_at_once; ++k) {
      if (first + k >= clusters || !(sums[k] < least)) continue;
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
