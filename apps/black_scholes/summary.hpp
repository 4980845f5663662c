// Summary: what a run says of the options that pass.
#pragma once
#include <cstdint>
#include <span>

#include "black_scholes/option.hpp"

namespace black_scholes {

/// In whatever order they come; of numbers and trails alone, for devices round prices differently.
struct Summary {
  std::uint64_t count = 0;
  std::uint64_t checksum = 0;  ///< the sum of hashes
  bool operator==(Summary const&) const = default;
};
Summary summarize(std::span<Option const> options);

/// How outputs differ from the oracle's.
struct Difference {
  bool same_options = false;  ///< as many, of the same numbers and trails
  double of_prices = 0;       ///< the largest, by 1 and the oracle's price; infinite where one is not a number

  [[nodiscard]] bool is_none() const { return same_options && of_prices <= tolerance; }
  static constexpr double tolerance = 2e-4;  ///< of floats, the polynomial, and a GPU's quick functions
};
/// `oracle`: sorted by number.
Difference difference(Options outputs, std::span<Option const> oracle);

}  // namespace black_scholes
