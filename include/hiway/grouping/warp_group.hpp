// Contention relief, layer 1: lanes of a warp that ask for the same queue at the same time share one claim.
#pragma once
#include <cstdint>

#include "hiway/machine/machine.hpp"

namespace hiway {

/// The converged lanes that have the caller's `key`: code like (even ? a : b).put(x) brings together lanes that use
/// different queues. Every lane of the result gets the same result.
template <class Machine>
HIWAY_PART_OF_CALLER HIWAY_DEVICE inline std::uint32_t converged_on(Machine m, void const* key) {
  std::uint32_t group = m.converged();
  auto const mine = reinterpret_cast<std::uintptr_t>(key);
  for (;;) {
    std::uintptr_t const first = m.shuffle(group, mine, m.lowest(group));
    std::uint32_t const same = m.ballot(group, mine == first);
    if (mine == first) return same;
    group &= ~same;
  }
}

}  // namespace hiway
