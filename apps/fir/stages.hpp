// The stage code of the filter: a filtered sample is the sum of the last samples, each weighed by a tap. The newest
// comes first, and no multiplication is fused with an addition (cmake/HiwayApps.cmake): the sum is the same in every
// bit in all methods and on all devices.
#pragma once
#include <cstddef>
#include <cstdint>
#include <hiway/pipeline.hpp>

#include "fir/input.hpp"

namespace fir {

inline constexpr std::uint32_t history =
    most_taps;  ///< samples before those that are filtered, of which the taps take some

/// `sample`: the newest one.
HIWAY_DEVICE inline float filtered(Taps const& taps, float const* sample) {
  float sum = 0;
  for (std::uint32_t i = 0; i < taps.count; ++i) sum = sum + taps.values[i] * *(sample - i);
  return sum;
}

}  // namespace fir
