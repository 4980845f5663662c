// Method cub: the regions' sums by CUB's segmented reduction. apps/region_sum/cub.cu is there where the program was
// built with CUDA and makes itself known before main.
#pragma once
#include <vector>

#include "region_sum/methods.hpp"

namespace region_sum {

using RunCub = std::vector<Measurement> (*)(Problem const& problem, Job const& job, Sums& sums);

/// *Threads*: before main. Returns true.
bool register_cub(RunCub run) noexcept;
/// Null in a program without CUDA.
[[nodiscard]] RunCub cub_method();

}  // namespace region_sum
