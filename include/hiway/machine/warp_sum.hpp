// Running sums over the lanes of a whole warp: by CUB on a GPU, by shuffles elsewhere.
#pragma once
#include <cstdint>

#include "hiway/machine/cuda_warp_sum.cuh"
#include "hiway/machine/machine.hpp"

namespace hiway {

/// The sum of the values of the calling lane and of all lower ones. All lanes of the warp call it together.
template <class Machine>
HIWAY_DEVICE inline std::uint32_t sum_up_to_lane(Machine m, std::uint32_t value) {
  std::uint32_t const lanes = m.lanes();
  unsigned const size = m.count(lanes);
  for (unsigned d = 1; d < size; d *= 2) {
    std::uint32_t const below = m.shuffle(lanes, value, m.lane() >= d ? m.lane() - d : m.lane());
    if (m.lane() >= d) value += below;
  }
  return value;
}

}  // namespace hiway
