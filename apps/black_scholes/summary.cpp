#include "black_scholes/summary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace black_scholes {

Summary summarize(std::span<Option const> options) {
  Summary summary{options.size()};
  for (Option const& option : options)
    summary.checksum += cli::mixed(cli::mixed(option.number + cli::mixed_step) + option.trail);
  return summary;
}

Difference difference(Options outputs, std::span<Option const> oracle) {
  Difference all;
  std::ranges::sort(outputs, {}, &Option::number);
  all.same_options = std::ranges::equal(outputs, oracle, [](Option const& a, Option const& b) {
    return a.number == b.number && a.trail == b.trail && a.stage == b.stage;
  });
  if (!all.same_options) return all;
  auto const compare = [&all](double is, double expected) {
    double const off = std::abs(is - expected) / (1 + std::abs(expected));
    all.of_prices = std::max(all.of_prices, std::isfinite(off) ? off : std::numeric_limits<double>::infinity());
  };
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    compare(outputs[i].call, oracle[i].call);
    compare(outputs[i].put, oracle[i].put);
  }
  return all;
}

}  // namespace black_scholes
