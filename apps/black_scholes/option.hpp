// Option: what is priced; an item of 48 bytes.
#pragma once
#include <cstdint>
#include <vector>

#include "cli/hash.hpp"
#include "hiway/config.hpp"

namespace black_scholes {

struct Option {
  std::uint64_t number;  ///< 0 and up, each once
  std::uint64_t trail;   ///< a hash of the stages that it has passed, in their order
  float price;           ///< of the stock
  float strike;
  float years;
  float riskless;    ///< interest, a year
  float volatility;  ///< a year
  float call;        ///< as priced last; 0 before
  float put;
  std::uint32_t stage;  ///< the next one
};
static_assert(sizeof(Option) == 48);

using Options = std::vector<Option>;

/// Between `least` and `most`, by bits that look random.
HIWAY_DEVICE inline float between(float least, float most, std::uint64_t bits) {
  return least + (most - least) * (static_cast<float>(bits >> 40) * 0x1p-24F);
}

/// Prices, strikes and years within the bounds of CUDA's sample, and its interest and volatility.
HIWAY_DEVICE inline Option make_option(std::uint64_t seed, std::uint64_t number) {
  std::uint64_t const one = cli::mixed(number + seed * cli::mixed_step);
  std::uint64_t const two = cli::mixed(one + cli::mixed_step);
  std::uint64_t const three = cli::mixed(two + cli::mixed_step);
  return {.number = number,
          .trail = 0,
          .price = between(5, 30, one),
          .strike = between(1, 100, two),
          .years = between(0.25F, 10, three),
          .riskless = 0.02F,
          .volatility = 0.3F,
          .call = 0,
          .put = 0,
          .stage = 0};
}

}  // namespace black_scholes
