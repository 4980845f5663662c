// Words for many items that one task puts into its own home at once, all alike (word.hpp S1, S2).
#pragma once
#include <cstdint>

#include "hiway/inlet/view.hpp"
#include "hiway/machine/machine.hpp"
#include "hiway/machine/stage_thread.hpp"
#include "hiway/scope/device.hpp"
#include "hiway/scope/host.hpp"
#include "hiway/scope/table.hpp"

namespace hiway::detail {

/// The value of all of them is in outstanding before any is visible (S1).
template <class Machine>
[[nodiscard]] inline std::uint64_t share_alike_at_host(Machine m, LaneScope const& task, std::uint64_t n) {
  std::uint32_t const place = scope_place(task.word);
  add_outstanding(m, *task.table, place, n * value_at_host);
  return scope_word(place, value_at_host);
}

/// The word of each of `n` items that the lane puts into its own home. The lane's task has a scope.
HIWAY_NO_SPACE_CHECK template <class Machine>
[[nodiscard]] HIWAY_DEVICE inline std::uint64_t share_scope_alike(Machine m, std::uint64_t n) {
  LaneScope task = m.scope();
  std::uint64_t item;
  if constexpr (RoleOf<Machine>::counts_scopes) {
    item = share_alike_at_host(m, task, n);
  } else {
    item = share_alike_at_device(m, task, n);
    m.set_scope(task);
  }
  return item;
}

}  // namespace hiway::detail
