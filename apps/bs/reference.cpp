// The serial oracle: the closed form in doubles, with the normal distribution by erfc.
#include <cmath>
#include <numeric>

#include "bs/methods.hpp"

namespace bs {
namespace {

double distribution(double d) { return std::erfc(-d / std::sqrt(2.0)) / 2; }

struct Exact {
  double call;
  double put;
};

Exact exact_prices(double number) {
  double const price = 100 - 90 * number;
  double const strike = 100 - 90 * number;
  double const years = 10 - 9 * number;
  double const riskless = 0.05 - 0.04 * number;
  double const volatility = 0.1 - 0.09 * number;
  double const d1 =
      (std::log(price / strike) + (riskless + volatility * volatility / 2) * years) / (volatility * std::sqrt(years));
  double const d2 = d1 - volatility * std::sqrt(years);
  double const discounted = strike * std::exp(-riskless * years);
  return {price * distribution(d1) - discounted * distribution(d2),
          discounted * distribution(-d2) - price * distribution(-d1)};
}

}  // namespace

Summary summarize(Prices const& prices, std::uint64_t cpu_tiles) {
  return {.calls = std::accumulate(prices.calls.begin(), prices.calls.end(), 0.0),
          .puts = std::accumulate(prices.puts.begin(), prices.puts.end(), 0.0),
          .cpu_tiles = cpu_tiles};
}

std::vector<Measurement> run_reference(Numbers const& numbers, Job const& job, Prices& prices) {
  prices.resize(numbers.size());
  return cli::repeated(job, [&] {
    arrays::Clock const clock;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      auto const [call, put] = exact_prices(numbers[i]);
      prices.calls[i] = static_cast<float>(call);
      prices.puts[i] = static_cast<float>(put);
    }
    double const seconds = clock.seconds();
    return Measurement{.summary = summarize(prices, 0), .seconds = seconds, .items = numbers.size()};
  });
}

}  // namespace bs
