// Marks: which tickets of a ring with restored order are done, a bit each.
//
// A put at such a ring has the ticket of the item that its task got (inlet/at_ticket.hpp). So tickets are not claimed
// in order, and a count of them (counts.hpp) does not say which ones are done. A holder flips the bit of its ticket
// when its item is in its slot, and readers get credit for the prefix of tickets that are done: each sees the next item
// only, and never waits for one that a task is still at work on.
//
//   word      written by                         read by
//   done[k]   holders of tickets (fetch-xor)     the prefix        a bit for each slot of two laps
//   given     whole rings: the lane that passes  the same          the end of the prefix that readers have credit for
//             on
//   passing   whole rings: lanes that have       the same          how many marks there are to look for
//             marked a ticket
//
//   K1  A ticket's bit becomes 1 in the ring's first, third ... pass over two laps, and 0 in the others. Its holder
//       flips it once, when the item is in its slot. The slot of ticket t + two laps is free only after t was got. So
//       the bit stays until the prefix has passed t
//   K2  A mark is a release -> the prefix acquires it: the items before the prefix are whole. All marks of a word are
//       read-modify-writes, so one acquire covers all before it
//   K3  whole rings: a lane that has marked adds 1 to `passing`. The one that finds 0 there gives the credit, and takes
//       off what it has seen; if more has come meanwhile, it looks again. The additions are ordered and acq_rel. So
//       a mark is seen by its own lane or by the one that gives the credit, and there is one such lane at a time. In
//       half-rings the relay does it (relay.hpp M3)
#pragma once
#include <cstdint>

#include "hiway/machine/machine.hpp"
#include "hiway/machine/tuning.hpp"
#include "hiway/ring/ring.hpp"

namespace hiway {

namespace detail {

/// The bits of all of a chunk's tickets.
HIWAY_DEVICE inline std::uint32_t whole_chunk(Ring const& ring) {
  return ~std::uint32_t{0} >> (32 - ring.chunk_slots());
}
/// Of the chunk of `ticket`, whose word is `bits`: those tickets that are not done (K1).
HIWAY_DEVICE inline std::uint32_t left_in(Ring const& ring, std::uint64_t ticket, std::uint32_t bits) {
  bool const back = (ticket >> (ring.lap_shift + 1) & 1) != 0;
  return (back ? bits : ~bits) & whole_chunk(ring);
}

/// Marks the `n` tickets from `first` on, at most 32, as done.
template <class Machine>
HIWAY_DEVICE inline void mark_done(Machine m, Ring const& ring, std::uint64_t first, std::uint32_t n) {
  while (n != 0) {
    std::uint32_t const place = ring.place_in_chunk(first);
    std::uint32_t const left = ring.chunk_slots() - place;
    std::uint32_t const some = n < left ? n : left;
    m.fetch_xor(ring.done_count(first), (~std::uint32_t{0} >> (32 - some)) << place, MemoryOrder::release);  // K2
    first += some;
    n -= some;
  }
}

}  // namespace detail

/// The end of the run of tickets from `from` on that are all done; their marks are acquired (K2). One caller at a time.
/// Mostly nothing has come, or much: it looks at one word, and if that is whole, at many at once.
template <class Machine>
HIWAY_DEVICE inline std::uint64_t marked_prefix(Machine m, Ring const& ring, std::uint64_t from) {
  constexpr unsigned looks = 4 * TuningOf<Machine>::counts_at_once;
  std::uint64_t begin = from - ring.place_in_chunk(from);
  std::uint32_t left = detail::left_in(ring, begin, m.load(ring.done_count(begin), MemoryOrder::acquire));
  if (left != 0) return begin + m.lowest(left);
  for (begin += ring.chunk_slots();;) {
    std::uint64_t const all = begin + (std::uint64_t{looks} << ring.chunk_shift);
    std::uint64_t end = all;
    for (unsigned i = looks; i-- != 0;) {
      std::uint64_t const chunk = begin + (std::uint64_t{i} << ring.chunk_shift);
      left = detail::left_in(ring, chunk, m.load_ahead(ring.done_count(chunk)));
      if (left != 0) end = chunk + m.lowest(left);
    }
    m.acquire_ahead();
    if (end != all) return end;
    begin = all;
  }
}

/// Whole rings: passes what has been marked on to readers, as credit, unless another lane is at it (K3). By one lane,
/// after its marks.
template <class Machine>
HIWAY_DEVICE inline void pass_on(Machine m, Ring const& ring) {
  RingWords& w = *ring.words;
  if (m.fetch_add(w.passing, 1u, MemoryOrder::acq_rel) != 0) return;
  for (std::uint32_t seen = 1;;) {
    std::uint64_t const from = m.load(w.given, MemoryOrder::relaxed);
    std::uint64_t const to = marked_prefix(m, ring, from);
    if (to != from) {
      m.store(w.given, to, MemoryOrder::relaxed);
      m.fetch_add(w.avail, static_cast<std::int32_t>(to - from), MemoryOrder::relaxed);  // the items go by their turns
    }
    std::uint32_t const asked = m.fetch_add(w.passing, 0u - seen, MemoryOrder::acq_rel);  // K3
    if (asked == seen) return;
    seen = asked - seen;
  }
}

}  // namespace hiway
