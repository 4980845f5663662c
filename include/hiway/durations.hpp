// Durations that users give, so that no sum with a time of a clock overflows.
#pragma once
#include <chrono>

namespace hiway {

/// As good as for ever: a hundred years.
inline constexpr std::chrono::hours for_ever{24 * 365 * 100};

/// `duration`, or for ever where it is longer, or no number.
template <class Target = std::chrono::nanoseconds, class Rep, class Period>
[[nodiscard]] constexpr Target at_most_for_ever(std::chrono::duration<Rep, Period> duration) {
  std::chrono::duration<long double> const seconds(duration);  // unlike the integers below it never overflows
  if (!(seconds < for_ever)) return for_ever;
  if (seconds < -for_ever) return -for_ever;
  return std::chrono::duration_cast<Target>(duration);
}

}  // namespace hiway
