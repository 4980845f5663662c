// Bell: wakes the threads of a CPU stage that nap until something is put for them.
//
// A thread that has waited long naps (thread_machine.hpp), which would make an item late by up to a nap. So who puts
// looks whether somebody naps, and wakes one thread for one item. Between its last look for items and its nap a thread
// is not seen; then it sleeps to its nap's end, as it would without a bell.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace hiway {

/// *Threads*: any.
class Bell {
 public:
  /// Sleeps for `time`, or until somebody rings.
  void nap(std::chrono::microseconds time) {
    std::unique_lock lock(mutex_);
    nappers_.fetch_add(1, std::memory_order_relaxed);
    ++asleep_;
    rung_.wait_for(lock, time, [&] { return wakes_ != 0; });
    if (wakes_ != 0) --wakes_;
    --asleep_;
    nappers_.fetch_sub(1, std::memory_order_relaxed);
  }

  /// Wakes up to `threads` of those that nap.
  void ring(unsigned threads) {
    if (nappers_.load(std::memory_order_relaxed) == 0) return;
    wake(threads);
  }

 private:
  void wake(unsigned threads) {
    {
      std::scoped_lock const lock(mutex_);
      unsigned const asleep = asleep_ - wakes_;
      if (asleep == 0) return;
      wakes_ += threads < asleep ? threads : asleep;
    }
    threads == 1 ? rung_.notify_one() : rung_.notify_all();
  }

  alignas(64) std::atomic<unsigned> nappers_{0};
  std::mutex mutex_;
  std::condition_variable rung_;
  unsigned asleep_ = 0;
  unsigned wakes_ = 0;  ///< threads that were woken and have not left yet
};

}  // namespace hiway
