// Running sums over the lanes of a GPU's warp, by CUB. Empty unless nvcc compiles it.
#pragma once
#include "hiway/machine/cuda_machine.cuh"

#if defined(__CUDACC__)
#include <cstdint>
#include <cub/warp/warp_scan.cuh>

namespace hiway {

/// As sum_up_to_lane of warp_sum.hpp.
__device__ inline std::uint32_t sum_up_to_lane(CudaMachine, std::uint32_t value) {
  using Scan = cub::WarpScan<std::uint32_t>;
  typename Scan::TempStorage none;  // its words go by shuffles
  std::uint32_t sum;
  Scan(none).InclusiveSum(value, sum);
  return sum;
}

}  // namespace hiway
#endif
