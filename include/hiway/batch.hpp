// Batches: what a batch stage (Pipeline::add_batch_stage) works on, for programs whose work is done by libraries, or by
// kernels that exist: contiguous memory, a count, and a stream.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "hiway/batch_stream.hpp"
#include "hiway/launch/callable.hpp"
#include "hiway/launch/cuda.cuh"
#include "hiway/persistent.hpp"

namespace hiway {

/// A batch stage.
struct BatchOptions {
  std::size_t max_items = 0;  ///< of a batch that it gets; 0: as many as the tunnel holds
  /// A batch of fewer waits for more, but not for longer than max_wait.
  std::size_t min_items = 1;
  std::chrono::microseconds max_wait{200};
  unsigned in_flight = 2;  ///< batches under way at once; what follows from them is put in their order
  /// The device whose memory the batches lie in, as in GpuStageOptions; its tunnels' ends are then on the device. -1:
  /// the CPU's.
  int device = -1;
  /// A GPU's stage: what the body gives to the stream for a batch of so many items is captured as a CUDA graph, and
  /// given again for later batches of as many, without calling the body (docs/libraries.md). Else the body is called
  /// for each batch.
  bool capture = false;
  /// The k-th item made for each tunnel comes of the k-th one got. Batches may then have items of any scopes, and the
  /// scopes go on with the items; without it all items of a batch are of one scope.
  bool one_to_one = false;
};

namespace detail {

/// What a body says about a batch that it makes.
struct BatchSize {
  std::size_t items = 0;
  std::uint32_t const* on_device = nullptr;  ///< if not null: where the count is, once the stream has come so far
  bool is_set = false;
};

/// A batch of any type.
struct RawBatch {
  std::byte* data = nullptr;
  std::size_t items = 0;      ///< of one that is got
  std::size_t capacity = 0;   ///< in items
  BatchSize* made = nullptr;  ///< of one that is made
};

/// *Throws* MisuseError.
void set_size(RawBatch const& batch, BatchSize size);

}  // namespace detail

/// Contiguous memory of the stage's device. `T const`: items that the stage has got. `T`: room for those that it makes;
/// the body says once how many there are, and they are put when the stream has come so far. Copyable, owns nothing.
/// *Lifetime*: of the memory until the stream has done what the body has given it.
template <class T>
class Batch {
 public:
  explicit Batch(detail::RawBatch const& raw) : raw_(raw) {}

  [[nodiscard]] T* data() const { return reinterpret_cast<T*>(raw_.data); }
  /// Items that were got, or the number that was set by resize; 0 before.
  [[nodiscard]] std::size_t size() const { return raw_.made == nullptr ? raw_.items : raw_.made->items; }
  /// The most items that it can hold: as many as the tunnel.
  [[nodiscard]] std::size_t capacity() const { return raw_.capacity; }
  /// size() items.
  [[nodiscard]] std::span<T> span() const { return {data(), size()}; }

  /// Says how many items there are. *Throws* MisuseError if they are more than capacity(), or if it was said before.
  void resize(std::size_t items) const requires(!std::is_const_v<T>) {
    detail::set_size(raw_, {.items = items, .on_device = nullptr, .is_set = true});
  }
  /// Says where the number of items will be, in the stage's device's memory or the CPU's, once the stream has come so
  /// far. More than capacity() end the run with an error.
  void resize_on_device(std::uint32_t const* count) const requires(!std::is_const_v<T>) {
    detail::set_size(raw_, {.items = 0, .on_device = count, .is_set = true});
  }

 private:
  detail::RawBatch raw_;
};

/// A stream of work on the stage's device, one after another. All batches of a stage have the same one, so what its
/// bodies share on the device needs no further order. Copyable, owns nothing. *Lifetime*: the call of the body.
class Stream {
 public:
  explicit Stream(BatchStream& stream) : stream_(&stream) {}

  /// A cudaStream_t; null on the CPU and on the emulated device.
  [[nodiscard]] CUstream_st* cuda() const { return stream_->cuda(); }
  /// Lets `body()` run on every thread of `blocks` x `threads_per_block` when the stream has come so far; on the CPU
  /// and the emulated device in emulated lanes. `body`: as for Pipeline::launch. `shared_bytes`: dynamic shared memory
  /// of a block (shared_memory()), up to 48 KiB.
  template <class F, class Unit = ThisUnit>
  void launch(F body, unsigned blocks, unsigned threads_per_block, std::size_t shared_bytes = 0) const {
    constexpr bool may_run = detail::runs_in_kernels<F>;
    static_assert(may_run || !detail::is_closure<F>,
                  "hiway: Stream::launch: this lambda cannot run on a GPU: mark it HIWAY_DEVICE, capture by value, and "
                  "give nvcc --extended-lambda; or write a trivially copyable struct at namespace scope");
    static_assert(may_run || detail::is_closure<F>,
                  "hiway: Stream::launch: the functor is copied into the kernel and must be trivially copyable");
    if constexpr (may_run) {
      stream_->launch(device_kernel<LaunchBody<F>, Unit>(LaunchBody<F>{std::move(body)}),
                      {.blocks = blocks, .threads_per_block = threads_per_block, .shared_bytes = shared_bytes});
    }
  }

 private:
  BatchStream* stream_;
};

}  // namespace hiway
