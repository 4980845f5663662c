// Scopes: parts of a run's work that end by themselves. A scope is what a program puts from outside for it, and all
// that tasks put while they work on it, through whatever tunnels and devices. It ends when all its tasks have ended.
//
// Each item of a scope carries a word: the scope's number (its place), and a *value*. Its task has that value. Values
// are handed on, split, and given back; nothing is summed over homes, and no list of scopes is looked through.
//
//   word                 home     written by                      read by
//   outstanding[place]   host     host tasks, the mail's reader   the same
//   pot[place]           device   counted tasks                   the same
//   mail                 host     device tasks, across            the host monitors, waits for a scope
//
//   S1  values add up: outstanding is the sum of those in items, tasks, pots and the mail, and the hold. So nothing of
//       a scope is anywhere once it is 0, and the subtraction that makes it 0 ends the scope. Its place is free then.
//       A task gives back what it has after its last put; a result (value form) is its last put, and has all of it.
//       Within a segment so has the last item that a task puts (segment/tasks.hpp G1). A batch of one scope
//       (lib/batch/batch_scopes.hpp) is one task, which has the values of all its items
//   S2  a device task with a value that puts into its own device leaves its value in the pot, which lends it *counts*
//       in the same step: from then on it is *counted*. What a counted task puts there has no value, and half of its
//       counts; a task with one count is lent more first. A count is in the pot before the item that has it is
//       visible; another lane of the task's may have the pot lend it. So the pot counts what items and tasks have;
//       while it counts any, it has a value, and S1 holds
//   S3  a task gives its counts back at its end. The one that makes the pot's count 0 takes its value, in one step that
//       fails if another task has been lent counts meanwhile, and mails it; of 0 nothing is mailed
//   S4  what the host sends to a device, or is put from outside, is added to outstanding before it is visible
//   S5  an open scope has a hold until it is closed; what is put from outside is added within that time, some at once
//       (lib/scope/handles.hpp H1); the close gives the rest of it back
//   S6  when the run aborts, values are lost: the scopes then open end with the run's error, after all stages have
//       returned, and the next run begins with other words
//   S7  a team, a warp or a block, has the task of one item. From its beginning each lane has a part of it, and is as
//       the lane of a task of its own: a warp's lanes have values, parts of the item's; where that is small, or
//       counted, and in a block, they have counts, which the pot lends to all of them in one step of the first lane.
//       No lane begins before that step. At the end what the lanes of a warp have left is added up, and given back at
//       once; the lanes of a block's other warps may still work then: they have parts of their own. The first lane
//       says whether the scope has been cancelled, for all
//   Orders  a task's end releases at the pot, and the fence before the letter acquires: all steps at a pot read and
//       write at once, so the one that takes its value has read from each end. The others need no order: what lends a
//       count comes before what gives it back, in the word's own order
// Puts use up values (scope_exhausted): to the host a task, or all counted tasks together, of 2^35 puts, a lane of a
// warp that has a value of 2^29; from device to device each item gets about the square root of what is there, 2^17 at
// first. Models: tests/models/scope.pml.
#pragma once
#include <cstddef>
#include <cstdint>

#include "hiway/config.hpp"
#include "hiway/item.hpp"

namespace hiway {

namespace detail {

// A word's bits: place (20), counts (6), value (38).
inline constexpr unsigned scope_place_shift = 44;
inline constexpr unsigned scope_count_shift = 38;
inline constexpr std::uint64_t one_count = std::uint64_t{1} << scope_count_shift;
inline constexpr std::uint64_t most_counts = 63;
inline constexpr std::uint64_t scope_value_mask = one_count - 1;
inline constexpr std::uint32_t most_scopes = std::uint32_t{1} << 20;

HIWAY_DEVICE constexpr std::uint32_t scope_place(std::uint64_t word) {
  return static_cast<std::uint32_t>(word >> scope_place_shift);
}
HIWAY_DEVICE constexpr std::uint64_t scope_value(std::uint64_t word) { return word & scope_value_mask; }
HIWAY_DEVICE constexpr std::uint64_t scope_counts(std::uint64_t word) {
  return word >> scope_count_shift & most_counts;
}
HIWAY_DEVICE constexpr bool is_counted(std::uint64_t word) { return scope_counts(word) != 0; }
HIWAY_DEVICE constexpr std::uint64_t scope_word(std::uint32_t place, std::uint64_t value) {
  return std::uint64_t{place} << scope_place_shift | value;
}
/// Of a counted item.
HIWAY_DEVICE constexpr std::uint64_t counted_word(std::uint32_t place, std::uint64_t counts) {
  return scope_word(place, counts * one_count);
}
/// The word with another value.
HIWAY_DEVICE constexpr std::uint64_t with_value(std::uint64_t word, std::uint64_t value) {
  return (word & ~scope_value_mask) | value;
}

/// What an item to a device gets, so that its task can put as many items to the host without more.
inline constexpr std::uint64_t value_to_device = std::uint64_t{1} << 35;
/// What an item between CPU threads gets from outside.
inline constexpr std::uint64_t value_at_host = std::uint64_t{1} << 16;
/// What a device's task that can give `all` gives an item to another device, whose task can put about as many items
/// further on: about the square root, less than `all` if that is more than 1.
HIWAY_DEVICE constexpr std::uint64_t value_between_devices(std::uint64_t all) {
  unsigned shift = 0;
  while (all >> 2 * shift > 1) ++shift;
  return all >> shift;
}

// The pot: the counts that it has lent (28 bits), their value (36).
inline constexpr unsigned pot_value_shift = 28;
inline constexpr std::uint64_t pot_count_mask = (std::uint64_t{1} << pot_value_shift) - 1;
inline constexpr std::uint64_t one_of_pot = std::uint64_t{1} << pot_value_shift;
/// What a task leaves in the pot at most, all that an item brings: then its end mails nothing unless it is the last.
inline constexpr std::uint64_t value_to_pot = value_to_device;
/// With so much in the pot tasks leave 1.
inline constexpr std::uint64_t pot_is_full = std::uint64_t{1} << 34;
/// What a task has after it was lent some, or 2 beyond so many in the pot: then there is room for 2^27 items.
inline constexpr std::uint64_t counts_at_once = 32;
inline constexpr std::uint64_t pot_has_lent_many = std::uint64_t{1} << 26;

}  // namespace detail

/// An item of a tunnel with scopes, in its slot.
template <class T>
struct Scoped {
  T item;
  std::uint64_t scope;
};

/// Writes an item and its word into a slot.
template <class T>
struct WriteScoped {
  static constexpr std::size_t bytes = sizeof(Scoped<T>);
  T const& item;
  std::uint64_t scope;
  HIWAY_DEVICE void operator()(std::byte* slot) const {
    auto& to = item_in<Scoped<T>>(slot);
    copy_item(to.item, item);
    to.scope = scope;
  }
};

template <class T>
inline constexpr bool is_scoped = false;
template <class T>
inline constexpr bool is_scoped<Scoped<T>> = true;

namespace detail {

template <class T>
struct ItemOfTunnel {
  using Type = T;
};
template <class T>
struct ItemOfTunnel<Scoped<T>> {
  using Type = T;
};

}  // namespace detail
/// What a stage sees of a tunnel's items.
template <class T>
using ItemOf = typename detail::ItemOfTunnel<T>::Type;

}  // namespace hiway
