// The serial oracle: Hetero-Mark's rules, stage by stage over whole islands, with one random stream from the first creature of
// the first island to the last of the second.
#include <algorithm>
#include <chrono>
#include <utility>

#include "evolutionary_program/methods.hpp"

namespace evolutionary_program {
namespace {

std::vector<Island> evolve(Problem const& problem) {
  Coefficients const coefficients = make_coefficients();
  std::vector<Island> all(islands);
  RandomStream stream{1};
  for (std::uint32_t generation = 0; generation < problem.generations; ++generation) {
    for (Island& island : all) {
      while (island.size() < problem.of_island()) make_creature(island.emplace_back());
      if (!problem.computes) continue;
      for (Creature& creature : island) {
        creature.fitness = 0;
        for (std::uint32_t i = 0; i < genes; ++i) {
          double power = 1;
          for (std::uint32_t k = 0; k <= i; ++k) power *= creature.parameters[i];
          creature.fitness += power * coefficients[i];
        }
      }
      std::sort(island.begin(), island.end(),
                [](Creature const& a, Creature const& b) { return a.fitness > b.fitness; });
      Island const sorted = island;
      for (Creature& creature : island) {
        Creature const& mate = sorted[stream.next() % mates];
        for (std::uint32_t i = 0; i < genes; ++i) {
          if (stream.next() % 2 == 0) creature.parameters[i] = mate.parameters[i];
        }
      }
      for (std::uint32_t c = 0; c < island.size(); c += 7) island[c].parameters[c % genes] *= 0.5;
    }
  }
  return all;
}

}  // namespace

std::vector<Measurement> run_reference(Problem const& problem, Job const& job) {
  std::vector<Measurement> runs;
  for (unsigned i = 0; i < job.repeat; ++i) {
    auto const begin = std::chrono::steady_clock::now();
    std::vector<Island> const all = evolve(problem);
    Measurement run;
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    run.summary = summarize(all);
    run.items = std::uint64_t{problem.generations} * problem.of_island() * islands;
    runs.push_back(std::move(run));
    job.ran();
  }
  return runs;
}

}  // namespace evolutionary_program
