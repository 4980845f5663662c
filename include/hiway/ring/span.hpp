// Spans: items of a run that lanes copy side by side. A run is granted at once, so a lane may have several of its slots
// under way at once (turns.hpp I7).
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hiway/fault.hpp"
#include "hiway/grouping/block_group.hpp"
#include "hiway/machine/machine.hpp"
#include "hiway/ring/handover.hpp"

namespace hiway {

/// How many items of a span a lane has under way at once, on any machine.
inline constexpr unsigned most_at_once = 4;

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

}  // namespace hiway
