// The persistent loop of for_each.
#pragma once
#include <cstdint>

#include "hiway/outlet/get.hpp"
#include "hiway/outlet/tasks.hpp"
#include "hiway/outlet/view.hpp"

namespace hiway::detail {

/// After this many looks at a tag the loop checks whether the tunnel has ended; the check takes as long as a look.
inline constexpr unsigned looks_at_tags = 4;

/// The persistent loop of `group`: get, body, end_task, back off, until the tunnel has ended.
HIWAY_NO_SPACE_CHECK template <class T, class Machine, class Body>
HIWAY_DEVICE inline void for_each(Machine m, OutletView const& v, std::uint32_t group, Body&& body) {
  std::uint32_t next = 0;
  for (unsigned misses = 0;;) {
    bool const got = work_once<T>(m, v, group, after_misses(misses), next, body);
    end_tasks(m, v, group, got);
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
