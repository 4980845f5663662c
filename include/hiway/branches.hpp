// Branches: if a stage runs on several devices, each of its tunnels has one branch for each device, a tunnel by itself.
// A CPU thread's end is the end of all branches. It puts where there is most room, so a device that works faster gets
// more; it gets from one after another. Each item belongs to its branch: the end check knows nothing of branches.
//   B1  a thread ends tasks of any branch from which it has got more than it has ended, whichever branch their items
//       came by. No branch's finished passes its got, so none is told ended before as many of its items are; and all of
//       a stage's tunnels have ended only once every task of every branch has
// A device's end is of one branch: code for several is left out there (RoleOf<Machine>::has_branches).
#pragma once
#include <cstdint>

#include "hiway/config.hpp"
#include "hiway/machine/stage_thread.hpp"

namespace hiway::detail {

template <class View>
HIWAY_DEVICE inline View const& branch(View const& v, std::uint32_t number) {
  return number == 0 ? v : v.branches[number - 1];
}

/// `work(view)` for each branch.
template <class Machine, class View, class Work>
HIWAY_DEVICE inline void for_each_branch(Machine, View const& v, Work&& work) {
  work(v);
  if constexpr (RoleOf<Machine>::has_branches) {
    for (std::uint32_t i = 0; i < v.further_branches; ++i) work(v.branches[i]);
  }
}

/// The branch with most of what `amount(view)` says; among equals, and where none has any, they take turns. Threads
/// that share an end may take the same turn.
template <class Machine, class View, class Amount>
HIWAY_DEVICE inline View const& choose_branch(Machine m, View const& v, Amount&& amount) {
  std::uint32_t const count = v.further_branches + 1;
  std::uint32_t const last = m.load(v.ports->branch, MemoryOrder::relaxed);
  std::uint32_t chosen = (last + 1) % count;
  std::int32_t most = 0;
  for (std::uint32_t i = 1; i <= count; ++i) {
    std::uint32_t const number = (last + i) % count;
    std::int32_t const has = amount(branch(v, number));
    if (has > most) {
      most = has;
      chosen = number;
    }
  }
  m.store(v.ports->branch, chosen, MemoryOrder::relaxed);
  return branch(v, chosen);
}

}  // namespace hiway::detail
