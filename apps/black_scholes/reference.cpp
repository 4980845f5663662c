// The serial oracle, option by option: the closed form in doubles, with the normal distribution by erfc. Each of all CPU
// threads has a stretch of the options.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <hiway/cpus.hpp>
#include <thread>

#include "black_scholes/methods.hpp"

namespace black_scholes {
namespace {

struct ExactPrices {
  double call;
  double put;
};
double exact_distribution(double d) { return 0.5 * std::erfc(-d / std::sqrt(2.0)); }

ExactPrices exact_prices(Option const& option, double shift) {
  double const price = option.price + shift;
  double const years = option.years + shift;
  double const volatility = option.volatility + shift;
  double const spread = volatility * std::sqrt(years);
  double const d1 =
      (std::log(price / option.strike) + (option.riskless + volatility * volatility / 2) * years) / spread;
  double const d2 = d1 - spread;
  double const discounted = option.strike * std::exp(-option.riskless * years);
  return {price * exact_distribution(d1) - discounted * exact_distribution(d2),
          discounted * exact_distribution(-d2) - price * exact_distribution(-d1)};
}

/// Prices as often as a stage does, or until another time would change nothing that a float can hold.
void price(Option& option, std::uint32_t iterations) {
  constexpr double at_rest = 1e-13;
  double shift = double{feedback} * (double{option.call} + option.put);
  for (std::uint32_t i = 0; i < iterations; ++i) {
    ExactPrices const prices = exact_prices(option, shift);
    option.call = static_cast<float>(prices.call);
    option.put = static_cast<float>(prices.put);
    double const next = double{feedback} * (prices.call + prices.put);
    if (std::abs(next - shift) < at_rest) return;
    shift = next;
  }
}

bool passes(Problem const& problem, Option& option) {
  Pricing const pricing = problem.pricing();
  std::uint32_t const first = problem.is_four_way() ? way_of(option) : 0;
  std::uint32_t const end = problem.is_four_way() ? first + 1 : stages;
  for (std::uint32_t stage = first; stage < end; ++stage) {
    price(option, problem.iterations);
    Pricing::leave_trail(option, stage);
    if (pricing.drops(option.number, stage)) return false;
  }
  return true;
}

Options all_that_pass(Problem const& problem) {
  std::uint64_t const threads = hiway::available_cpus();
  std::vector<Options> stretches(threads);
  auto const run = [&](std::uint64_t t) {
    for (std::uint64_t i = problem.items * t / threads; i < problem.items * (t + 1) / threads; ++i) {
      Option option = make_option(problem.seed, i);
      if (passes(problem, option)) stretches[t].push_back(option);
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::uint64_t t = 1; t < threads; ++t) others.emplace_back(run, t);
    run(0);
  }
  Options all;
  for (Options const& stretch : stretches) all.insert(all.end(), stretch.begin(), stretch.end());
  return all;
}

}  // namespace

std::vector<Measurement> run_reference(Problem const& problem, Job const& job, Options& outputs) {
  return cli::repeated(job, [&] {
    Measurement run;
    auto const begin = std::chrono::steady_clock::now();
    outputs = all_that_pass(problem);
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    run.summary = summarize(outputs);
    run.items = problem.items;
    return run;
  });
}

}  // namespace black_scholes
