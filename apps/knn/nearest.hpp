// Nearest: the k nearest places so far, by a CPU thread.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "knn/place.hpp"

namespace knn {

/// The numbers of places that a thread works on: those from `first` to before `end`.
struct Range {
  std::uint32_t first = 0;
  std::uint32_t end = 0;
  [[nodiscard]] bool is_empty() const { return first >= end; }
};

class Nearest {
 public:
  explicit Nearest(std::uint32_t k) : keys_(k, farthest) {}

  void clear() { std::ranges::fill(keys_, farthest); }
  /// The k-th key; farthest while there are fewer.
  [[nodiscard]] Key last() const { return keys_.back(); }
  void add(Key key) {
    if (key >= last()) return;
    keys_.back() = key;
    for (std::size_t i = keys_.size() - 1; i > 0 && keys_[i] < keys_[i - 1]; --i) std::swap(keys_[i], keys_[i - 1]);
  }
  /// Those of `range` that are nearer than `limit`, which are all that count.
  void search(std::span<Place const> places, Range range, Place from, Key limit);

  /// Those that there are, the nearest first.
  [[nodiscard]] std::span<Key const> keys() const { return {keys_.begin(), std::ranges::lower_bound(keys_, farthest)}; }

 private:
  std::vector<Key> keys_;  // in order
};

}  // namespace knn
