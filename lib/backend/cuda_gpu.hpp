// Gpu: a GPU as the CUDA driver knows it, made current for as long as a call takes (ADR 0036).
#pragma once
#include <cudaTypedefs.h>

#include <cstdint>
#include <string_view>

namespace hiway {

/// Sets a word in stream order, after the stream's writes before it are visible.
[[nodiscard]] CUresult write_in_order(CUstream stream, void* word, std::uint64_t value);

/// A GPU, by its primary context, which the CUDA runtime uses, too. Never released; the runtime does not release it
/// either.
class Gpu {
 public:
  Gpu(int number, std::string_view what);

  /// While it lives, the GPU is the calling thread's current device. Afterwards the previous one is again, or none.
  class Current {
   public:
    Current(Gpu gpu, std::string_view what);
    /// For destructors: a failure is ignored.
    explicit Current(Gpu gpu) noexcept;
    ~Current();
    Current(Current const&) = delete;
    Current& operator=(Current const&) = delete;

   private:
    CUresult result_;
  };

 private:
  CUcontext context_ = nullptr;
};

}  // namespace hiway
