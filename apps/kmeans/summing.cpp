#include "kmeans/summing.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace kmeans {

Summing::Summing(Input const& input, std::span<std::uint32_t const> found, unsigned threads)
    : input_(input), found_(found), memberships_(input.points), meet_(threads) {
  for (unsigned t = 0; t < threads; ++t) parts_.emplace_back(input.clusters, input.features);
  for (unsigned t = 1; t < threads; ++t) {
    others_.emplace_back([this, t] {
      while (true) {
        meet_.arrive_and_wait();
        if (is_over_) return;
        sum(t);
        meet_.arrive_and_wait();
      }
    });
  }
}

Summing::~Summing() {
  is_over_ = true;
  meet_.arrive_and_wait();
}

void Summing::begin() { std::ranges::fill(memberships_, std::numeric_limits<std::uint32_t>::max()); }

void Summing::sum(unsigned thread) {
  Part& part = parts_[thread];
  std::size_t const first = std::size_t{input_.points} * thread / parts_.size();
  std::size_t const end = std::size_t{input_.points} * (thread + 1) / parts_.size();
  part.changes = 0;
  for (std::size_t p = first; p < end; ++p) {
    part.changes += found_[p] != memberships_[p] ? 1 : 0;
    memberships_[p] = found_[p];
    part.sums.add(found_[p], input_.point(p));
  }
}

std::uint64_t Summing::update(std::span<float> centroids) {
  meet_.arrive_and_wait();
  sum(0);
  meet_.arrive_and_wait();
  Sums all{input_.clusters, input_.features};
  std::uint64_t changes = 0;
  for (Part& part : parts_) {
    all.take(part.sums);
    changes += part.changes;
  }
  all.write_centroids(centroids);
  return changes;
}

}  // namespace kmeans
