// Relays: the monitors' half of a tunnel across the bus. The producers' home publishes what was committed and gives
// credit for what was retired; the consumers' home admits what has arrived and tells what was retired. One step each,
// on either machine.
//
//   word        written by                                          read by
//   published   the outbox's relay                                  direct: the inbox's relay; dma: the transfer line
//   arrived     direct: the same word as published; dma: a later    the inbox's relay
//               operation on the copies' stream, or the host after the copy
//   retired     the inbox's relay                                   the outbox's relay
// All are monotone, with one writer, and lie where both sides may read them; they are accessed across.
//   M1  the outbox's relay acquires every committed turn before it releases `published`
//   M2  the inbox's relay acquires `arrived` before it releases the turns: items are whole for whoever acquires those
//   M3  the inbox's relay acquires every freed turn before it releases `retired`; the outbox's relay acquires it before
//       it gives credit
// None has counters of the end check: created is `claimed` at the producers' home, finished is ended tasks at the
// consumers'.
#pragma once
#include <cstdint>

#include "hiway/item.hpp"
#include "hiway/ring.hpp"

namespace hiway {

struct OutboxRelay {
  Ring outbox;
  Word<std::uint64_t>* published = nullptr;
  Word<std::uint64_t>* retired = nullptr;
  std::uint64_t published_to = 0;  ///< the relay's own
  std::uint64_t credited_to = 0;   ///< the relay's own
};

struct InboxRelay {
  Ring inbox;
  Word<std::uint64_t>* arrived = nullptr;
  Word<std::uint64_t>* retired = nullptr;
  std::uint64_t admitted_to = 0;  ///< the relay's own
  std::uint64_t retired_to = 0;   ///< the relay's own
};

/// Moves a spill pool at a home whose tunnel crosses the bus into its outbox. The drainer takes a ring ticket, commits,
/// then counts.
struct Drain {
  Ring pool;
  Ring outbox;
  Word<std::uint64_t>* drained = nullptr;  ///< `finished` of the pool
  std::uint64_t hand_begin = 0;            ///< pool tickets taken and not yet moved; the drain's own
  std::uint64_t hand_end = 0;
};

/// One step, given what `retired` is known to be; true when something moved. All lanes of the monitor's warp together,
/// like the other steps.
template <class Machine>
HIWAY_DEVICE inline bool step(Machine m, OutboxRelay& r, std::uint64_t retired) {
  std::uint64_t const from = r.published_to;
  std::uint64_t const to = committed_prefix(m, r.outbox, from);  // M1
  if (to != from) {
    release_prefix(m, r.outbox, from, to);
    by_one_lane(m, [&] {
      m.store_across(*r.published, to, Order::release);  // M1
      r.published_to = to;
    });
  }
  std::uint64_t const credited = r.credited_to;
  if (retired != credited) {
    m.sync_warp(m.lanes());
    give_credit(m, r.outbox, retired - credited);
    by_one_lane(m, [&] { r.credited_to = retired; });
  }
  return to != from || retired != credited;
}

template <class Machine>
HIWAY_DEVICE inline bool step(Machine m, OutboxRelay& r) {
  return step(m, r, m.shuffle(m.lanes(), m.load_across(*r.retired, Order::acquire), 0));  // M3
}

/// One step, given what `arrived` is known to be.
template <class Machine>
HIWAY_DEVICE inline bool step(Machine m, InboxRelay& r, std::uint64_t arrived) {
  std::uint64_t const admitted = r.admitted_to;
  if (arrived != admitted) {
    m.sync_warp(m.lanes());
    admit(m, r.inbox, admitted, arrived);
    by_one_lane(m, [&] { r.admitted_to = arrived; });
  }
  std::uint64_t const from = r.retired_to;
  std::uint64_t const to = retired_prefix(m, r.inbox, from, arrived);  // M3
  if (to != from) {
    by_one_lane(m, [&] {
      m.store_across(*r.retired, to, Order::release);  // M3
      r.retired_to = to;
    });
  }
  return arrived != admitted || to != from;
}

template <class Machine>
HIWAY_DEVICE inline bool step(Machine m, InboxRelay& r) {
  return step(m, r, m.shuffle(m.lanes(), m.load_across(*r.arrived, Order::acquire), 0));  // M2
}

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
  // A ticket's holder may have left without its item, in a fault: the monitor, which tells of faults, waits for nobody.
  std::uint64_t const ready =
      detail::prefix_end(m, d.pool, begin, end, [&](std::uint64_t t) { return d.pool.full_turn(t); });
  Grant const room = claim_put(m, d.outbox, group, begin + m.lane() < ready);
  if (room.granted) {
    commit_put(m, d.outbox, room.ticket, control, [&](std::byte* slot) {
      finish_get(m, d.pool, begin + m.lane(), control, Credit::early,
                 [&](std::byte const* item) { copy_bytes(slot, item, d.pool.item_bytes); });
    });
  }
  unsigned const moved = m.count(m.ballot(group, room.granted));
  if (moved == 0) return false;
  by_one_lane(m, [&] {
    d.hand_begin = begin + moved;
    m.fetch_add(*d.drained, std::uint64_t{moved}, Order::release);  // after the tickets and the commits
  });
  return true;
}

}  // namespace hiway
