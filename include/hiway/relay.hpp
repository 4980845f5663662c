// Relays: what each home of a tunnel across the bus tells the other, and what it hears from it. A half-ring tells how
// many of its tickets are done; what it hears is credit for as many more.
//
//   half     tells, across       which is                        hears, across   which is credit for
//   outbox   published           what was committed              retired         puts
//   inbox    retired             what was read                   arrived         gets
// Where items carry tags (ring/tags.hpp) only `retired` is told: a get looks at the items themselves.
// With a direct tunnel `arrived` is the same word as `published`. With dma it is a word of its own, which a later
// operation on the copies' stream sets, or the host after the copy; the transfer line reads `published`.
// All these numbers grow, and go by a link (link.hpp), which is a word of one writer where both homes share memory.
//   M1  telling acquires the counts of what is done before it tells (L1)
//   M2  hearing acquires what was told (L1) before it releases the credit, so a claim that takes the credit finds its
//       items whole, or its slots already read
//   M3  a relay has one caller at a time: the one device monitor, or at the host the holder of `busy`. That is a
//       try-lock. A CPU thread that has put, or found nothing to get, does the monitor's step itself. If the lock is
//       held it leaves the step to the holder and to the monitor, which comes by in any case
// Relays have no counters for the end check: created is `claimed` at the producers' home, finished is ended tasks at
// the consumers'.
#pragma once
#include <cstdint>

#include "hiway/link.hpp"
#include "hiway/ring.hpp"

namespace hiway {

/// One direction of one half-ring: telling or hearing.
template <class L>
struct RelayBy {
  Ring ring;
  L link{};                     ///< is_set() is false: nobody tells, since items carry tags
  Word<std::uint64_t> to{0};    ///< the value told or heard last; written under M3
  Word<std::uint32_t> busy{0};  ///< the lock of M3; used at the host
};
using Relay = RelayBy<WordLink>;

/// The two relays of a half-ring.
struct Relays {
  alignas(128) Relay tells;
  alignas(128) Relay hears;
};

// One step, by a single lane: takes what was told or heard before, `from`, and returns what is told or heard after it.

template <class Machine, class L>
HIWAY_DEVICE inline std::uint64_t tell(Machine m, Ring const& ring, L const& link, std::uint64_t from) {
  std::uint64_t const to = done_prefix(m, ring, from);  // M1
  if (to != from) link.tell(m, to);                     // M1
  return to;
}
template <class Machine, class L>
HIWAY_DEVICE inline std::uint64_t hear(Machine m, Ring const& ring, L const& link, std::uint64_t from) {
  std::uint64_t const to = link.hear(m);  // M2: before the credit
  if (to != from) give_credit(m, ring, to - from);
  return to;
}

/// The relay's step; true if there was news.
template <class Machine, class L>
HIWAY_DEVICE inline bool tell(Machine m, RelayBy<L>& r) {
  if (!r.link.is_set()) return false;
  std::uint64_t const from = m.load(r.to, MemoryOrder::relaxed);
  std::uint64_t const to = tell(m, r.ring, r.link, from);
  if (to != from) m.store(r.to, to, MemoryOrder::relaxed);
  return to != from;
}
template <class Machine, class L>
HIWAY_DEVICE inline bool hear(Machine m, RelayBy<L>& r) {
  if (!r.link.is_set()) return false;
  std::uint64_t const from = m.load(r.to, MemoryOrder::relaxed);
  std::uint64_t const to = hear(m, r.ring, r.link, from);
  if (to != from) m.store(r.to, to, MemoryOrder::relaxed);
  return to != from;
}

/// A number that the other side raises, and a copy of it at home. Where many would ask the link, one hears it for all
/// (M2).
struct HeardWord {
  WordLink across;
  Word<std::uint64_t>* home = nullptr;
};
/// One step, by a single lane; true if there was news.
template <class Machine>
HIWAY_DEVICE inline bool hear(Machine m, HeardWord const& w) {
  std::uint64_t const to = w.across.hear(m);  // M2
  if (to == m.load(*w.home, MemoryOrder::relaxed)) return false;
  m.store(*w.home, to, MemoryOrder::release);  // M2
  return true;
}

namespace detail {

/// Runs `step()` if the relay is free.
template <class Machine, class L, class Step>
HIWAY_DEVICE inline bool if_free(Machine m, RelayBy<L>& r, Step&& step) {
  if (m.load(r.busy, MemoryOrder::relaxed) != 0 || m.fetch_or(r.busy, 1u, MemoryOrder::acquire) != 0)
    return false;  // M3
  bool const news = step();
  m.store(r.busy, 0u, MemoryOrder::release);  // M3
  return news;
}

}  // namespace detail

// The host's steps. They take the relay only when there is news, so a caller that waits writes no word.

/// One step, if there is news to tell and the relay is free; true if news was told.
template <class Machine, class L>
HIWAY_DEVICE inline bool tell_if_free(Machine m, RelayBy<L>& r) {
  if (!r.link.is_set()) return false;
  std::uint64_t const to = m.load(r.to, MemoryOrder::relaxed);
  return done_prefix(m, r.ring, to) != to && detail::if_free(m, r, [&] { return tell(m, r); });
}
/// The same for news to hear.
template <class Machine, class L>
HIWAY_DEVICE inline bool hear_if_free(Machine m, RelayBy<L>& r) {
  return r.link.is_set() && r.link.peek(m) != m.load(r.to, MemoryOrder::relaxed) &&
         detail::if_free(m, r, [&] { return hear(m, r); });
}

/// Of an outbox: all items told are answered, so nothing is under way to the other side.
template <class Machine>
HIWAY_DEVICE inline bool is_answered(Machine m, Relays& r) {
  return m.load(r.tells.to, MemoryOrder::relaxed) == r.hears.link.peek(m);
}

}  // namespace hiway
