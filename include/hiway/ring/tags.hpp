// Tags: rings whose items say by themselves that they have come (docs/adr/0035).
//
// A slot is an item of up to 12 bytes and a tag. A put writes the item and then the tag, or both in one access where
// the machine has one (Machine::tags_bring_items). In a whole ring the tag is the slot's turn. In a half-ring the tag
// is the lap's number, puts count nothing, and neither side asks for credit.
//
// A get from a half-ring looks at the slots from `taken` on, takes the tickets of those whose tags match their laps by
// a CAS, and counts them as done as usual. Nobody writes such a slot again until the relay has told the other side of
// that count, so what the get saw is still there when its CAS succeeds; what it copied before a CAS that fails is
// discarded.
//
// A waiting put takes its ticket before checking for room, then waits until `given` passes it. That costs no more than
// a look at both words, which are under way at once. A put that only tries, or has a spill pool, takes a ticket below
// `given` by a CAS. So tickets may run ahead of room, by the number of waiting puts.
//
//   R4  a tag is released across -> A4 a look at it acquires: the item is whole. Where item and tag are one access, it
//       orders nothing else, and need not: only the item must be whole. The same holds for R1, A1, R2 and A2
//       (turns.hpp) where turns are tags: a get that frees a slot has the item already, and frees it only after a
//       branch on the turn that came with the item
//   I4  (counts.hpp) a put may touch the slot of its ticket once `given` is above it
//   T5  a put's ticket acquires: "ticket, then closed" against "closed, then created" (termination.hpp)
#pragma once
#include <cstdint>

#include "hiway/fault.hpp"
#include "hiway/machine/machine.hpp"
#include "hiway/ring/counts.hpp"
#include "hiway/ring/turns.hpp"

namespace hiway {

namespace detail {

/// Where item and tag are one access, turns order nothing else, and need not (R4).
template <class Machine>
inline constexpr MemoryOrder tag_order = Machine::tags_bring_items ? MemoryOrder::relaxed : MemoryOrder::acquire;

/// Sets the tag of a slot: its item is there.
template <class Machine>
HIWAY_DEVICE inline void set_tag(Machine m, Ring const& ring, std::uint64_t ticket) {
  m.store_across(ring.tagged_slot(ticket).tag, ring.tag_of(ticket), MemoryOrder::release);  // R4
}

/// Tagged half-rings: counts items that were got as done. Where item and tag are one access the count releases nothing,
/// since the item was read with its tag; each lane counts its own ticket.
template <class Machine>
HIWAY_DEVICE inline void count_tagged(Machine m, Ring const& ring, Grant const& grant) {
  if constexpr (Machine::tags_bring_items) {
    m.fetch_add(ring.done_count(grant.ticket), 1u, MemoryOrder::relaxed);
  } else {
    count_done_together(m, ring, grant);
  }
}

/// Writes an item and its tag into a claimed slot. `look()` is called just before, in a half-ring just after (T5).
template <class Machine, class Write, class Check>
HIWAY_DEVICE inline void commit_tagged(Machine m, Ring const& ring, std::uint64_t ticket, Control& control,
                                       Write&& write, Check&& look) {
  TaggedSlot& slot = ring.tagged_slot(ticket);
  TaggedSlot room{};
  write(room.item);
  room.tag.bits = ring.is_half() ? ring.tag_of(ticket) : ring.full_turn(ticket);
  if (!ring.is_half()) {
    await_turn(m, slot.tag, ring.free_turn(ticket), control, tag_order<Machine>);  // A1
    look();
  }
  m.put_tagged(slot, room);  // R1, R4
  if (ring.is_half()) look();
}

/// Waits for a claimed item of a tagged whole ring, reads it and frees its slot. Where item and tag are one access, the
/// look has read the item, and the store comes after a branch on what it saw: the store need order nothing else (R2).
template <class Machine, class Read>
HIWAY_DEVICE inline void take_tagged(Machine m, Ring const& ring, std::uint64_t ticket, Control& control, Read&& read) {
  constexpr MemoryOrder release = Machine::tags_bring_items ? MemoryOrder::relaxed : MemoryOrder::release;
  TaggedSlot& slot = ring.tagged_slot(ticket);
  std::uint32_t const full = ring.full_turn(ticket);
  TaggedSlot seen = m.look_tagged(slot);  // A2
  for (unsigned misses = 0; seen.tag.bits != full; ++misses) {
    leave_if_aborted(m, control);
    m.relax(misses);
    seen = m.look_tagged(slot);
  }
  read(Machine::tags_bring_items ? static_cast<std::byte const*>(seen.item) : slot.item);
  m.store(slot.tag, full + 1u, release);  // R2
}

/// Takes up to `n` tickets of a tagged inbox whose items have come, for one lane.
template <class Machine>
HIWAY_DEVICE inline Run claim_by_tags(Machine m, Ring const& shared, std::uint32_t n, Word<std::uint64_t>* tally) {
  Ring const ring = in_own_registers(m, shared);
  std::uint64_t first = m.load(ring.words->taken, MemoryOrder::relaxed);
  for (;;) {
    std::uint32_t found = 0;
    while (found < n &&
           m.load_across(ring.tagged_slot(first + found).tag, MemoryOrder::acquire) == ring.tag_of(first + found))
      ++found;  // A4
    if (found == 0) return {};
    if (!m.compare_exchange(ring.words->taken, first, first + found, MemoryOrder::relaxed)) continue;
    if (tally != nullptr) m.fetch_add(*tally, std::uint64_t{found}, MemoryOrder::relaxed);
    return {first, found};
  }
}

/// After a look ahead at a tagged outbox's `given`: acquires it (I4). Where item and tag are one access that is not
/// needed: the store into the slot comes after a branch on `given`, and whoever read the slot has the item already.
template <class Machine>
HIWAY_DEVICE inline void acquire_given(Machine m) {
  if constexpr (!Machine::tags_bring_items) m.acquire_ahead();
}

/// Takes up to `n` tickets of a tagged outbox for which there is room, for one lane.
template <class Machine>
HIWAY_DEVICE inline Run claim_below_given(Machine m, RingWords& w, std::uint32_t n) {
  std::uint64_t first = m.load_ahead(w.claimed);
  std::uint64_t const given = m.load_ahead(w.given);
  acquire_given(m);
  while (first < given) {
    std::uint32_t const some = at_most(given - first, n);
    if (m.compare_exchange(w.claimed, first, first + some, MemoryOrder::acquire)) return {first, some};  // T5
  }
  return {};
}

}  // namespace detail

/// Takes a ticket of a tagged outbox for each lane of `group` with `need`, whether there is room for it or not: the
/// lane waits until `given` is beyond its ticket (has_room). All lanes of `group` call it together.
struct Ticket {
  std::uint64_t number = 0;
  std::uint64_t given = 0;  ///< its value when last read
};
template <class Machine>
HIWAY_DEVICE inline Ticket take_ticket(Machine m, Ring const& ring, std::uint32_t group, bool need) {
  std::uint32_t const wanting = m.ballot(group, need);
  unsigned const leader = m.lowest(group);
  Ticket t;
  t.given = m.load_ahead(ring.words->given);  // both accesses are under way at once
  if (m.lane() == leader && wanting != 0)
    t.number = m.fetch_add(ring.words->claimed, std::uint64_t{m.count(wanting)}, MemoryOrder::acquire);  // T5
  detail::acquire_given(m);
  t.number = m.shuffle(group, t.number, leader) + m.count(wanting & lanes_below(m.lane()));
  m.sync_warp(group);  // the leader's acquires hold for every lane
  return t;
}

/// Whether there is room for the ticket.
template <class Machine>
[[nodiscard]] HIWAY_DEVICE inline bool has_room(Machine m, Ring const& ring, Ticket& t) {
  if (t.number < t.given) return true;
  t.given = m.load_ahead(ring.words->given);
  detail::acquire_given(m);
  return t.number < t.given;
}

/// What a reader of a tagged inbox knows of itself.
struct TagReader {
  Word<std::uint64_t>* tally;  ///< counts what is got
  /// The low half of the ticket that comes next: a guess from the last attempt; it may be stale. With it the slot is
  /// read while the load of `taken` is still under way.
  std::uint32_t& next;
  bool alone;  ///< no other warp, or thread, reads: all lanes of this one together need no CAS
};

namespace detail {

/// The lanes of one try, and the caller's place among them.
struct TagLanes {
  std::uint32_t group;
  unsigned leader;
  unsigned rank;  ///< among those that want an item
  bool alone;     ///< nobody else takes tickets
};
/// What the lanes saw side by side.
struct TagLook {
  std::uint64_t first = 0;  ///< `taken`
  TaggedSlot seen;          ///< the lane's own slot, `rank` behind it
};

/// Looks at `taken` and at the slots from there on, all at once, since `next` says where they begin. If it was stale
/// the lanes look again; false if it is stale once more.
template <class Machine>
HIWAY_DEVICE inline bool look_side_by_side(Machine m, Ring const& ring, TagLanes const& lanes, bool need,
                                           std::uint32_t& known_next, TagLook& look) {
  std::uint32_t next = m.shuffle(lanes.group, known_next, lanes.leader);
  for (unsigned looks = 0;; ++looks) {
    if (m.lane() == lanes.leader) look.first = m.load_ahead(ring.words->taken);
    if (need) look.seen = m.look_tagged(ring.tagged_slot(next + lanes.rank));  // A4
    look.first = m.shuffle(lanes.group, look.first, lanes.leader);
    known_next = static_cast<std::uint32_t>(look.first);
    if (known_next == next) return true;
    if (looks != 0) return false;
    next = known_next;
  }
}

/// Takes the tickets from `first` up to `after` for the lanes, which leave it together; false if others took tickets
/// meanwhile.
template <class Machine>
HIWAY_DEVICE inline bool take_side_by_side(Machine m, Ring const& ring, TagLanes const& lanes, std::uint64_t first,
                                           std::uint64_t after, Word<std::uint64_t>* tally) {
  std::uint32_t won = 0;
  if (m.lane() == lanes.leader) {
    if (lanes.alone) {
      m.store(ring.words->taken, after, MemoryOrder::relaxed);
    } else {
      won = m.compare_exchange(ring.words->taken, first, after, MemoryOrder::relaxed) ? 1u : 0u;
    }
    if ((lanes.alone || won != 0) && tally != nullptr) m.fetch_add(*tally, after - first, MemoryOrder::relaxed);
  }
  if (!lanes.alone && m.shuffle(lanes.group, won, lanes.leader) == 0) return false;
  m.sync_warp(lanes.group);
  return true;
}

}  // namespace detail

/// Tries once to get an item from a tagged inbox for each lane of `group` with `need`; the lanes look side by side.
/// Calls `read(std::byte const*)` in those that got one. No lane gets one if others took tickets meanwhile.
template <class Machine, class Read>
HIWAY_DEVICE inline bool get_tagged(Machine m, Ring const& ring, std::uint32_t group, bool need, TagReader who,
                                    Read&& read) {
  std::uint32_t const wanting = m.ballot(group, need);
  if (wanting == 0) return false;
  bool const alone = who.alone && group == m.lanes();
  detail::TagLanes const all{group, m.lowest(group), m.count(wanting & lanes_below(m.lane())), alone};
  if (alone) m.sync_warp(group);  // if a lane took a ticket by itself before, all see it
  detail::TagLook look;
  if (!detail::look_side_by_side(m, ring, all, need, who.next, look)) return false;
  std::uint64_t const ticket = look.first + all.rank;
  std::uint32_t const missing = wanting & ~m.ballot(group, need && look.seen.tag.bits == ring.tag_of(ticket));
  std::uint32_t const lanes = missing == 0 ? wanting : wanting & lanes_below(m.lowest(missing));
  if (lanes == 0) return false;
  std::uint64_t const after = look.first + m.count(lanes);
  if (!detail::take_side_by_side(m, ring, all, look.first, after, who.tally)) return false;
  who.next = static_cast<std::uint32_t>(after);
  if ((lanes >> m.lane() & 1u) == 0) return false;
  read(Machine::tags_bring_items ? static_cast<std::byte const*>(look.seen.item) : ring.item(ticket));
  detail::count_tagged(m, ring, Grant{true, ticket, all.rank, lanes});
  return true;
}

}  // namespace hiway
