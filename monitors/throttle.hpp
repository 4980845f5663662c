// Throttles. While a cycle's spill pools are high, writers from outside it are held back, so that the items in the
// cycle are finished before more come in (docs/adr/0013). A cycle is a strongly connected component of the declared
// graph, with a group as one node.
//
// The checker is the end check's: the device monitor's warp, or the host's where nothing of the pipeline is on a
// device. So every word has one writer. Across the bus, or to another device that the checker reaches, it makes only
// loads and stores.
//
//   word                 written by                  read by
//   claimed, taken       ring.hpp                    the checker: those of a pool, at the home of its producers
//   EndWords throttled   the checker, at one home    puts from outside, before they ask for room
//
//   P1  a put that waits for a throttle has no ticket: for the end check it is like a put that waits for room
//   P2  throttling is advice only: counts may be stale, and a put that was about to ask for room may still do so
//   P3  decide_throttle gives up, so throttles add no deadlock
#pragma once
#include <cstdint>

#include "hiway/ring.hpp"
#include "hiway/termination.hpp"
#include "throttle_policy.hpp"

namespace hiway {

/// A spill pool of the cycle.
struct PoolWords {
  RingWords* words = nullptr;
  std::uint64_t capacity = 1;
  bool across = false;
};

/// A tunnel that brings items into the cycle: its word at the producers' home.
struct ThrottledEntry {
  Word<std::uint32_t>* throttled = nullptr;
  bool across = false;
};

/// A cycle that has both pools and entries.
struct CycleRecord {
  Range pools;
  Range entries;
  ThrottleState state;             ///< only the checker uses it
  std::uint32_t told_percent = 0;  ///< likewise
};

struct ThrottleTable {
  CycleRecord* cycles = nullptr;
  std::uint32_t cycle_count = 0;
  PoolWords* pools = nullptr;
  ThrottledEntry* entries = nullptr;
  std::uint32_t moved = 0;  ///< only the checker uses it: what the last step returns
};

namespace detail {

template <class Machine>
HIWAY_DEVICE inline std::uint64_t pool_count(Machine m, Word<std::uint64_t>& word, bool across) {
  return across ? m.load_across(word, MemoryOrder::relaxed) : m.load(word, MemoryOrder::relaxed);
}

/// Looks at one cycle; one lane calls it.
template <class Machine>
HIWAY_DEVICE inline bool look_at_cycle(Machine m, ThrottleTable const& table, CycleRecord& cycle,
                                       std::uint64_t now_ns) {
  PoolsSeen seen;
  seen.now_ns = now_ns;
  for (std::uint32_t i = cycle.pools.begin; i < cycle.pools.end; ++i) {
    PoolWords const& pool = table.pools[i];
    std::uint64_t const taken = pool_count(m, pool.words->taken, pool.across);
    std::uint64_t const claimed = pool_count(m, pool.words->claimed, pool.across);
    std::uint64_t const held = claimed > taken ? claimed - taken : 0;  // P2
    auto const percent = static_cast<std::uint32_t>(held * 100 / pool.capacity);
    if (percent > seen.fullest_percent) seen.fullest_percent = percent;
    seen.taken += taken;
    seen.capacity += pool.capacity;
  }
  Throttle const before = cycle.state.throttle;
  cycle.state = decide_throttle(cycle.state, seen);
  if (cycle.state.throttle != before) {
    auto const value = static_cast<std::uint32_t>(cycle.state.throttle);
    for (std::uint32_t i = cycle.entries.begin; i < cycle.entries.end; ++i) {
      ThrottledEntry const& entry = table.entries[i];
      if (entry.across) {
        m.store_across(*entry.throttled, value, MemoryOrder::relaxed);
      } else {
        m.store(*entry.throttled, value, MemoryOrder::relaxed);
      }
    }
  }
  // The caller idles longer the longer nothing moved. "Moved" makes it look again soon, before the level has changed by
  // much.
  std::uint32_t const told = cycle.told_percent;
  bool const moved = seen.fullest_percent > told + 2 || seen.fullest_percent + 2 < told;
  if (moved) cycle.told_percent = seen.fullest_percent;
  return moved || cycle.state.throttle != before;
}

}  // namespace detail

/// One step; true when a level or a throttle has changed. All lanes of the checker's warp call it together.
template <class Machine>
HIWAY_DEVICE inline bool step(Machine m, ThrottleTable& table, std::uint64_t now_ns) {
  by_one_lane(m, [&] {
    table.moved = 0;
    for (std::uint32_t i = 0; i < table.cycle_count; ++i)
      table.moved |= detail::look_at_cycle(m, table, table.cycles[i], now_ns) ? 1u : 0u;
  });
  return table.moved != 0;
}

}  // namespace hiway
