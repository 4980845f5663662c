#include "lib/backend/cuda_event.hpp"

#include "lib/backend/cuda_call.hpp"

namespace hiway {
namespace {

constexpr char const* this_file = "lib/backend/cuda_event.cpp";

}  // namespace

GpuEvent make_event(Gpu gpu, std::string_view what) {
  Gpu::Current const here(gpu, what);
  cudaEvent_t event = nullptr;
  HIWAY_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), what);
  return {event, {gpu}};
}

bool has_come(GpuEvent const& event, std::string_view what) {
  cudaError_t const state = cudaEventQuery(event.get());
  if (state == cudaErrorNotReady) return false;
  HIWAY_CUDA(state, what);
  return true;
}

}  // namespace hiway
