#include "bs/input.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "cli/bad_input.hpp"
#include "cli/hash.hpp"

namespace bs {
namespace {

constexpr std::uint64_t most_options = std::uint64_t{1} << 28;

double difference(std::vector<float> const& prices, std::vector<float> const& oracle) {
  if (prices.size() != oracle.size()) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (std::size_t i = 0; i < prices.size(); ++i) {
    double const off = std::abs(double{prices[i]} - oracle[i]);
    worst = std::max(worst, std::isnan(off) ? std::numeric_limits<double>::infinity() : off);
  }
  return worst;
}

}  // namespace

Numbers make_numbers(InputOptions const& options) {
  if (options.options < 1 || options.options > most_options)
    throw cli::BadInput{"--options must be 1 to 268435456: " + std::to_string(options.options)};
  Numbers numbers(options.options);
  std::uint64_t const seed = cli::mixed(options.seed);
  for (std::uint64_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<float>(cli::mixed(seed + i * cli::mixed_step) >> 40) * 0x1p-24F;
  return numbers;
}

double difference(Prices const& prices, Prices const& oracle) {
  return std::max(difference(prices.calls, oracle.calls), difference(prices.puts, oracle.puts));
}

}  // namespace bs
