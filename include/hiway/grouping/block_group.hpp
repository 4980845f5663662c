// Contention relief, layer 2: warps of a block that claim at the same ring at the same time share one claim, through
// words in the block's own memory and without a barrier. Puts have one place in a block, gets another.
//
//   a warp's claim:   alone          <-- the place is held for another ring, or another group of this warp is here
//                     holds          <-- nobody held the place: it claims at once, for whoever waits there, too
//                     waits          <-- held for the same ring
//                       --answered by a holder--> has what it was granted
//                       --nobody holds the place--> holds
//
//   word            written by                                        read by
//   holder          who takes and leaves the place                    everyone who claims there
//   here            each warp, its bit                                other groups of the same warp
//   pending         each warp sets its bit, the holder clears it      holders; the warp itself      (block)
//   entry.status    the same, a word for each warp                    holders; the warp itself      (block_scan)
//   entry.what      the warp: its key; then the holder: its ticket    the other of the two
//   entry.count     the warp: what it wants; then the holder: its share   the other of the two
//   typical, together   whoever has claimed (automatic)               whoever claims: a hint, and nothing more
//
//   G1  one claim at a time is made for others in a place: by its holder, between CAS and release of `holder`
//   G2  an entry belongs to one group of its warp from its bit in `here` to the end of that, and is in order before its
//       status is set: until the status is cleared only holders of its key touch it, then only its group again
//   G3  the status is cleared behind the answer, by a holder, while it holds. Who comes to hold therefore looks again
//       whether it still waits: one that was answered meanwhile would be served twice
//   G4  a key stands for all that a claim does: two claims of one key take the same credit and tickets, give the same
//       credit, count in the same tally
//   G5  nobody waits for a lane of its own warp (whose group may have parted from it), nor for who waits for anything:
//       between holding and release a holder makes one claim, which waits for nothing
//   G6  a warp that finds the place free waits for nobody; one that waits does so for claims that others were already
//       making. Who cannot share claims alone
//   Orders    status set (release) -> the holder's look (acquire): key and count are there
//             status cleared (release) -> its warp's look (acquire): share and ticket are there; and all that the
//             holder's ticket and credit acquired (ring.hpp I4, termination.hpp T5), and its ticket before whatever the
//             warp releases later (T1)
//             holder released -> holder taken (acquire): what the last one cleared is seen (G3)
//             here cleared (release) -> here set (acquire): the next group's words follow the last one's
//             All of it in the block's scope; the claim itself is in the device's
//   Progress  a holder that stops between CAS and release stalls those who wait; every such wait polls abort
//
// block takes all that wait. block_scan is the paper's: from its own entry the holder goes left and right, as far as
// statuses are set. automatic: like block, but only while claims take long; below that, waiting for one's turn to share
// costs more than it saves.
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
  Word<std::uint64_t> holder;  ///< the key of the claim that is made; 0: nobody's
  Word<std::uint32_t> here;
  Word<std::uint32_t> pending;
  Word<std::uint32_t> typical;   ///< cycles that a claim takes, averaged over about eight
  Word<std::uint32_t> together;  ///< automatic: claims are shared now
  GroupEntry entries[32];
};

/// What is claimed: its place in the block.
enum class ClaimKind : std::uint8_t { put, get };

struct BlockGroup {
  GroupPlace places[2];
};

namespace detail {

/// automatic: claims are shared when one typically takes longer, until one takes less than the second. A claim that
/// nobody disturbs takes about 1,500.
inline constexpr std::uint32_t long_claim_cycles = 4000;
inline constexpr std::uint32_t short_claim_cycles = 2000;

/// Empties the block's places; one thread, before any claims.
HIWAY_DEVICE inline void clear_places(BlockGroup& group) {
  for (GroupPlace& place : group.places) {
    place.holder.bits = 0;
    place.here.bits = place.pending.bits = place.typical.bits = place.together.bits = 0;
    for (GroupEntry& entry : place.entries) entry.status.bits = 0;
  }
}

/// Who waits: a bit of `pending` each.
template <class Words>
struct PendingMask {
  Words b;
  GroupPlace& place;

  HIWAY_DEVICE void set(unsigned warp) const { b.fetch_or(place.pending, 1u << warp, Order::release); }
  HIWAY_DEVICE bool is_set(unsigned warp) const { return (b.load(place.pending, Order::acquire) >> warp & 1u) != 0; }
  /// The warps that wait with `key`, but for `own`.
  HIWAY_DEVICE std::uint32_t waiting(unsigned own, std::uint64_t key) const {
    std::uint32_t const set = b.load(place.pending, Order::acquire) & ~(1u << own);
    std::uint32_t taken = 0;
    for (std::uint32_t rest = set; rest != 0; rest &= rest - 1) {
      unsigned const warp = b.lowest(rest);
      if (b.load(place.entries[warp].what, Order::relaxed) == key) taken |= 1u << warp;
    }
    return taken;
  }
  HIWAY_DEVICE void clear(std::uint32_t warps) const {
    if (warps != 0) b.fetch_add(place.pending, 0u - warps, Order::release);
  }
};

/// Who waits: a status each, and the bi-directional scan.
template <class Words>
struct StatusArray {
  Words b;
  GroupPlace& place;
  unsigned warps;

  HIWAY_DEVICE void set(unsigned warp) const { b.store(place.entries[warp].status, 1u, Order::release); }
  HIWAY_DEVICE bool is_set(unsigned warp) const { return b.load(place.entries[warp].status, Order::acquire) != 0; }
  HIWAY_DEVICE bool waits(unsigned warp, std::uint64_t key) const {
    return is_set(warp) && b.load(place.entries[warp].what, Order::relaxed) == key;
  }
  HIWAY_DEVICE std::uint32_t waiting(unsigned own, std::uint64_t key) const {
    std::uint32_t taken = 0;
    for (unsigned warp = own; warp-- != 0 && waits(warp, key);) taken |= 1u << warp;
    for (unsigned warp = own + 1; warp < warps && waits(warp, key); ++warp) taken |= 1u << warp;
    return taken;
  }
  HIWAY_DEVICE void clear(std::uint32_t warps_served) const {
    for (std::uint32_t rest = warps_served; rest != 0; rest &= rest - 1)
      b.store(place.entries[b.lowest(rest)].status, 0u, Order::release);
  }
};

/// The holder's part: one claim for itself and all that wait, answers, release. Returns its own share.
template <class Words, class Waiters, class Claim>
HIWAY_DEVICE inline auto claim_for_waiting(Words b, GroupPlace& place, Waiters const& waiters, unsigned own,
                                           std::uint64_t key, std::uint32_t n, Claim const& claim) {
  std::uint32_t const served = waiters.waiting(own, key);
  std::uint32_t wanted = n;
  for (std::uint32_t rest = served; rest != 0; rest &= rest - 1)
    wanted += b.load(place.entries[b.lowest(rest)].count, Order::relaxed);
  auto run = claim(wanted);
  auto const share = [&run](std::uint32_t most) {
    auto part = run;
    if (part.count > most) part.count = most;
    run.first += part.count;
    run.count -= part.count;
    return part;
  };
  auto const mine = share(n);
  for (std::uint32_t rest = served; rest != 0; rest &= rest - 1) {
    GroupEntry& entry = place.entries[b.lowest(rest)];
    auto const part = share(b.load(entry.count, Order::relaxed));
    b.store(entry.what, part.first, Order::relaxed);
    b.store(entry.count, part.count, Order::relaxed);
  }
  waiters.clear(served);  // G3
  return mine;
}

/// One claim of `n` with whoever claims with the same key (G4), by one lane of each group. `claim(n)` takes up to n
/// tickets: a run of `first` and `count`.
template <class Machine, class Waiters, class Claim>
HIWAY_DEVICE inline auto share_claim(Machine m, GroupPlace& place, Waiters const& waiters, std::uint64_t key,
                                     std::uint32_t n, Control& control, Claim const& claim) -> decltype(claim(n)) {
  auto const b = m.in_block();
  unsigned const own = m.thread_in_block() / 32;
  std::uint32_t const bit = 1u << own;
  if ((b.fetch_or(place.here, bit, Order::acquire) & bit) != 0) return claim(n);  // G5
  auto const leave = [&] { b.fetch_add(place.here, 0u - bit, Order::release); };
  std::uint64_t held_for = 0;
  bool holds = b.compare_exchange(place.holder, held_for, key, Order::acquire);
  if (!holds && held_for != key) {
    leave();
    return claim(n);
  }
  GroupEntry& entry = place.entries[own];
  bool asked = false;
  decltype(claim(n)) run{};
  if (!holds) {
    b.store(entry.what, key, Order::relaxed);
    b.store(entry.count, n, Order::relaxed);
    waiters.set(own);  // G2
    asked = true;
    for (unsigned misses = 0; waiters.is_set(own); ++misses) {
      held_for = 0;
      if (b.load(place.holder, Order::relaxed) == 0 &&
          b.compare_exchange(place.holder, held_for, key, Order::acquire)) {
        holds = true;
        break;
      }
      if (misses % 64 == 63) leave_if_aborted(m, control);
      m.relax(misses);
    }
  }
  bool const answered = asked && (!holds || !waiters.is_set(own));  // G3
  if (answered) {
    run.first = b.load(entry.what, Order::relaxed);
    run.count = b.load(entry.count, Order::relaxed);
  } else {
    run = claim_for_waiting(b, place, waiters, own, key, n, claim);
    if (asked) waiters.clear(bit);
  }
  if (holds) b.store(place.holder, std::uint64_t{0}, Order::release);
  leave();
  return run;
}

/// Remembers that a claim took so long. Updates of several warps at once may be lost: it is a hint.
template <class Words>
HIWAY_DEVICE inline void note_cycles(Words b, GroupPlace& place, std::uint32_t took) {
  std::uint32_t const before = b.load(place.typical, Order::relaxed);
  std::uint32_t const now = before - before / 8 + took / 8;
  b.store(place.typical, now, Order::relaxed);
  if (now > long_claim_cycles || now < short_claim_cycles)
    b.store(place.together, now > long_claim_cycles ? 1u : 0u, Order::relaxed);
}

/// One claim as `grouping` says: block, block_scan or automatic. `key` as G4 has it.
template <class Machine, class Claim>
HIWAY_APART HIWAY_DEVICE inline auto claim_in_block(Machine m, Grouping grouping, ClaimKind kind, std::uint64_t key,
                                                    std::uint32_t n, Control& control, Claim const& claim)
    -> decltype(claim(n)) {
  auto const b = m.in_block();
  using Words = decltype(m.in_block());
  GroupPlace& place = m.template block_room<BlockGroup>().places[static_cast<unsigned>(kind)];
  if (grouping == Grouping::block_scan) {
    StatusArray<Words> const waiters{b, place, (m.block_threads() + 31) / 32};
    return share_claim(m, place, waiters, key, n, control, claim);
  }
  PendingMask<Words> const waiters{b, place};
  if (grouping == Grouping::block) return share_claim(m, place, waiters, key, n, control, claim);
  auto const timed = [&](std::uint32_t wanted) {
    std::uint32_t const start = m.cycles();
    auto const run = claim(wanted);
    if (run.count != 0) note_cycles(b, place, m.cycles() - start);
    return run;
  };
  if (b.load(place.together, Order::relaxed) == 0) return timed(n);
  return share_claim(m, place, waiters, key, n, control, timed);
}

}  // namespace detail
}  // namespace hiway
