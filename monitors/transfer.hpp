// A transfer carries one tunnel's published items across the bus by DMA, a batch at a time (Movement::dma).
//
//   word       written by                                         read by
//   published  the outbox's relay                                 this transfer
//   arrived    to the device: a later operation on the stream;    the inbox's relay
//              from the device: this transfer, after the copy
//   X1  room needs no check: published <= retired + capacity <= retired + slots, so the inbox's slots are free
//   X2  `published` is acquired before the copy starts; `arrived` is set after the copy is done. No text guarantees
//       that a running kernel sees a copy after the host signals it; a later operation on the same stream does.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>

#include "flush_policy.hpp"
#include "hiway/backend.hpp"
#include "hiway/ring.hpp"

namespace hiway {

class Transfer {
 public:
  struct Route {
    BusDirection direction = BusDirection::to_device;
    std::byte* from_items = nullptr;  ///< the outbox's
    std::byte* to_items = nullptr;    ///< the inbox's
    Ring outbox;                      ///< for its slots
    Word<std::uint64_t>* published = nullptr;
    Word<std::uint64_t>* arrived = nullptr;  ///< at the consumers' home
    Word<std::uint32_t>* closing = nullptr;
    std::uint64_t batch_items = 1;
    std::chrono::nanoseconds flush_after{0};
  };

  Transfer(Route route, CopyStream& stream) : route_(route), stream_(stream) {}

  /// One step; true when something was started or finished. Never waits. *Throws* CudaError.
  bool step();
  /// Back to the first item, before a run.
  void reset() { moved_to_ = 0, started_to_ = 0, batches_ = 0, oldest_seen_ = {}; }
  /// Batches since reset.
  [[nodiscard]] std::uint64_t batches() const { return batches_; }

 private:
  void start(std::uint64_t to);

  Route route_;
  CopyStream& stream_;
  std::uint64_t moved_to_ = 0;    ///< arrived
  std::uint64_t started_to_ = 0;  ///< a copy of [moved_to_, started_to_) is under way
  std::uint64_t batches_ = 0;
  std::chrono::steady_clock::time_point oldest_seen_{};
};

}  // namespace hiway
