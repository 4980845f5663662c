// The serial oracle: entry by entry, in doubles.
#include <chrono>
#include <utility>
#include <vector>

#include "pagerank/methods.hpp"

namespace pagerank {

std::vector<double> reference_ranks(Problem const& problem) {
  std::vector<double> now(problem.nodes(), 1.0 / problem.nodes());
  for (std::uint32_t round = 0; round < problem.rounds; ++round) {
    std::vector<double> next(problem.nodes());
    for (std::uint32_t node = 0; node < problem.nodes(); ++node) {
      for (std::uint32_t e = problem.rows[node]; e < problem.rows[node + 1]; ++e)
        next[node] += double{problem.entries[e].value} * now[problem.entries[e].column];
    }
    now = std::move(next);
  }
  return now;
}

std::vector<Measurement> run_reference(Problem const& problem, Job const& job) {
  return cli::repeated(job, [&] {
    Measurement run;
    auto const begin = std::chrono::steady_clock::now();
    std::vector<double> const ranks = reference_ranks(problem);
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    for (double const rank : ranks) run.summary.push_back(static_cast<float>(rank));
    run.items = ranks.size();
    return run;
  });
}

}  // namespace pagerank
