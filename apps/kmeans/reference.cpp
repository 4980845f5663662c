// The serial oracle: Hetero-Mark's rules, over all points in each iteration.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "kmeans/methods.hpp"

namespace kmeans {
namespace {

using Rows = std::vector<std::vector<float>>;

std::uint32_t nearest_row(float const* point, Rows const& centroids) {
  std::uint32_t best = 0;
  float least = std::numeric_limits<float>::max();
  for (std::uint32_t c = 0; c < centroids.size(); ++c) {
    float distance = 0;
    for (float const value : centroids[c]) {
      float const difference = *point++ - value;
      float const square = difference * difference;
      distance += square;
    }
    point -= centroids[c].size();
    if (distance < least) {
      least = distance;
      best = c;
    }
  }
  return best;
}

Rows means(Input const& input, std::vector<std::uint32_t> const& memberships) {
  std::vector<std::vector<double>> sums(input.clusters, std::vector<double>(input.features));
  std::vector<double> counts(input.clusters);
  for (std::size_t p = 0; p < input.points; ++p) {
    counts[memberships[p]] += 1;
    for (std::size_t f = 0; f < input.features; ++f)
      sums[memberships[p]][f] += static_cast<double>(input.values[p * input.features + f]);
  }
  Rows all(input.clusters, std::vector<float>(input.features));
  for (std::size_t c = 0; c < input.clusters; ++c) {
    for (std::size_t f = 0; f < input.features && counts[c] != 0; ++f)
      all[c][f] = static_cast<float>(sums[c][f] / counts[c]);
  }
  return all;
}

}  // namespace

std::vector<Measurement> run_reference(Input const& input, Job const& job) {
  return cli::repeated(job, [&] {
    Measurement run;
    auto const begin = std::chrono::steady_clock::now();
    std::vector<std::uint32_t> memberships(input.points, std::numeric_limits<std::uint32_t>::max());
    Rows centroids;
    for (std::uint32_t c = 0; c < input.clusters; ++c) centroids.emplace_back(input.point(c), input.point(c + 1));
    std::uint32_t iterations = 0;
    for (bool changes = true; changes && iterations < input.iterations; ++iterations) {
      changes = false;
      for (std::size_t p = 0; p < input.points; ++p) {
        std::uint32_t const now = nearest_row(input.point(p), centroids);
        changes = changes || now != memberships[p];
        memberships[p] = now;
      }
      centroids = means(input, memberships);
    }
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    run.summary = summarize(input, memberships, iterations);
    run.items = std::uint64_t{input.points} * iterations;
    return run;
  });
}

}  // namespace kmeans
