// Scopes of teams: a warp or a block has one task, and each of its lanes a part of it from the beginning (word.hpp S7).
// So each lane puts, and fails its scope, as the lane of a task of its own does. A CPU thread is a team of one.
#pragma once
#include <cstdint>

#include "hiway/fault.hpp"
#include "hiway/inlet/view.hpp"
#include "hiway/machine/machine.hpp"
#include "hiway/machine/stage_thread.hpp"
#include "hiway/scope/device.hpp"
#include "hiway/scope/task.hpp"
#include "hiway/scope/word.hpp"

namespace hiway::detail {

/// Of a value of so much each lane of a warp has a part, the 64th, and the first lane the rest: at least a half.
inline constexpr std::uint64_t least_value_of_a_warp = std::uint64_t{1} << 26;

/// Whether the lanes of a team of `size` have parts of an item's value; else the pot lends them counts. The value of a
/// block would have to be summed over its warps at the end.
HIWAY_DEVICE constexpr bool lanes_share_value(std::uint64_t word, unsigned size) {
  return size <= 32 && scope_value(word) >= least_value_of_a_warp;
}
/// What a lane of the team, but the first, has of an item with this word.
HIWAY_DEVICE constexpr std::uint64_t part_of_lane(std::uint64_t word, unsigned size) {
  std::uint32_t const place = scope_place(word);
  return lanes_share_value(word, size) ? scope_word(place, scope_value(word) / 64) : counted_word(place, 1);
}

/// The first lane's task gives the team's other lanes their parts.
HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline void give_parts(Machine m, unsigned size) {
  LaneScope task = m.scope();
  std::uint64_t const others = size - 1;
  if (lanes_share_value(task.word, size)) {
    task.word -= others * scope_value(part_of_lane(task.word, size));
  } else if (others != 0) {
    lend_to_others(m, task, others);
  }
  m.set_scope(task);
}

/// The team works on an item with this word from now on. False in all lanes if its scope has been cancelled: then the
/// first lane has all of the task.
HIWAY_NO_SPACE_CHECK template <class Team, class View>
HIWAY_DEVICE inline bool begin_team_task(Team team, View const& v, std::uint64_t word) {
  auto const m = team.m;
  if constexpr (RoleOf<decltype(team.m)>::counts_scopes) {
    begin_scope_task(m, v, word);
    return !is_cancelled(m, v, word);
  } else {
    unsigned const size = team.size();
    bool goes_on = false;
    if (team.rank() == 0) {
      begin_scope_task(m, v, word);
      goes_on = !is_cancelled(m, v, word);
      if (goes_on) give_parts(m, size);
    }
    goes_on = team.share(goes_on ? 1 : 0) != 0;  // S7
    leave_if_aborted(m, *v.control);             // E3
    if (goes_on && team.rank() != 0) begin_scope_task(m, v, part_of_lane(word, size));
    return goes_on;
  }
}

/// The sum of a number of each lane of the warp, in its first lane.
HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline std::uint64_t sum_at_first_lane(Machine m, std::uint64_t value) {
  std::uint32_t const lanes = m.lanes();
  unsigned const size = m.count(lanes);
  for (unsigned d = 1; d < size; d *= 2) {
    bool const has = m.lane() + d < size;
    std::uint64_t const above = m.shuffle(lanes, value, has ? m.lane() + d : m.lane());
    if (has) value += above;
  }
  return value;
}

/// The tasks of the calling warp's lanes have ended: what the lanes have of the same scope is given back at once. All
/// lanes of a team call it.
HIWAY_NO_SPACE_CHECK template <class Machine, class View>
HIWAY_DEVICE inline void end_team_scope(Machine m, View const& v) {
  if constexpr (RoleOf<Machine>::counts_scopes) {
    end_scope_task(m, v);
  } else {
    LaneScope const task = has_scope(m, v) ? m.scope() : LaneScope{};
    std::uint32_t const having = m.ballot(m.lanes(), task.word != 0);
    if (having == 0) return;
    std::uint32_t const place = m.shuffle(m.lanes(), scope_place(task.word), m.lowest(having));
    bool const same = task.word != 0 && scope_place(task.word) == place;
    if (!same) end_scope_task(m, v);  // lanes may have got an item each
    constexpr unsigned values = 48;
    std::uint64_t const mine = same ? scope_counts(task.word) << values | scope_value(task.word) : 0;
    std::uint64_t const all = sum_at_first_lane(m, mine);
    if (same) m.set_scope({});
    m.sync_warp(m.lanes());  // what every lane has done comes before the release
    if (m.lane() == 0)
      give_back_at_device(m, *v.end->scopes, place, all >> values, all & ((std::uint64_t{1} << values) - 1));
  }
}

/// The word of each of `n` items that a team puts, for all of its lanes. *Errors*: put_without_scope, scope_exhausted.
HIWAY_NO_SPACE_CHECK template <class Team>
HIWAY_DEVICE inline std::uint64_t share_scope_with_each(Team team, InletView const& v, std::uint64_t n) {
  auto const m = team.m;
  std::uint64_t word = 0;
  if (team.rank() == 0) {
    LaneScope task = putting_task(m, v);
    word = share_with_each_at_device(m, task, v.end->scope_road, n);
    m.set_scope(task);
  }
  word = team.share(word);
  leave_if_aborted(m, *v.control);  // E3
  return word;
}

}  // namespace hiway::detail
