// When writers from outside a cycle are held back: a pure function of numbers, tested without threads.
//
//   open       --a pool is more than half full------------------------> throttled
//   throttled  --all pools are less than a quarter full---------------> open
//   throttled  --nothing was taken from any pool for the patience-----> open: nobody empties them
//
// A stage may read its outside tunnel to the end before it reads what it feeds itself. Under a throttle it would wait
// forever for a writer that waits for it, so a throttle gives up. Each time it gives up, more items must be taken
// before the next throttle: first a 32nd of the pools' capacity, then twice as many each time. So where a throttle does
// not help, it delays the run by the patience times the logarithm of its items, and never stops it.
#pragma once
#include <cstdint>

#include "hiway/config.hpp"

namespace hiway {

/// Longer than a busy machine keeps a thread from running. Giving up on a stage that was about to take an item may end
/// the run; waiting in vain only delays it.
inline constexpr std::uint64_t throttle_patience_ns = 500'000'000;

/// The pools of one cycle, as they are now.
struct PoolsSeen {
  std::uint32_t fullest_percent = 0;  ///< fill level of the fullest pool
  std::uint64_t taken = 0;            ///< items taken from all pools since the start
  std::uint64_t capacity = 0;         ///< items, all pools together
  std::uint64_t now_ns = 0;
};

enum class Throttle : std::uint32_t { open, throttled };

struct ThrottleState {
  Throttle throttle = Throttle::open;
  std::uint32_t times = 0;        ///< how often it was throttled
  std::uint32_t in_vain = 0;      ///< throttles that gave up since the last one that emptied the pools
  std::uint64_t taken = 0;        ///< PoolsSeen::taken at the last look
  std::uint64_t taken_at_ns = 0;  ///< while throttled: when `taken` last changed
  std::uint64_t rests_until = 0;  ///< stays open until `taken` reaches this
};

[[nodiscard]] HIWAY_DEVICE constexpr ThrottleState decide_throttle(ThrottleState s, PoolsSeen const& seen) {
  bool const moved = seen.taken != s.taken;
  s.taken = seen.taken;
  if (s.throttle == Throttle::open) {
    if (seen.fullest_percent <= 50 || seen.taken < s.rests_until) return s;
    s.throttle = Throttle::throttled;
    ++s.times;
    s.taken_at_ns = seen.now_ns;
    return s;
  }
  if (moved) s.taken_at_ns = seen.now_ns;
  if (seen.fullest_percent < 25) {
    s.throttle = Throttle::open;
    s.in_vain = 0;
  } else if (seen.now_ns - s.taken_at_ns >= throttle_patience_ns) {
    s.throttle = Throttle::open;
    s.rests_until = seen.taken + ((seen.capacity / 32 + 1) << s.in_vain);
    if (s.in_vain < 24) ++s.in_vain;
  }
  return s;
}

}  // namespace hiway
