// Teams: lanes that work together, a warp or a block, on one item or on a span. The first lane claims, and shares what
// it found with all. All lanes read or write the item in its slot, or each its own items of the span. The first lane
// ends it.
//
//   E1  in share() all lanes meet: what the first lane acquired holds for all, and all have the same outcome
//   E2  sync() before the first lane's release: what every lane did with the item comes before it
//   E3  a first lane that leaves because the run aborts shares nothing: `aborted` was set before, so every other lane
//       reads it after share() and leaves, too
//   E4  lanes may disagree about an abort that comes while they look: some leave, and a lane that has left does not
//       block the others' sync(). So the first lane looks again before it makes an item visible, since a lane that has
//       left did not do its part of it
//   E5  with a span in a whole ring each lane waits for its own slots and hands them over. A lane that leaves meanwhile
//       has not done its part, which the others would read after sync(), so they look again
#pragma once
#include <cstdint>

#include "hiway/fault.hpp"
#include "hiway/item.hpp"
#include "hiway/machine/machine.hpp"
#include "hiway/ring.hpp"

namespace hiway {

/// The lanes of the caller's warp; all of them call every function together. A CPU thread is a team of one.
template <class Machine>
struct WarpTeam {
  Machine m;
  HIWAY_DEVICE unsigned rank() const { return m.lane(); }
  HIWAY_DEVICE unsigned size() const { return m.count(m.lanes()); }
  HIWAY_DEVICE void sync() const { m.sync_warp(m.lanes()); }
  /// The first lane's value, given to all.
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

/// What a team's first lane claimed for all.
struct Claimed {
  Run run;
  unsigned whose = 0;  ///< whose tickets they are: a shard's number, or of_spill
  bool ended = false;  ///< there were no items, and there will be none
};

/// Calls `claim(n)` -> Claimed, for up to `n` tickets, in the team's first lane, and gives its result to all (E1, E3).
template <class Team, class Claim>
HIWAY_DEVICE inline Claimed claim_together(Team team, Control& control, std::uint32_t n, Claim&& claim) {
  Claimed c;
  if (team.rank() == 0) c = claim(n);
  bool const any = c.run.count != 0;
  std::uint64_t const packed =
      team.share(c.run.first << 9 | std::uint64_t{c.whose} << 2 | std::uint64_t{any} << 1 | std::uint64_t{c.ended});
  std::uint64_t const count = n == 1 ? packed >> 1 & 1 : team.share(c.run.count);
  leave_if_aborted(team.m, control);
  auto const whose = static_cast<unsigned>(packed >> 2 & 127);
  return {{packed >> 9, static_cast<std::uint32_t>(count)}, whose, (packed & 1) != 0};
}

/// Puts or gets a run that was claimed together: `copy(Several)` in each lane. The run is the part of a span from
/// `offset` on.
template <class Team, class Copy>
HIWAY_DEVICE inline void copy_by_team(Team team, Ring const& ring, Run run, std::size_t offset, ClaimKind kind,
                                      Control& control, Copy&& copy) {
  copy_part(team.m, ring, run, {team.rank(), team.size(), offset}, kind, control, copy);
  team.sync();                                                      // E2
  if (kind == ClaimKind::get) leave_if_aborted(team.m, control);    // E5
  if (team.rank() == 0) end_run(team.m, ring, run, kind, control);  // E4
}

/// Copies an item: the lanes together if `to` is one that all of them reach, else each lane into its own.
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
