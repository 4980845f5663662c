// The drain of a spill pool whose tunnel crosses the bus: a monitor moves the pool's items into the outbox.
#pragma once
#include <cstdint>

#include "hiway/item.hpp"
#include "hiway/ring.hpp"

namespace hiway {

/// Moves the items of a spill pool into the outbox at the same home. The drain takes a ring ticket, commits, then
/// counts.
struct Drain {
  Ring pool;
  Ring outbox;
  Word<std::uint64_t>* drained = nullptr;  ///< counts as `finished` for the pool
  std::uint64_t hand_begin = 0;            ///< pool tickets taken but not yet moved; only the drain uses them
  std::uint64_t hand_end = 0;
};

/// One step; all lanes of the monitor's warp call it together. True when an item moved.
template <class Machine>
HIWAY_DEVICE inline bool step(Machine m, Drain& d, Control& control) {
  std::uint32_t const group = m.lanes();
  std::uint64_t begin = d.hand_begin;
  std::uint64_t end = d.hand_end;
  if (begin == end) {
    Grant const grant = claim_get(m, d.pool, group, true, nullptr, Credit::early);
    unsigned const n = m.count(m.ballot(group, grant.granted));
    if (n == 0) return false;
    begin = m.shuffle(group, grant.ticket, 0);  // rank 0 is lane 0: its ticket is the first
    end = begin + n;
    by_one_lane(m, [&] {
      d.hand_begin = begin;
      d.hand_end = end;
    });
  }
  // The holder of a ticket may have left in a fault without putting its item. The monitor must not wait for it, because
  // the monitor is what reports faults.
  std::uint64_t const mine = begin + m.lane();
  bool const ready = mine < end && m.load(d.pool.turn(mine), MemoryOrder::acquire) == d.pool.full_turn(mine);
  std::uint32_t const missing = ~m.ballot(group, ready);
  std::uint32_t const up_to_mine = lanes_below(m.lane()) | 1u << m.lane();
  Grant const room = claim_put(m, d.outbox, group, (missing & up_to_mine) == 0);
  if (room.granted) {
    commit_put(m, d.outbox, room.ticket, control, [&](std::byte* slot) {
      finish_get(m, d.pool, mine, control, Credit::early,
                 [&](std::byte const* item) { copy_bytes(slot, item, d.pool.item_bytes); });
    });
  }
  unsigned const moved = m.count(m.ballot(group, room.granted));
  if (moved == 0) return false;
  by_one_lane(m, [&] {
    d.hand_begin = begin + moved;
    m.fetch_add(*d.drained, std::uint64_t{moved}, MemoryOrder::release);  // after the tickets and the commits
  });
  return true;
}

}  // namespace hiway
