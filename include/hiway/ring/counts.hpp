// Counts: how a half-ring knows which tickets are done, and when a ticket may use its slot.
//
// A ticket's holder does not wait for its slot, and hands it to nobody: it counts what it has done, by chunks of slots.
// The other half, a relay (relay.hpp), looks for the prefix of tickets that are all done, tells the other side of it,
// and gives credit for what it hears from there. One caller at a time does so, by a single lane.
//
// Credit says how many slots are usable, not which. So a claim that has its tickets still waits until `given`, which
// counts all credit ever given, has passed them. The wait is short, because the credit that it took was given already.
//
// Holders finish in any order. A count of a whole chunk says that all of it is done; the count of the last chunk says
// so only if nobody else was granted a ticket of that chunk. Chunks are those of two laps, so that a slow holder of one
// lap and a quick one of the next do not add to one count.
//
//   I4  half-rings: a put's ticket t is granted only against credit for the retired item t - capacity, a get's only
//       against credit for the admitted item t. The credit may be another claim's: credits name no slot, so taking one
//       acquires nothing. `given` counts all credit ever given, in an outbox the initial capacity, too. A claim that
//       acquires a value above t from `given` may touch the slot of t. `given` is raised after the credit, so a claim
//       may have to look again; its writer waits for nothing between the two
//   I6  half-rings: done[k] counts, over all laps, tickets of chunk k that are done. The chunks are those of *two*
//       laps, so that no two laps with tickets under way share a count. A chunk is done when its count says so. Of the
//       last chunk, which is only begun, the first n tickets are done when its count is n and no other ticket of it was
//       granted; the grants are read after the count
//   R3  a count is a release -> the prefix acquires it. All are read-modify-writes, so one acquire covers all before
//       it. `given` is released -> a claim acquires it: the slot is free, or its item there (I4)
#pragma once
#include <cstdint>

#include "hiway/machine/machine.hpp"
#include "hiway/machine/tuning.hpp"
#include "hiway/ring/marks.hpp"
#include "hiway/ring/ring.hpp"

namespace hiway {

namespace detail {

/// Waits until the granted tickets before `end` may be used (I4). The wait is short: their credit was already given.
template <class Machine>
HIWAY_DEVICE inline void await_given(Machine m, Word<std::uint64_t>& given, std::uint64_t end) {
  for (unsigned misses = 0; m.load(given, MemoryOrder::acquire) < end; ++misses) m.relax(misses);
}

/// Half-rings: counts `n` tickets from `ticket` on, all of one chunk, as done.
template <class Machine>
HIWAY_DEVICE inline void count_done(Machine m, Ring const& ring, std::uint64_t ticket, std::uint32_t n) {
  m.fetch_add(ring.done_count(ticket), n, MemoryOrder::release);  // R3
}

/// Half-rings: counts the tickets of all lanes granted together as done; one lane counts for each chunk.
template <class Machine>
HIWAY_DEVICE inline void count_done_together(Machine m, Ring const& ring, Grant const& grant) {
  m.sync_warp(grant.lanes);  // the counting lane releases what all have done
  std::uint32_t const place = ring.place_in_chunk(grant.ticket);
  if (grant.rank != 0 && place != 0) return;
  std::uint32_t const tickets = m.count(grant.lanes) - grant.rank;
  std::uint32_t const left = ring.chunk_slots() - place;
  count_done(m, ring, grant.ticket, tickets < left ? tickets : left);
}

}  // namespace detail

/// The end of the run of tickets from `from` on that are all done; their counts are acquired (I6). Several counts are
/// read at once: one after another, each would take the memory's whole latency. The first is acquired by itself, since
/// mostly it is the only one needed.
template <class Machine>
HIWAY_DEVICE inline std::uint64_t done_prefix(Machine m, Ring const& ring, std::uint64_t from) {
  if (ring.restored) return marked_prefix(m, ring, from);
  constexpr unsigned looks = TuningOf<Machine>::counts_at_once;
  Word<std::uint64_t>& tickets = ring.part == RingPart::outbox ? ring.words->claimed : ring.words->taken;
  std::uint64_t end = from;
  for (;;) {
    std::uint64_t const begin = end - ring.place_in_chunk(end);
    std::uint32_t done[looks];
    for (unsigned i = looks; i-- != 0;) {
      std::uint64_t const chunk = begin + (std::uint64_t{i} << ring.chunk_shift);
      Word<std::uint32_t>& count = ring.done_count(chunk);
      done[i] = (i != 0 ? m.load_ahead(count) : m.load(count, MemoryOrder::acquire)) - ring.done_before(chunk);
    }
    unsigned whole = looks;
    std::uint32_t of_last = 0;
    for (unsigned i = looks; i-- != 0;) {  // no run-time index: a GPU would put the array into memory
      if (done[i] == ring.chunk_slots()) continue;
      whole = i;
      of_last = done[i];
    }
    std::uint64_t const last = begin + (std::uint64_t{whole} << ring.chunk_shift);
    if (whole != 0) {
      m.acquire_ahead();
      end = last;
    }
    if (whole == looks) continue;
    std::uint64_t const begun = last + of_last;
    if (begun > end && of_last < ring.chunk_slots() && m.load(tickets, MemoryOrder::relaxed) == begun) end = begun;
    return end;
  }
}

/// Gives credit for `n` more puts or gets. The caller has acquired that their slots are free, or their items there.
template <class Machine>
HIWAY_DEVICE inline void give_credit(Machine m, Ring const& ring, std::uint64_t n) {
  if (!ring.by_tags()) {
    Word<std::int32_t>& credit = ring.part == RingPart::outbox ? ring.words->free : ring.words->avail;
    m.fetch_add(credit, static_cast<std::int32_t>(n), MemoryOrder::relaxed);
  }
  m.fetch_add(ring.words->given, n, MemoryOrder::release);  // I4
}

}  // namespace hiway
