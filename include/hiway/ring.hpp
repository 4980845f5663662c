// Ring: bounded multi-producer, multi-consumer queue of equal-sized items over memory it does not own.
//
//   a put   credit from `free`  -> ticket from `claimed` -> write the slot -> hand it over
//   a get   credit from `avail` -> ticket from `taken`   -> read the slot  -> hand it over
//
// A *whole* ring has producers and consumers at one home. They hand each slot to each other by its turn:
//   one slot, lap L:   free (turn 2L) --put--> full (turn 2L+1) --get--> free (turn 2L+2)
// Across the bus a tunnel is two half-rings. Producers put into the *outbox* at their home, consumers get from the
// *inbox* at theirs, and the monitors do the other half of each. In a half-ring a ticket's holder does not wait for its
// slot: it counts what it has done, by chunks of slots. Relays (relay.hpp) look for the prefix of tickets that are all
// done, and give credit.
//
//   word      written by                       read by
//   free      claims, and givers of credit     producers
//   avail     claims, and givers of credit     consumers
//   claimed   producers (fetch-add)            end check, report, the outbox's prefix
//   taken     consumers (fetch-add)            stall report
//   left      consumers (CAS), in_order only   consumers
//   given     givers of credit                 claims                        half-rings
//   turns[i]  holder of the slot's ticket      next holder of the slot       whole rings
//   done[k]   holders of tickets (fetch-add)   the prefix                    half-rings
// All words lie at the ring's home and are used there only, except that the end check also reads `claimed` from across.
// Hot words lie 1 KB apart: at 128 B they collide in one L2 slice.
//
//   I1  capacity >= credits in `free` + items between put and get. `free` may be negative for a moment, until a claim
//       that was granted less than it asked for has given the rest back
//   I2  tickets are granted only against credits. In a whole ring the put of ticket t waits only for the get of
//       t - slots, which was granted before, because `free` counts gets' *grants*; the get of t waits only for the put
//       of t, which was granted before. So no wait is circular
//   I3  only the holder of a ticket touches its item: in a whole ring between its acquire of one turn and its release
//       of the next; in a half-ring between its claim and its count (I4)
//   I4  half-rings: a put's ticket t is granted only against credit for the retired item t - capacity, a get's only
//       against credit for the admitted item t. The credit may be another claim's: credits name no slot, so taking one
//       acquires nothing. `given` counts all credit ever given, in an outbox the initial capacity, too. A claim that
//       acquires a value above t from `given` may touch the slot of t. `given` is raised after the credit, so a claim
//       may have to look again; its writer waits for nothing between the two
//   I5  a get that works on the item in its slot gives its credit when it is done (Credit::late), not at the grant.
//       That is not enough where its holder may put into the same ring, also indirectly: credits name no slot, so
//       credit for a later slot could grant the put the very slot that its own stage holds. There the ring is in_order:
//       credit is given for the prefix of slots that were left, and a granted put never waits for a holder.
//       `left` counts that prefix. A get that leaves a slot frees its turn, then does an RMW on `left`. These RMWs are
//       ordered, so the last one, or the CAS after it, has acquired every turn freed before and goes on with the
//       prefix. A get that loses a CAS leaves the rest to the winner, which has acquired the loser's turn
//   I6  half-rings: done[k] counts, over all laps, tickets of chunk k that are done. The chunks are those of *two*
//       laps, so that no two laps with tickets under way share a count. A chunk is done when its count says so. Of the
//       last chunk, which is only begun, the first n tickets are done when its count is n and no other ticket of it was
//       granted; the grants are read after the count
//   I7  a run of several tickets is granted at once and is no longer than the ring, so no two of them have the same
//       slot. I2 holds for whole runs: what a holder waits for was granted before its own run, together with all of the
//       run it belongs to, and the holders of that run wait only for what was granted still earlier. So a holder may
//       wait for several turns at once
//   Orders    R1 put releases the full turn -> A2 get acquires it: the item is whole
//             R2 get releases the free turn -> A1 put acquires it: the old item was read
//             R3 a count is a release -> the prefix acquires it. All are read-modify-writes, so one acquire covers all
//             before it. `given` is released -> a claim acquires it: the slot is free, or its item there (I4)
//             R4 a tag is released across -> A4 a look at it acquires: the item is whole. Where item and tag are one
//             access, it orders nothing else, and need not: only the item must be whole. The same holds for R1, A1, R2
//             and A2 where turns are tags: a get that frees a slot has the item already, and frees it only after a
//             branch on the turn that came with the item
//             A put's ticket acquires: "ticket, then closed" against "closed, then created" (termination.hpp T5)
//   Linearizes  at the credit. `full` and `empty` are advisory: a claim in flight may hold credit it will give back.
//   Progress    a claimant that stops between ticket and turn stalls its slot's successor; every such wait polls abort.
//               One that stops before its count holds back the rest of its chunk and all later tickets
//   Tags        rings may be tagged: a slot is an item of up to 12 bytes and a tag. A put writes the item and then the
//               tag, or both in one access where the machine has one (Machine::tags_bring_items). In a whole ring the
//               tag is the slot's turn. In a half-ring the tag is the lap's number, puts count nothing, and neither
//               side asks for credit (docs/adr/0035).
//               A get from a half-ring looks at the slots from `taken` on, takes the tickets of those whose tags match
//               their laps by a CAS, and counts them as done as usual. Nobody writes such a slot again until the relay
//               has told the other side of that count, so what the get saw is still there when its CAS succeeds; what
//               it copied before a CAS that fails is discarded.
//               A waiting put takes its ticket before checking for room, then waits until `given` passes it. That costs
//               no more than a look at both words, which are under way at once. A put that only tries, or has a spill
//               pool, takes a ticket below `given` by a CAS. So tickets may run ahead of room, by the number of
//               waiting puts
//   Shards      a whole ring may be one of several that lie side by side in memory, each with words, credit and order
//               of its own. A producer keeps to one shard, so that its items stay in order; a consumer takes from its
//               own shard first, then from others
//   Wrap        tickets are 64 bit; turns and counts are 32 bit and compared for equality: 2^31 laps before one repeats
// Early credits (given at the grant, not after the copy) and fetch-add tickets were the fastest sound variant measured.
#pragma once
#include <cstddef>
#include <cstdint>

#include "hiway/fault.hpp"
#include "hiway/grouping/block_group.hpp"
#include "hiway/machine/machine.hpp"

namespace hiway {

struct RingWords {
  alignas(1024) Word<std::int32_t> free{0};
  alignas(1024) Word<std::int32_t> avail{0};
  alignas(1024) Word<std::uint64_t> claimed{0};
  alignas(1024) Word<std::uint64_t> taken{0};
  alignas(1024) Word<std::uint64_t> left{0};
  alignas(1024) Word<std::uint64_t> given{0};
  // Claims that warps of a block have made together, for the run's report.
  alignas(1024) Word<std::uint64_t> put_groups{0};
  Word<std::uint64_t> get_groups{0};
};

/// A slot of a tagged ring: an item of at most 12 bytes and its tag, or turn. Machines that have a 16-byte access read
/// or write both at once.
struct alignas(16) TaggedSlot {
  static constexpr std::size_t most_bytes = 12;
  std::byte item[most_bytes];
  Word<std::uint32_t> tag;
};
/// A functor that reads or writes one item states the item's size, if it is known, as `bytes`. Items of at most 12
/// bytes may be tagged.
template <class Access>
inline constexpr bool may_be_tagged = false;
template <class Access>
requires requires { Access::bytes; }
inline constexpr bool may_be_tagged<Access> = Access::bytes <= TaggedSlot::most_bytes;
/// If the size is unknown, whether the ring is tagged is decided at run time, which costs registers.
template <class Access>
inline constexpr bool size_is_known = false;
template <class Access>
requires requires { Access::bytes; }
inline constexpr bool size_is_known<Access> = true;

/// in_order: a whole ring that gives credit in the order of tickets (I5).
enum class RingPart : std::uint8_t { whole, in_order, outbox, inbox };

/// The handle of a ring: copied into kernels, owns nothing.
struct Ring {
  std::byte* items = nullptr;
  Word<std::uint32_t>* turns = nullptr;  ///< one per slot, 0 at the start; of untagged whole rings
  Word<std::uint32_t>* done = nullptr;   ///< one per chunk of two laps, 0 at the start; of half-rings
  RingWords* words = nullptr;            ///< at the start free = capacity (in an outbox given, too), the rest 0
  std::uint32_t slots_mask = 0;          ///< slots - 1; slots = capacity rounded up to a power of two
  std::uint32_t lap_shift = 0;           ///< log2(slots)
  std::uint32_t chunk_shift = 0;         ///< log2(slots of a chunk)
  std::uint32_t item_bytes = 0;
  RingPart part = RingPart::whole;
  bool tagged = false;                 ///< slots are TaggedSlot, with tags 0 at the start
  std::uint8_t shards = 1;             ///< how many shards there are, of which this is the first; a power of two
  Grouping grouping = Grouping::warp;  ///< of claims made with this handle

  HIWAY_DEVICE bool is_half() const { return part == RingPart::outbox || part == RingPart::inbox; }
  /// Gets look for tags, and puts count nothing.
  HIWAY_DEVICE bool by_tags() const { return tagged && is_half(); }

  HIWAY_DEVICE std::size_t slot(std::uint64_t ticket) const { return static_cast<std::size_t>(ticket & slots_mask); }
  HIWAY_DEVICE std::byte* item(std::uint64_t ticket) const { return items + slot(ticket) * item_bytes; }
  HIWAY_DEVICE Word<std::uint32_t>& turn(std::uint64_t ticket) const { return turns[slot(ticket)]; }
  HIWAY_DEVICE std::uint32_t free_turn(std::uint64_t ticket) const {
    return 2u * static_cast<std::uint32_t>(ticket >> lap_shift);
  }
  HIWAY_DEVICE std::uint32_t full_turn(std::uint64_t ticket) const { return free_turn(ticket) + 1u; }
  HIWAY_DEVICE std::uint32_t next_free_turn(std::uint64_t ticket) const { return free_turn(ticket) + 2u; }

  HIWAY_DEVICE TaggedSlot& tagged_slot(std::uint64_t ticket) const {
    return *reinterpret_cast<TaggedSlot*>(item(ticket));
  }
  HIWAY_DEVICE std::uint32_t tag_of(std::uint64_t ticket) const {
    return static_cast<std::uint32_t>(ticket >> lap_shift) + 1u;
  }

  // Half-rings (I6).
  HIWAY_DEVICE std::uint32_t chunk_slots() const { return 1u << chunk_shift; }
  HIWAY_DEVICE std::uint32_t place_in_chunk(std::uint64_t ticket) const {
    return static_cast<std::uint32_t>(ticket) & (chunk_slots() - 1u);
  }
  HIWAY_DEVICE Word<std::uint32_t>& done_count(std::uint64_t ticket) const {
    return done[(ticket & (2 * std::uint64_t{slots_mask} + 1)) >> chunk_shift];
  }
  /// The value of the chunk's count when the ticket's lap began.
  HIWAY_DEVICE std::uint32_t done_before(std::uint64_t ticket) const {
    return static_cast<std::uint32_t>(ticket >> (lap_shift + 1)) << chunk_shift;
  }
};

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

/// log2 of a chunk's slots: large enough that a prefix looks at few counts, small enough that few done slots wait for
/// the rest of their chunk.
constexpr std::uint32_t chunk_shift_of(std::uint32_t lap_shift) {
  std::uint32_t const fine = lap_shift < 6 ? 0 : lap_shift - 6;
  return fine < 12 ? fine : 12;
}

/// True for a spill pool that the pipeline has given memory.
HIWAY_DEVICE inline bool has_spill(Ring const* pool) { return pool != nullptr && pool->items != nullptr; }

/// What one lane was granted of its group's claim.
struct Grant {
  bool granted = false;
  std::uint64_t ticket = 0;
  unsigned rank = 0;        ///< among the lanes that were granted one
  std::uint32_t lanes = 0;  ///< the lanes that were granted one; their tickets are consecutive
};

/// Consecutive tickets granted to one lane.
struct Run {
  std::uint64_t first = 0;
  std::uint32_t count = 0;
};

/// The most that one claim asks for, per lane or per team. Credit is a 32-bit word that the claims of a whole grid may
/// overdraw for a moment.
inline constexpr std::uint32_t most_of_lane = 1u << 12;
inline constexpr std::uint32_t most_of_team = 1u << 16;
/// How many items of a span a lane has under way at once, on any machine.
inline constexpr unsigned most_at_once = 4;
HIWAY_DEVICE constexpr std::uint32_t at_most(std::uint64_t n, std::uint32_t most) {
  return n < most ? static_cast<std::uint32_t>(n) : most;
}

/// Whether a claim reads the credit before it takes some. The read costs every claim the hot word's latency once more,
/// and half of a full grid's rate; but a claim that takes from an empty word has disturbed it for the others. counted:
/// it reads, and takes no more than it saw. That is for claims of many items: one that overdraws by so much would deny
/// credit to many others for a moment.
enum class Credits : std::uint8_t { likely, doubtful, counted };
/// The Credits to use after this many misses in a row. For a group its first lane's choice counts.
HIWAY_DEVICE constexpr Credits after_misses(unsigned misses) {
  return misses == 0 ? Credits::likely : Credits::doubtful;
}

/// When a get gives its slot's credit: at the grant, or after it has left the slot (I5). In half-rings the monitors
/// give it; in an in_order ring it is always late.
enum class Credit : std::uint8_t { early, late };

/// The ring, with its numbers in the lane's own registers. ptxas 13.0 may keep a number that all lanes share in a
/// register of the warp across a YIELD, in a loop that lanes leave one by one; lanes that run meanwhile overwrite that
/// register (docs/adr/0024).
template <class Machine>
HIWAY_DEVICE inline Ring in_own_registers(Machine m, Ring ring) {
  std::uint32_t const zero = m.zero_of_lane();
  ring.items += zero;
  ring.turns += zero;
  ring.done += zero;
  ring.slots_mask += zero;
  ring.lap_shift += zero;
  ring.chunk_shift += zero;
  ring.item_bytes += zero;
  ring.words += zero;
  ring.shards = static_cast<std::uint8_t>(ring.shards + zero);
  return ring;
}

namespace detail {

/// Takes up to `n` credits; gives back what it took beyond the balance.
template <class Machine>
HIWAY_DEVICE inline std::int32_t take_credit(Machine m, Word<std::int32_t>& credit, std::int32_t n, Credits credits) {
  if (credits != Credits::likely) {
    std::int32_t const seen = m.load(credit, Order::relaxed);
    if (seen <= 0) return 0;
    if (credits == Credits::counted && seen < n) n = seen;
  }
  std::int32_t const before = m.fetch_add(credit, -n, Order::relaxed);
  std::int32_t const granted = before <= 0 ? 0 : (before < n ? before : n);
  if (granted < n) m.fetch_add(credit, n - granted, Order::relaxed);
  return granted;
}

/// The words a claim works on. It takes `credit`, then tickets. In a whole ring it then gives `other` the same number,
/// unless credit is late. `tally` counts what was granted. `other` and `tally` may be null.
struct ClaimWords {
  Word<std::int32_t>& credit;
  Word<std::uint64_t>& tickets;
  Word<std::int32_t>* other;
  Word<std::uint64_t>* tally;
  Word<std::uint64_t>* given;  ///< half-rings: read before the slots are touched (I4)
  Word<std::uint64_t>& groups;
  bool puts;
  Ring const& ring;
  bool by_tags = false;  ///< a tagged half-ring: credit is not used
};

/// Waits until the granted tickets before `end` may be used (I4). The wait is short: their credit was already given.
template <class Machine>
HIWAY_DEVICE inline void await_given(Machine m, Word<std::uint64_t>& given, std::uint64_t end) {
  for (unsigned misses = 0; m.load(given, Order::acquire) < end; ++misses) m.relax(misses);
}

/// Takes up to `n` tickets of a tagged inbox whose items have come, for one lane.
template <class Machine>
HIWAY_DEVICE inline Run claim_by_tags(Machine m, Ring const& shared, std::uint32_t n, Word<std::uint64_t>* tally) {
  Ring const ring = in_own_registers(m, shared);
  std::uint64_t first = m.load(ring.words->taken, Order::relaxed);
  for (;;) {
    std::uint32_t found = 0;
    while (found < n &&
           m.load_across(ring.tagged_slot(first + found).tag, Order::acquire) == ring.tag_of(first + found))
      ++found;  // A4
    if (found == 0) return {};
    if (!m.compare_exchange(ring.words->taken, first, first + found, Order::relaxed)) continue;
    if (tally != nullptr) m.fetch_add(*tally, std::uint64_t{found}, Order::relaxed);
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
    if (m.compare_exchange(w.claimed, first, first + some, Order::acquire)) return {first, some};  // T5
  }
  return {};
}

/// Takes up to `n` tickets, for one lane.
template <class Machine>
HIWAY_DEVICE inline Run claim_run(Machine m, ClaimWords const& w, std::uint32_t n, Credits credits) {
  if (w.by_tags) return w.puts ? claim_below_given(m, *w.ring.words, n) : claim_by_tags(m, w.ring, n, w.tally);
  auto const wanted = static_cast<std::int32_t>(n);
  std::int32_t const granted = take_credit(m, w.credit, wanted, credits);
  if (granted == 0) return {};
  auto const tickets = static_cast<std::uint64_t>(granted);
  std::uint64_t const first = w.puts ? m.fetch_add(w.tickets, tickets, Order::acquire)  // T5
                                     : m.fetch_add(w.tickets, tickets, Order::relaxed);
  if (w.given != nullptr) await_given(m, *w.given, first + tickets);
  if (w.other != nullptr) m.fetch_add(*w.other, granted, Order::relaxed);
  if (w.tally != nullptr) m.fetch_add(*w.tally, static_cast<std::uint64_t>(granted), Order::relaxed);
  return {first, static_cast<std::uint32_t>(granted)};
}

/// How a claim is shared.
struct Sharing {
  Grouping grouping;
  ClaimKind kind;
  Control* control;  ///< polled by claims that wait for other warps of their block; null: none waits
};

/// The key of block_group.hpp G4. A tally belongs to one outlet of a block, so to one ring (and to its spill pool,
/// which claims by warps). A credit word belongs to one ring, and to either its puts or its gets.
HIWAY_DEVICE inline std::uint64_t key_of(ClaimWords const& w) {
  auto const one =
      w.tally != nullptr ? reinterpret_cast<std::uintptr_t>(w.tally) : reinterpret_cast<std::uintptr_t>(&w.credit);
  return static_cast<std::uint64_t>(one) | std::uint64_t{w.other != nullptr};
}

/// One claim by one lane: alone, or with other warps of its block. Each warp checks for credit itself, so that one that
/// finds none keeps no other waiting.
template <class Machine>
HIWAY_DEVICE inline Run claim_for_warp(Machine m, ClaimWords const& w, std::uint32_t n, Credits credits,
                                       Sharing const& sharing) {
  if constexpr (Machine::shares_blocks) {
    if (sharing.control != nullptr && sharing.grouping != Grouping::warp && m.block_threads() > 32 &&
        claims_in_block(m, sharing.grouping, sharing.kind)) {
      if (!w.by_tags && credits != Credits::likely && m.load(w.credit, Order::relaxed) <= 0) return {};
      return claim_in_block(m, sharing.grouping, sharing.kind, key_of(w), n, *sharing.control,
                            [&](std::uint32_t wanted) {
                              Run const run = claim_run(m, w, wanted, Credits::likely);
                              if (wanted != n) m.fetch_add(w.groups, std::uint64_t{1}, Order::relaxed);
                              return run;
                            });
    }
  }
  return claim_run(m, w, n, credits);
}

/// One claim of `count()` by the first lane of `group`, for all of them. Only that lane calls `count`.
template <class Machine, class Count>
HIWAY_DEVICE inline Run claim_by_first(Machine m, std::uint32_t group, Count&& count, ClaimWords const& w,
                                       Credits credits, Sharing const& sharing) {
  unsigned const leader = m.lowest(group);
  Run run;
  if (m.lane() == leader) run = claim_for_warp(m, w, count(), credits, sharing);
  run.count = m.shuffle(group, run.count, leader);
  run.first = m.shuffle(group, run.first, leader);
  m.sync_warp(group);  // the leader's acquires hold for every lane
  return run;
}

/// One claim for all lanes of `group` that `need` a slot (contention relief, layer 1): the group's first lane takes
/// credits and tickets for all. Grouping::none: each lane takes its own. A CPU thread is a group of one.
template <class Machine>
HIWAY_DEVICE inline Grant claim(Machine m, std::uint32_t group, bool need, ClaimWords const& w, Credits credits,
                                Sharing const& sharing) {
  std::uint32_t const wanting = m.ballot(group, need);
  if (wanting == 0) return {};
  if constexpr (Machine::shares_blocks) {
    if (sharing.grouping == Grouping::none) {
      Run own;
      if (need) own = claim_run(m, w, 1, credits);
      return {own.count != 0, own.first, 0, 1u << m.lane()};
    }
  }
  Run const run = claim_by_first(
      m, group, [&] { return m.count(wanting); }, w, credits, sharing);
  std::uint32_t const rank = m.count(wanting & lanes_below(m.lane()));
  bool const granted = need && rank < run.count;
  std::uint32_t const lanes = run.count == m.count(wanting) ? wanting : m.ballot(group, granted);
  return {granted, run.first + rank, rank, lanes};
}

/// Sums of a number that each lane of a group has: over the lanes below the caller, and over all.
template <class N>
struct Sums {
  N below = 0;
  N all = 0;
};
/// Takes two ballots for each bit of the largest number: this works for any set of lanes, and numbers are mostly small.
template <class Machine, class N>
HIWAY_DEVICE inline Sums<N> sum_lanes(Machine m, std::uint32_t group, N mine) {
  Sums<N> sums;
  for (unsigned bit = 0; bit != 8 * sizeof(N) && m.ballot(group, mine >> bit != 0) != 0; ++bit) {
    std::uint32_t const lanes = m.ballot(group, (mine >> bit & 1u) != 0);
    sums.below += static_cast<N>(m.count(lanes & lanes_below(m.lane()))) << bit;
    sums.all += static_cast<N>(m.count(lanes)) << bit;
  }
  return sums;
}

/// From this many items on, reading the credit first adds little to a claim's cost.
inline constexpr std::uint32_t many_items = 128;

/// One claim for all lanes of `group`, each of which asks for its `wanted`. If it is granted less, the lowest lanes are
/// served first.
template <class Machine>
HIWAY_DEVICE inline Run claim_runs(Machine m, std::uint32_t group, std::uint32_t wanted, ClaimWords const& w,
                                   Credits credits, Sharing const& sharing) {
  Sums<std::uint32_t> const sums = sum_lanes(m, group, wanted);
  if (sums.all == 0) return {};
  if (sums.all > many_items) credits = Credits::counted;
  if constexpr (Machine::shares_blocks) {
    if (sharing.grouping == Grouping::none) {
      return wanted != 0 ? claim_run(m, w, wanted, credits) : Run{};
    }
  }
  Run const all = claim_by_first(
      m, group, [&] { return sums.all; }, w, credits, sharing);
  std::uint32_t const left = all.count > sums.below ? all.count - sums.below : 0;
  return {all.first + sums.below, left < wanted ? left : wanted};
}

HIWAY_DEVICE inline ClaimWords put_words(Ring const& ring) {
  RingWords& w = *ring.words;
  bool const half = ring.is_half();
  return {w.free, w.claimed,     half ? nullptr : &w.avail, nullptr, half ? &w.given : nullptr, w.put_groups, true,
          ring,   ring.by_tags()};
}
HIWAY_DEVICE inline ClaimWords get_words(Ring const& ring, Word<std::uint64_t>* tally, Credit credit,
                                         bool by_tags = false) {
  RingWords& w = *ring.words;
  bool const early = ring.part == RingPart::whole && credit == Credit::early;
  return {w.avail, w.taken, early ? &w.free : nullptr, tally, ring.is_half() ? &w.given : nullptr, w.get_groups, false,
          ring,    by_tags};
}

/// in_order: gives credit for every slot that was left, up to the first that was not (I5).
template <class Machine>
HIWAY_DEVICE inline void give_credit_in_order(Machine m, Ring const& shared) {
  Ring const ring = in_own_registers(m, shared);
  RingWords& w = *ring.words;
  std::uint64_t ticket = m.fetch_add(w.left, std::uint64_t{0}, Order::acq_rel);
  while (m.load(ring.turn(ticket), Order::acquire) == ring.next_free_turn(ticket) &&
         m.compare_exchange(w.left, ticket, ticket + 1, Order::acq_rel)) {
    m.fetch_add(w.free, 1, Order::release);
    ++ticket;
  }
}

/// Where item and tag are one access, turns order nothing else, and need not (R4).
template <class Machine>
inline constexpr Order tag_order = Machine::tags_bring_items ? Order::relaxed : Order::acquire;

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
                                    Order order = Order::acquire) {
  for (unsigned misses = 0; m.load(word, order) != turn; ++misses) {
    leave_if_aborted(m, control);
    m.relax(misses);
  }
}

/// Half-rings: counts `n` tickets from `ticket` on, all of one chunk, as done.
template <class Machine>
HIWAY_DEVICE inline void count_done(Machine m, Ring const& ring, std::uint64_t ticket, std::uint32_t n) {
  m.fetch_add(ring.done_count(ticket), n, Order::release);  // R3
}

/// Sets the tag of a slot: its item is there.
template <class Machine>
HIWAY_DEVICE inline void set_tag(Machine m, Ring const& ring, std::uint64_t ticket) {
  m.store_across(ring.tagged_slot(ticket).tag, ring.tag_of(ticket), Order::release);  // R4
}

/// How many of the `n` tickets from `ticket` on are handed over in one step.
HIWAY_DEVICE inline std::uint32_t next_piece(Ring const& ring, std::uint64_t ticket, std::uint32_t n) {
  if (!ring.is_half() || ring.tagged) return 1;
  std::uint32_t const left = ring.chunk_slots() - ring.place_in_chunk(ticket);
  return n < left ? n : left;
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

/// Tagged half-rings: counts items that were got as done. Where item and tag are one access the count releases nothing,
/// since the item was read with its tag; each lane counts its own ticket.
template <class Machine>
HIWAY_DEVICE inline void count_tagged(Machine m, Ring const& ring, Grant const& grant) {
  if constexpr (Machine::tags_bring_items) {
    m.fetch_add(ring.done_count(grant.ticket), 1u, Order::relaxed);
  } else {
    count_done_together(m, ring, grant);
  }
}

}  // namespace detail

/// Claims a slot for each lane of `group` with `need`, as far as there is room. All lanes of `group` call it together.
/// With a `control` it may wait for a claim that another warp of the block is making (block_group.hpp).
template <class Machine>
HIWAY_DEVICE inline Grant claim_put(Machine m, Ring const& ring, std::uint32_t group, bool need,
                                    Credits credits = Credits::doubtful, Control* control = nullptr) {
  return detail::claim(m, group, need, detail::put_words(ring), credits, {ring.grouping, ClaimKind::put, control});
}
/// The same for up to `wanted` slots of each lane.
template <class Machine>
HIWAY_DEVICE inline Run claim_put_runs(Machine m, Ring const& ring, std::uint32_t group, std::uint32_t wanted,
                                       Credits credits, Control* control) {
  return detail::claim_runs(m, group, wanted, detail::put_words(ring), credits,
                            {ring.grouping, ClaimKind::put, control});
}
/// Claims up to `n` slots for the calling lane alone.
template <class Machine>
HIWAY_DEVICE inline Run claim_put_run(Machine m, Ring const& ring, std::uint32_t n) {
  return detail::claim_run(m, detail::put_words(ring), n, Credits::counted);
}

/// Waits until a claimed slot is free; returns where to write the item.
template <bool ask_for_tags = true, class Machine>
[[nodiscard]] HIWAY_DEVICE inline std::byte* begin_put(Machine m, Ring const& ring, std::uint64_t ticket,
                                                       Control& control) {
  if (!ring.is_half())
    detail::await_turn(m, detail::turn_of<ask_for_tags>(ring, ticket), ring.free_turn(ticket), control);  // A1
  return ring.item(ticket);
}
/// Makes the item visible.
template <bool ask_for_tags = true, class Machine>
HIWAY_DEVICE inline void end_put(Machine m, Ring const& ring, std::uint64_t ticket) {
  if (!ring.is_half())
    return m.store(detail::turn_of<ask_for_tags>(ring, ticket), ring.full_turn(ticket), Order::release);  // R1
  if (ring.tagged) return detail::set_tag(m, ring, ticket);
  detail::count_done(m, ring, ticket, 1);
}
/// Makes the items of all lanes granted together visible; all of them call it.
template <bool ask_for_tags = true, class Machine>
HIWAY_DEVICE inline void end_put(Machine m, Ring const& ring, Grant const& grant) {
  if (ring.is_half() && !ring.tagged) return detail::count_done_together(m, ring, grant);
  end_put<ask_for_tags>(m, ring, grant.ticket);
}

namespace detail {

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

}  // namespace detail

/// Writes the items of all lanes granted together into their claimed slots by `write(std::byte*)`, calls `look()`, and
/// makes the items visible; all of these lanes call it. In a tagged half-ring `look()` comes last (T5).
template <class Machine, class Write, class Check>
HIWAY_DEVICE inline void commit_put(Machine m, Ring const& ring, Grant const& grant, Control& control, Write&& write,
                                    Check&& look) {
  if constexpr (may_be_tagged<std::remove_cvref_t<Write>>) {
    if (ring.tagged) return detail::commit_tagged(m, ring, grant.ticket, control, write, look);
  }
  constexpr bool ask_for_tags = !size_is_known<std::remove_cvref_t<Write>>;
  write(begin_put<ask_for_tags>(m, ring, grant.ticket, control));
  look();
  end_put<ask_for_tags>(m, ring, grant);
}
/// The same for the calling lane alone.
template <class Machine, class Write>
HIWAY_DEVICE inline void commit_put(Machine m, Ring const& ring, std::uint64_t ticket, Control& control,
                                    Write&& write) {
  if constexpr (may_be_tagged<std::remove_cvref_t<Write>>) {
    if (ring.tagged) return detail::commit_tagged(m, ring, ticket, control, write, [] {});
  }
  constexpr bool ask_for_tags = !size_is_known<std::remove_cvref_t<Write>>;
  write(begin_put<ask_for_tags>(m, ring, ticket, control));
  end_put<ask_for_tags>(m, ring, ticket);
}
/// Writes a run of claimed slots in order and makes them visible: `write(std::byte* slot, i, n)` writes the run's items
/// i to i + n into the `n` slots from `slot` on.
template <class Machine, class Write>
HIWAY_DEVICE inline void commit_put_run(Machine m, Ring const& ring, Run run, Control& control, Write&& write) {
  for (std::uint32_t i = 0; i < run.count;) {
    std::uint64_t const ticket = run.first + i;
    std::uint32_t const n = detail::next_piece(ring, ticket, run.count - i);
    write(begin_put(m, ring, ticket, control), i, n);
    if (ring.is_half() && !ring.tagged) {
      detail::count_done(m, ring, ticket, n);
    } else {
      end_put(m, ring, ticket);
    }
    i += n;
  }
}

/// Claims an item for each lane of `group` with `need`, as far as there are any; `tally` counts the claims. `control`
/// as in claim_put. For a tagged inbox use get_tagged instead.
template <class Machine>
HIWAY_DEVICE inline Grant claim_get(Machine m, Ring const& ring, std::uint32_t group, bool need,
                                    Word<std::uint64_t>* tally, Credit credit, Credits credits = Credits::doubtful,
                                    Control* control = nullptr) {
  return detail::claim(m, group, need, detail::get_words(ring, tally, credit), credits,
                       {ring.grouping, ClaimKind::get, control});
}
/// The same for up to `wanted` items of each lane.
template <class Machine>
HIWAY_DEVICE inline Run claim_get_runs(Machine m, Ring const& ring, std::uint32_t group, std::uint32_t wanted,
                                       Word<std::uint64_t>* tally, Credits credits, Control* control) {
  return detail::claim_runs(m, group, wanted, detail::get_words(ring, tally, Credit::early, ring.by_tags()), credits,
                            {ring.grouping, ClaimKind::get, control});
}
/// Claims up to `n` items for the calling lane alone.
template <class Machine>
HIWAY_DEVICE inline Run claim_get_run(Machine m, Ring const& ring, std::uint32_t n, Word<std::uint64_t>* tally,
                                      Credit credit) {
  return detail::claim_run(m, detail::get_words(ring, tally, credit, ring.by_tags()), n, Credits::counted);
}

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
    t.number = m.fetch_add(ring.words->claimed, std::uint64_t{m.count(wanting)}, Order::acquire);  // T5
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

/// Tries once to get an item from a tagged inbox for each lane of `group` with `need`; the lanes look side by side.
/// Calls `read(std::byte const*)` in those that got one. No lane gets one if others took tickets meanwhile.
template <class Machine, class Read>
HIWAY_DEVICE inline bool get_tagged(Machine m, Ring const& ring, std::uint32_t group, bool need, TagReader who,
                                    Read&& read) {
  std::uint32_t const wanting = m.ballot(group, need);
  if (wanting == 0) return false;
  unsigned const leader = m.lowest(group);
  unsigned const rank = m.count(wanting & lanes_below(m.lane()));
  bool const alone = who.alone && group == m.lanes();
  if (alone) m.sync_warp(group);  // if a lane took a ticket by itself before, all see it
  std::uint32_t next = m.shuffle(group, who.next, leader);
  std::uint64_t first = 0;
  TaggedSlot seen;
  for (unsigned looks = 0;; ++looks) {
    if (m.lane() == leader) first = m.load_ahead(ring.words->taken);
    if (need) seen = m.look_tagged(ring.tagged_slot(next + rank));  // A4
    first = m.shuffle(group, first, leader);
    who.next = static_cast<std::uint32_t>(first);
    if (who.next == next) break;
    if (looks != 0) return false;
    next = who.next;
  }
  std::uint64_t const ticket = first + rank;
  std::uint32_t const missing = wanting & ~m.ballot(group, need && seen.tag.bits == ring.tag_of(ticket));
  std::uint32_t const lanes = missing == 0 ? wanting : wanting & lanes_below(m.lowest(missing));
  if (lanes == 0) return false;
  std::uint64_t const after = first + m.count(lanes);
  std::uint32_t won = 0;
  if (m.lane() == leader) {
    if (alone) {
      m.store(ring.words->taken, after, Order::relaxed);
    } else {
      won = m.compare_exchange(ring.words->taken, first, after, Order::relaxed) ? 1u : 0u;
    }
    if ((alone || won != 0) && who.tally != nullptr)
      m.fetch_add(*who.tally, std::uint64_t{m.count(lanes)}, Order::relaxed);
  }
  if (!alone && m.shuffle(group, won, leader) == 0) return false;
  m.sync_warp(group);
  who.next = static_cast<std::uint32_t>(after);
  if ((lanes >> m.lane() & 1u) == 0) return false;
  read(Machine::tags_bring_items ? static_cast<std::byte const*>(seen.item) : ring.item(ticket));
  detail::count_tagged(m, ring, Grant{true, ticket, rank, lanes});
  return true;
}

namespace detail {

/// Waits for a claimed item of a tagged whole ring, reads it and frees its slot. Where item and tag are one access, the
/// look has read the item, and the store comes after a branch on what it saw: the store need order nothing else (R2).
template <class Machine, class Read>
HIWAY_DEVICE inline void take_tagged(Machine m, Ring const& ring, std::uint64_t ticket, Control& control, Read&& read) {
  constexpr Order release = Machine::tags_bring_items ? Order::relaxed : Order::release;
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

}  // namespace detail

/// Waits for a claimed item; returns where to read it.
template <bool ask_for_tags = true, class Machine>
[[nodiscard]] HIWAY_DEVICE inline std::byte const* begin_get(Machine m, Ring const& ring, std::uint64_t ticket,
                                                             Control& control) {
  if (!ring.is_half())
    detail::await_turn(m, detail::turn_of<ask_for_tags>(ring, ticket), ring.full_turn(ticket), control);  // A2
  return ring.item(ticket);
}
/// Frees the item's slot.
template <bool ask_for_tags = true, class Machine>
HIWAY_DEVICE inline void end_get(Machine m, Ring const& ring, std::uint64_t ticket, Credit credit) {
  if (ring.is_half()) return detail::count_done(m, ring, ticket, 1);
  m.store(detail::turn_of<ask_for_tags>(ring, ticket), ring.next_free_turn(ticket), Order::release);  // R2
  if (ring.part == RingPart::in_order) {
    detail::give_credit_in_order(m, ring);
  } else if (credit == Credit::late) {
    m.fetch_add(ring.words->free, 1, Order::release);  // I5
  }
}
/// Frees the slots of all lanes granted together; all of them call it.
template <bool ask_for_tags = true, class Machine>
HIWAY_DEVICE inline void end_get(Machine m, Ring const& ring, Grant const& grant, Credit credit) {
  if (ring.is_half()) return detail::count_done_together(m, ring, grant);
  end_get<ask_for_tags>(m, ring, grant.ticket, credit);
}

/// Reads the claimed items of all lanes granted together by `read(std::byte const*)`, and frees their slots; all of
/// these lanes call it. The credit was given at the grant.
template <class Machine, class Read>
HIWAY_DEVICE inline void finish_get(Machine m, Ring const& ring, Grant const& grant, Control& control, Read&& read) {
  if constexpr (may_be_tagged<std::remove_cvref_t<Read>>) {
    if (ring.tagged) return detail::take_tagged(m, ring, grant.ticket, control, read);
  }
  constexpr bool ask_for_tags = !size_is_known<std::remove_cvref_t<Read>>;
  read(begin_get<ask_for_tags>(m, ring, grant.ticket, control));
  end_get<ask_for_tags>(m, ring, grant, Credit::early);
}

/// The same for the calling lane alone; the credit may be given late.
template <class Machine, class Read>
HIWAY_DEVICE inline void finish_get(Machine m, Ring const& ring, std::uint64_t ticket, Control& control, Credit credit,
                                    Read&& read) {
  if constexpr (may_be_tagged<std::remove_cvref_t<Read>>) {
    if (ring.tagged) return detail::take_tagged(m, ring, ticket, control, read);  // never late
  }
  constexpr bool ask_for_tags = !size_is_known<std::remove_cvref_t<Read>>;
  read(begin_get<ask_for_tags>(m, ring, ticket, control));
  end_get<ask_for_tags>(m, ring, ticket, credit);
}
/// Reads a run of claimed items in order and frees their slots: `read(std::byte const* slot, i, n)` reads the run's
/// items i to i + n from the `n` slots from `slot` on.
template <class Machine, class Read>
HIWAY_DEVICE inline void finish_get_run(Machine m, Ring const& ring, Run run, Control& control, Read&& read) {
  for (std::uint32_t i = 0; i < run.count;) {
    std::uint64_t const ticket = run.first + i;
    std::uint32_t const n = detail::next_piece(ring, ticket, run.count - i);
    read(begin_get(m, ring, ticket, control), i, n);
    if (ring.is_half()) {
      detail::count_done(m, ring, ticket, n);
    } else {
      end_get(m, ring, ticket, Credit::early);
    }
    i += n;
  }
}

// ---- spans: items of a run that lanes copy side by side -------------------------------------------------------

/// Which items of a run a lane copies: every `size`-th from the `rank`-th on. The run is the part of a span from
/// `offset` on.
struct Part {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  std::size_t offset = 0;
};

/// Items of the lane's part that it copies at once.
struct Several {
  Ring const& ring;
  Run run;
  Part part;
  std::uint32_t at;     ///< the first one's place in the run
  std::uint32_t count;  ///< at most most_at_once

  HIWAY_DEVICE std::uint32_t place(unsigned k) const { return at + k * part.size; }
  HIWAY_DEVICE std::uint64_t ticket(unsigned k) const { return run.first + place(k); }
  HIWAY_DEVICE std::byte* slot(unsigned k) const { return ring.item(ticket(k)); }
  HIWAY_DEVICE std::size_t item(unsigned k) const { return part.offset + place(k); }  ///< the item's place in the span
};
/// A copy(Several) of items of type T, which makes their size known (size_is_known).
template <class T, class Copy>
struct SizedCopy {
  static constexpr std::size_t bytes = sizeof(T);
  Copy copy;
  HIWAY_DEVICE void operator()(Several const& some) const { copy(some); }
};
template <class T, class Copy>
HIWAY_DEVICE inline SizedCopy<T, Copy> sized(Copy copy) {
  return {copy};
}

namespace detail {

/// Waits until the slots of `some` have all come to their turns (I7).
template <bool ask_for_tags, class Machine>
HIWAY_DEVICE inline void await_turns(Machine m, Several const& some, ClaimKind kind, Control& control) {
  for (unsigned misses = 0;; ++misses) {
    bool come = true;
    for (unsigned k = 0; k < most_at_once; ++k) {
      if (k >= some.count) break;
      std::uint64_t const t = some.ticket(k);
      std::uint32_t const awaited = kind == ClaimKind::put ? some.ring.free_turn(t) : some.ring.full_turn(t);
      come =
          m.load_ahead(turn_of<ask_for_tags>(some.ring, t)) == awaited && come;  // no load waits for another's result
    }
    if (come) break;
    leave_if_aborted(m, control);
    m.relax(misses);
  }
  m.acquire_ahead();  // A1, A2
}

/// Puts or gets a lane's part of a run: `copy(Several)` writes, or reads, the slots. In a whole ring this also hands
/// each slot over. end_run must follow: after a lane's own run, or after the parts of a whole team.
template <class Machine, class Copy>
HIWAY_DEVICE inline void copy_part(Machine m, Ring const& shared, Run run, Part part, ClaimKind kind, Control& control,
                                   Copy&& copy) {
  using Items = std::remove_cvref_t<Copy>;
  constexpr bool ask_for_tags = !size_is_known<Items> || may_be_tagged<Items>;
  Ring const ring = in_own_registers(m, shared);
  Several some{ring, run, part, part.rank, 0};
  for (; some.at < run.count; some.at += some.count * part.size) {
    some.count = 1;
    while (some.count < most_at_once && some.place(some.count) < run.count) ++some.count;
    if (!ring.is_half()) await_turns<ask_for_tags>(m, some, kind, control);
    copy(static_cast<Several const&>(some));
    if (ring.by_tags() && kind == ClaimKind::put) {
      for (unsigned k = 0; k < some.count; ++k) set_tag(m, ring, some.ticket(k));
    }
    if (ring.is_half()) continue;
    m.release_ahead();  // R1, R2
    for (unsigned k = 0; k < most_at_once; ++k) {
      if (k >= some.count) break;
      std::uint64_t const t = some.ticket(k);
      m.store_ahead(turn_of<ask_for_tags>(ring, t),
                    kind == ClaimKind::put ? ring.full_turn(t) : ring.next_free_turn(t));
    }
  }
}

/// What one lane does after every part of the run was copied: a lane for its own run, or a team's first lane for all
/// lanes, once they have met.
template <class Machine>
HIWAY_DEVICE inline void end_run(Machine m, Ring const& ring, Run run, ClaimKind kind, Control& control) {
  if (ring.part == RingPart::whole) return;
  leave_if_aborted(m, control);  // a lane that has left did not copy its part
  if (ring.by_tags() && kind == ClaimKind::put) return;
  if (ring.is_half()) {
    Ring const own = in_own_registers(m, ring);
    for (std::uint32_t i = 0; i < run.count;) {
      std::uint32_t const n = next_piece(own, run.first + i, run.count - i);
      count_done(m, own, run.first + i, n);
      i += n;
    }
  } else if (kind == ClaimKind::get) {
    give_credit_in_order(m, ring);  // I5
  }
}

}  // namespace detail

/// Puts or gets what the lane was granted, by `copy(Several)`. `offset`: how many items of its span were done before.
template <class Machine, class Copy>
HIWAY_DEVICE inline void copy_granted(Machine m, Ring const& ring, Run run, std::size_t offset, ClaimKind kind,
                                      Control& control, Copy&& copy) {
  detail::copy_part(m, ring, run, {0, 1, offset}, kind, control, copy);
  detail::end_run(m, ring, run, kind, control);
}

/// About how many items a get would find now, in all shards; for choosing among rings. By tags: one or none.
template <class Machine>
HIWAY_DEVICE inline std::int32_t items_about(Machine m, Ring const& ring) {
  if (ring.by_tags()) {
    std::uint64_t const next = m.load(ring.words->taken, Order::relaxed);
    return m.load_across(ring.tagged_slot(next).tag, Order::relaxed) == ring.tag_of(next) ? 1 : 0;
  }
  std::int32_t items = m.load(ring.words->avail, Order::relaxed);
  for (unsigned k = 1; k < ring.shards; ++k) items += m.load(ring.words[k].avail, Order::relaxed);
  return items;
}

/// About how many puts there is room for now; 0 or less when more are waiting.
template <class Machine>
HIWAY_DEVICE inline std::int32_t room_about(Machine m, Ring const& ring) {
  if (!ring.by_tags()) return m.load(ring.words->free, Order::relaxed);
  return static_cast<std::int32_t>(m.load(ring.words->given, Order::relaxed) -
                                   m.load(ring.words->claimed, Order::relaxed));
}

/// The first shard after `home` that seems to hold items; `home` itself if none does. All lanes of `group` call it
/// together, and each looks at another shard at the same time.
template <class Machine>
HIWAY_DEVICE inline unsigned find_shard(Machine m, Ring const& ring, std::uint32_t group, unsigned home) {
  unsigned const width = m.count(group);
  unsigned step = m.count(group & lanes_below(m.lane())) + 1;
  Ring const own = in_own_registers(m, ring);
  while (step < own.shards && m.load(own.words[(home + step) & (own.shards - 1u)].avail, Order::relaxed) <= 0)
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

// ---- the other half of a half-ring: one caller at a time, a single lane (relay.hpp) ---------------------------

/// The end of the run of tickets from `from` on that are all done; their counts are acquired (I6). Several counts are
/// read at once: one after another, each would take the memory's whole latency. The first is acquired by itself, since
/// mostly it is the only one needed.
template <class Machine>
HIWAY_DEVICE inline std::uint64_t done_prefix(Machine m, Ring const& ring, std::uint64_t from) {
  constexpr unsigned looks = Machine::counts_at_once;
  Word<std::uint64_t>& tickets = ring.part == RingPart::outbox ? ring.words->claimed : ring.words->taken;
  std::uint64_t end = from;
  for (;;) {
    std::uint64_t const begin = end - ring.place_in_chunk(end);
    std::uint32_t done[looks];
    for (unsigned i = looks; i-- != 0;) {
      std::uint64_t const chunk = begin + (std::uint64_t{i} << ring.chunk_shift);
      Word<std::uint32_t>& count = ring.done_count(chunk);
      done[i] = (i != 0 ? m.load_ahead(count) : m.load(count, Order::acquire)) - ring.done_before(chunk);
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
    if (begun > end && of_last < ring.chunk_slots() && m.load(tickets, Order::relaxed) == begun) end = begun;
    return end;
  }
}

/// Gives credit for `n` more puts or gets. The caller has acquired that their slots are free, or their items there.
template <class Machine>
HIWAY_DEVICE inline void give_credit(Machine m, Ring const& ring, std::uint64_t n) {
  if (!ring.by_tags()) {
    Word<std::int32_t>& credit = ring.part == RingPart::outbox ? ring.words->free : ring.words->avail;
    m.fetch_add(credit, static_cast<std::int32_t>(n), Order::relaxed);
  }
  m.fetch_add(ring.words->given, n, Order::release);  // I4
}

}  // namespace hiway
