// The stage code of bs: what an option costs, by the formula and the polynomial of black_scholes, and how tiles are
// shared by the CPU.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "arrays/piece.hpp"
#include "black_scholes/pricing.hpp"
#include "bs/input.hpp"

namespace bs {

using CallAndPut = black_scholes::Prices;

/// `number` says of everything how far it is from its upper to its lower limit. Price and strike have the same limits.
HIWAY_DEVICE inline CallAndPut prices_by(float number) {
  auto const mix = [=](float lower, float upper) { return lower * number + upper * (1.0F - number); };
  return black_scholes::prices_of(mix(10, 100), mix(10, 100), mix(1, 10), mix(0.01F, 0.05F), mix(0.01F, 0.1F));
}

/// The numbers, where their prices go, and which tile is next.
class Options {
 public:
  Options(std::span<float const> numbers, std::span<float> calls, std::span<float> puts)
      : numbers_(numbers), calls_(calls), puts_(puts) {}

  [[nodiscard]] std::uint32_t tiles() const { return arrays::pieces_of(numbers_.size(), tile_options); }
  [[nodiscard]] std::span<float const> numbers() const { return numbers_; }
  [[nodiscard]] arrays::Turns& turns() { return turns_; }

  void begin(std::uint32_t tiles) {
    turns_.begin(tiles);
    cpu_tiles_ = 0;
  }
  /// Prices tiles from the back, until none is left. *Threads*: any number.
  void price_from_back() {
    while (true) {
      arrays::Stretch const tile = turns_.back(1);
      if (tile.count == 0) return;
      std::size_t const first = std::size_t{tile.first} * tile_options;
      std::size_t const end = std::min(first + tile_options, numbers_.size());
      for (std::size_t i = first; i < end; ++i) keep(i, prices_by(numbers_[i]));
      cpu_tiles_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  void keep(std::size_t option, CallAndPut const& prices) {
    calls_[option] = prices.call;
    puts_[option] = prices.put;
  }
  [[nodiscard]] std::uint32_t cpu_tiles() const { return cpu_tiles_; }

 private:
  std::span<float const> numbers_;
  std::span<float> calls_;
  std::span<float> puts_;
  arrays::Turns turns_;
  std::atomic<std::uint32_t> cpu_tiles_{0};
};

}  // namespace bs
