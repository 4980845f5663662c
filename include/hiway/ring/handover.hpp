// The second step of a put or get: a ticket's holder writes or reads its slot and hands it over, by whichever protocol
// the ring has: turns (turns.hpp) in a whole ring, counts (counts.hpp) in a half-ring, tags (tags.hpp) where items
// carry them. `ask_for_tags` is false where the type of the items already says that the ring has none.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hiway/fault.hpp"
#include "hiway/machine/machine.hpp"
#include "hiway/ring/counts.hpp"
#include "hiway/ring/tags.hpp"
#include "hiway/ring/turns.hpp"

namespace hiway {

namespace detail {

/// How many of the `n` tickets from `ticket` on are handed over in one step.
HIWAY_DEVICE inline std::uint32_t next_piece(Ring const& ring, std::uint64_t ticket, std::uint32_t n) {
  if (!ring.is_half() || ring.tagged) return 1;
  std::uint32_t const left = ring.chunk_slots() - ring.place_in_chunk(ticket);
  return n < left ? n : left;
}

/// The same for a thread that copies items side by side: in a whole ring it has several slots' turns at once (I7), of
/// slots that lie in one piece.
HIWAY_DEVICE inline std::uint32_t next_stretch(Ring const& ring, std::uint64_t ticket, std::uint32_t n) {
  if (ring.is_half() || ring.tagged) return next_piece(ring, ticket, n);
  constexpr std::uint32_t most = 64;  // the first of them wait for the last
  auto const left = static_cast<std::uint32_t>(ring.slots_mask + 1 - ring.slot(ticket));
  std::uint32_t const fit = left < most ? left : most;
  return n < fit ? n : fit;
}

}  // namespace detail

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
    return m.store(detail::turn_of<ask_for_tags>(ring, ticket), ring.full_turn(ticket), MemoryOrder::release);  // R1
  if (ring.tagged) return detail::set_tag(m, ring, ticket);
  detail::count_done(m, ring, ticket, 1);
}
/// Makes the items of all lanes granted together visible; all of them call it.
template <bool ask_for_tags = true, class Machine>
HIWAY_DEVICE inline void end_put(Machine m, Ring const& ring, Grant const& grant) {
  if (ring.is_half() && !ring.tagged) return detail::count_done_together(m, ring, grant);
  end_put<ask_for_tags>(m, ring, grant.ticket);
}

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
    std::uint32_t const n = detail::next_stretch(ring, ticket, run.count - i);
    for (std::uint32_t k = 1; k < n && !ring.is_half(); ++k) (void)begin_put(m, ring, ticket + k, control);
    write(begin_put(m, ring, ticket, control), i, n);
    if (ring.is_half() && !ring.tagged) {
      detail::count_done(m, ring, ticket, n);
    } else {
      for (std::uint32_t k = 0; k < n; ++k) end_put(m, ring, ticket + k);
    }
    i += n;
  }
}

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
  m.store(detail::turn_of<ask_for_tags>(ring, ticket), ring.next_free_turn(ticket), MemoryOrder::release);  // R2
  if (ring.part == RingPart::in_order) {
    detail::give_credit_in_order(m, ring);
  } else if (credit == Credit::late) {
    m.fetch_add(ring.words->free, 1, MemoryOrder::release);  // I5
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
    std::uint32_t const n = detail::next_stretch(ring, ticket, run.count - i);
    for (std::uint32_t k = 1; k < n && !ring.is_half(); ++k) (void)begin_get(m, ring, ticket + k, control);
    read(begin_get(m, ring, ticket, control), i, n);
    if (ring.is_half()) {
      detail::count_done(m, ring, ticket, n);
    } else {
      for (std::uint32_t k = 0; k < n; ++k) end_get(m, ring, ticket + k, Credit::early);
    }
    i += n;
  }
}

}  // namespace hiway
