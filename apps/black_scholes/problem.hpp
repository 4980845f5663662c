// Problem: what is asked for.
#pragma once
#include <cmath>
#include <cstdint>

#include "black_scholes/pricing.hpp"

namespace black_scholes {

/// How nodes are connected. Pipelines of five stages: diff_type: nodes of five types; same_type: five nodes of one type;
/// self_loop: one node, whose options come back until they have passed all stages; merged: all stages in one node. All of
/// these have the same outputs. 4-way: options go to one of four nodes by their number, and are priced there alone;
/// four_same: the four are of one type; four_diff: of four types; four_staged: of one type, behind a binary tree of splits.
/// These, too, have the same outputs.
enum class Topology : std::uint8_t { diff_type, same_type, self_loop, merged, four_same, four_diff, four_staged };

struct Problem {
  std::uint64_t items = 10000;
  std::uint32_t iterations = 10;  ///< times that a stage prices an option
  double rate = 0.5;              ///< of options that a stage drops
  Topology topology = Topology::diff_type;
  std::uint64_t seed = 1;

  [[nodiscard]] bool is_four_way() const { return topology >= Topology::four_same; }
  [[nodiscard]] Pricing pricing() const { return {iterations, static_cast<std::uint64_t>(std::ldexp(rate, 32))}; }
};

}  // namespace black_scholes
