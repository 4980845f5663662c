// CpuContention: whether others compete for the CPUs on which this process's threads wait.
//
// A thread that yields on a CPU where another program computes stands until that one's time slice is over. On
// Linux 6.18 that takes 4 ms, while a yield on a free CPU takes 0.3 us, and a nap of 20 us takes 24 us on either. So
// after one yield that took long no thread of the process yields for a while. Then one thread tries again.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>

namespace hiway {

/// *Threads*: any.
class CpuContention {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::microseconds long_yield{500};
  static constexpr std::chrono::milliseconds avoid_for{100};
  /// The thread that tries again has so long; then another may.
  static constexpr std::chrono::milliseconds try_for{20};

  enum class Turn : std::uint8_t { avoid, yield, try_again };

  /// What a thread that would yield does.
  [[nodiscard]] Turn turn(Time now) noexcept {
    std::int64_t until = until_.load(std::memory_order_relaxed);
    if (until == none) return Turn::yield;
    bool const mine =
        ns(now) >= until && until_.compare_exchange_strong(until, ns(now + try_for), std::memory_order_relaxed);
    return mine ? Turn::try_again : Turn::avoid;
  }
  /// The thread has yielded.
  void yielded(Turn turn, Time began, Time ended) noexcept {
    if (ended - began >= long_yield) {
      until_.store(ns(ended + avoid_for), std::memory_order_relaxed);
    } else if (turn == Turn::try_again) {
      until_.store(none, std::memory_order_relaxed);
    }
  }
  [[nodiscard]] bool is_known(Time now) const noexcept {
    std::int64_t const until = until_.load(std::memory_order_relaxed);
    return until != none && ns(now) < until;
  }

 private:
  static constexpr std::int64_t none = 0;

  [[nodiscard]] static std::int64_t ns(Time time) noexcept {
    return std::chrono::nanoseconds(time.time_since_epoch()).count();
  }

  std::atomic<std::int64_t> until_{none};  ///< nobody yields until then, on the steady clock
};

}  // namespace hiway
