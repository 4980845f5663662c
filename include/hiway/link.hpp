// Link: how one home tells another a number that grows or changes, and hears one. Relays (relay.hpp) and the questions
// of the end check (termination/question.hpp) stand on it and know no word, bus or message below it. Items travel
// beside it: where both homes reach the same memory they lie there; else a copy stream moves them (CopyStream in
// backend.hpp), and what it moves is there before the number that the same submission tells.
//
//   tell(m, n)   from now on the other home may hear n. One caller at a time tells by a link
//   hear(m)      the last number that has come; what was told before it may have been skipped. 0 at the start
//   peek(m)      the same, but nothing is ordered by it
//
//   L1  all that the teller did, or had acquired, before tell(n) is seen by whoever has heard n, or a number told later
//   L2  the last number told is heard in the end
//
// A transport between machines is one more type with these three functions, whose messages may skip, but not swap,
// numbers; and one more CopyStream.
#pragma once
#include <concepts>
#include <cstdint>

#include "hiway/machine/machine.hpp"

namespace hiway {

template <class L, class Machine>
concept Link = requires(L const& link, Machine m, std::uint64_t n) {
  { link.is_set() } -> std::convertible_to<bool>;
  link.tell(m, n);
  { link.hear(m) } -> std::same_as<std::uint64_t>;
  { link.peek(m) } -> std::same_as<std::uint64_t>;
};

/// A link through memory that both homes reach: a word of one writer.
struct WordLink {
  Word<std::uint64_t>* word = nullptr;

  HIWAY_DEVICE bool is_set() const { return word != nullptr; }
  template <class Machine>
  HIWAY_DEVICE void tell(Machine m, std::uint64_t n) const {
    m.store_across(*word, n, MemoryOrder::release);  // L1
  }
  template <class Machine>
  HIWAY_DEVICE std::uint64_t hear(Machine m) const {
    return m.load_across(*word, MemoryOrder::acquire);  // L1
  }
  template <class Machine>
  HIWAY_DEVICE std::uint64_t peek(Machine m) const {
    return m.load_across(*word, MemoryOrder::relaxed);
  }
};

}  // namespace hiway
