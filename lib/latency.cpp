#include "hiway/latency.hpp"

#include <algorithm>

#include "hiway/machine/thread_machine.hpp"

namespace hiway {

Stamp Latency::begin_h() {
  if (begun_.fetch_add(1, std::memory_order_relaxed) % every_ != 0) return {};
  return {static_cast<std::int64_t>(ThreadMachine{}.now_ns())};
}

void Latency::end_h(Stamp stamp) {
  if (stamp.ns == 0) return;
  std::int64_t const took = static_cast<std::int64_t>(ThreadMachine{}.now_ns()) - stamp.ns;
  std::scoped_lock const lock(mutex_);
  least_ = ended_ == 0 ? took : std::min(least_, took);
  most_ = std::max(most_, took);
  ++ended_;
  if (samples_.size() < most_samples) return samples_.push_back(took);
  random_ = random_ * 6364136223846793005U + 1442695040888963407U;  // Knuth's; a reservoir (Vitter 1985)
  std::uint64_t const place = (random_ >> 16) % ended_;
  if (place < most_samples) samples_[place] = took;
}

LatencyReport Latency::report() const {
  std::scoped_lock const lock(mutex_);
  LatencyReport r{.path = path_, .samples = ended_};
  if (ended_ == 0) return r;
  std::vector<std::int64_t> sorted = samples_;
  auto const at = [&](double fraction) {
    auto const place = static_cast<std::ptrdiff_t>(fraction * static_cast<double>(sorted.size() - 1) + 0.5);
    std::nth_element(sorted.begin(), sorted.begin() + place, sorted.end());
    return static_cast<double>(sorted[static_cast<std::size_t>(place)]) / 1000;
  };
  r.least_us = static_cast<double>(least_) / 1000;
  r.median_us = at(0.5);
  r.p99_us = at(0.99);
  r.most_us = static_cast<double>(most_) / 1000;
  return r;
}

void Latency::reset() {
  std::scoped_lock const lock(mutex_);
  samples_.clear();
  begun_ = 0;
  ended_ = 0;
  most_ = 0;
}

}  // namespace hiway
