// Shares: a list of work that some threads take from the front, others from the back, until they meet.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>

#include "knn/nearest.hpp"

namespace knn {

/// *Threads*: any number of them take at once.
class Shares {
 public:
  explicit Shares(std::uint32_t count) : count_(count) {}

  void begin() { taken_ = 0; }
  /// At most `most` places; none when all are taken.
  [[nodiscard]] Range from_front(std::uint32_t most) {
    auto const [front, back] = take(most);
    return {front, std::min(front + most, count_ - std::min(back, count_))};
  }
  [[nodiscard]] Range from_back(std::uint32_t most) {
    auto const [front, back] = take(std::uint64_t{most} << 32);
    std::uint32_t const end = count_ - std::min(back, count_);
    return {std::max(front, end - std::min(most, end)), end};
  }

 private:
  struct Taken {
    std::uint32_t front, back;
  };
  Taken take(std::uint64_t more) {
    std::uint64_t const before = taken_.fetch_add(more, std::memory_order_relaxed);
    return {static_cast<std::uint32_t>(before), static_cast<std::uint32_t>(before >> 32)};
  }

  std::uint32_t count_;
  // From the front, and shifted by 32 from the back: a share is empty if both together were all before. Each thread
  // takes in vain once, so neither half wraps.
  std::atomic<std::uint64_t> taken_ = 0;
};

}  // namespace knn
