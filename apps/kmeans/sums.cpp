#include "kmeans/sums.hpp"

#include <algorithm>

namespace kmeans {
namespace {

/// Four at a time, which a compiler makes vectors of.
template <class Each>
inline void for_all(std::uint32_t features, Each const& each) {
  std::uint32_t f = 0;
  for (; f + 4 <= features; f += 4) {
    for (std::uint32_t k = 0; k < 4; ++k) each(f + k);
  }
  for (; f < features; ++f) each(f);
}

}  // namespace

Centroids first_centroids(Input const& input) {
  Centroids all(std::size_t{input.clusters} * input.features);
  for (std::uint32_t c = 0; c < input.clusters; ++c) {
    for (std::uint32_t f = 0; f < input.features; ++f) all[std::size_t{f} * input.clusters + c] = input.point(c)[f];
  }
  return all;
}

void Sums::add(std::uint32_t cluster, float const* point) {
  double* __restrict const sum = sums_.data() + std::size_t{cluster} * features_;
  for_all(features_, [&](std::uint32_t f) { sum[f] += static_cast<double>(point[f]); });
  ++counts_[cluster];
}

void Sums::move(std::uint32_t from, std::uint32_t to, float const* point) {
  double* __restrict const less = sums_.data() + std::size_t{from} * features_;
  double* __restrict const more = sums_.data() + std::size_t{to} * features_;
  for_all(features_, [&](std::uint32_t f) { less[f] -= static_cast<double>(point[f]); });
  for_all(features_, [&](std::uint32_t f) { more[f] += static_cast<double>(point[f]); });
  --counts_[from];
  ++counts_[to];
}

void Sums::take(Sums& part) {
  for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += part.sums_[i];
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += part.counts_[i];
  std::ranges::fill(part.sums_, 0.0);
  std::ranges::fill(part.counts_, 0);
}

void Sums::write_centroids(std::span<float> to) const {
  std::size_t const clusters = counts_.size();
  for (std::size_t c = 0; c < clusters; ++c) {
    auto const count = static_cast<double>(counts_[c]);
    for (std::size_t f = 0; f < features_; ++f)
      to[f * clusters + c] = counts_[c] == 0 ? 0.0F : static_cast<float>(sums_[c * features_ + f] / count);
  }
}

}  // namespace kmeans
