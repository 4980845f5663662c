// Turns: which pieces of an array are nobody's yet. Threads take them from its front, or from its back, until the two
// ends meet.
//
//   word    written by                       read by
//   taken_  all threads (compare_exchange)   all threads: how many were taken from either end
//
//   Each piece is taken once: both numbers are in one word, so a thread that takes some has seen all that were taken.
//   Orders: relaxed. Nothing is handed over with a piece: the array was there before the threads began.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>

namespace arrays {

/// Pieces in a row; none where all are taken.
struct Stretch {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

class Turns {
 public:
  /// *Threads*: one, while no other takes any.
  void begin(std::uint32_t pieces) {
    pieces_ = pieces;
    taken_ = 0;
  }
  /// The next `most` pieces, or as many as are left. *Threads*: any number.
  [[nodiscard]] Stretch front(std::uint32_t most) {
    return take(
        most, [](std::uint64_t taken, std::uint32_t) { return static_cast<std::uint32_t>(taken); }, 0);
  }
  [[nodiscard]] Stretch back(std::uint32_t most) {
    return take(
        most,
        [this](std::uint64_t taken, std::uint32_t n) { return pieces_ - n - static_cast<std::uint32_t>(taken >> 32); },
        32);
  }

 private:
  /// `first_of(taken, n)`: the first of n pieces that are taken next. `shift`: where their number is counted.
  template <class FirstOf>
  Stretch take(std::uint32_t most, FirstOf first_of, unsigned shift) {
    std::uint64_t taken = taken_.load(std::memory_order_relaxed);
    for (;;) {
      std::uint32_t const left = pieces_ - static_cast<std::uint32_t>(taken) - static_cast<std::uint32_t>(taken >> 32);
      std::uint32_t const n = std::min(most, left);
      if (n == 0) return {};
      if (taken_.compare_exchange_weak(taken, taken + (std::uint64_t{n} << shift), std::memory_order_relaxed))
        return {first_of(taken, n), n};
    }
  }

  std::atomic<std::uint64_t> taken_{0};
  std::uint32_t pieces_ = 0;
};

}  // namespace arrays
