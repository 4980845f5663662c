// GpuPeeks: copies from device memory beside running kernels.
#pragma once
#include <cstddef>
#include <memory>

#include "lib/backend/cuda_stream.hpp"

namespace hiway {

/// Has a stream and pinned memory that are made before the kernels start. *Threads*: one at a time.
class GpuPeeks {
 public:
  explicit GpuPeeks(Gpu gpu);
  /// False if the copy did not come through in time, or failed (Backend::peek).
  [[nodiscard]] bool copy(void* to, void const* device, std::size_t bytes);

 private:
  struct FreePinned {
    Gpu gpu;
    void operator()(std::byte* address) const;
  };
  using Pinned = std::unique_ptr<std::byte[], FreePinned>;
  static Pinned make_pinned(Gpu gpu, std::size_t bytes);

  GpuStream stream_;
  Pinned staging_;
};

}  // namespace hiway
