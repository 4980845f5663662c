#include "lib/backend/cuda_peeks.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "lib/backend/cuda_call.hpp"

namespace hiway {
namespace {

constexpr char const* this_file = "lib/backend/cuda_peeks.cpp";
constexpr std::size_t staging_bytes = std::size_t{64} * 1024;
constexpr auto patience = std::chrono::seconds(1);

}  // namespace

void GpuPeeks::FreePinned::operator()(std::byte* address) const {
  Gpu::Current const here(gpu);
  cudaFreeHost(address);
}

GpuPeeks::Pinned GpuPeeks::make_pinned(Gpu gpu, std::size_t bytes) {
  Gpu::Current const here(gpu, "peeks");
  void* address = nullptr;
  HIWAY_CUDA(cudaHostAlloc(&address, bytes, cudaHostAllocPortable), "peeks");
  return {static_cast<std::byte*>(address), {gpu}};
}

GpuPeeks::GpuPeeks(Gpu gpu) : stream_(gpu, "peeks"), staging_(make_pinned(gpu, staging_bytes)) {}

bool GpuPeeks::copy(void* to, void const* device, std::size_t bytes) {
  Gpu::Current const here(stream_.gpu());
  for (std::size_t at = 0; at < bytes; at += staging_bytes) {
    std::size_t const n = std::min(staging_bytes, bytes - at);
    // An earlier copy that was given up may still write to the staging memory.
    if (cudaStreamQuery(stream_.get()) != cudaSuccess) return false;
    if (cudaMemcpyAsync(staging_.get(), static_cast<std::byte const*>(device) + at, n, cudaMemcpyDeviceToHost,
                        stream_.get()) != cudaSuccess)
      return false;
    auto const until = std::chrono::steady_clock::now() + patience;
    cudaError_t state = cudaErrorNotReady;
    while ((state = cudaStreamQuery(stream_.get())) == cudaErrorNotReady) {
      if (std::chrono::steady_clock::now() >= until) return false;
      std::this_thread::yield();
    }
    if (state != cudaSuccess) return false;
    std::memcpy(static_cast<std::byte*>(to) + at, staging_.get(), n);
  }
  return true;
}

}  // namespace hiway
