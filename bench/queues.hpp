// The rings that are compared, each with the same two calls: all lanes of a warp put one item each, or get one each, and
// wait until all have. The library's is called the way inlets and outlets call it; the others are the baselines, written
// for this bench alone, over the same words of the machine.
//
//   hiway          one claim a warp, early credits from two counters, a turn word a slot. The same kernel shares claims
//                  in a block where the ring's handle says so
//   shards N       the library's, in N shards: a block puts into its own, and gets from it, or else from one that has items
//   per-thread     each lane counts for itself: one size counter, one ticket, a turn word (the scheme of Broker queues).
//                  `apart` is 0 at run time, which the compiler does not know: it would otherwise make one atomic for the
//                  warp, and the baseline would be the next one
//   warp           the same, one lane counts for its warp: one size counter, which is one atomic less than early credits,
//                  at the price that failing claims are seen by others for a moment
//   barrier        one lane counts for its block between two barriers; a claim is granted whole or not at all. Only where
//                  all threads of a block do the same
#pragma once
#include <cstddef>
#include <cstdint>
#include <hiway/fault.hpp>
#include <hiway/item.hpp>
#include <hiway/machine/machine.hpp>
#include <hiway/ring.hpp>

namespace bench {

using hiway::MemoryOrder;
using hiway::Word;

template <class T>
struct LibraryRing {
  using Value = T;
  hiway::Ring ring;
  hiway::Control* control = nullptr;
  /// The same ring, claimed at in another way.
  [[nodiscard]] LibraryRing grouped(hiway::Grouping grouping) const {
    LibraryRing other = *this;
    other.ring.grouping = grouping;
    return other;
  }
  Word<std::uint64_t>* tallies = nullptr;  ///< one a block counts its gets, as outlets do; null: nobody counts
  unsigned apart = 0;                      ///< see LaneRing

  template <class Machine>
  HIWAY_DEVICE void put(Machine m, T const& item) const {
    std::uint32_t const group = m.lanes();
    bool need = true;
    for (unsigned misses = 0;; ++misses) {
      hiway::Grant const grant = hiway::claim_put(m, ring, group, need, hiway::after_misses(misses), control);
      if (grant.granted) {
        hiway::commit_put(m, ring, grant.ticket, *control, hiway::WriteItem<T>{item});
        need = false;
      }
      if (m.ballot(group, need) == 0) return;
      if (need) pause(m, misses);
    }
  }

  template <class Machine>
  HIWAY_DEVICE void get(Machine m, T& item) const {
    std::uint32_t const group = m.lanes();
    Word<std::uint64_t>* const tally = tallies == nullptr ? nullptr : tallies + m.block_index() * tally_step;
    bool need = true;
    for (unsigned misses = 0;; ++misses) {
      hiway::Grant const grant =
          hiway::claim_get(m, ring, group, need, tally, hiway::Credit::early, hiway::after_misses(misses), control);
      if (grant.granted) {
        hiway::finish_get(m, ring, grant.ticket, *control, hiway::Credit::early, hiway::ReadItem<T>{item});
        need = false;
      }
      if (m.ballot(group, need) == 0) return;
      if (need) pause(m, misses);
    }
  }

  static constexpr unsigned tally_step = 16;  ///< tallies of two blocks lie 128 bytes apart

 private:
  template <class Machine>
  HIWAY_DEVICE void pause(Machine m, unsigned misses) const {
    hiway::leave_if_aborted(m, *control);
    m.relax(misses);
  }
};

/// The library's ring in shards, as inlets and outlets use them. Two blocks that follow one another have one home: in a
/// stream one puts and one gets.
template <class T>
struct ShardedRing {
  using Value = T;
  hiway::Ring ring;
  hiway::Control* control = nullptr;

  template <class Machine>
  HIWAY_DEVICE void put(Machine m, T const& item) const {
    LibraryRing<T>{hiway::shard(ring, home(m)), control}.put(m, item);
  }
  template <class Machine>
  HIWAY_DEVICE void get(Machine m, T& item) const {
    std::uint32_t const group = m.lanes();
    unsigned from = home(m);
    bool need = true;
    for (unsigned misses = 0;;) {
      hiway::Ring const mine = hiway::shard(ring, from);
      hiway::Grant const grant =
          hiway::claim_get(m, mine, group, need, nullptr, hiway::Credit::early, hiway::after_misses(misses));
      if (grant.granted) {
        hiway::finish_get(m, mine, grant.ticket, *control, hiway::Credit::early, hiway::ReadItem<T>{item});
        need = false;
      }
      if (m.ballot(group, need) == 0) return;
      misses = m.ballot(group, grant.granted) != 0 ? 0 : misses + 1;
      from = misses > 1 && from == home(m) ? hiway::find_shard(m, ring, group, from) : home(m);
      if (need && misses != 0 && from == home(m)) {
        hiway::leave_if_aborted(m, *control);
        m.relax(misses);
      }
    }
  }

 private:
  template <class Machine>
  HIWAY_DEVICE unsigned home(Machine m) const {
    return m.block_index() / 2 & (ring.shards - 1u);
  }
};

/// The library's ring without grouping: each lane claims for itself.
template <class T>
struct UngroupedRing : LibraryRing<T> {
  template <class Machine>
  HIWAY_DEVICE void put(Machine m, T const& item) const {
    hiway::Ring const mine = of_lane(m);
    hiway::Run run;
    for (unsigned misses = 0; (run = hiway::claim_put_run(m, mine, 1)).count == 0; ++misses) pause(m, misses);
    hiway::commit_put(m, mine, run.first, *this->control, hiway::WriteItem<T>{item});
    m.sync_warp(m.lanes());
  }
  template <class Machine>
  HIWAY_DEVICE void get(Machine m, T& item) const {
    hiway::Ring const mine = of_lane(m);
    hiway::Run run;
    for (unsigned misses = 0; (run = hiway::claim_get_run(m, mine, 1, nullptr, hiway::Credit::early)).count == 0;
         ++misses)
      pause(m, misses);
    hiway::finish_get(m, mine, run.first, *this->control, hiway::Credit::early, hiway::ReadItem<T>{item});
    m.sync_warp(m.lanes());
  }

 private:
  template <class Machine>
  HIWAY_DEVICE hiway::Ring of_lane(Machine m) const {
    hiway::Ring mine = this->ring;
    mine.words += m.lane() * this->apart;
    return mine;
  }
  template <class Machine>
  HIWAY_DEVICE void pause(Machine m, unsigned misses) const {
    hiway::leave_if_aborted(m, *this->control);
    m.relax(misses);
  }
};

/// The baselines' words: a size, two tickets.
struct SlotWords {
  alignas(1024) Word<std::int32_t> size{0};
  alignas(1024) Word<std::uint32_t> put{0};
  alignas(1024) Word<std::uint32_t> got{0};
};

/// The baselines' slots: an array of items, an array of turns, as the library has them.
template <class T>
struct Slots {
  T* items = nullptr;
  Word<std::uint32_t>* turns = nullptr;
  SlotWords* words = nullptr;
  std::uint32_t capacity = 0;  ///< a power of two
  std::uint32_t lap_shift = 0;
  hiway::Control* control = nullptr;

  template <class Machine>
  HIWAY_DEVICE void write(Machine m, std::uint32_t ticket, T const& item) const {
    Word<std::uint32_t>& turn = turns[ticket & (capacity - 1)];
    std::uint32_t const free = 2 * (ticket >> lap_shift);
    while (m.load(turn, MemoryOrder::acquire) != free) pause(m);
    items[ticket & (capacity - 1)] = item;
    m.store(turn, free + 1, MemoryOrder::release);
  }
  template <class Machine>
  HIWAY_DEVICE void read(Machine m, std::uint32_t ticket, T& item) const {
    Word<std::uint32_t>& turn = turns[ticket & (capacity - 1)];
    std::uint32_t const full = 2 * (ticket >> lap_shift) + 1;
    while (m.load(turn, MemoryOrder::acquire) != full) pause(m);
    item = items[ticket & (capacity - 1)];
    m.store(turn, full + 1, MemoryOrder::release);
  }
  /// The shortest pause there is: a baseline does not back off.
  template <class Machine>
  HIWAY_DEVICE void pause(Machine m) const {
    hiway::leave_if_aborted(m, *control);
    m.relax(0);
  }

  /// Takes room for up to `n` items, or with `whole` for `n` or none; returns for how many.
  template <class Machine>
  HIWAY_DEVICE std::int32_t take_room(Machine m, Word<std::int32_t>& size, std::int32_t n, bool whole) const {
    auto const most = static_cast<std::int32_t>(capacity);
    std::int32_t const least = whole ? n : 1;
    if (m.load(size, MemoryOrder::relaxed) > most - least) return 0;
    std::int32_t const room = most - m.fetch_add(size, n, MemoryOrder::relaxed);
    std::int32_t const granted = room < least ? 0 : (room < n ? room : n);
    if (granted < n) m.fetch_add(size, granted - n, MemoryOrder::relaxed);
    return granted;
  }
  /// The same of items that are there.
  template <class Machine>
  HIWAY_DEVICE std::int32_t take_items(Machine m, Word<std::int32_t>& size, std::int32_t n, bool whole) const {
    std::int32_t const least = whole ? n : 1;
    if (m.load(size, MemoryOrder::relaxed) < least) return 0;
    std::int32_t const there = m.fetch_add(size, -n, MemoryOrder::relaxed);
    std::int32_t const granted = there < least ? 0 : (there < n ? there : n);
    if (granted < n) m.fetch_add(size, n - granted, MemoryOrder::relaxed);
    return granted;
  }
};

template <class T>
struct LaneRing {
  using Value = T;
  Slots<T> slots;
  unsigned apart = 0;

  template <class Machine>
  HIWAY_DEVICE void put(Machine m, T const& item) const {
    SlotWords& words = of_lane(m);
    while (slots.take_room(m, words.size, 1, false) == 0) slots.pause(m);
    slots.write(m, m.fetch_add(words.put, 1u, MemoryOrder::relaxed), item);
    m.sync_warp(m.lanes());
  }
  template <class Machine>
  HIWAY_DEVICE void get(Machine m, T& item) const {
    SlotWords& words = of_lane(m);
    while (slots.take_items(m, words.size, 1, false) == 0) slots.pause(m);
    slots.read(m, m.fetch_add(words.got, 1u, MemoryOrder::relaxed), item);
    m.sync_warp(m.lanes());
  }

 private:
  template <class Machine>
  HIWAY_DEVICE SlotWords& of_lane(Machine m) const {
    return slots.words[m.lane() * apart];
  }
};

template <class T>
struct WarpRing {
  using Value = T;
  Slots<T> slots;

  template <class Machine>
  HIWAY_DEVICE void put(Machine m, T const& item) const {
    for_all_lanes(
        m, [&](std::int32_t n) { return slots.take_room(m, slots.words->size, n, false); }, slots.words->put,
        [&](std::uint32_t ticket) { slots.write(m, ticket, item); });
  }
  template <class Machine>
  HIWAY_DEVICE void get(Machine m, T& item) const {
    for_all_lanes(
        m, [&](std::int32_t n) { return slots.take_items(m, slots.words->size, n, false); }, slots.words->got,
        [&](std::uint32_t ticket) { slots.read(m, ticket, item); });
  }

 private:
  /// `take(n)` in one lane, then `move(ticket)` in as many as it granted, until all have moved.
  HIWAY_NO_SPACE_CHECK template <class Machine, class Take, class Move>
  HIWAY_DEVICE void for_all_lanes(Machine m, Take&& take, Word<std::uint32_t>& tickets, Move&& move) const {
    std::uint32_t const all = m.lanes();
    for (std::uint32_t waiting = all; waiting != 0;) {
      unsigned const leader = m.lowest(waiting);
      std::int32_t granted = 0;
      std::uint32_t first = 0;
      if (m.lane() == leader) {
        granted = take(static_cast<std::int32_t>(m.count(waiting)));
        if (granted != 0) first = m.fetch_add(tickets, static_cast<std::uint32_t>(granted), MemoryOrder::relaxed);
      }
      granted = m.shuffle(all, granted, leader);
      first = m.shuffle(all, first, leader);
      bool const waits = (waiting >> m.lane() & 1u) != 0;
      unsigned const rank = m.count(waiting & hiway::lanes_below(m.lane()));
      bool const moves = waits && rank < static_cast<unsigned>(granted);
      if (moves) move(first + rank);
      waiting = m.ballot(all, waits && !moves);
      if (granted == 0) slots.pause(m);
    }
  }
};

template <class T>
struct BarrierRing {
  using Value = T;
  Slots<T> slots;

  template <class Machine>
  HIWAY_DEVICE void put(Machine m, T const& item) const {
    std::uint32_t const first = claim(
        m, [&](std::int32_t n) { return slots.take_room(m, slots.words->size, n, true); }, slots.words->put);
    slots.write(m, first + m.thread_in_block(), item);
  }
  template <class Machine>
  HIWAY_DEVICE void get(Machine m, T& item) const {
    std::uint32_t const first = claim(
        m, [&](std::int32_t n) { return slots.take_items(m, slots.words->size, n, true); }, slots.words->got);
    slots.read(m, first + m.thread_in_block(), item);
  }

 private:
  HIWAY_NO_SPACE_CHECK template <class Machine, class Take>
  HIWAY_DEVICE std::uint32_t claim(Machine m, Take&& take, Word<std::uint32_t>& tickets) const {
    std::uint64_t first = 0;
    if (m.thread_in_block() == 0) {
      auto const n = static_cast<std::int32_t>(m.block_threads());
      while (take(n) == 0) slots.pause(m);
      first = m.fetch_add(tickets, static_cast<std::uint32_t>(n), MemoryOrder::relaxed);
    }
    first = m.share_in_block(first);
    hiway::leave_if_aborted(m, *slots.control);  // the first lane may have left instead of sharing
    return static_cast<std::uint32_t>(first);
  }
};

}  // namespace bench
