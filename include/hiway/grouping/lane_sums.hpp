// Sums over the lanes of a group, for lanes that ask for different numbers.
#pragma once
#include <cstdint>

#include "hiway/machine/machine.hpp"

namespace hiway::detail {

/// Sums of a number that each lane of a group has: over the lanes below the caller, and over all.
template <class N>
struct Sums {
  N below = 0;
  N all = 0;
};
/// Takes two ballots for each bit of the largest number: this works for any set of lanes, and numbers are mostly small.
template <class Machine, class N>
HIWAY_DEVICE inline Sums<N> sum_lanes(Machine m, std::uint32_t group, N mine) {
  Sums<N> sums;
  for (unsigned bit = 0; bit != 8 * sizeof(N) && m.ballot(group, mine >> bit != 0) != 0; ++bit) {
    std::uint32_t const lanes = m.ballot(group, (mine >> bit & 1u) != 0);
    sums.below += static_cast<N>(m.count(lanes & lanes_below(m.lane()))) << bit;
    sums.all += static_cast<N>(m.count(lanes)) << bit;
  }
  return sums;
}

}  // namespace hiway::detail
