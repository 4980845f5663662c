// Deadline: when a request or a scope is given up.
#pragma once
#include <chrono>
#include <optional>

#include "hiway/durations.hpp"
#include "hiway/error.hpp"

namespace hiway {

/// The error of a request that was not answered by its deadline, whose late reply is dropped; or of a scope that had
/// not ended by then.
struct DeadlineExceeded : Error {
  using Error::Error;
};

/// After a duration, or at a time of any clock; `{}`: never.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  Deadline() = default;
  template <class Rep, class Period>
  Deadline(std::chrono::duration<Rep, Period> after) : at_(Clock::now() + at_most_for_ever(after)) {}
  template <class OtherClock, class Duration>
  Deadline(std::chrono::time_point<OtherClock, Duration> at)
      : Deadline(since_epoch(at) - since_epoch(OtherClock::now())) {}

  [[nodiscard]] bool is_never() const { return !at_; }
  /// Unless it is never.
  [[nodiscard]] Clock::time_point at() const { return *at_; }
  /// Negative once it has passed.
  [[nodiscard]] std::chrono::nanoseconds left() const { return at_ ? *at_ - Clock::now() : at_most_for_ever(for_ever); }

 private:
  /// Unlike the times it never overflows.
  template <class Time>
  static std::chrono::duration<long double> since_epoch(Time time) {
    return time.time_since_epoch();
  }

  std::optional<Clock::time_point> at_;
};

}  // namespace hiway
