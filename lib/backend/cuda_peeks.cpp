#include "lib/backend/cuda_peeks.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "hiway/machine/thread_machine.hpp"
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

bool GpuPeeks::copy(std::span<Peek const> all) {
  Gpu::Current const here(stream_.gpu());
  under_way_.clear();
  used_ = 0;
  // An earlier copy that was given up may still write to the staging memory.
  if (cudaStreamQuery(stream_.get()) != cudaSuccess) return false;
  for (Peek const& peek : all) {
    for (std::size_t at = 0; at < peek.bytes;) {
      if (used_ == staging_bytes && !land()) return false;
      std::size_t const n = std::min(staging_bytes - used_, peek.bytes - at);
      if (!begin({static_cast<std::byte*>(peek.to) + at, static_cast<std::byte const*>(peek.device) + at, n}))
        return false;
      at += n;
    }
  }
  return land();
}

bool GpuPeeks::begin(Peek const& piece) {
  if (cudaMemcpyAsync(staging_.get() + used_, piece.device, piece.bytes, cudaMemcpyDeviceToHost, stream_.get()) !=
      cudaSuccess)
    return false;
  under_way_.push_back(piece);
  used_ += piece.bytes;
  return true;
}

/// Waits for the copies under way, and brings them to their places.
bool GpuPeeks::land() {
  auto const until = std::chrono::steady_clock::now() + patience;
  cudaError_t state = cudaErrorNotReady;
  for (unsigned misses = 0; (state = cudaStreamQuery(stream_.get())) == cudaErrorNotReady; ++misses) {
    if (std::chrono::steady_clock::now() >= until) return false;
    relax_thread(misses);
  }
  if (state != cudaSuccess) return false;
  std::byte const* from = staging_.get();
  for (Peek const& piece : under_way_) {
    std::memcpy(piece.to, from, piece.bytes);
    from += piece.bytes;
  }
  under_way_.clear();
  used_ = 0;
  return true;
}

}  // namespace hiway
