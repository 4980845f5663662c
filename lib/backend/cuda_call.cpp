#include "lib/backend/cuda_call.hpp"

#include <string>

#include "hiway/error.hpp"

namespace hiway {

void check_cuda(cudaError_t error, char const* call, std::string_view what, char const* file, int line) {
  if (error == cudaSuccess) return;
  throw CudaError(std::string(what) + ": " + call + " failed: " + cudaGetErrorName(error) + ": " +
                  cudaGetErrorString(error) + " (" + file + ":" + std::to_string(line) + ")");
}

}  // namespace hiway
