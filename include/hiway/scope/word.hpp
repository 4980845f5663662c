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
//       a scope is anywhere once it is 0, and the subtraction that makes it 0 ends the scope. Its place is free then. A
//       task gives back what it has after its last put; a result (value form) is its last put, and has all of it
//   S2  a device task with a value that puts into its own device counts itself and the item in the pot by one step, and
//       leaves its value there: from then on it is *counted*. What a counted task puts there has no value, and is
//       counted before it is visible. So while the pot counts any, it has a value, and S1 holds
//   S3  the task whose end makes the pot's count 0 takes its value, in one step that fails if another task has counted
//       itself meanwhile, and mails it; of 0 nothing is mailed
//   S4  what the host sends to a device, or is put from outside, is added to outstanding before it is visible
//   S5  an open scope has a hold until it is closed; what is put from outside is added within that time
//   S6  when the run aborts, values are lost: the scopes then open end with the run's error, after all stages have
//       returned, and the next run begins with other words
// Puts use up values (scope_exhausted): to the host a task of 2^36 puts, or all counted tasks together of 2^34; from
// device to device each item gets about the square root of what is there, 2^18 at first. Models:
// tests/models/scope.pml.
#pragma once
#include <cstddef>
#include <cstdint>

#include "hiway/config.hpp"
#include "hiway/item.hpp"

namespace hiway {

namespace detail {

// A word's bits: place (20), whether its task is counted in the pot (1), value (43).
inline constexpr unsigned scope_place_shift = 44;
inline constexpr std::uint64_t scope_is_counted = std::uint64_t{1} << 43;
inline constexpr std::uint64_t scope_value_mask = scope_is_counted - 1;
inline constexpr std::uint32_t most_scopes = std::uint32_t{1} << 20;

HIWAY_DEVICE constexpr std::uint32_t scope_place(std::uint64_t word) {
  return static_cast<std::uint32_t>(word >> scope_place_shift);
}
HIWAY_DEVICE constexpr std::uint64_t scope_value(std::uint64_t word) { return word & scope_value_mask; }
HIWAY_DEVICE constexpr bool is_counted(std::uint64_t word) { return (word & scope_is_counted) != 0; }
HIWAY_DEVICE constexpr std::uint64_t scope_word(std::uint32_t place, std::uint64_t value) {
  return std::uint64_t{place} << scope_place_shift | value;
}
/// The word with another value.
HIWAY_DEVICE constexpr std::uint64_t with_value(std::uint64_t word, std::uint64_t value) {
  return (word & ~scope_value_mask) | value;
}

/// What an item to a device gets, so that its task can put as many items to the host without more.
inline constexpr std::uint64_t value_to_device = std::uint64_t{1} << 36;
/// What an item between CPU threads gets from outside.
inline constexpr std::uint64_t value_at_host = std::uint64_t{1} << 16;
/// What a device's task that can give `all` gives an item to another device, whose task can put about as many items
/// further on: about the square root, less than `all` if that is more than 1.
HIWAY_DEVICE constexpr std::uint64_t value_between_devices(std::uint64_t all) {
  unsigned shift = 0;
  while (all >> 2 * shift > 1) ++shift;
  return all >> shift;
}

// The pot: how many are counted (28 bits), their value (36).
inline constexpr unsigned pot_value_shift = 28;
inline constexpr std::uint64_t pot_count_mask = (std::uint64_t{1} << pot_value_shift) - 1;
inline constexpr std::uint64_t one_of_pot = std::uint64_t{1} << pot_value_shift;
/// What a task leaves in the pot at most, and beyond what the pot is full: then tasks leave 1.
inline constexpr std::uint64_t value_to_pot = std::uint64_t{1} << 34;
inline constexpr std::uint64_t pot_is_full = std::uint64_t{1} << 35;

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
