// Buffers: read-only or scratch data for stages, in the pipeline's device memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "hiway/config.hpp"

namespace hiway {

/// Memory that a pipeline allocates.
enum class Memory : std::uint8_t {
  pinned,   ///< host memory that kernels and copies may use too
  device,   ///< for kernels only
  managed,  ///< moves to the side that touches it
};

/// A view of a buffer, valid in stage code on the pipeline's device. Copyable, owns nothing.
template <class T>
struct View {
  T* data = nullptr;
  std::size_t size = 0;  ///< elements
  HIWAY_DEVICE T& operator[](std::size_t i) const { return data[i]; }
  HIWAY_DEVICE T* begin() const { return data; }
  HIWAY_DEVICE T* end() const { return data + size; }
};

/// Copies between host memory and a buffer's; implemented by the pipeline.
class BufferAccess {
 public:
  virtual void copy_in(void* device, void const* host, std::size_t bytes) = 0;
  virtual void copy_out(void* host, void const* device, std::size_t bytes) = 0;

 protected:
  ~BufferAccess() = default;
};

/// Throws ConfigError when `count` elements from `offset` on do not lie within a buffer of `size` elements.
void check_buffer_range(std::size_t offset, std::size_t count, std::size_t size);

/// A handle of memory that the pipeline owns; made by Pipeline::create_buffer. *Lifetime*: the pipeline's.
/// *Threads*: copies wait until they are done; no copy while a run uses the same elements.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>, "hiway: Buffer<T>: T must be trivially copyable");

 public:
  Buffer(BufferAccess& access, T* data, std::size_t size) : access_(&access), view_{data, size} {}

  [[nodiscard]] View<T> view() const { return view_; }
  [[nodiscard]] std::size_t size() const { return view_.size; }

  /// Copies `source` to the elements from `offset` on. *Throws* ConfigError when the source does not fit.
  void copy_in(std::span<T const> source, std::size_t offset = 0) {
    check_buffer_range(offset, source.size(), view_.size);
    access_->copy_in(view_.data + offset, source.data(), source.size_bytes());
  }
  /// Copies the elements from `offset` on to `target`. *Throws* ConfigError when there are not enough.
  void copy_out(std::span<T> target, std::size_t offset = 0) const {
    check_buffer_range(offset, target.size(), view_.size);
    access_->copy_out(target.data(), view_.data + offset, target.size_bytes());
  }

 private:
  BufferAccess* access_;
  View<T> view_;
};

}  // namespace hiway
