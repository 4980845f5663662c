// HIWAY_CUDA: a call of CUDA's runtime whose failure names file, line, call and purpose.
#pragma once
#include <cuda_runtime_api.h>

#include <string_view>

namespace hiway {

/// *Throws* CudaError unless the call succeeded.
void check_cuda(cudaError_t error, char const* call, std::string_view what, char const* file, int line);

}  // namespace hiway

/// The file names itself: `constexpr char const* this_file = "lib/backend/NAME.cpp";`. __FILE__ would be a path of the
/// machine that compiled it.
#define HIWAY_CUDA(call, what) check_cuda((call), #call, what, this_file, __LINE__)
