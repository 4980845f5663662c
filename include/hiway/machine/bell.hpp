// Bell: wakes the threads of a CPU stage that nap until something is put for them.
//
// A thread that has waited long naps (thread_machine.hpp), which would make an item late by up to a nap. So a put looks
// whether a thread naps, and wakes one thread for one item. Between its last look for items and its nap a thread is not
// seen; then it sleeps to its nap's end, as it would without a bell.
#pragma once
#include <atomic>
#include <chrono>
#include <memory>

namespace hiway {

/// *Threads*: any.
class Bell {
 public:
  Bell();
  ~Bell();
  Bell(Bell const&) = delete;
  Bell& operator=(Bell const&) = delete;

  /// Sleeps for `time`, or until somebody rings.
  void nap(std::chrono::microseconds time);
  [[nodiscard]] bool has_nappers() const { return nappers_.load(std::memory_order_relaxed) != 0; }
  /// Wakes up to `threads` of those that nap.
  void ring(unsigned threads) {
    if (has_nappers()) wake(threads);
  }

 private:
  struct Sleepers;

  void wake(unsigned threads);

  std::atomic<unsigned> nappers_{0};  ///< written under the mutex of sleepers_
  std::unique_ptr<Sleepers> sleepers_;
};

}  // namespace hiway
