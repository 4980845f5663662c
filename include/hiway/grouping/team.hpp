// Teams: lanes that work on one item together, a warp or a block. The first lane claims; what it found is shared with
// all; all of them read or write the item in its slot; the first lane ends it.
//
//   E1  in share() all lanes meet: what the first lane acquired holds for all, and all have the same outcome
//   E2  sync() before the first lane's release: what every lane did with the item lies before it
//   E3  a first lane that leaves because the run aborts shares nothing: `aborted` was set before, so every other lane
//       reads it after share() and leaves, too
//   E4  lanes may disagree about an abort that comes while they look: one leaves, and keeps the others from no sync(). A
//       first lane therefore looks again before it makes an item visible, of which a lane that has left owes its part
#pragma once
#include <cstdint>

#include "hiway/fault.hpp"
#include "hiway/item.hpp"
#include "hiway/machine/machine.hpp"

namespace hiway {

/// The lanes of the caller's warp; all of them call every function together. A CPU thread is a team of one.
template <class Machine>
struct WarpTeam {
  Machine m;
  HIWAY_DEVICE unsigned rank() const { return m.lane(); }
  HIWAY_DEVICE unsigned size() const { return m.count(m.lanes()); }
  HIWAY_DEVICE void sync() const { m.sync_warp(m.lanes()); }
  /// The first lane's value, for all.
  HIWAY_DEVICE std::uint64_t share(std::uint64_t value) const {
    value = m.shuffle(m.lanes(), value, 0);
    sync();
    return value;
  }
};

/// The lanes of the caller's block; all of them call every function together.
template <class Machine>
struct BlockTeam {
  Machine m;
  HIWAY_DEVICE unsigned rank() const { return m.thread_in_block(); }
  HIWAY_DEVICE unsigned size() const { return m.block_threads(); }
  HIWAY_DEVICE void sync() const { m.sync_block(); }
  HIWAY_DEVICE std::uint64_t share(std::uint64_t value) const { return m.share_in_block(value); }
};

namespace detail {

/// Calls `find()` in the team's first lane and gives its result to all (E1, E3).
template <class Team, class Find>
HIWAY_DEVICE inline std::uint64_t find_together(Team team, Control& control, Find&& find) {
  std::uint64_t found = 0;
  if (team.rank() == 0) found = find();
  found = team.share(found);
  leave_if_aborted(team.m, control);
  return found;
}

/// Copies an item that all lanes of the team can reach, or into each lane's own room.
template <class T, class Team>
HIWAY_DEVICE inline void copy_together(Team team, T& to, T const& from) {
  if (team.m.is_own(&to)) {
    copy_item(to, from);
  } else {
    copy_bytes(&to, &from, sizeof(T), team.rank(), team.size());
  }
}

}  // namespace detail
}  // namespace hiway
