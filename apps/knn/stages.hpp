// The stage code of nearest neighbours: a piece of places, and how a warp keeps the nearest of those that it has seen.
#pragma once
#include <cstddef>
#include <cstdint>

#include "hiway/machine/machine.hpp"
#include "knn/place.hpp"

namespace knn {

/// Places one after another, as they go through a tunnel.
struct alignas(16) Piece {
  static constexpr std::uint32_t most_places = 512;
  Key limit;  ///< only places that are nearer count
  std::uint32_t first;
  std::uint32_t count;
  Place places[most_places];
};

/// The k nearest places that a warp has seen, near its lanes, in order. All lanes call together.
template <class Machine>
class WarpNearest {
 public:
  /// `keys`: room for `k` of them, in shared memory.
  HIWAY_DEVICE WarpNearest(Machine m, Key* keys, std::uint32_t k) : m_(m), keys_(keys), k_(k) {
    for (std::uint32_t i = m.lane(); i < k; i += m.count(m.lanes())) keys[i] = farthest;
    m.sync_warp(m.lanes());
  }

  HIWAY_DEVICE void search(Piece const& piece, Place from) {
    constexpr std::uint32_t at_once = 8;  // are on their way before the first has come
    std::uint32_t const lanes = m_.count(m_.lanes());
    Key const limit = piece.limit;
    Key end = last_ < limit ? last_ : limit;
    for (std::uint32_t first = 0; first < piece.count; first += at_once * lanes) {
      Place places[at_once] = {};
      for (std::uint32_t j = 0; j < at_once; ++j) {
        std::uint32_t const i = first + j * lanes + m_.lane();
        if (i < piece.count) places[j] = piece.places[i];
      }
      for (std::uint32_t j = 0; j < at_once; ++j) {
        std::uint32_t const i = first + j * lanes + m_.lane();
        Key const key = i < piece.count ? key_of(squared_distance(from, places[j]), piece.first + i) : farthest;
        if (m_.ballot(m_.lanes(), key < end) == 0) continue;
        add_all(key, end);
        end = last_ < limit ? last_ : limit;
      }
    }
  }

  /// Calls `take(key)` for each, in some lane.
  template <class Take>
  HIWAY_DEVICE void for_each(Take&& take) const {
    for (std::uint32_t i = m_.lane(); i < k_; i += m_.count(m_.lanes())) {
      if (keys_[i] != farthest) take(keys_[i]);
    }
  }

 private:
  /// Adds those of the lanes' keys that are before `end` and, as others come, still before the last one.
  HIWAY_DEVICE void add_all(Key key, Key end) {
    for (;;) {
      std::uint32_t const some = m_.ballot(m_.lanes(), key < end && key < last_);
      if (some == 0) return;
      unsigned const source = m_.lowest(some);
      add(m_.shuffle(m_.lanes(), key, source));
      if (m_.lane() == source) key = farthest;
    }
  }
  /// From the end on: each place in the list keeps its key, or gets the new one, or the one before it.
  HIWAY_DEVICE void add(Key key) {
    std::uint32_t const lanes = m_.count(m_.lanes());
    for (std::uint32_t begin = (k_ - 1) / lanes * lanes;; begin -= lanes) {
      std::uint32_t const i = begin + m_.lane();
      Key now = farthest;
      if (i < k_) {
        Key const before = i == 0 ? 0 : keys_[i - 1];
        now = keys_[i];
        if (now > key) now = i == 0 || before < key ? key : before;
      }
      m_.sync_warp(m_.lanes());
      if (i < k_) keys_[i] = now;
      m_.sync_warp(m_.lanes());
      if (begin == 0) break;
    }
    last_ = keys_[k_ - 1];
  }

  Machine m_;
  Key* keys_;
  std::uint32_t k_;
  Key last_ = farthest;
};

}  // namespace knn
