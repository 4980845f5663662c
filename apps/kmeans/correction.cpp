#include "kmeans/correction.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

namespace kmeans {
namespace {

constexpr std::int64_t all_there = std::int64_t{1} << 40;

}  // namespace

Correction::Correction(Input const& input, unsigned threads, std::uint32_t at_once)
    : input_(input),
      at_once_(at_once),
      memberships_(input.points),
      sums_(input.clusters, input.features),
      centroids_(std::size_t{input.clusters} * input.features) {
  for (unsigned t = 0; t < threads; ++t) parts_.emplace_back(input.clusters, input.features);
}

void Correction::begin() {
  sums_ = {input_.clusters, input_.features};
  iterations_ = 0;
  next_part_ = 0;
}

void Correction::put_first(hiway::Inlet<float> const& centroids) const {
  centroids.put_h(std::span<float const>(first_centroids(input_)));
}

void Correction::run(hiway::Outlet<Change> const& changes, hiway::Inlet<float> const& centroids) {
  Part& part = parts_[next_part_.fetch_add(1)];
  std::vector<Change> some(at_once_);
  while (std::size_t const count = changes.next_h(std::span(some))) {
    std::int64_t there = 0;
    for (Change const& change : std::span(some).first(count)) {
      if (change.to == none) {
        is_last_.store(change.number == 0, std::memory_order_relaxed);
        there += all_there - change.number;
        continue;
      }
      float const* const point = input_.point(change.number);
      change.from == none ? part.sums.add(change.to, point) : part.sums.move(change.from, change.to, point);
      memberships_[change.number] = change.to;
      part.is_used = true;
      ++there;
    }
    if (there_.fetch_add(there, std::memory_order_acq_rel) + there == all_there) end_iteration(centroids);
    changes.end_task_h(count);
  }
}

void Correction::end_iteration(hiway::Inlet<float> const& centroids) {
  there_.store(0, std::memory_order_relaxed);
  for (Part& part : parts_) {
    if (part.is_used) sums_.take(part.sums);
    part.is_used = false;
  }
  ++iterations_;
  if (is_last_.load(std::memory_order_relaxed) || iterations_ == input_.iterations) return;
  sums_.write_centroids(centroids_);
  centroids.put_h(std::span<float const>(centroids_));
}

}  // namespace kmeans
