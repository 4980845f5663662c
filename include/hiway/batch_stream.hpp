// BatchStream: where a batch stage's work is done: copies to its device, bodies, copies back
// (lib/batch/batch_stage.cpp).
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "hiway/backend.hpp"

namespace hiway {

/// What a body has given to a stream, captured, to be given again.
class BatchGraph {
 public:
  virtual ~BatchGraph() = default;
};

/// Work of each kind is done in the order in which it is given. A body waits for all copies to the device that were
/// given before it, a copy from the device for all bodies before it; so one batch is copied beside another's body.
/// *Threads*: one at a time.
class BatchStream {
 public:
  virtual ~BatchStream() = default;
  /// None if `to` is `from`, where the device's memory is the host's. *Throws*, as all calls here, CudaError.
  void copy(BusDirection way, void* to, void const* from, std::size_t bytes) {
    if (to != from && bytes != 0) give_copy(way, to, from, bytes);
  }
  /// Of a count that a body has made: read before the next body.
  virtual void copy_count(std::uint32_t* to, std::uint32_t const* from) = 0;
  /// Later bodies wait for the work that the user's stream has now.
  virtual void follow(CUstream_st* stream) = 0;
  /// What the thread does from here to end_body() is the body's. The device is then the thread's current one.
  virtual void begin_body() = 0;
  virtual void end_body() = 0;
  /// Within a body.
  virtual void launch(DeviceKernel kernel, simt::Grid grid) = 0;
  /// Within a body: captures what `give` gives to the stream, which is not done yet. Null, and `give` is not called, if
  /// the stream captures nothing.
  [[nodiscard]] virtual std::unique_ptr<BatchGraph> capture(std::function<void()> const& give);
  /// Within a body: gives what was captured.
  virtual void replay(BatchGraph const& graph);
  /// A cudaStream_t; null where there is none.
  [[nodiscard]] virtual CUstream_st* cuda() const = 0;

  /// From now on has_copied(batch) says whether all copies to the device are made that were given so far.
  virtual void mark_copies(std::size_t batch) = 0;
  [[nodiscard]] virtual bool has_copied(std::size_t batch) = 0;
  /// From now on has_passed(batch) says whether all is done that was given so far.
  virtual void mark(std::size_t batch) = 0;
  [[nodiscard]] virtual bool has_passed(std::size_t batch) = 0;
  /// Begins a run: up to leave() this thread makes all calls.
  virtual void enter() = 0;
  /// Ends it: forgets all marks and what has not started, and *waits* for what has.
  virtual void leave() noexcept = 0;

 private:
  virtual void give_copy(BusDirection way, void* to, void const* from, std::size_t bytes) = 0;
};

inline std::unique_ptr<BatchGraph> BatchStream::capture(std::function<void()> const&) { return nullptr; }
inline void BatchStream::replay(BatchGraph const&) {}

}  // namespace hiway
