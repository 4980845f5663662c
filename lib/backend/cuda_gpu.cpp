#include "lib/backend/cuda_gpu.hpp"

#include <cuda_runtime_api.h>

#include <string>

#include "hiway/error.hpp"
#include "lib/backend/cuda_call.hpp"

namespace hiway {
namespace {

constexpr char const* this_file = "lib/backend/cuda_gpu.cpp";

/// Driver calls that the runtime lacks. Their entry points are looked up: a program linked with libcuda would not start
/// on a machine without a driver.
struct Driver {
  PFN_cuDevicePrimaryCtxRetain_v7000 retain_primary = nullptr;
  PFN_cuCtxPushCurrent_v4000 push = nullptr;
  PFN_cuCtxPopCurrent_v4000 pop = nullptr;
  PFN_cuStreamWriteValue64_v11070 write_value = nullptr;

  static Driver const& get() {
    static Driver const driver;
    return driver;
  }

 private:
  Driver() {
    find("cuDevicePrimaryCtxRetain", 7000, retain_primary);
    find("cuCtxPushCurrent", 4000, push);
    find("cuCtxPopCurrent", 4000, pop);
    find("cuStreamWriteValue64", 11070, write_value);
  }
  template <class Function>
  static void find(char const* name, unsigned version, Function& function) {
    void* address = nullptr;
    cudaDriverEntryPointQueryResult found{};
    HIWAY_CUDA(cudaGetDriverEntryPointByVersion(name, &address, version, cudaEnableDefault, &found), name);
    if (found != cudaDriverEntryPointSuccess) throw CudaError(std::string("the driver has no ") + name);
    function = reinterpret_cast<Function>(address);
  }
};

}  // namespace

CUresult write_in_order(CUstream stream, void* word, std::uint64_t value) {
  return Driver::get().write_value(stream, reinterpret_cast<CUdeviceptr>(word), value, 0);
}

Gpu::Gpu(int number, std::string_view what) {
  HIWAY_CUDA(cudaInitDevice(number, 0, 0), what);  // reports the errors that users know
  if (CUresult const result = Driver::get().retain_primary(&context_, number); result != CUDA_SUCCESS)
    throw CudaError(std::string(what) + ": cuDevicePrimaryCtxRetain failed: " + std::to_string(result));
}

Gpu::Current::Current(Gpu gpu, std::string_view what) : Current(gpu) {
  if (result_ != CUDA_SUCCESS)
    throw CudaError(std::string(what) + ": cuCtxPushCurrent failed: " + std::to_string(result_));
}
Gpu::Current::Current(Gpu gpu) noexcept : result_(Driver::get().push(gpu.context_)) {}
Gpu::Current::~Current() {
  CUcontext popped = nullptr;
  if (result_ == CUDA_SUCCESS) Driver::get().pop(&popped);
}

}  // namespace hiway
