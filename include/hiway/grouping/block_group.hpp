// Contention relief, layer 2: warps of a block that claim at the same ring at the same time share one claim, through
// words in the block's own memory and without a barrier. A block has one place for puts and another for gets.
//
//   a warp's claim:   alone          <-- the place is held for another ring, or another group of this warp is here
//                     holds          <-- the place was free: it claims at once, for the warps that wait there, too
//                     waits          <-- held for the same ring
//                       --answered by a holder--> has what it was granted
//                       --the place becomes free--> holds
//
//   word            written by                                        read by
//   holder          the warp that takes and leaves the place          every warp that claims there
//   here            each warp, its bit                                other groups of the same warp
//   pending         each warp sets its bit, the holder clears it      holders; the warp itself      (block)
//   entry.status    the same, a word for each warp                    holders; the warp itself      (block_scan)
//   entry.what      the warp: its key; then the holder: its ticket    the other of the two
//   entry.count     the warp: what it needs; then the holder: its share   the other of the two
//   typical, together   each claim (automatic)                        each claim: only a hint
//
//   G1  in a place one claim at a time is made for others: by its holder, between CAS and release of `holder`
//   G2  an entry belongs to one group of its warp from when the group sets its bit in `here` until it clears it. The
//       group fills the entry in before it sets the status. Until the status is cleared only holders of its key touch
//       the entry, afterwards only its group again
//   G3  a holder clears the status after it has written the answer, while it still holds. So a warp that comes to hold
//       looks again whether it still waits: if it was answered meanwhile, it would be served twice
//   G4  a key stands for all that a claim does: two claims of one key take the same credit and tickets, give the same
//       credit, count in the same tally
//   G5  no lane waits for a lane of its own warp (whose group may have parted from it), nor for one that waits for
//       anything: between taking and releasing the place a holder makes one claim, which waits for nothing
//   G6  a warp that finds the place free waits for no other. A warp that waits does so for claims that others were
//       already making. A warp that cannot join a shared claim makes its own
//   Orders    status set (release) -> the holder's look (acquire): key and count are there
//             status cleared (release) -> its warp's look (acquire): share and ticket are there, and all that the
//             holder's ticket and credit acquired (ring/counts.hpp I4, termination.hpp T5); and the holder's ticket
//             comes before whatever the warp releases later (T1)
//             holder released -> holder taken (acquire): what the last holder cleared is seen (G3)
//             here cleared (release) -> here set (acquire): the next group's words follow the last one's
//             All of this is in the block's scope; the claim itself is in the device's
//   Progress  a holder that stops between CAS and release stalls the warps that wait; every such wait polls abort
//
// block serves all warps that wait. block_scan is the paper's: from its own entry the holder goes left and right, as
// far as statuses are set. automatic: like block, but only while claims take long; if they are short, waiting for a
// turn to share costs more than it saves.
#pragma once
#include <cstdint>

#include "hiway/fault.hpp"
#include "hiway/machine/machine.hpp"

namespace hiway {

/// One warp's entry: what it asks for, then what it was given.
struct GroupEntry {
  Word<std::uint64_t> what;
  Word<std::uint32_t> count;
  Word<std::uint32_t> status;
};

/// Where the warps of a block meet for one kind of claim. All words 0 when the block starts.
struct GroupPlace {
  Word<std::uint64_t> holder;  ///< the key of the claim being made; 0: the place is free
  Word<std::uint32_t> here;
  Word<std::uint32_t> pending;
  Word<std::uint32_t> typical;   ///< cycles a claim takes, averaged over about eight
  Word<std::uint32_t> together;  ///< automatic: whether claims are shared at present
  GroupEntry entries[32];
};

/// What is claimed. Each kind has a place of its own in the block.
enum class ClaimKind : std::uint8_t { put, get };

struct BlockGroup {
  GroupPlace places[2];
};

namespace detail {

/// automatic: claims become shared when one typically takes longer than the first, until one takes less than the
/// second. An undisturbed claim takes about 1,500.
inline constexpr std::uint32_t long_claim_cycles = 2500;
inline constexpr std::uint32_t short_claim_cycles = 1700;
/// A claim that is granted nothing is short, but took credit that others would have found. It counts as this long.
inline constexpr std::uint32_t vain_claim_cycles = 12000;
/// automatic: while claims are not shared, one in this many is measured, at random. With few threads, measuring costs a
/// tenth.
inline constexpr std::uint32_t claims_a_sample = 64;

/// Empties the block's places. Called by one thread, before any claims.
HIWAY_DEVICE inline void clear_places(BlockGroup& group) {
  for (GroupPlace& place : group.places) {
    place.holder.bits = 0;
    place.here.bits = place.pending.bits = place.typical.bits = place.together.bits = 0;
    for (GroupEntry& entry : place.entries) entry.status.bits = 0;
  }
}

/// The warps that wait in a place. With Grouping::block_scan each has a status of its own, else each has a bit of
/// `pending`.
template <class Words>
struct Waiting {
  Words b;
  GroupPlace& place;
  bool scan;
  unsigned warps;

  HIWAY_DEVICE void set(unsigned warp) const {
    if (scan) {
      b.store(place.entries[warp].status, 1u, MemoryOrder::release);
    } else {
      b.fetch_or(place.pending, 1u << warp, MemoryOrder::release);
    }
  }
  HIWAY_DEVICE bool is_set(unsigned warp) const {
    if (scan) return b.load(place.entries[warp].status, MemoryOrder::acquire) != 0;
    return (b.load(place.pending, MemoryOrder::acquire) >> warp & 1u) != 0;
  }
  /// The warps that wait with `key` and are served along with `own`; `own` is not among them.
  HIWAY_DEVICE std::uint32_t with(unsigned own, std::uint64_t key) const {
    std::uint32_t found = 0;
    if (scan) {
      auto const waits = [&](unsigned warp) {
        return is_set(warp) && b.load(place.entries[warp].what, MemoryOrder::relaxed) == key;
      };
      for (unsigned warp = own; warp-- != 0 && waits(warp);) found |= 1u << warp;
      for (unsigned warp = own + 1; warp < warps && waits(warp); ++warp) found |= 1u << warp;
    } else {
      std::uint32_t rest = b.load(place.pending, MemoryOrder::acquire) & ~(1u << own);
      for (; rest != 0; rest &= rest - 1) {
        unsigned const warp = b.lowest(rest);
        if (b.load(place.entries[warp].what, MemoryOrder::relaxed) == key) found |= 1u << warp;
      }
    }
    return found;
  }
  HIWAY_DEVICE void clear(std::uint32_t served) const {
    if (scan) {
      for (; served != 0; served &= served - 1)
        b.store(place.entries[b.lowest(served)].status, 0u, MemoryOrder::release);
    } else if (served != 0) {
      b.fetch_add(place.pending, 0u - served, MemoryOrder::release);
    }
  }
};

/// How a warp comes to its tickets. aborted: it gets none, its entry stays as it is, and the warp's next claims are
/// made alone.
enum class ClaimRole : std::uint8_t { alone, holds, answered, aborted };

/// Decides how the warp makes its claim of `n`; waits while another warp holds the place for the same key. `asked`
/// becomes true if the warp has set its status.
template <class Machine, class Words>
HIWAY_DEVICE inline ClaimRole join_place(Machine m, Waiting<Words> const& waiting, unsigned own, std::uint64_t key,
                                         std::uint32_t n, Control& control, bool& asked) {
  auto const& b = waiting.b;
  GroupPlace& place = waiting.place;
  std::uint64_t held_for = 0;
  if (b.compare_exchange(place.holder, held_for, key, MemoryOrder::acquire)) return ClaimRole::holds;
  if (held_for != key) return ClaimRole::alone;
  GroupEntry& entry = place.entries[own];
  b.store(entry.what, key, MemoryOrder::relaxed);
  b.store(entry.count, n, MemoryOrder::relaxed);
  waiting.set(own);  // G2
  asked = true;
  for (unsigned misses = 0; waiting.is_set(own); ++misses) {
    held_for = 0;
    if (b.load(place.holder, MemoryOrder::relaxed) == 0 &&
        b.compare_exchange(place.holder, held_for, key, MemoryOrder::acquire)) {
      if (waiting.is_set(own)) return ClaimRole::holds;  // G3
      b.store(place.holder, std::uint64_t{0}, MemoryOrder::release);
      break;
    }
    if (misses % 64 == 63 && is_aborted(m, control)) return ClaimRole::aborted;  // the caller leaves
    m.relax(misses);
  }
  return ClaimRole::answered;
}

/// Adds a claim's time to the average. Updates by several warps at once may be lost: it is only a hint.
template <class Words>
HIWAY_DEVICE inline void note_cycles(Words b, GroupPlace& place, std::uint32_t took) {
  std::uint32_t const before = b.load(place.typical, MemoryOrder::relaxed);
  std::uint32_t const now = before - before / 8 + took / 8;
  b.store(place.typical, now, MemoryOrder::relaxed);
  if (now > long_claim_cycles || now < short_claim_cycles)
    b.store(place.together, now > long_claim_cycles ? 1u : 0u, MemoryOrder::relaxed);
}

/// Whether a claim goes through the block: always, except while claims are not shared and this one is not measured.
template <class Machine>
HIWAY_DEVICE inline bool claims_in_block(Machine m, Grouping grouping, ClaimKind kind) {
  if (grouping != Grouping::automatic || m.cycles() / 64 % claims_a_sample == 0) return true;
  GroupPlace& place = m.template block_room<BlockGroup>().places[static_cast<unsigned>(kind)];
  return m.in_block().load(place.together, MemoryOrder::relaxed) != 0;
}

/// How a claim is shared.
struct Sharing {
  Grouping grouping;
  ClaimKind kind;
  Control* control;  ///< polled by claims that wait for other warps of their block; null: none waits
};

/// One claim of `n` for the caller and of what the `served` warps ask for.
template <class Machine, class Words, class Claim>
HIWAY_DEVICE inline auto claim_for_all(Machine m, Waiting<Words> const& waiting, Grouping grouping, std::uint32_t n,
                                       std::uint32_t served, Claim const& claim) -> decltype(claim(n)) {
  Words const& b = waiting.b;
  GroupPlace& place = waiting.place;
  std::uint32_t wanted = n;
  for (std::uint32_t rest = served; rest != 0; rest &= rest - 1)
    wanted += b.load(place.entries[b.lowest(rest)].count, MemoryOrder::relaxed);
  std::uint32_t const start = grouping == Grouping::automatic ? m.cycles() : 0;
  auto const run = claim(wanted);
  if (grouping == Grouping::automatic) note_cycles(b, place, run.count != 0 ? m.cycles() - start : vain_claim_cycles);
  return run;
}

/// Gives the caller, as its result, and then each of the `served` warps its part of `run`.
template <class Words, class Granted>
HIWAY_DEVICE inline Granted hand_out(Words const& b, GroupPlace& place, Granted run, std::uint32_t n,
                                     std::uint32_t served) {
  auto const share = [&run](std::uint32_t most) {
    auto part = run;
    if (part.count > most) part.count = most;
    run.first += part.count;
    run.count -= part.count;
    return part;
  };
  Granted const mine = share(n);
  for (std::uint32_t rest = served; rest != 0; rest &= rest - 1) {
    GroupEntry& entry = place.entries[b.lowest(rest)];
    auto const part = share(b.load(entry.count, MemoryOrder::relaxed));
    b.store(entry.what, part.first, MemoryOrder::relaxed);
    b.store(entry.count, part.count, MemoryOrder::relaxed);
  }
  return mine;
}

/// One claim of `n` by one lane of a group, shared with warps that claim with the same key (G4); for block, block_scan
/// and automatic. `claim(n)` takes up to n tickets and returns a run of `first` and `count`. `sharing` has a control.
template <class Machine, class Claim>
HIWAY_DEVICE inline auto claim_in_block(Machine m, Sharing const& sharing, std::uint64_t key, std::uint32_t n,
                                        Claim const& claim) -> decltype(claim(n)) {
  using Words = decltype(m.in_block());
  Grouping const grouping = sharing.grouping;
  GroupPlace& place = m.template block_room<BlockGroup>().places[static_cast<unsigned>(sharing.kind)];
  Waiting<Words> const waiting{m.in_block(), place, grouping == Grouping::block_scan, (m.block_threads() + 31) / 32};
  Words const& b = waiting.b;
  unsigned const own = m.thread_in_block() / 32;
  std::uint32_t const bit = 1u << own;
  ClaimRole role = ClaimRole::alone;
  bool asked = false;
  bool here = false;
  if (grouping != Grouping::automatic || b.load(place.together, MemoryOrder::relaxed) != 0) {
    here = (b.fetch_or(place.here, bit, MemoryOrder::acquire) & bit) == 0;  // G5
    if (here) role = join_place(m, waiting, own, key, n, *sharing.control, asked);
  }
  decltype(claim(n)) mine{};
  if (role == ClaimRole::aborted) return mine;
  if (role == ClaimRole::answered) {
    mine.first = b.load(place.entries[own].what, MemoryOrder::relaxed);
    mine.count = b.load(place.entries[own].count, MemoryOrder::relaxed);
  } else {
    std::uint32_t const served = role == ClaimRole::holds ? waiting.with(own, key) : 0;
    auto const run = claim_for_all(m, waiting, grouping, n, served, claim);
    mine = hand_out(b, place, run, n, served);
    waiting.clear(asked ? served | bit : served);  // G3
    if (role == ClaimRole::holds) b.store(place.holder, std::uint64_t{0}, MemoryOrder::release);
  }
  if (here) b.fetch_add(place.here, 0u - bit, MemoryOrder::release);
  return mine;
}

}  // namespace detail
}  // namespace hiway
