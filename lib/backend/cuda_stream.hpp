// GpuStream, GpuStreamPool: streams of work on a GPU, and those that are lent to kernels.
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "lib/backend/cuda_gpu.hpp"

namespace hiway {

/// A non-blocking stream.
class GpuStream {
 public:
  /// `goes_first`: its work has the highest priority, else the default one.
  GpuStream(Gpu gpu, std::string_view what, bool goes_first = false);
  ~GpuStream();
  GpuStream(GpuStream const&) = delete;
  GpuStream& operator=(GpuStream const&) = delete;
  [[nodiscard]] cudaStream_t get() const { return stream_; }
  [[nodiscard]] Gpu gpu() const { return gpu_; }
  /// True when all work given to it is done.
  [[nodiscard]] bool idle(std::string_view what) const;

 private:
  Gpu gpu_;
  cudaStream_t stream_ = nullptr;
};

/// Streams that are lent to kernels. They are created before kernels run: creating many beside running kernels blocks.
/// *Threads*: any.
class GpuStreamPool {
 public:
  explicit GpuStreamPool(Gpu gpu, bool goes_first = false) : gpu_(gpu), goes_first_(goes_first) {}
  [[nodiscard]] std::shared_ptr<GpuStream> lend(std::string_view what);
  void reserve(std::size_t count, std::string_view what);

 private:
  Gpu gpu_;
  bool goes_first_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<GpuStream>> streams_;
};

}  // namespace hiway
