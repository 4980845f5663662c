// What calls the CUDA toolkit itself: cuFFT, and the baseline. apps/spectrum/*.cu are there where the program was built
// with CUDA and cuFFT, and make themselves known before main.
#pragma once
#include <cstddef>
#include <functional>
#include <vector>

#include "spectrum/methods.hpp"

struct CUstream_st;

namespace spectrum {

/// Gives the stream the transforms of as many packets as the plan was made for, in place.
using Transform = std::function<void(Spectrum* spectra, CUstream_st* stream)>;

struct OnGpu {
  /// A cuFFT plan for so many packets, on that device. *Throws* std::runtime_error.
  Transform (*plan)(std::size_t packets, int device) = nullptr;
  /// baseline: two buffers, by turns filled by threads, and copied, transformed and searched on a stream each.
  std::vector<Measurement> (*baseline)(Problem const& problem, Job const& job) = nullptr;
};

/// Each file sets its own member. *Threads*: before main.
[[nodiscard]] OnGpu& on_gpu() noexcept;

}  // namespace spectrum
