#include "lib/backend/cuda_stream.hpp"

#include "lib/backend/cuda_call.hpp"

namespace hiway {
namespace {

constexpr char const* this_file = "lib/backend/cuda_stream.cpp";

}  // namespace

GpuStream::GpuStream(Gpu gpu, std::string_view what, bool goes_first) : gpu_(gpu) {
  Gpu::Current const here(gpu_, what);
  int lowest = 0;
  int highest = 0;
  HIWAY_CUDA(cudaDeviceGetStreamPriorityRange(&lowest, &highest), what);
  HIWAY_CUDA(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, goes_first ? highest : lowest), what);
}
GpuStream::~GpuStream() {
  Gpu::Current const here(gpu_);
  cudaStreamDestroy(stream_);
}

bool GpuStream::idle(std::string_view what) const {
  Gpu::Current const here(gpu_, what);
  cudaError_t const state = cudaStreamQuery(stream_);
  if (state == cudaErrorNotReady) return false;
  HIWAY_CUDA(state, what);
  return true;
}

std::shared_ptr<GpuStream> GpuStreamPool::lend(std::string_view what) {
  std::scoped_lock const lock(mutex_);
  for (auto& stream : streams_) {
    if (stream.use_count() == 1) return stream;
  }
  return streams_.emplace_back(std::make_shared<GpuStream>(gpu_, what, goes_first_));
}
void GpuStreamPool::reserve(std::size_t count, std::string_view what) {
  std::scoped_lock const lock(mutex_);
  while (streams_.size() < count) streams_.push_back(std::make_shared<GpuStream>(gpu_, what, goes_first_));
}

}  // namespace hiway
