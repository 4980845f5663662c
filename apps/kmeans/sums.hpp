// Sums: of the points of each cluster, and the centroids that follow.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kmeans/input.hpp"

namespace kmeans {

/// A feature of all centroids lies together, as kernels read them.
using Centroids = std::vector<float>;

/// The first centroids: the first points.
[[nodiscard]] Centroids first_centroids(Input const& input);

/// Exact: the same in whatever order points come and go (input.hpp), and of several parts together.
class Sums {
 public:
  Sums(std::uint32_t clusters, std::uint32_t features)
      : features_(features), sums_(std::size_t{clusters} * features), counts_(clusters) {}

  void add(std::uint32_t cluster, float const* point);
  void move(std::uint32_t from, std::uint32_t to, float const* point);
  /// Adds what `part` has, which is then empty.
  void take(Sums& part);
  /// sum / count; 0 of a cluster without points.
  void write_centroids(std::span<float> to) const;

 private:
  std::uint32_t features_;
  std::vector<double> sums_;  // cluster by cluster
  std::vector<std::int64_t> counts_;
};

}  // namespace kmeans
