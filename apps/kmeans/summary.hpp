// Summary: what k-means answers; two runs found the same clusters when their summaries are equal.
#pragma once
#include <cstdint>
#include <vector>

#include "kmeans/input.hpp"

namespace kmeans {

struct Summary {
  std::uint32_t iterations = 0;
  double rmse = 0;                     ///< root of the mean squared distance from a point to its centroid
  std::uint64_t memberships_hash = 0;  ///< FNV-1a, 64 bit, of each point's cluster, a word each
  friend bool operator==(Summary const&, Summary const&) = default;
};

Summary summarize(Input const& input, std::vector<std::uint32_t> const& memberships, std::uint32_t iterations);

}  // namespace kmeans
