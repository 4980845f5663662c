// Turns: how producers and consumers of a whole ring hand each slot to each other.
//
//   one slot, lap L:   free (turn 2L) --put--> full (turn 2L+1) --get--> free (turn 2L+2)
//
// The holder of a ticket waits until its slot's turn is the ticket's own, works on the item, and stores the next turn.
// The store is a release and the wait ends in an acquire, so each holder finds what the last one left. A whole run of
// tickets is granted at once, so its holder may wait for several turns at once.
//
// A get mostly gives its credit at the grant, before it has read the item: the put that takes that credit waits for the
// slot's turn anyway. A get that works on the item in its slot gives its credit late. If its stage may put into the
// same ring, the ring is in_order: then credit is given in the order of tickets.
//
//   I5  a get that works on the item in its slot gives its credit when it is done (Credit::late), not at the grant.
//       That is not enough where its holder may put into the same ring, also indirectly: credits name no slot, so
//       credit for a later slot could grant the put the very slot that its own stage holds. There the ring is in_order:
//       credit is given for the prefix of slots that were left, and a granted put never waits for a holder.
//       `left` counts that prefix. A get that leaves a slot frees its turn, then does an RMW on `left`. These RMWs are
//       ordered, so the last one, or the CAS after it, has acquired every turn freed before and goes on with the
//       prefix. A get that loses a CAS leaves the rest to the winner, which has acquired the loser's turn
//   I7  a run of several tickets is granted at once and is no longer than the ring, so no two of them have the same
//       slot. I2 holds for whole runs: what a holder waits for was granted before its own run, together with all of the
//       run it belongs to, and the holders of that run wait only for what was granted still earlier. So a holder may
//       wait for several turns at once
//   R1  put releases the full turn -> A2 get acquires it: the item is whole
//   R2  get releases the free turn -> A1 put acquires it: the old item was read
// Where a turn is a tag, item and turn may be one access, which orders nothing else (tags.hpp R4).
#pragma once
#include <cstdint>

#include "hiway/fault.hpp"
#include "hiway/machine/machine.hpp"
#include "hiway/ring/ring.hpp"

namespace hiway {

/// When a get gives its slot's credit: at the grant, or after it has left the slot (I5). In half-rings the
/// relays give it; in an in_order ring it is always late.
enum class Credit : std::uint8_t { early, late };

namespace detail {

/// in_order: gives credit for every slot that was left, up to the first that was not (I5).
template <class Machine>
HIWAY_DEVICE inline void give_credit_in_order(Machine m, Ring const& shared) {
  Ring const ring = in_own_registers(m, shared);
  RingWords& w = *ring.words;
  std::uint64_t ticket = m.fetch_add(w.left, std::uint64_t{0}, MemoryOrder::acq_rel);
  while (m.load(ring.turn(ticket), MemoryOrder::acquire) == ring.next_free_turn(ticket) &&
         m.compare_exchange(w.left, ticket, ticket + 1, MemoryOrder::acq_rel)) {
    m.fetch_add(w.free, 1, MemoryOrder::release);
    ++ticket;
  }
}

/// The word that holds a slot's turn.
template <bool ask_for_tags>
HIWAY_DEVICE inline Word<std::uint32_t>& turn_of(Ring const& ring, std::uint64_t ticket) {
  if constexpr (ask_for_tags) {
    if (ring.tagged) return ring.tagged_slot(ticket).tag;
  }
  return ring.turn(ticket);
}

/// Waits until the slot's turn is `turn`. It will be: the ticket that this waits for was granted before (I2).
template <class Machine>
HIWAY_DEVICE inline void await_turn(Machine m, Word<std::uint32_t>& word, std::uint32_t turn, Control& control,
                                    MemoryOrder order = MemoryOrder::acquire) {
  for (unsigned misses = 0; m.load(word, order) != turn; ++misses) {
    leave_if_aborted(m, control);
    m.relax(misses);
  }
}

}  // namespace detail
}  // namespace hiway
