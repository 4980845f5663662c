// The stage code of the evolutionary program, and what it works on.
//
//   per generation and island, in this order, of which every method on a device runs the same functions
//     reproduce   an island that lacks creatures gets new ones; in generation 0 only
//     evaluate    a creature's fitness
//     select      sorts the island, best first
//     cross       each creature's genes are its own, or those of one of the ten best, by chance
//     mutate      every seventh creature has one gene halved
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "evolutionary_program/random_stream.hpp"
#include "hiway/config.hpp"

namespace evolutionary_program {

inline constexpr std::uint32_t genes = 500;
inline constexpr std::uint32_t islands = 2;
inline constexpr std::uint32_t mates = 10;                   ///< the best, of whom one gives genes
inline constexpr std::uint32_t numbers_a_cross = 1 + genes;  ///< that a creature takes from the stream

struct Creature {
  double fitness;
  double parameters[genes];
};
/// best first, once it is sorted.
using Island = std::vector<Creature>;

/// What is asked for.
struct Problem {
  std::uint32_t population = 128;  ///< of all islands; an island has half of it, at least `mates`
  std::uint32_t generations = 3;
  bool computes = true;  ///< else creatures go from stage to stage as they are, to see what that takes

  [[nodiscard]] std::uint32_t of_island() const { return population / islands; }
};

/// What a gene counts for.
using Coefficients = std::array<double, genes>;
inline Coefficients make_coefficients() {
  Coefficients coefficients;
  RandomStream stream{1};
  for (double& c : coefficients) c = stream.next() / 2147483647.0;
  return coefficients;
}

HIWAY_DEVICE inline void make_creature(Creature& creature) {
  creature.fitness = 0;
  for (double& p : creature.parameters) p = 0.5;
}

/// What gene `i` adds to the fitness; the power by repeated multiplication. No multiplication may be fused with an addition:
/// cmake/HiwayApps.cmake forbids it, for creatures must be the same on every device.
HIWAY_DEVICE inline double term(double parameter, std::uint32_t i, double coefficient) {
  double power = parameter;
  for (std::uint32_t k = 0; k < i; ++k) power *= parameter;
  return power * coefficient;
}
/// The sum of all genes' terms, in their order, to lane 0 of a warp, whose lanes share the work. `terms`: room for as many as
/// there are genes, near.
template <class Machine>
HIWAY_DEVICE inline double fitness_of(Machine m, double const* parameters, double const* coefficients, double* terms) {
  std::uint32_t const lanes = m.count(m.lanes());
  for (std::uint32_t i = m.lane(); i < genes; i += lanes) terms[i] = term(parameters[i], i, coefficients[i]);
  m.sync_warp(m.lanes());
  double fitness = 0;
  if (m.lane() == 0) {
    for (std::uint32_t i = 0; i < genes; ++i) fitness += terms[i];
  }
  m.sync_warp(m.lanes());  // before the next creature's terms
  return fitness;
}

/// A creature's place in its island, and what it is sorted by.
struct Rank {
  double fitness;
  std::uint32_t number;
};
/// Sorts, best first. By std::sort, whose order of equals counts, for later creatures depend on it; it is the same for whole
/// creatures.
void select(std::span<Rank> island);

/// Where the stream is when creature `c` of an island is crossed in a generation.
inline RandomStream stream_of(Problem const& problem, std::uint32_t generation, std::uint32_t island, std::uint32_t c) {
  RandomStream stream{1};
  if (!problem.computes) return stream;
  std::uint64_t const before = (std::uint64_t{generation} * islands + island) * problem.of_island() + c;
  stream.skip(before * numbers_a_cross);
  return stream;
}
/// Makes `child` of a creature and one of the best: `best(k)` is the k-th of them as they were sorted.
template <class Best>
inline void cross(Problem const& problem, Creature const& creature, RandomStream stream, Best const& best,
                  Creature& child) {
  if (!problem.computes) {
    child = creature;
    return;
  }
  Creature const& mate = best(stream.next() % mates);
  child.fitness = creature.fitness;
  double const* const of[] = {mate.parameters, creature.parameters};  // nobody can guess the next one
  for (std::uint32_t i = 0; i < genes; ++i) child.parameters[i] = of[stream.next_bit()][i];
}

/// Gene `i` of creature number `c` of its island.
HIWAY_DEVICE inline double mutated(double gene, std::uint32_t i, std::uint32_t c) {
  return c % 7 == 0 && i == c % genes ? gene * 0.5 : gene;
}

}  // namespace evolutionary_program
