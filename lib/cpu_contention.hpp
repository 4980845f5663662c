// CpuContention: whether others compute on the CPUs on which this process's threads wait.
//
// A thread that yields on a CPU where another program computes stands until that one's time slice is over. On
// Linux 6.18 that takes 4 ms, while a yield on a free CPU takes 0.3 us, and a nap of 20 us takes 24 us on either; and a
// thread that wakes from a nap runs on a free CPU, if there is one. So a thread whose yield took long naps for a
// while, instead of yielding, and then tries a yield again. How long depends on what the tries of all threads found: on
// a machine with free CPUs a thread is soon on one of them; where all are taken every try is 4 ms lost.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace hiway {

/// *Threads*: any.
class CpuContention {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::microseconds long_yield{500};
  static constexpr std::chrono::microseconds shortest_avoidance{250};
  static constexpr std::chrono::milliseconds longest_avoidance{128};

  /// What a thread knows of the CPU that it is on.
  struct Thread {
    Time avoids_until{};  ///< none: its last yield was short
  };

  /// What a thread does that would yield.
  enum class Turn : std::uint8_t { yield, avoid, try_again };

  [[nodiscard]] static Turn turn(Thread const& thread, Time now) noexcept {
    if (thread.avoids_until == Time{}) return Turn::yield;
    return now < thread.avoids_until ? Turn::avoid : Turn::try_again;
  }
  /// The thread has yielded, or had another rest that is short where nobody takes its CPU.
  void rested(Thread& thread, Turn turn, Time began, Time ended) noexcept {
    unsigned const tries = long_tries_.load(std::memory_order_relaxed);
    if (ended - began >= long_yield) {
      thread.avoids_until = ended + avoidance(tries);
      long_tries_.store(std::min(tries + 1, most_tries), std::memory_order_relaxed);
    } else if (turn == Turn::try_again) {
      thread.avoids_until = {};
      long_tries_.store(tries / 2, std::memory_order_relaxed);
    }
  }

 private:
  static constexpr unsigned most_tries = 9;

  [[nodiscard]] static std::chrono::microseconds avoidance(unsigned long_tries) noexcept {
    return shortest_avoidance * (1 << long_tries);
  }
  static_assert(shortest_avoidance * (1 << most_tries) == longest_avoidance);

  /// Yields that took long, less half of them for each try that was short. Threads may overwrite each other's: it is a
  /// guess.
  std::atomic<unsigned> long_tries_{0};
};

}  // namespace hiway
