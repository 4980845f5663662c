// Lending: once the source has ended, replicas that have run out of work get some from others. A replica without work
// asks. A replica with work sends it a letter: items of one node.
//
//   word              written by                                    read by
//   asks[r / 32]      replica r sets its bit, a lender clears it    lenders
//   idle              an asker adds 1, a lender subtracts 1         lenders (a hint), waiting replicas
//   boxes[r].full     replica r clears it before it asks, the one   replica r
//                     lender that cleared its bit sets it
//   letters, node, count of r    that lender, before `full`         replica r, after it has seen `full`
//
//   L1  A replica lends only while it has work of its own, so it has no open request. It clears the asker's bit (by
//       compare-exchange: one lender per request), then subtracts 1, then writes the letter.
//   L2  An asker clears `full`, sets its bit, then adds 1. A lender may subtract between the last two, so `idle` may
//       wrap below 0.
//   L3  A replica adds 1 again only after it has got a letter (O2), and a lender announces the letter only after its
//       subtraction. So in every value that `idle` has had, each replica counts at most 1, and at most 0 while it
//       works. If idle == replicas, each counts 1: every replica has asked, and no request has been taken over, because
//       its lender would still be working. No replica has work, and none will get any: all leave. A stale value of
//       `idle` cannot make them leave too early.
//   L4  While its kernel is away (parking.hpp) a replica that has asked has still asked, and one that has not still
//       works. So nothing changes by it, but that a letter may lie in its box for longer.
//   Orders   O1 The asker clears `full` and has read its last letter before it sets the bit. A lender takes the bit
//               over before it writes the letter. So `full` is not cleared again, and no letter is overwritten while it
//               is read.
//            O2 The lender sets `full` after it has written the letter and subtracted. The borrower sees `full` before
//               it reads the letter, and before it adds 1 again. The lender's lanes meet before `full` is set, the
//               borrower's lanes after it is seen.
//            `idle` orders nothing else: nothing is read because of its value.
#pragma once
#include <cstddef>
#include <cstdint>

#include "hiway/fault.hpp"
#include "hiway/machine/machine.hpp"

namespace hiway::segment {

/// A replica's letter box. The items themselves are in its letter (Lending::letters).
struct LetterBox {
  alignas(32) Word<std::uint32_t> full{0};
  std::uint32_t node = 0;
  std::uint32_t count = 0;
};

/// The shared words and memory of lending, in device memory. `asks`, `idle` and the boxes are zero at the start of a
/// run.
struct Lending {
  Word<std::uint32_t>* idle = nullptr;  ///< null: no replica lends
  Word<std::uint32_t>* asks = nullptr;  ///< a bit for each replica
  LetterBox* boxes = nullptr;
  std::byte* letters = nullptr;
  std::uint32_t letter_bytes = 0;
  std::uint32_t replicas = 0;
};

inline constexpr std::uint32_t no_replica = ~0u;

// One lane of a replica calls each of these functions.

template <class Machine>
HIWAY_DEVICE inline void ask(Machine m, Lending const& l, std::uint32_t own) {
  m.store(l.boxes[own].full, 0u, MemoryOrder::relaxed);
  m.fetch_or(l.asks[own / 32], 1u << own % 32, MemoryOrder::release);  // O1
  m.fetch_add(*l.idle, 1u, MemoryOrder::relaxed);                      // L2
}

/// none: no replica has work any more (L3), or the run aborts. not_yet: the request stands (L4).
enum class Awaited : std::uint8_t { none, letter, not_yet };

/// *Waits* for a letter, or until `is_over()`.
template <class Machine, class IsOver>
HIWAY_DEVICE inline Awaited await_letter(Machine m, Lending const& l, std::uint32_t own, Control& control,
                                         IsOver const& is_over) {
  for (unsigned misses = 0;; m.relax(misses++)) {
    if (m.load(l.boxes[own].full, MemoryOrder::acquire) != 0) return Awaited::letter;  // O2
    if (m.load(*l.idle, MemoryOrder::relaxed) == l.replicas || is_aborted(m, control)) return Awaited::none;
    if (is_over()) return Awaited::not_yet;
  }
}

template <class Machine>
HIWAY_DEVICE inline bool anyone_asks(Machine m, Lending const& l) {
  return m.load(*l.idle, MemoryOrder::relaxed) != 0;
}

/// Takes over a replica's request, searched for in a few words from `start` on. Returns the replica, to which the
/// caller must send a letter, or no_replica if it found none.
template <class Machine>
HIWAY_DEVICE inline std::uint32_t answer(Machine m, Lending const& l, std::uint32_t start) {
  std::uint32_t const words = (l.replicas + 31) / 32;
  constexpr std::uint32_t most_looks = 16;
  for (std::uint32_t look = 0; look != most_looks && look != words; ++look) {
    std::uint32_t const at = (start + look) % words;
    std::uint32_t bits = m.load(l.asks[at], MemoryOrder::relaxed);
    while (bits != 0) {
      unsigned const who = m.lowest(bits);
      if (m.compare_exchange(l.asks[at], bits, bits & ~(1u << who), MemoryOrder::acquire)) {  // O1
        m.fetch_add(*l.idle, ~0u, MemoryOrder::relaxed);                                      // L1
        return at * 32 + who;
      }
    }
  }
  return no_replica;
}

/// Announces the letter to replica `to`. The letter is written, and all lanes that wrote it have met.
template <class Machine>
HIWAY_DEVICE inline void send(Machine m, Lending const& l, std::uint32_t to, std::uint32_t node, std::uint32_t count) {
  LetterBox& box = l.boxes[to];
  box.node = node;
  box.count = count;
  m.store(box.full, 1u, MemoryOrder::release);  // O2
}

}  // namespace hiway::segment
