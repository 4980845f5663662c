// Errors of the CUDA toolkit's calls.
#pragma once
#include <cuda_runtime.h>
#include <cufft.h>

#include <stdexcept>
#include <string>

namespace spectrum {

inline void check(cudaError_t error, char const* call) {
  if (error == cudaSuccess) return;
  throw std::runtime_error(std::string("spectrum: ") + call + " failed: " + cudaGetErrorString(error));
}
inline void check(cufftResult result, char const* call) {
  if (result == CUFFT_SUCCESS) return;
  throw std::runtime_error(std::string("spectrum: ") + call + " failed: cuFFT's error " + std::to_string(result));
}
#define SPECTRUM_CUDA(call) ::spectrum::check((call), #call)

}  // namespace spectrum
