// Recall: what the device monitor does about kernels that yield. It sends away a kernel in which nothing moves, and has
// one that is away come back when there is work: L4 of hiway/launch/slice.hpp.
//
//   A1  A kernel is away once all blocks of the last launch that may start have left. The monitor looks for work again
//       and again, so what came while the last block was leaving is found: nothing need be told.
//   A2  Work is an item to get or a result that is held, and room for a result; or a stage that has ended and whose
//       blocks have not all returned.
#pragma once
#include <cstdint>

#include "hiway/launch/slice.hpp"
#include "hiway/ring.hpp"
#include "hiway/termination/table.hpp"
#include "hiway/termination/words.hpp"

namespace hiway {

/// One end of a kernel that yields.
struct WatchedEnd {
  Ring ring;
  Ring const* spill = nullptr;  ///< also got from, or put into
};

struct YieldingKernel {
  SliceNews* news = nullptr;
  SliceWords* words = nullptr;
  std::uint32_t blocks = 0;
  Range stages;   ///< in RecallTable::stages
  Range outlets;  ///< in RecallTable::ends
  Range inlets;
  // Used by the warp that checks only:
  std::uint32_t called = 1;          ///< the last launch that may start, but for those that a launch said itself
  std::uint64_t moved = not_looked;  ///< tickets of all its ends
  std::uint64_t still_since_ns = 0;  ///< when `moved` last changed
  /// `moved` of a launch that begins: what came to rest before is not its rest.
  static constexpr std::uint64_t not_looked = ~std::uint64_t{0};
};

/// At the device.
struct RecallTable {
  YieldingKernel* kernels = nullptr;
  StageWords** stages = nullptr;
  WatchedEnd* ends = nullptr;
  std::uint32_t kernel_count = 0;
  std::uint64_t idle_ns = 0;  ///< a kernel in which nothing has moved for so long is sent away
};

namespace detail {

/// What there is for a kernel that is away (A2).
enum class Work : std::uint8_t { none, without_room, some };

template <class Machine>
HIWAY_DEVICE inline Work work_for(Machine m, RecallTable const& t, YieldingKernel const& k) {
  bool ended = true;
  for (std::uint32_t i = k.stages.begin; i < k.stages.end; ++i)
    ended = m.load(t.stages[i]->ended, MemoryOrder::relaxed) != 0 && ended;
  bool const returned = m.load(t.stages[k.stages.begin]->returned, MemoryOrder::relaxed) >= k.blocks;
  bool items = m.load(k.words->held_count, MemoryOrder::relaxed) != 0;
  for (std::uint32_t i = k.outlets.begin; i < k.outlets.end; ++i) {
    WatchedEnd const& end = t.ends[i];
    items = items_about(m, end.ring) > 0 || (has_spill(end.spill) && items_about(m, *end.spill) > 0) || items;
  }
  bool room = true;
  for (std::uint32_t i = k.inlets.begin; i < k.inlets.end; ++i) {
    WatchedEnd const& end = t.ends[i];
    bool any = has_spill(end.spill) || room_about(m, end.ring) > 0;
    for (unsigned s = 1; s < end.ring.shards; ++s)
      any = m.load(end.ring.words[s].free, MemoryOrder::relaxed) > 0 || any;
    room = any && room;
  }
  if (ended) return returned ? Work::none : Work::some;
  if (!items) return Work::none;
  return room ? Work::some : Work::without_room;
}

/// The tickets of all ends together, which only grow.
template <class Machine>
HIWAY_DEVICE inline std::uint64_t tickets(Machine m, RecallTable const& t, YieldingKernel const& k) {
  std::uint64_t sum = 0;
  auto const add = [&](Range ends, Word<std::uint64_t> RingWords::*count) {
    for (std::uint32_t i = ends.begin; i < ends.end; ++i) {
      Ring const& ring = t.ends[i].ring;
      for (unsigned s = 0; s < ring.shards; ++s) sum += m.load(ring.words[s].*count, MemoryOrder::relaxed);
      if (has_spill(t.ends[i].spill)) sum += m.load(t.ends[i].spill->words->*count, MemoryOrder::relaxed);
    }
  };
  add(k.outlets, &RingWords::taken);
  add(k.inlets, &RingWords::claimed);
  return sum;
}

/// By one lane; true if the kernel is away, and nothing is there for it.
template <class Machine>
HIWAY_DEVICE inline bool recall(Machine m, RecallTable const& t, YieldingKernel& k, std::uint64_t now_ns) {
  // All in flight together: what is missed now is seen in the next round.
  std::uint32_t const found = m.load(k.words->found, MemoryOrder::relaxed) + 1;
  Work const work = work_for(m, t, k);
  std::uint64_t const moved = tickets(m, t, k);
  std::uint32_t const gone = m.load(k.words->launch, MemoryOrder::acquire) - 1;
  if (static_cast<std::int32_t>(found - k.called) > 0) k.called = found;
  if (gone == k.called) {  // A1
    if (work != Work::some) return work == Work::none;
    // Has it said so itself? Two that say so would write one word, the later of them an old number.
    if (static_cast<std::int32_t>(m.load(k.words->found, MemoryOrder::relaxed) - k.called) >= 0) return false;
    k.moved = YieldingKernel::not_looked;
    m.store_across(k.news->next, ++k.called, MemoryOrder::release);
    return false;
  }
  if (moved != k.moved) {
    k.moved = moved;
    k.still_since_ns = now_ns;
  } else if (now_ns - k.still_since_ns >= t.idle_ns) {
    m.store(k.words->sent_away, k.called, MemoryOrder::relaxed);
  }
  return false;
}

}  // namespace detail

/// When the monitor begins: launches that the host has started unasked.
template <class Machine>
HIWAY_DEVICE inline void hear_of_launches(Machine m, RecallTable const& t) {
  unsigned const width = m.count(m.lanes());
  for (std::uint32_t i = m.lane(); i < t.kernel_count; i += width) {
    YieldingKernel& k = t.kernels[i];
    std::uint32_t const launched = m.load_across(k.news->launched, MemoryOrder::acquire);
    if (static_cast<std::int32_t>(launched - k.called) <= 0) continue;
    k.called = launched;
    k.moved = YieldingKernel::not_looked;
  }
  m.sync_warp(m.lanes());
}

/// One look at every kernel, a lane for each; true if all are away, and nothing is there for them.
template <class Machine>
HIWAY_DEVICE inline bool recall_round(Machine m, RecallTable const& t) {
  unsigned const width = m.count(m.lanes());
  std::uint64_t const now_ns = m.now_ns();
  bool quiet = true;
  for (std::uint32_t i = m.lane(); i < t.kernel_count; i += width)
    quiet = detail::recall(m, t, t.kernels[i], now_ns) && quiet;
  m.sync_warp(m.lanes());
  return m.ballot(m.lanes(), !quiet) == 0;
}

}  // namespace hiway
