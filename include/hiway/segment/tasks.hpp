// Tasks with scopes in a segment whose source is a tunnel with scopes (scope/word.hpp). Each slot of a queue has the
// word of its item's task. A lane that works on the item has it instead (Machine::scope), so that its node function may
// ask for its scope.
//
//   G1  A lane takes an item with its word; what lies in the slot counts no more. The last item that a task puts has
//       its word as it is, counts and value: it is the same task still, from the tunnel on (S1). So a chain of filters
//       takes no step at the pot. Its other items have counts (S2), or what a tunnel of the segment's asks for.
//   G2  A task that has put, and has not handed its word on, ends (S3). No lane has a task between two ensembles.
//   G3  When a node is left, its lanes' words go where their items are. An item whose task has ended lies there with an
//       ended word, and no lane takes it again.
//   G4  Lanes that work on one item together have a task each. One of them, whose task is counted, has the pot lend the
//       counts of all in one step; they meet before any of them works, or ends (S2).
//
// Without scopes all of this is empty.
#pragma once
#include <cstdint>

#include "hiway/scope/task.hpp"
#include "hiway/segment/lanes.hpp"
#include "hiway/segment/queue.hpp"
#include "hiway/segment/slot.hpp"

namespace hiway::segment::detail {

using hiway::detail::counted_word;
using hiway::detail::is_counted;
using hiway::detail::most_counts;
using hiway::detail::one_count;
using hiway::detail::scope_counts;
using hiway::detail::scope_place;
using hiway::detail::scope_value;

/// The word of an item whose task has ended, or was dropped: what has so many counts has no value. `outputs`: for an
/// indexed expander, how many of its ensemble's outputs were the item's.
HIWAY_DEVICE constexpr std::uint64_t ended_word(std::uint32_t outputs = 0) {
  return most_counts * one_count | one_count >> 1 | outputs;
}
HIWAY_DEVICE constexpr bool is_ended(std::uint64_t word) {
  return scope_counts(word) == most_counts && scope_value(word) >= one_count >> 1;
}

/// The lane works on a task with this word from now on; 0: on none.
template <class State>
HIWAY_DEVICE inline void set_task(State const& r, std::uint64_t word) {
  hiway::detail::begin_scope_task(r.lanes.machine(), r.intake.outlets[0], word);
}
/// The lane's task, if it has one, has ended.
template <class State>
HIWAY_DEVICE inline void end_task(State const& r) {
  if constexpr (State::has_scopes) hiway::detail::end_scope_task(r.lanes.machine(), r.intake.outlets[0]);
}
/// The lane leaves its task for later. Returns its word; 0: it has none.
template <class State>
HIWAY_DEVICE inline std::uint64_t leave_task(State const& r) {
  auto const m = r.lanes.machine();
  std::uint64_t const word = m.scope().word;
  m.set_scope({});
  return word;
}

/// The lane takes a task with this word. False: there is none, or its scope has been cancelled, and it has ended.
template <class State>
[[nodiscard]] HIWAY_DEVICE inline bool takes_task(State const& r, std::uint64_t word) {
  if (is_ended(word)) return false;
  set_task(r, word);
  if (!hiway::detail::is_cancelled(r.lanes.machine(), r.intake.outlets[0], word)) return true;
  end_task(r);
  return false;
}
/// The same of each lane of a tile (G4).
template <unsigned Size, class State>
[[nodiscard]] HIWAY_DEVICE inline bool tile_takes_task(State const& r, std::uint64_t word) {
  auto const m = r.lanes.machine();
  Tile<decltype(r.lanes.machine()), Size> const tile(m);
  bool works = false;
  if (tile.rank() == 0 && takes_task(r, word)) {
    LaneScope task = m.scope();
    if (scope_counts(task.word) < Size) hiway::detail::lend_counts(m, task, Size);
    task.word -= (Size - 1) * one_count;
    m.set_scope(task);
    works = true;
  }
  tile.sync();
  works = tile.share(works ? 1u : 0u) != 0;
  if (works && tile.rank() != 0) set_task(r, counted_word(scope_place(word), 1));
  return works;
}
/// The tile's first lane gets back what the lanes have that put nothing.
template <unsigned Size, class State>
HIWAY_DEVICE inline void gather_tile([[maybe_unused]] State const& r, [[maybe_unused]] bool puts) {
  if constexpr (State::has_scopes) {
    auto const m = r.lanes.machine();
    Tile<decltype(r.lanes.machine()), Size> const tile(m);
    bool const gives = tile.rank() != 0 && !puts;
    std::uint32_t const spare = tile.sum(gives ? static_cast<std::uint32_t>(scope_counts(leave_task(r))) : 0u);
    if (tile.rank() == 0) hiway::detail::take_scope_back(m, counted_word(0, spare));
  }
}

/// Whether the lane works on an item that it has read from its slot.
template <class State, class T>
[[nodiscard]] HIWAY_DEVICE inline bool takes_slot([[maybe_unused]] State const& r, [[maybe_unused]] T const& slot) {
  if constexpr (State::has_scopes) return takes_task(r, slot.scope);
  return true;
}
/// Whether the lane, or its tile of `Size` lanes, works on the `k`-th item of a node's queue.
template <unsigned Size, class In, class State>
[[nodiscard]] HIWAY_DEVICE inline bool takes_item([[maybe_unused]] State const& r, [[maybe_unused]] unsigned node,
                                                  [[maybe_unused]] QueueState const& s,
                                                  [[maybe_unused]] std::uint32_t k) {
  if constexpr (State::has_scopes) {
    std::uint64_t const word = r.template slot_of<In>(node, s, k).scope;
    if constexpr (Size == 1) {
      return takes_task(r, word);
    } else {
      return tile_takes_task<Size>(r, word);
    }
  }
  return true;
}
/// The lane's word goes into the slot of its item (G3).
template <class State, class T>
HIWAY_DEVICE inline void keep_in_slot([[maybe_unused]] State const& r, [[maybe_unused]] T& slot) {
  if constexpr (State::has_scopes) {
    std::uint64_t const word = leave_task(r);
    slot.scope = word != 0 ? word : ended_word();
  }
}
/// The same, if the item is the `k`-th of a node's queue.
template <class In, class State>
HIWAY_DEVICE inline void keep_in_queue([[maybe_unused]] State const& r, [[maybe_unused]] unsigned node,
                                       [[maybe_unused]] QueueState const& s, [[maybe_unused]] std::uint32_t k) {
  if constexpr (State::has_scopes) keep_in_slot(r, r.template slot_of<In>(node, s, k));
}

/// The lane's task is counted from now on, if it is not.
template <class State>
HIWAY_DEVICE inline void count_task(State const& r) {
  auto const m = r.lanes.machine();
  LaneScope task = m.scope();
  if (is_counted(task.word)) return;
  hiway::detail::become_counted(m, task, 1);
  m.set_scope(task);
}
/// The pot lends `counts` to lanes that work on the item of this word, which is counted (G4).
template <class State>
HIWAY_DEVICE inline void lend_to_lanes(State const& r, std::uint64_t word, std::uint32_t counts) {
  if (counts == 0) return;
  ScopeTable& table = *r.intake.outlets[0].end->scopes;
  r.lanes.machine().fetch_add(table.pots[scope_place(word)].pot, std::uint64_t{counts}, MemoryOrder::relaxed);
}

/// What a lane keeps of the tasks of up to `n` items, while it works on others.
template <bool has_scopes, unsigned n>
struct KeptTasks {
  std::uint64_t words[n] = {};
  template <class State>
  HIWAY_DEVICE void keep(State const& r, unsigned i) {
    words[i] = leave_task(r);
  }
  template <class State>
  HIWAY_DEVICE void take_up(State const& r, unsigned i) const {
    set_task(r, words[i]);
  }
};
template <unsigned n>
struct KeptTasks<false, n> {
  template <class State>
  HIWAY_DEVICE void keep(State const&, unsigned) {}
  template <class State>
  HIWAY_DEVICE void take_up(State const&, unsigned) const {}
};

/// Writes an item into a slot of a queue. `last`: the lane's task puts no more (G1).
template <class State, class T>
HIWAY_DEVICE inline void write_slot([[maybe_unused]] State const& r, T& slot, T const& item, bool) {
  slot = item;
}
template <class State, class T>
HIWAY_DEVICE inline void write_slot(State const& r, Scoped<T>& slot, T const& item, bool last) {
  auto const m = r.lanes.machine();
  slot.item = item;
  if (last) {
    slot.scope = leave_task(r);
    return;
  }
  LaneScope task = m.scope();
  slot.scope = hiway::detail::share_at_device(m, task, ScopeRoad::here);
  m.set_scope(task);
}
/// The word of an item that the lane puts into a tunnel. *Errors*: put_without_scope, scope_exhausted.
template <class Machine>
[[nodiscard]] HIWAY_DEVICE inline std::uint64_t word_into(Machine m, InletView const& inlet, bool last) {
  return last ? hiway::detail::share_rest(m, inlet) : hiway::detail::share_scope(m, inlet);
}

}  // namespace hiway::segment::detail
