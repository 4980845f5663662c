// Summary: what the evolutionary program answers; two runs made the same creatures when their summaries are equal.
#pragma once
#include <array>
#include <cstdint>
#include <span>

#include "evolutionary_program/stages.hpp"

namespace evolutionary_program {

struct Summary {
  std::array<std::uint64_t, islands>
      island_hash{};  ///< FNV-1a, 64 bit, of the parameters' bytes behind the last generation
  double best = 0;    ///< fitness, of all islands, as last evaluated
  friend bool operator==(Summary const&, Summary const&) = default;
};

/// FNV-1a goes on from `hash` over a creature's parameters.
std::uint64_t hash_on(std::uint64_t hash, Creature const& creature);
inline constexpr std::uint64_t first_hash = 1469598103934665603U;

Summary summarize(std::span<Island const> all);

}  // namespace evolutionary_program
