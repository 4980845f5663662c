// Gets of a whole team, a warp or a block (grouping/team.hpp E1 to E5).
#pragma once
#include <cstddef>
#include <cstdint>

#include "hiway/fault.hpp"
#include "hiway/grouping/team.hpp"
#include "hiway/outlet/get.hpp"
#include "hiway/outlet/staged.hpp"
#include "hiway/outlet/tasks.hpp"
#include "hiway/outlet/view.hpp"
#include "hiway/ring.hpp"

namespace hiway::detail {

/// What a team's try found.
enum class Found : std::uint8_t { nothing, item, ended };

/// Claims up to `n` tickets, or none; called by a team's first lane for all.
template <class Machine>
HIWAY_DEVICE inline Claimed claim_items(Machine m, OutletView const& v, std::uint32_t n, Credit credit) {
  refuse_if_over(m, v);
  Claimed c{.run = {}, .whose = home_of(m, v)};
  auto const claim = [&] { c.run = claim_get_run(m, ring_of(v, c.whose), n, &port_of(m, v).got, credit); };
  claim();
  if (c.run.count == 0 && (help_to_come(m, v) || move_all_staged(m, v))) claim();
  if (c.run.count == 0 && v.ring.shards > 1) {
    c.whose = find_shard(m, v.ring, 1u << m.lane(), c.whose);
    claim();
  }
  if (c.run.count == 0 && has_spill(v.spill)) {
    c.whose = of_spill;
    claim();
  }
  note_result(m, v, c.run.count != 0);
  c.ended = c.run.count == 0 && tunnel_ended(m, v);
  return c;
}

/// One try of a team for one item: `work(std::byte const* slot)` in all its lanes, with the item in its slot.
HIWAY_NO_SPACE_CHECK template <class Team, class Work>
HIWAY_DEVICE inline Found work_together(Team team, OutletView const& all, Work&& work) {
  auto const m = team.m;
  OutletView const& v = fullest(m, all);
  if constexpr (RoleOf<decltype(m)>::keeps_hand) {
    if (Hand* const hand = hand_of(m, v); hand != nullptr) {
      if (Hand::Items const item = hand->next(m); item.count != 0) {
        work(item.first);
        return Found::item;
      }
    }
  }
  Claimed const c = claim_together(team, *v.control, 1, [&](std::uint32_t n) {
    Claimed const found = claim_items(m, v, n, Credit::late);
    if (found.run.count != 0) (void)begin_get(m, ring_of(v, found.whose), found.run.first, *v.control);
    return found;
  });
  if (c.run.count == 0) {
    auto const work_on = [&](std::byte const* item, std::uint32_t, std::uint32_t) { work(item); };
    if (take_from_hands(m, v, 1, work_on) != 0) return Found::item;
    return c.ended ? Found::ended : Found::nothing;
  }
  Ring const ring = ring_of(v, c.whose);
  std::uint64_t const ticket = c.run.first;
  work(static_cast<std::byte const*>(ring.item(ticket)));
  team.sync();  // E2
  if (team.rank() == 0) end_get(m, ring, ticket, Credit::late);
  return Found::item;
}

/// The same, but waits for an item or the end. True for an item.
template <class Team, class Work>
HIWAY_DEVICE inline bool await_together(Team team, OutletView const& v, Work&& work) {
  for (unsigned misses = 0;; team.m.relax(misses++)) {
    Found const found = work_together(team, v, work);
    if (found != Found::nothing) return found == Found::item;
  }
}

/// One try of a team for up to `n` items: `copy(Several)` in all its lanes, each for its own items. Afterwards every
/// lane sees all of the items.
template <class Team, class Copy>
HIWAY_DEVICE inline Claimed get_span_by_team(Team team, OutletView const& all, std::size_t n, Copy&& copy) {
  OutletView const& v = fullest(team.m, all);
  Claimed const c = claim_together(team, *v.control, at_most(n, most_of_team),
                                   [&](std::uint32_t most) { return claim_items(team.m, v, most, Credit::early); });
  if (c.run.count != 0) copy_by_team(team, ring_of(v, c.whose), c.run, 0, ClaimKind::get, *v.control, copy);
  return c;
}

/// Ends `tasks` tasks that the team got.
template <class Team>
HIWAY_DEVICE inline void end_task_together(Team team, OutletView const& v, std::uint64_t tasks = 1) {
  team.sync();  // E2
  if (team.rank() == 0) count_finished(team.m, v, tasks);
}

}  // namespace hiway::detail
