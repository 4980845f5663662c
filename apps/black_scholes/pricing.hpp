// What a stage does to an option: prices it often, and drops it or lets it pass.
#pragma once
#include <cmath>
#include <cstdint>

#include "black_scholes/option.hpp"
#include "hiway/config.hpp"

namespace black_scholes {

inline constexpr std::uint32_t stages = 5;  ///< of a pipeline
inline constexpr std::uint32_t ways = 4;    ///< of a 4-way topology

/// A call and a put.
struct Prices {
  float call;
  float put;
};

/// The standard normal distribution up to `d`, by CUDA's sample's polynomial: Abramowitz and Stegun 26.2.17, off by 7.5e-8 at
/// most.
HIWAY_DEVICE inline float normal_distribution(float d) {
  float const k = 1.0F / (1.0F + 0.2316419F * std::abs(d));
  float const polynomial =
      k * (0.31938153F + k * (-0.356563782F + k * (1.781477937F + k * (-1.821255978F + k * 1.330274429F))));
  float const above = 0.39894228F * std::exp(-0.5F * d * d) * polynomial;
  return d > 0 ? 1.0F - above : above;
}

/// Black and Scholes' prices of European options.
HIWAY_DEVICE inline Prices prices_of(float price, float strike, float years, float riskless, float volatility) {
  float const spread = volatility * std::sqrt(years);
  float const d1 = (std::log(price / strike) + (riskless + 0.5F * volatility * volatility) * years) / spread;
  float const below1 = normal_distribution(d1);
  float const below2 = normal_distribution(d1 - spread);
  float const discounted = strike * std::exp(-riskless * years);
  return {price * below1 - discounted * below2, discounted * (1.0F - below2) - price * (1.0F - below1)};
}

/// So much of the last prices is added to price, years and volatility before the next time, so that no time can be left out, and
/// nothing of it be done once for all. Little: a change of the prices comes back less than a hundredth as large.
inline constexpr float feedback = 1e-5F;

/// What all stages of a run have alike.
struct Pricing {
  std::uint32_t iterations;
  std::uint64_t drop_below;  ///< of 2^32

  /// By number and stage alone: whoever asks, and when.
  HIWAY_DEVICE bool drops(std::uint64_t number, std::uint32_t stage) const {
    return cli::mixed(number + (stage + std::uint64_t{1}) * cli::mixed_step) >> 32 < drop_below;
  }

  /// Takes the option through a stage: whether it passes.
  HIWAY_DEVICE bool pass(Option& option, std::uint32_t stage) const {
    Prices prices{option.call, option.put};
    for (std::uint32_t i = 0; i < iterations; ++i) {
      float const shift = feedback * (prices.call + prices.put);
      prices = prices_of(option.price + shift, option.strike, option.years + shift, option.riskless,
                         option.volatility + shift);
    }
    option.call = prices.call;
    option.put = prices.put;
    leave_trail(option, stage);
    return !drops(option.number, stage);
  }
  /// Through all stages of a pipeline from `first` to the one before `end`, or until it is dropped.
  HIWAY_DEVICE bool pass_all(Option& option, std::uint32_t first, std::uint32_t end) const {
    for (std::uint32_t stage = first; stage < end; ++stage) {
      if (!pass(option, stage)) return false;
    }
    return true;
  }

  HIWAY_DEVICE static void leave_trail(Option& option, std::uint32_t stage) {
    option.trail = cli::mixed(option.trail + stage + 1);
    option.stage = stage + 1;
  }
};

/// The way, and the only stage, of an option in a 4-way topology.
HIWAY_DEVICE inline std::uint32_t way_of(Option const& option) {
  return static_cast<std::uint32_t>(option.number % ways);
}

}  // namespace black_scholes
