// The oracle: region by region, int by int.
#include <algorithm>
#include <chrono>
#include <hiway/cpus.hpp>
#include <thread>

#include "region_sum/methods.hpp"

namespace region_sum {

Sums reference_sums(Problem const& problem, unsigned threads) {
  Sums sums(problem.regions());
  std::vector<std::jthread> all;
  for (std::uint64_t t = 0; t < threads; ++t) {
    all.emplace_back([&problem, &sums, first = sums.size() * t / threads, end = sums.size() * (t + 1) / threads] {
      for (std::uint64_t region = first; region < end; ++region) {
        for (std::uint64_t i = problem.offsets[region]; i < problem.offsets[region + 1]; ++i)
          sums[region] += problem.ints[i];
      }
    });
  }
  all.clear();  // joins
  return sums;
}

std::vector<Measurement> run_reference(Problem const& problem, Job const& job, Sums& sums) {
  return cli::repeated(job, [&] {
    auto const begin = std::chrono::steady_clock::now();
    sums = reference_sums(problem, hiway::available_cpus());
    double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return Measurement{.summary = summarize(sums), .seconds = seconds, .items = problem.ints.size()};
  });
}

}  // namespace region_sum
