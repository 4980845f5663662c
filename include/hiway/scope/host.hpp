// What host tasks do with the values of their scopes (word.hpp).
#pragma once
#include <cstdint>

#include "hiway/machine/machine.hpp"
#include "hiway/scope/table.hpp"
#include "hiway/termination/words.hpp"

namespace hiway::detail {

/// What an item gets that is put from outside, or for which as much is added.
[[nodiscard]] constexpr std::uint64_t value_from_outside(ScopeRoad road) {
  return road == ScopeRoad::to_device ? value_to_device : value_at_host;
}
/// Adds `value` to what is outstanding; the caller hands it to an item or task (S4).
template <class Machine>
inline void add_outstanding(Machine m, ScopeTable& table, std::uint32_t place, std::uint64_t value) {
  m.fetch_add(table.counts[place].outstanding, value, MemoryOrder::relaxed);
}
/// Gives `value` back, and ends the scope if that was all (S1). The release comes after the task's work; the thread
/// that ends the scope acquires all of it.
template <class Machine>
inline void give_back(Machine m, ScopeTable& table, std::uint32_t place, std::uint64_t value) {
  if (m.fetch_add(table.counts[place].outstanding, std::uint64_t{0} - value, MemoryOrder::acq_rel) == value)
    table.ends->end_scope(place);
}

/// The word of an item that the task puts.
template <class Machine>
inline std::uint64_t share_at_host(Machine m, LaneScope& task, ScopeRoad road) {
  std::uint32_t const place = scope_place(task.word);
  std::uint64_t own = scope_value(task.word);
  if (road == ScopeRoad::to_device) {
    if (own <= value_to_device) {
      add_outstanding(m, *task.table, place, value_to_device);
      own += value_to_device;
    }
    task.word = scope_word(place, own - value_to_device);
    return scope_word(place, value_to_device);
  }
  if (own < 2) {
    add_outstanding(m, *task.table, place, value_at_host);
    own += value_at_host;
  }
  task.word = scope_word(place, own - own / 2);
  return scope_word(place, own / 2);
}

/// The word of each of `n` items that the task puts, by one addition (S4).
template <class Machine>
inline std::uint64_t share_with_all_at_host(Machine m, LaneScope const& task, ScopeRoad road, std::uint64_t n) {
  std::uint32_t const place = scope_place(task.word);
  std::uint64_t const each = value_from_outside(road);
  add_outstanding(m, *task.table, place, n * each);
  return scope_word(place, each);
}

/// Takes back the word of an item that was not put.
template <class Machine>
inline void take_back_at_host(Machine, LaneScope& task, std::uint64_t item) {
  task.word = with_value(task.word, scope_value(task.word) + scope_value(item));
}

/// The word of the task's result.
template <class Machine>
inline std::uint64_t result_at_host(Machine m, LaneScope const& task, ScopeRoad road) {
  std::uint64_t own = scope_value(task.word);
  if (road == ScopeRoad::to_device && own < value_to_device) {
    add_outstanding(m, *task.table, scope_place(task.word), value_to_device);
    own += value_to_device;
  }
  return with_value(task.word, own);
}

/// The end of the task.
template <class Machine>
inline void end_at_host(Machine m, LaneScope const& task) {
  give_back(m, *task.table, scope_place(task.word), scope_value(task.word));
}

}  // namespace hiway::detail
