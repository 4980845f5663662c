// The serial oracle: three masks and recursion, every board counted. From 12 queens on, threads share the places of the first
// two queens.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <hiway/cpus.hpp>
#include <mutex>
#include <numeric>
#include <thread>

#include "nqueens/methods.hpp"

namespace nqueens {
namespace {

using Boards = std::vector<std::uint64_t>;

struct Search {
  std::uint32_t n;
  Boards boards = Boards(n + 1);

  /// Counts the board with `row` rows placed, whose attacked squares are given, and all below it.
  void below(std::uint32_t row, std::uint32_t columns, std::uint32_t left, std::uint32_t right) {
    ++boards[row];
    if (row == n) return;
    std::uint32_t free = ~(columns | left | right) & ((1U << n) - 1U);
    while (free != 0) {
      std::uint32_t const queen = free & -free;
      free ^= queen;
      below(row + 1, columns | queen, (left | queen) << 1, (right | queen) >> 1);
    }
  }
};

Boards shared_search(std::uint32_t n) {
  std::atomic<std::uint32_t> taken = 0;
  std::mutex mutex;  // of all
  Boards all(n + 1);
  all[0] = 1;
  all[1] = n;
  auto const take = [&] {
    Search mine{n};
    for (std::uint32_t pair = taken.fetch_add(1); pair < n * n; pair = taken.fetch_add(1)) {
      std::uint32_t const first = 1U << pair / n;
      std::uint32_t const second = 1U << pair % n;
      if ((second & (first | first << 1 | first >> 1)) != 0) continue;
      mine.below(2, first | second, (first << 1 | second) << 1, (first >> 1 | second) >> 1);
    }
    std::scoped_lock const lock(mutex);
    for (std::uint32_t row = 0; row <= n; ++row) all[row] += mine.boards[row];
  };
  std::vector<std::jthread> others;
  for (unsigned t = 1; t < hiway::available_cpus(); ++t) others.emplace_back(take);
  take();
  others.clear();
  return all;
}

Boards count(std::uint32_t n) {
  constexpr std::uint32_t shared_from = 12;
  if (n >= shared_from) return shared_search(n);
  Search search{n};
  search.below(0, 0, 0, 0);
  return search.boards;
}

}  // namespace

std::vector<Measurement> run_reference(Problem const& problem, Job const& job) {
  return cli::repeated(job, [&] {
    Measurement run;
    auto const begin = std::chrono::steady_clock::now();
    run.summary.boards = count(problem.n);
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    run.summary.solutions = run.summary.boards[problem.n];
    run.items = std::accumulate(run.summary.boards.begin(), run.summary.boards.end(), std::uint64_t{0});
    return run;
  });
}

}  // namespace nqueens
