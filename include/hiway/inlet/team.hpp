// Puts of a whole team, a warp or a block (grouping/team.hpp E1 to E5).
#pragma once
#include <cstddef>
#include <cstdint>

#include "hiway/fault.hpp"
#include "hiway/grouping/team.hpp"
#include "hiway/inlet/put.hpp"
#include "hiway/inlet/view.hpp"
#include "hiway/ring.hpp"

namespace hiway::detail {

/// Claims up to `n` tickets for the last `left` items of a put; called by a team's first lane. Waits for room. None:
/// the items are dropped.
template <class Machine>
HIWAY_DEVICE inline Claimed claim_room(Machine m, InletView const& v, std::uint32_t n, std::uint64_t left) {
  refuse_if_over(m, v);
  for (unsigned misses = 0;; ++misses) {
    Claimed c{.run = {}, .whose = home_of(m, v)};
    if (!is_throttled(m, v)) c.run = claim_put_run(m, ring_of(v, c.whose), n);
    if (c.run.count == 0 && has_spill(v.spill)) {
      c.whose = of_spill;
      c.run = claim_put_run(m, *v.spill, n);
    }
    if (c.run.count != 0) {
      refuse_late_put(m, v, c.run.first);
      note_room(m, v, misses);
      return c;
    }
    leave_if_aborted(m, *v.control, v.tunnel);
    if (!wait_for_room(m, v, misses, left)) return {};
  }
}

/// Puts one item for a whole team: `fill(std::byte* slot)` in all its lanes. Waits for room.
template <class Team, class Fill>
HIWAY_DEVICE inline void put_by_team(Team team, InletView const& all, Fill&& fill) {
  auto const m = team.m;
  FromOutside<decltype(team.m)> const under_way(m, all);
  put_past_staging(m, all);
  InletView const& v = roomiest(m, all);
  Claimed const c = claim_together(team, *v.control, 1, [&](std::uint32_t n) {
    Claimed const found = claim_room(m, v, n, 1);
    if (found.run.count != 0) (void)begin_put(m, ring_of(v, found.whose), found.run.first, *v.control);
    return found;
  });
  if (c.run.count == 0) return;
  Ring const ring = ring_of(v, c.whose);
  std::uint64_t const ticket = c.run.first;
  fill(ring.item(ticket));
  team.sync();  // E2
  if (team.rank() != 0) return;
  leave_if_aborted(m, *v.control);  // E4
  end_put(m, ring, ticket);
  note_put(m, v);
  help_to_leave(m, v, Sent::item);
}

/// Puts `n` items for a whole team: `copy(Several)` in all its lanes, each for its own items. Waits for room.
template <class Team, class Copy>
HIWAY_DEVICE inline void put_span_by_team(Team team, InletView const& all, std::size_t n, Copy&& copy) {
  auto const m = team.m;
  FromOutside<decltype(team.m)> const under_way(m, all);
  put_past_staging(m, all);
  for (std::size_t done = 0; done != n;) {
    InletView const& v = roomiest(m, all);
    Claimed const c = claim_together(team, *v.control, at_most(n - done, most_of_team),
                                     [&](std::uint32_t most) { return claim_room(m, v, most, n - done); });
    if (c.run.count == 0) return;
    copy_by_team(team, ring_of(v, c.whose), c.run, done, ClaimKind::put, *v.control, copy);
    if (team.rank() == 0) help_to_leave(m, v, Sent::span);
    done += c.run.count;
  }
}

}  // namespace hiway::detail
