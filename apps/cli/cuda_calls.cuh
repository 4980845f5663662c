// Errors of the CUDA runtime's calls, in methods that make them by themselves.
#pragma once
#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace cli {

/// *Throws* std::runtime_error.
inline void check(cudaError_t error, char const* call) {
  if (error != cudaSuccess) throw std::runtime_error(std::string(call) + " failed: " + cudaGetErrorString(error));
}
#define CLI_CUDA(call) ::cli::check((call), #call)

}  // namespace cli
