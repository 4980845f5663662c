// When a batch leaves: pure functions of numbers, tested without threads.
//
// A batch leaves when it has reached the threshold, when its oldest item is old enough, or when no more items will
// come. The threshold is the user's batch_items. If that is 0, the library chooses by how much of this tunnel is in
// flight:
//   nothing   1 item: waiting would only cost time, and more items gather while this batch is copied
//   n bytes   n, but at least 64 KiB and at most 256 KiB: the longer the copies ahead take, the larger the next one
// The threshold is never more than half the capacity, so one half is put while the other is copied.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>

namespace hiway {

struct FlushState {
  std::uint64_t pending_items = 0;    ///< published but not yet in a batch
  std::uint64_t under_way_items = 0;  ///< in batches that have not arrived
  std::uint64_t batch_items = 0;      ///< the threshold; 0: the library chooses
  std::uint64_t item_bytes = 1;
  std::uint64_t capacity_items = 1;
  std::chrono::nanoseconds age{0};  ///< since the oldest pending item was seen
  std::chrono::nanoseconds flush_after{0};
  bool closing = false;  ///< every outside writer has closed: pending items leave without waiting for more
};

enum class FlushDecision : std::uint8_t { wait, flush };

/// How many pending items leave without waiting for more.
[[nodiscard]] constexpr std::uint64_t flush_threshold(FlushState const& s) {
  if (s.batch_items != 0) return s.batch_items;
  if (s.under_way_items == 0) return 1;
  std::uint64_t const bytes = std::clamp<std::uint64_t>(s.under_way_items * s.item_bytes, 64 * 1024, 256 * 1024);
  return std::max<std::uint64_t>(1, std::min(bytes / s.item_bytes, s.capacity_items / 2));
}

/// Threshold, age, end marker: whichever comes first.
[[nodiscard]] constexpr FlushDecision decide_flush(FlushState const& s) {
  if (s.pending_items == 0) return FlushDecision::wait;
  bool const due = s.pending_items >= flush_threshold(s) || s.age >= s.flush_after || s.closing;
  return due ? FlushDecision::flush : FlushDecision::wait;
}

}  // namespace hiway
