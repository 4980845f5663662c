#include "evolutionary_program/summary.hpp"

#include <algorithm>
#include <cstring>

#include "cli/hash.hpp"

namespace evolutionary_program {

void select(std::span<Rank> island) {
  std::sort(island.begin(), island.end(), [](Rank const& a, Rank const& b) { return a.fitness > b.fitness; });
}

std::uint64_t hash_on(std::uint64_t hash, Creature const& creature) {
  std::array<unsigned char, sizeof creature.parameters> bytes;
  std::memcpy(bytes.data(), creature.parameters, bytes.size());
  for (unsigned char const byte : bytes) hash = cli::hash_on(hash, byte);
  return hash;
}

Summary summarize(std::span<Island const> all) {
  Summary summary;
  for (std::size_t i = 0; i < all.size(); ++i) {
    summary.island_hash[i] = first_hash;
    for (Creature const& creature : all[i]) {
      summary.island_hash[i] = hash_on(summary.island_hash[i], creature);
      summary.best = std::max(summary.best, creature.fitness);
    }
  }
  return summary;
}

}  // namespace evolutionary_program
