// Events of a GPU, without timing.
#pragma once
#include <cuda_runtime_api.h>

#include <memory>
#include <string_view>

#include "lib/backend/cuda_gpu.hpp"
#include "lib/backend/cuda_stream.hpp"

namespace hiway {

struct DestroyEvent {
  Gpu gpu;
  void operator()(cudaEvent_t event) const {
    Gpu::Current const here(gpu);
    cudaEventDestroy(event);
  }
};
using GpuEvent = std::unique_ptr<CUevent_st, DestroyEvent>;

/// *Throws* CudaError.
[[nodiscard]] GpuEvent make_event(Gpu gpu, std::string_view what);
/// Whether all is done that was given to the stream before the event. *Throws* what the stream ended with.
[[nodiscard]] bool has_come(GpuEvent const& event, std::string_view what);

/// What is given to `after` from now on waits for what `before`, of any device, has now. *Throws* CudaError.
void order(cudaStream_t before, GpuStream const& after, std::string_view what);
/// The same by this event, of the device of `before`.
void order(cudaStream_t before, GpuEvent const& event, GpuStream const& after, std::string_view what);

}  // namespace hiway
