// Lending: replicas that have run out of work get some of others, once the source has ended. Who has nothing asks; who has
// something sends a letter: items of one node.
//
//   word              written by                                    read by
//   asks[r / 32]      replica r sets its bit, a lender clears it    lenders
//   idle              who asks adds 1, a lender subtracts 1         lenders (a hint), who waits
//   boxes[r].full     replica r clears it before it asks, the one   replica r
//                     lender that cleared its bit sets it
//   letters, node, count of r    that lender, before `full`         replica r, behind `full`
//
//   L1  a replica lends only while it has work of its own: it has not asked. It clears the bit (compare-exchange: one lender a
//       request), then subtracts 1, then writes the letter
//   L2  who asks clears `full`, sets its bit, then adds 1. A lender may subtract between the last two: `idle` wraps below 0
//   L3  a replica adds 1 again only behind a letter (O2), which is told of behind the lender's subtraction: in each value that
//       `idle` has had, a replica counts 1 at most, and 0 or less while it works. idle == replicas: each counts 1, so everyone
//       has asked, and nobody has taken a request over, for that one would still work. Nobody has work, and nobody will: all
//       leave. An older value says so no sooner
//   Orders   O1 `full` is cleared, and the last letter read, before the bit is set; the bit is taken over before a letter is
//               written: it is not cleared again, nor written over while it is read
//            O2 `full` is set behind the letter and the subtraction; it is seen before the letter is read, and before 1 is
//               added again. The lanes of a lender and of a borrower meet in between
//            `idle` orders nothing else: nothing is read behind it
#pragma once
#include <cstddef>
#include <cstdint>

#include "hiway/fault.hpp"
#include "hiway/machine/machine.hpp"

namespace hiway::segment {

/// A replica's letter box. The items lie in its letter.
struct LetterBox {
  alignas(32) Word<std::uint32_t> full{0};
  std::uint32_t node = 0;
  std::uint32_t count = 0;
};

/// What replicas lend through, in device memory. `asks`, `idle` and the boxes are zero at the start of a run.
struct Lending {
  Word<std::uint32_t>* idle = nullptr;  ///< null: nobody lends
  Word<std::uint32_t>* asks = nullptr;  ///< a bit for each replica
  LetterBox* boxes = nullptr;
  std::byte* letters = nullptr;
  std::uint32_t letter_bytes = 0;
  std::uint32_t replicas = 0;
};

inline constexpr std::uint32_t no_replica = ~0u;

// Each is called by one lane of a replica.

template <class Machine>
HIWAY_DEVICE inline void ask(Machine m, Lending const& l, std::uint32_t own) {
  m.store(l.boxes[own].full, 0u, Order::relaxed);
  m.fetch_or(l.asks[own / 32], 1u << own % 32, Order::release);  // O1
  m.fetch_add(*l.idle, 1u, Order::relaxed);                      // L2
}

/// *Waits* for a letter: true; or until nobody has work (L3), or the run aborts: false.
template <class Machine>
HIWAY_DEVICE inline bool await_letter(Machine m, Lending const& l, std::uint32_t own, Control& control) {
  for (unsigned misses = 0;; m.relax(misses++)) {
    if (m.load(l.boxes[own].full, Order::acquire) != 0) return true;  // O2
    if (m.load(*l.idle, Order::relaxed) == l.replicas || is_aborted(m, control)) return false;
  }
}

template <class Machine>
HIWAY_DEVICE inline bool anyone_asks(Machine m, Lending const& l) {
  return m.load(*l.idle, Order::relaxed) != 0;
}

/// Takes over the request of a replica, looked for from `start` on in a few words; no_replica: none found. It gets a letter.
template <class Machine>
HIWAY_DEVICE inline std::uint32_t answer(Machine m, Lending const& l, std::uint32_t start) {
  std::uint32_t const words = (l.replicas + 31) / 32;
  constexpr std::uint32_t most_looks = 16;
  for (std::uint32_t look = 0; look != most_looks && look != words; ++look) {
    std::uint32_t const at = (start + look) % words;
    std::uint32_t bits = m.load(l.asks[at], Order::relaxed);
    while (bits != 0) {
      unsigned const who = m.lowest(bits);
      if (m.compare_exchange(l.asks[at], bits, bits & ~(1u << who), Order::acquire)) {  // O1
        m.fetch_add(*l.idle, ~0u, Order::relaxed);                                      // L1
        return at * 32 + who;
      }
    }
  }
  return no_replica;
}

/// The letter of `to` is written, and all lanes that wrote have met.
template <class Machine>
HIWAY_DEVICE inline void send(Machine m, Lending const& l, std::uint32_t to, std::uint32_t node, std::uint32_t count) {
  LetterBox& box = l.boxes[to];
  box.node = node;
  box.count = count;
  m.store(box.full, 1u, Order::release);  // O2
}

}  // namespace hiway::segment
