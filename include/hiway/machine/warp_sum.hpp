// Running sums over the lanes of a whole warp: by CUB on a GPU, by shuffles elsewhere.
#pragma once
#include <cstdint>

#include "hiway/machine/cuda_machine.cuh"
#include "hiway/machine/machine.hpp"

#if defined(__CUDACC__)
#include <cub/warp/warp_scan.cuh>
#endif

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

#if defined(__CUDACC__)
__device__ inline std::uint32_t sum_up_to_lane(CudaMachine, std::uint32_t value) {
  using Scan = cub::WarpScan<std::uint32_t>;
  typename Scan::TempStorage none;  // its words go by shuffles
  std::uint32_t sum;
  Scan(none).InclusiveSum(value, sum);
  return sum;
}
#endif

}  // namespace hiway
