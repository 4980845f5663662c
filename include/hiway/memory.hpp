// Buffers: read-only or scratch data for stages, in the pipeline's device memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "hiway/config.hpp"

namespace hiway {

/// Memory that a pipeline allocates.
enum class Memory : std::uint8_t {
  pinned,   ///< host memory that kernels and copies may use too
  device,   ///< for kernels only
  managed,  ///< moves to the side that touches it
};

/// Where a pipeline takes its device memory and pinned memory from (PipelineConfig::memory). *Threads*: one at a time
/// for each pipeline.
class MemoryResource {
 public:
  virtual ~MemoryResource() = default;
  /// `bytes`, at least 1, aligned to memory_alignment; `kind` is device or pinned, `device` the number of the device
  /// that uses it (GpuStageOptions::device). May throw anything if there is none; the error of the library's names what
  /// it was for. Not called while a run is under way, but by calls that ask for memory.
  [[nodiscard]] virtual void* allocate(Memory kind, std::size_t bytes, int device) = 0;
  virtual void deallocate(Memory kind, void* address, std::size_t bytes, int device) noexcept = 0;
};
inline constexpr std::size_t memory_alignment = 1024;

/// Memory from resources that have allocate(bytes, alignment) and deallocate(address, bytes, alignment), as
/// std::pmr::memory_resource (for emulated devices) and CUDA's cuda::mr resources have. *Lifetime*: theirs is longer.
template <class Device, class Pinned>
class MemoryFrom final : public MemoryResource {
 public:
  MemoryFrom(Device& device, Pinned& pinned) : device_(device), pinned_(pinned) {}

  [[nodiscard]] void* allocate(Memory kind, std::size_t bytes, int) override {
    return kind == Memory::device ? device_.allocate(bytes, memory_alignment)
                                  : pinned_.allocate(bytes, memory_alignment);
  }
  void deallocate(Memory kind, void* address, std::size_t bytes, int) noexcept override {
    kind == Memory::device ? device_.deallocate(address, bytes, memory_alignment)
                           : pinned_.deallocate(address, bytes, memory_alignment);
  }

 private:
  Device& device_;
  Pinned& pinned_;
};

namespace detail {

/// What a backend has taken from a resource of the user's.
class DrawnMemory {
 public:
  /// Null: from none, for what is taken from now on.
  void draw_from(MemoryResource* resource) { resource_ = resource; }
  /// Null if there is no resource for such memory. *Throws* ConfigError that names `what`.
  [[nodiscard]] void* allocate(Memory kind, std::size_t bytes, int device, std::string_view what);
  /// False if it is not from a resource.
  bool release(void* address) noexcept;

 private:
  struct Drawn {
    void* address;
    MemoryResource* from;
    Memory kind;
    std::size_t bytes;
    int device;
  };

  MemoryResource* resource_ = nullptr;
  std::vector<Drawn> drawn_;
};

}  // namespace detail

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
