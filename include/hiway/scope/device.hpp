// What a device's tasks do with the values of their scopes (word.hpp).
#pragma once
#include <cstdint>

#include "hiway/fault.hpp"
#include "hiway/machine/machine.hpp"
#include "hiway/scope/mail.hpp"
#include "hiway/scope/table.hpp"
#include "hiway/termination/words.hpp"

namespace hiway::detail {

HIWAY_DEVICE constexpr std::uint64_t counted_in(std::uint64_t pot) { return pot & pot_count_mask; }
HIWAY_DEVICE constexpr std::uint64_t value_in(std::uint64_t pot) { return pot >> pot_value_shift; }

HIWAY_DEVICE constexpr std::uint64_t counts_to_have(std::uint64_t pot) {
  return counted_in(pot) < pot_has_lent_many ? counts_at_once : 2;
}

/// Leaves some of the task's value in the pot, and has it lend `counts`, and `others` for what the caller hands them
/// to, in one step (S2).
template <class Machine>
HIWAY_DEVICE inline void become_counted(Machine m, LaneScope& task, std::uint64_t counts, std::uint64_t others = 0) {
  Word<std::uint64_t>& pot = task.table->pots[scope_place(task.word)].pot;
  std::uint64_t const own = scope_value(task.word);
  std::uint64_t seen = m.load(pot, MemoryOrder::relaxed);
  std::uint64_t left = 0;
  do {
    std::uint64_t const most = value_in(seen) < pot_is_full ? value_to_pot : 1;
    left = own < most ? own : most;
  } while (!m.compare_exchange(pot, seen, seen + left * one_of_pot + counts + others, MemoryOrder::relaxed));
  task.word = with_value(task.word, own - left) + counts * one_count;
}

/// Has the pot lend `n` counts, which the caller hands to others; the task is counted from then on (S2).
template <class Machine>
HIWAY_DEVICE inline void lend_to_others(Machine m, LaneScope& task, std::uint64_t n) {
  if (!is_counted(task.word)) return become_counted(m, task, 1, n);
  m.fetch_add(task.table->pots[scope_place(task.word)].pot, n, MemoryOrder::relaxed);
}

/// Has the pot lend the task more counts, so that it has `wanted`.
template <class Machine>
HIWAY_DEVICE inline void lend_counts(Machine m, LaneScope& task, std::uint64_t wanted) {
  std::uint64_t const own = scope_counts(task.word);
  if (own == 0) return become_counted(m, task, wanted);
  m.fetch_add(task.table->pots[scope_place(task.word)].pot, wanted - own, MemoryOrder::relaxed);
  task.word += (wanted - own) * one_count;
}

/// Some of the task's counts, for an item that it puts into its own device; it keeps at least 1.
template <class Machine>
[[nodiscard]] HIWAY_DEVICE inline std::uint64_t share_counts(Machine m, LaneScope& task) {
  Word<std::uint64_t>& pot = task.table->pots[scope_place(task.word)].pot;
  if (scope_counts(task.word) < 2) lend_counts(m, task, counts_to_have(m.load(pot, MemoryOrder::relaxed)));
  std::uint64_t const half = scope_counts(task.word) / 2;
  task.word -= half * one_count;
  return half;
}

/// The word of each of `n` items that the task puts into its own device at once, all alike. Their counts are in the pot
/// before any is visible (S2).
template <class Machine>
[[nodiscard]] HIWAY_DEVICE inline std::uint64_t share_alike_at_device(Machine m, LaneScope& task, std::uint64_t n) {
  std::uint32_t const place = scope_place(task.word);
  constexpr std::uint64_t some = counts_at_once / 2;  // as an item gets that is put alone
  std::uint64_t const counted = counted_in(m.load(task.table->pots[place].pot, MemoryOrder::relaxed));
  std::uint64_t const each = counted + n * some < pot_has_lent_many ? some : 1;
  lend_to_others(m, task, n * each);
  return counted_word(place, each);
}

/// What an item gets that leaves the device, from where there is `all`.
HIWAY_DEVICE constexpr std::uint64_t value_to_leave(ScopeRoad road, std::uint64_t all) {
  return road == ScopeRoad::to_host ? 1 : value_between_devices(all);
}

/// Takes a value out of the pot for each of `n` items that leave the device; the task is counted. 0 if too little would
/// be left (S2).
template <class Machine>
[[nodiscard]] HIWAY_DEVICE inline std::uint64_t take_from_pot(Machine m, LaneScope const& task, ScopeRoad road,
                                                              std::uint64_t n) {
  Word<std::uint64_t>& pot = task.table->pots[scope_place(task.word)].pot;
  std::uint64_t seen = m.load(pot, MemoryOrder::relaxed);
  std::uint64_t value = 0;
  do {
    value = value_to_leave(road, value_in(seen) / n);
    if (value_in(seen) <= n * value) return 0;
  } while (!m.compare_exchange(pot, seen, seen - n * value * one_of_pot, MemoryOrder::relaxed));
  return value;
}

/// Takes a value of the task's own for each of `n` items that leave the device, or else of the pot's. A task that is
/// not counted keeps at least 1 (S1). *Errors*: scope_exhausted.
template <class Machine>
[[nodiscard]] HIWAY_DEVICE inline std::uint64_t take_to_leave(Machine m, LaneScope& task, ScopeRoad road,
                                                              std::uint64_t n = 1) {
  std::uint64_t const own = scope_value(task.word);
  std::uint64_t const kept = is_counted(task.word) ? 0 : 1;
  std::uint64_t const value = value_to_leave(road, own / n);
  if (value != 0 && own >= n * value + kept) {
    task.word = with_value(task.word, own - n * value);
    return value;
  }
  if (!is_counted(task.word)) become_counted(m, task, 1);
  std::uint64_t const taken = take_from_pot(m, task, road, n);
  if (taken == 0) raise(m, *task.table->control, FaultKind::scope_exhausted, no_id, no_id, 0);
  return taken;
}

/// The word of an item that the task puts. *Errors*: scope_exhausted.
template <class Machine>
HIWAY_DEVICE inline std::uint64_t share_at_device(Machine m, LaneScope& task, ScopeRoad road) {
  std::uint32_t const place = scope_place(task.word);
  if (road != ScopeRoad::here) return scope_word(place, take_to_leave(m, task, road));
  return counted_word(place, share_counts(m, task));
}

/// The word of each of `n` items that the task puts at once. *Errors*: scope_exhausted.
template <class Machine>
HIWAY_DEVICE inline std::uint64_t share_with_each_at_device(Machine m, LaneScope& task, ScopeRoad road,
                                                            std::uint64_t n) {
  if (road != ScopeRoad::here) return scope_word(scope_place(task.word), take_to_leave(m, task, road, n));
  return share_alike_at_device(m, task, n);
}

/// Takes back the word of an item that was not put.
template <class Machine>
HIWAY_DEVICE inline void take_back_at_device(Machine, LaneScope& task, std::uint64_t item) {
  task.word = with_value(task.word, scope_value(task.word) + scope_value(item)) + scope_counts(item) * one_count;
}

/// Gives `counts` back; the value of the pot if they were the last (S3).
template <class Machine>
[[nodiscard]] HIWAY_DEVICE inline std::uint64_t leave_pot(Machine m, Word<std::uint64_t>& pot, std::uint64_t counts) {
  std::uint64_t seen = m.fetch_add(pot, std::uint64_t{0} - counts, MemoryOrder::release) - counts;
  // One try: if another task has counted itself meanwhile, it or one that comes after it is the last.
  if (counted_in(seen) == 0 && m.compare_exchange(pot, seen, std::uint64_t{0}, MemoryOrder::relaxed))
    return value_in(seen);
  return 0;
}

/// Gives what a task has back.
template <class Machine>
HIWAY_DEVICE inline void give_back_at_device(Machine m, ScopeTable& table, std::uint32_t place, std::uint64_t counts,
                                             std::uint64_t value) {
  if (counts != 0) value += leave_pot(m, table.pots[place].pot, counts);
  if (value != 0) mail_value(m, table.mail, *table.control, place, value);
}

/// The end of the task.
template <class Machine>
HIWAY_DEVICE inline void end_at_device(Machine m, LaneScope const& task) {
  give_back_at_device(m, *task.table, scope_place(task.word), scope_counts(task.word), scope_value(task.word));
}

/// The word of the task's result. A counted task hands its counts over at its own device; else it puts, and ends.
/// *Errors*: scope_exhausted.
template <class Machine>
HIWAY_DEVICE inline std::uint64_t result_at_device(Machine m, LaneScope& task, ScopeRoad road) {
  if (!is_counted(task.word)) return task.word;
  std::uint32_t const place = scope_place(task.word);
  std::uint64_t const own = scope_value(task.word);
  if (road == ScopeRoad::here) {
    if (own != 0) mail_value(m, task.table->mail, *task.table->control, place, own);
    return counted_word(place, scope_counts(task.word));
  }
  std::uint64_t const item = scope_word(place, take_to_leave(m, task, road));
  end_at_device(m, task);
  return item;
}

}  // namespace hiway::detail
