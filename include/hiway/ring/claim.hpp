// Claims: how a lane, a warp or warps of a block come to tickets of a ring.
//
// A claim takes credit, gives back what it took beyond the balance, then takes as many tickets. Credit is taken by one
// addition, so the word may be below 0 for a moment. Lanes of a warp share one claim: their first lane makes it for all
// and hands out the tickets by rank (contention relief, layer 1). Warps of a block may share theirs
// (grouping/block_group.hpp, layer 2).
//
// In a whole ring the claim also gives the other side's credit, at once: the other side then waits for the slot's turn
// (turns.hpp). In a half-ring it waits until its tickets were given (counts.hpp I4). Rings whose items carry tags have
// claims of their own (tags.hpp).
//
//   T4  an item is counted (ticket) before it is visible (termination.hpp)
//   T5  a put's ticket acquires: "ticket, then closed" against "closed, then created" (termination.hpp)
#pragma once
#include <cstdint>

#include "hiway/fault.hpp"
#include "hiway/grouping/block_group.hpp"
#include "hiway/grouping/lane_sums.hpp"
#include "hiway/machine/machine.hpp"
#include "hiway/ring/counts.hpp"
#include "hiway/ring/tags.hpp"
#include "hiway/ring/turns.hpp"

namespace hiway {

/// Whether a claim reads the credit before it takes some. The read costs every claim the hot word's latency once more,
/// and half of a full grid's rate; but a claim that takes from an empty word has disturbed it for the others. counted:
/// it reads, and takes no more than it saw. That is for claims of many items: one that overdraws by so much would deny
/// credit to many others for a moment.
enum class Credits : std::uint8_t { likely, doubtful, counted };
/// The Credits to use after this many misses in a row. For a group its first lane's choice counts.
HIWAY_DEVICE constexpr Credits after_misses(unsigned misses) {
  return misses == 0 ? Credits::likely : Credits::doubtful;
}

namespace detail {

/// Takes up to `n` credits; gives back what it took beyond the balance.
template <class Machine>
HIWAY_DEVICE inline std::int32_t take_credit(Machine m, Word<std::int32_t>& credit, std::int32_t n, Credits credits) {
  if (credits != Credits::likely) {
    std::int32_t const seen = m.load(credit, MemoryOrder::relaxed);
    if (seen <= 0) return 0;
    if (credits == Credits::counted && seen < n) n = seen;
  }
  std::int32_t const before = m.fetch_add(credit, -n, MemoryOrder::relaxed);
  std::int32_t const granted = before <= 0 ? 0 : (before < n ? before : n);
  if (granted < n) m.fetch_add(credit, n - granted, MemoryOrder::relaxed);
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

/// Takes up to `n` tickets, for one lane.
template <class Machine>
HIWAY_DEVICE inline Run claim_run(Machine m, ClaimWords const& w, std::uint32_t n, Credits credits) {
  if (w.by_tags) return w.puts ? claim_below_given(m, *w.ring.words, n) : claim_by_tags(m, w.ring, n, w.tally);
  auto const wanted = static_cast<std::int32_t>(n);
  std::int32_t const granted = take_credit(m, w.credit, wanted, credits);
  if (granted == 0) return {};
  auto const tickets = static_cast<std::uint64_t>(granted);
  std::uint64_t const first = w.puts ? m.fetch_add(w.tickets, tickets, MemoryOrder::acquire)  // T5
                                     : m.fetch_add(w.tickets, tickets, MemoryOrder::relaxed);
  if (w.given != nullptr) await_given(m, *w.given, first + tickets);
  if (w.other != nullptr) m.fetch_add(*w.other, granted, MemoryOrder::relaxed);
  if (w.tally != nullptr) m.fetch_add(*w.tally, static_cast<std::uint64_t>(granted), MemoryOrder::relaxed);
  return {first, static_cast<std::uint32_t>(granted)};
}

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
      if (!w.by_tags && credits != Credits::likely && m.load(w.credit, MemoryOrder::relaxed) <= 0) return {};
      return claim_in_block(m, sharing, key_of(w), n, [&](std::uint32_t wanted) {
        Run const run = claim_run(m, w, wanted, Credits::likely);
        if (wanted != n) m.fetch_add(w.groups, std::uint64_t{1}, MemoryOrder::relaxed);
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

}  // namespace hiway
