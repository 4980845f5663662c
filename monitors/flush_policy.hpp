// When a batch leaves: a pure function of numbers, tested without threads.
#pragma once
#include <chrono>
#include <cstdint>

namespace hiway {

struct FlushState {
  std::uint64_t pending_items = 0;  ///< committed and not yet moved
  std::uint64_t batch_items = 1;    ///< the threshold
  std::chrono::nanoseconds age{0};  ///< since the oldest pending item was seen
  std::chrono::nanoseconds flush_after{0};
  bool closing = false;  ///< every outside writer has closed: no company will come
};

enum class FlushDecision : std::uint8_t { wait, flush };

/// Threshold, age, end marker: whichever comes first.
[[nodiscard]] constexpr FlushDecision decide_flush(FlushState const& s) {
  if (s.pending_items == 0) return FlushDecision::wait;
  bool const due = s.pending_items >= s.batch_items || s.age >= s.flush_after || s.closing;
  return due ? FlushDecision::flush : FlushDecision::wait;
}

}  // namespace hiway
