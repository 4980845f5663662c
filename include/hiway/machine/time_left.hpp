// TimeLeft: how a CPU thread waits for a while.
#pragma once
#include <chrono>

#include "hiway/durations.hpp"
#include "hiway/machine/thread_machine.hpp"

namespace hiway {

/// Of one wait, which may be for nothing: it asks the clock no earlier than it must.
class TimeLeft {
 public:
  explicit TimeLeft(std::chrono::nanoseconds timeout) : left_(at_most_for_ever(timeout)) {}

  /// Counts from the first call. True while there is time.
  [[nodiscard]] bool is_left() {
    if (left_.count() <= 0) return false;
    auto const now = Clock::now();
    if (until_ == Clock::time_point()) until_ = now + left_;
    left_ = until_ - now;
    return left_.count() > 0;
  }
  /// Waits a little if there is time, as relax_thread does; false: there is none.
  bool relax(unsigned misses) {
    if (!is_left()) return false;
    relax_thread(misses, std::chrono::duration_cast<std::chrono::microseconds>(left_));
    return true;
  }

 private:
  using Clock = std::chrono::steady_clock;

  std::chrono::nanoseconds left_;
  Clock::time_point until_{};
};

}  // namespace hiway
