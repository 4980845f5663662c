// Shards: a whole ring may be one of several that lie side by side in memory, each with words, credit and order of its
// own. A producer keeps to one shard, so that its items stay in order; a consumer takes from its own shard first, then
// from others. Also how full a ring is, for choosing among shards and rings: a hint, which may be stale at once.
#pragma once
#include <cstddef>
#include <cstdint>

#include "hiway/machine/machine.hpp"
#include "hiway/ring/ring.hpp"

namespace hiway {

inline constexpr unsigned max_shards = 64;
/// Means the spill pool where other numbers mean a shard.
inline constexpr unsigned of_spill = max_shards;

/// Shard `k` as a ring by itself.
HIWAY_DEVICE inline Ring shard(Ring ring, unsigned k) {
  std::size_t const before = std::size_t{k} << ring.lap_shift;
  ring.items += before * ring.item_bytes;
  ring.turns += before;
  ring.words += k;
  ring.shards = 1;
  return ring;
}

/// About how many items a get would find now, in all shards; for choosing among rings. By tags: one or none.
template <class Machine>
HIWAY_DEVICE inline std::int32_t items_about(Machine m, Ring const& ring) {
  if (ring.by_tags()) {
    std::uint64_t const next = m.load(ring.words->taken, MemoryOrder::relaxed);
    return m.load_across(ring.tagged_slot(next).tag, MemoryOrder::relaxed) == ring.tag_of(next) ? 1 : 0;
  }
  std::int32_t items = m.load(ring.words->avail, MemoryOrder::relaxed);
  for (unsigned k = 1; k < ring.shards; ++k) items += m.load(ring.words[k].avail, MemoryOrder::relaxed);
  return items;
}

/// About how many puts there is room for now; 0 or less when more are waiting.
template <class Machine>
HIWAY_DEVICE inline std::int32_t room_about(Machine m, Ring const& ring) {
  if (!ring.by_tags()) return m.load(ring.words->free, MemoryOrder::relaxed);
  return static_cast<std::int32_t>(m.load(ring.words->given, MemoryOrder::relaxed) -
                                   m.load(ring.words->claimed, MemoryOrder::relaxed));
}

/// The first shard after `home` that seems to hold items; `home` itself if none does. All lanes of `group` call it
/// together, and each looks at another shard at the same time.
template <class Machine>
HIWAY_DEVICE inline unsigned find_shard(Machine m, Ring const& ring, std::uint32_t group, unsigned home) {
  unsigned const width = m.count(group);
  unsigned step = m.count(group & lanes_below(m.lane())) + 1;
  Ring const own = in_own_registers(m, ring);
  while (step < own.shards && m.load(own.words[(home + step) & (own.shards - 1u)].avail, MemoryOrder::relaxed) <= 0)
    step += width;
  std::uint32_t const found = m.ballot(group, step < ring.shards);
  return found == 0 ? home : (home + m.shuffle(group, step, m.lowest(found))) & (ring.shards - 1u);
}

namespace detail {

// These take an inlet's or an outlet's view: its `ring`, `spill`, and `home`, the shard of block 0 or of the thread.

/// The shard that the caller's block, or thread, puts into and takes from first.
template <class Machine, class View>
HIWAY_DEVICE inline unsigned home_of(Machine m, View const& v) {
  return (v.home + m.block_index()) & (v.ring.shards - 1u);
}
/// A shard, or the spill pool.
template <class View>
HIWAY_DEVICE inline Ring ring_of(View const& v, unsigned whose) {
  if (whose == of_spill) return *v.spill;
  return v.ring.shards == 1 ? v.ring : shard(v.ring, whose);
}
template <class Machine, class View>
HIWAY_DEVICE inline Ring home_ring(Machine m, View const& v) {
  return v.ring.shards == 1 ? v.ring : shard(v.ring, home_of(m, v));
}

}  // namespace detail
}  // namespace hiway
