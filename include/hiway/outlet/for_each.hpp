// The persistent loop of for_each.
#pragma once
#include <cstdint>
#include <cstring>

#include "hiway/item.hpp"
#include "hiway/machine/stage_thread.hpp"
#include "hiway/outlet/get.hpp"
#include "hiway/outlet/hand.hpp"
#include "hiway/outlet/tasks.hpp"
#include "hiway/outlet/view.hpp"

namespace hiway::detail {

/// After this many looks at a tag the loop checks whether the tunnel has ended; the check takes as long as a look.
inline constexpr unsigned looks_at_tags = 4;

/// After a task: the items that lie in a CPU thread's hand, body after body. The ends of all are counted together.
template <class T, class Machine, class Body>
void work_through(Machine m, OutletView const& v, Hand& hand, Body&& body) {
  std::uint64_t const more = hand.next_each(m, [&](std::byte const* item) {
    ItemRoom<T> room;  // the body may get from the tunnel, and so fill the hand again
    std::memcpy(room.bytes, item, sizeof(T));
    note_next(v);
    body(static_cast<T const&>(room.item()));
  });
  count_finished(m, v, 1 + more);
}

/// The end of the task of each lane of `group` that has `got` an item, and of what a CPU thread has taken with it.
HIWAY_NO_SPACE_CHECK template <class T, class Machine, class Body>
HIWAY_DEVICE inline void end_and_work_through(Machine m, OutletView const& v, std::uint32_t group, bool got,
                                              [[maybe_unused]] Body&& body) {
  if constexpr (RoleOf<Machine>::keeps_hand && !stays_in_slot<T>) {
    if (Hand* const hand = hand_of(m, v); hand != nullptr) {
      if (got) work_through<T>(m, v, *hand, body);
      return;
    }
  }
  end_tasks(m, v, group, got);
}

/// The persistent loop of `group`: get, body, end_task, back off, until the tunnel has ended.
HIWAY_NO_SPACE_CHECK template <class T, class Machine, class Body>
HIWAY_DEVICE inline void for_each(Machine m, OutletView const& v, std::uint32_t group, Body&& body) {
  std::uint32_t next = 0;
  for (unsigned misses = 0;;) {
    bool const got = work_once<T>(m, v, group, after_misses(misses), next, body);
    end_and_work_through<T>(m, v, group, got, body);
    if (m.ballot(group, got) != 0) {
      misses = 0;
      continue;
    }
    if (v.ring.by_tags() && (misses + 1) % looks_at_tags != 0) {
      ++misses;
      continue;
    }
    if (m.ballot(group, tunnel_ended(m, v)) != 0) {
      m.sync_warp(group);
      return;
    }
    m.relax(misses++);
  }
}

}  // namespace hiway::detail
