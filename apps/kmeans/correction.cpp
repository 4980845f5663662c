#include "kmeans/correction.hpp"

#include <algorithm>
#include <cstddef>

namespace kmeans {
namespace {

constexpr std::int64_t of_an_end = std::int64_t{1} << 40;

}  // namespace

Correction::Correction(Input const& input, unsigned threads, std::uint32_t at_once, std::uint32_t ends)
    : input_(input), at_once_(at_once), whole_(of_an_end * ends), sums_(input.clusters, input.features) {
  for (unsigned t = 0; t < threads; ++t) parts_.emplace_back(input.clusters, input.features);
}

void Correction::begin() {
  sums_ = {input_.clusters, input_.features};
  centroids_ = first_centroids(input_);
  iterations_ = 0;
  next_part_ = 0;
}

void Correction::run(hiway::Outlet<Change> const& changes, std::function<void()> const& go_on) {
  Part& part = parts_[next_part_.fetch_add(1)];
  std::vector<Change> some(at_once_);
  while (std::size_t const count = changes.next_h(std::span(some))) {
    auto const these = std::span<Change const>(some).first(count);
    correct(these, part);
    std::int64_t there = 0;
    for (Change const& change : these) there += change.to == none ? of_an_end - change.number : 1;
    if (part.is_used) has_changes_.store(true, std::memory_order_relaxed);
    if (there_.fetch_add(there, std::memory_order_acq_rel) + there == whole_ && end_iteration()) go_on();
    changes.end_task_h(count);
  }
}

void Correction::correct(std::span<Change const> changes, Part& part) const {
  // Points lie anywhere in memory: some are on their way while others are added.
  constexpr std::size_t ahead = 8;
  auto const fetch = [&](Change const& change) {
    if (change.to == none) return;
    auto const* const point = reinterpret_cast<char const*>(input_.point(change.number));
    for (std::size_t at = 0; at < input_.features * sizeof(float); at += 64) __builtin_prefetch(point + at);
  };
  for (std::size_t i = 0; i < std::min(ahead, changes.size()); ++i) fetch(changes[i]);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (i + ahead < changes.size()) fetch(changes[i + ahead]);
    Change const change = changes[i];
    if (change.to == none) continue;
    float const* const point = input_.point(change.number);
    change.from == none ? part.sums.add(change.to, point) : part.sums.move(change.from, change.to, point);
    part.is_used = true;
  }
}

bool Correction::end_iteration() {
  there_.store(0, std::memory_order_relaxed);
  ++iterations_;
  bool const goes_on = has_changes_.exchange(false, std::memory_order_relaxed) && iterations_ != input_.iterations;
  for (Part& part : parts_) {
    if (part.is_used) sums_.take(part.sums);
    part.is_used = false;
  }
  sums_.write_centroids(centroids_);
  return goes_on;
}

}  // namespace kmeans
