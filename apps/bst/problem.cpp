#include "bst/problem.hpp"

#include "cli/hash.hpp"

namespace bst {

Problem make_problem(std::uint32_t inserted, std::uint32_t initial, std::uint32_t percent, std::uint64_t seed) {
  Problem problem;
  problem.initial = initial;
  problem.by_cpu = static_cast<std::uint32_t>(std::uint64_t{inserted} * percent / 100);
  for (std::uint64_t i = 0; i < std::uint64_t{initial} + inserted; ++i)
    problem.keys.push_back(static_cast<Key>(cli::random_at(seed, i) >> 33));
  return problem;
}

}  // namespace bst
