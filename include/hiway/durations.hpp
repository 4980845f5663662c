// Limits durations that users give, so that adding one to a clock's time does not overflow.
#pragma once
#include <chrono>

namespace hiway {

/// A hundred years, which is as good as for ever.
inline constexpr std::chrono::hours for_ever{24 * 365 * 100};

/// `duration`, or for_ever if it is longer or not a number.
template <class Target = std::chrono::nanoseconds, class Rep, class Period>
[[nodiscard]] constexpr Target at_most_for_ever(std::chrono::duration<Rep, Period> duration) {
  std::chrono::duration<double> const seconds(duration);  // unlike the integers below it never overflows
  if (!(seconds < for_ever)) return for_ever;
  if (seconds < -for_ever) return -for_ever;
  return std::chrono::duration_cast<Target>(duration);
}

}  // namespace hiway
