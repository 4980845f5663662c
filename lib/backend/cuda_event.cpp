#include "lib/backend/cuda_event.hpp"

#include "lib/backend/cuda_call.hpp"

namespace hiway {
namespace {

constexpr char const* this_file = "lib/backend/cuda_event.cpp";

/// An event belongs to a device, and is recorded in its streams only.
Gpu gpu_of([[maybe_unused]] cudaStream_t stream, [[maybe_unused]] Gpu otherwise,
           [[maybe_unused]] std::string_view what) {
#if CUDART_VERSION >= 12080
  int device = 0;
  HIWAY_CUDA(cudaStreamGetDevice(stream, &device), what);
  return {device, what};
#else
  return otherwise;
#endif
}

}  // namespace

GpuEvent make_event(Gpu gpu, std::string_view what) {
  Gpu::Current const here(gpu, what);
  cudaEvent_t event = nullptr;
  HIWAY_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), what);
  return {event, {gpu}};
}

void order(cudaStream_t before, GpuStream const& after, std::string_view what) {
  Gpu::Current const here(after.gpu(), what);
  order(before, make_event(gpu_of(before, after.gpu(), what), what), after, what);
}

void order(cudaStream_t before, GpuEvent const& event, GpuStream const& after, std::string_view what) {
  HIWAY_CUDA(cudaEventRecord(event.get(), before), what);
  HIWAY_CUDA(cudaStreamWaitEvent(after.get(), event.get()), what);
}

bool has_come(GpuEvent const& event, std::string_view what) {
  cudaError_t const state = cudaEventQuery(event.get());
  if (state == cudaErrorNotReady) return false;
  HIWAY_CUDA(state, what);
  return true;
}

}  // namespace hiway
