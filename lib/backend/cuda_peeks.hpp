// GpuPeeks: copies from device memory beside running kernels.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "hiway/backend.hpp"
#include "lib/backend/cuda_stream.hpp"

namespace hiway {

/// Has a stream and pinned memory that are made before the kernels start. *Threads*: one at a time.
class GpuPeeks {
 public:
  explicit GpuPeeks(Gpu gpu);
  /// Waits for the bus once for as many as fit into the pinned memory together. False if the copies did not come
  /// through in time, or failed (Backend::peek).
  [[nodiscard]] bool copy(std::span<Peek const> all);

 private:
  struct FreePinned {
    Gpu gpu;
    void operator()(std::byte* address) const;
  };
  using Pinned = std::unique_ptr<std::byte[], FreePinned>;
  static Pinned make_pinned(Gpu gpu, std::size_t bytes);

  [[nodiscard]] bool begin(Peek const& piece);
  [[nodiscard]] bool land();

  GpuStream stream_;
  Pinned staging_;
  std::vector<Peek> under_way_;  ///< to the staging memory, one after another
  std::size_t used_ = 0;         ///< of the staging memory
};

}  // namespace hiway
