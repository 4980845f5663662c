#include "kmeans/summary.hpp"

#include <cmath>
#include <cstddef>

#include "cli/hash.hpp"
#include "kmeans/sums.hpp"

namespace kmeans {

Summary summarize(Input const& input, std::vector<std::uint32_t> const& memberships, std::uint32_t iterations) {
  Sums sums{input.clusters, input.features};
  for (std::size_t p = 0; p < memberships.size(); ++p) sums.add(memberships[p], input.point(p));
  Centroids centroids(std::size_t{input.clusters} * input.features);
  sums.write_centroids(centroids);
  Summary summary{.iterations = iterations, .rmse = 0, .memberships_hash = cli::first_hash};
  double squares = 0;
  for (std::size_t p = 0; p < memberships.size(); ++p) {
    for (std::size_t f = 0; f < input.features; ++f) {
      double const difference =
          static_cast<double>(input.point(p)[f]) - static_cast<double>(centroids[f * input.clusters + memberships[p]]);
      squares += difference * difference;
    }
    summary.memberships_hash = cli::hash_on(summary.memberships_hash, memberships[p]);
  }
  summary.rmse = std::sqrt(squares / input.points);
  return summary;
}

}  // namespace kmeans
