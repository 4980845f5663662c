// The scope of the task that a lane or thread works on: what it begins with, hands to its items, and gives back.
#pragma once
#include <cstdint>

#include "hiway/fault.hpp"
#include "hiway/inlet/view.hpp"
#include "hiway/launch/stage_words.hpp"
#include "hiway/machine/on_this_device.hpp"
#include "hiway/machine/stage_thread.hpp"
#include "hiway/scope/device.hpp"
#include "hiway/scope/host.hpp"
#include "hiway/scope/table.hpp"

namespace hiway::detail {

/// Whether the scope is one of the run under way. A CPU thread of the user's own may have one left of a run that has
/// failed.
HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline bool is_of_this_run(Machine m, LaneScope const& task) {
  if constexpr (RoleOf<Machine>::counts_scopes) return task.run == m.load(task.table->run, MemoryOrder::relaxed);
  return true;
}
/// Whether the lane's task has a scope of the view's kind.
HIWAY_NO_SPACE_CHECK template <class Machine, class View>
HIWAY_DEVICE inline bool has_scope(Machine m, View const& v) {
  LaneScope const task = m.scope();
  return task.word != 0 && task.table == v.end->scopes && is_of_this_run(m, task);
}

/// Whether the lane or thread works on a task with a scope, of whatever kind. A thread of the user's own is asked about
/// the view's kind only: it may have a scope left of a pipeline that is gone.
HIWAY_NO_SPACE_CHECK template <class Machine, class View>
HIWAY_DEVICE inline bool has_open_scope_task(Machine m, View const& v) {
  return (!v.open && m.scope().word != 0) || has_scope(m, v);
}

/// Whether an item with this word is dropped: its scope has been cancelled.
HIWAY_NO_SPACE_CHECK template <class Machine, class View>
HIWAY_DEVICE inline bool is_cancelled(Machine m, View const& v, std::uint64_t word) {
  ScopeTable& table = *v.end->scopes;
  if constexpr (RoleOf<Machine>::counts_scopes) {
    return m.load(table.counts[scope_place(word)].cancelled, MemoryOrder::relaxed) != 0;
  } else {
    return m.load(table.pots[scope_place(word)].cancelled, MemoryOrder::relaxed) != 0;
  }
}

/// The lane works on an item with this word from now on.
HIWAY_NO_SPACE_CHECK template <class Machine, class View>
HIWAY_DEVICE inline void begin_scope_task(Machine m, View const& v, std::uint64_t word) {
  std::uint32_t run = 0;
  if constexpr (RoleOf<Machine>::counts_scopes) {
    run = m.load(v.end->scopes->run, MemoryOrder::relaxed);
    if (v.end->scopes->notes_tasks) v.end->scopes->ends->note_task(scope_place(word), v.stage);
  }
  m.set_scope({word, v.end->scopes, run});
}

/// The lane's task, which puts an item. *Errors*: put_without_scope.
HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline LaneScope putting_task(Machine m, InletView const& v) {
  if (!has_scope(m, v)) raise(m, *v.control, FaultKind::put_without_scope, v.stage, v.tunnel, 0);
  return m.scope();
}

/// The word of an item that the lane puts. *Errors*: put_without_scope, scope_exhausted.
HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline std::uint64_t share_scope(Machine m, InletView const& v) {
  LaneScope task = putting_task(m, v);
  std::uint64_t item;
  if constexpr (RoleOf<Machine>::counts_scopes) {
    item = share_at_host(m, task, v.end->scope_road);
  } else {
    item = share_at_device(m, task, v.end->scope_road);
  }
  m.set_scope(task);
  return item;
}

/// Takes back the word of an item that was not put.
HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline void take_scope_back(Machine m, std::uint64_t item) {
  LaneScope task = m.scope();
  if constexpr (RoleOf<Machine>::counts_scopes) {
    take_back_at_host(m, task, item);
  } else {
    take_back_at_device(m, task, item);
  }
  m.set_scope(task);
}

/// The word of a task's result, which is its last put: the task has ended (S1). *Errors*: scope_exhausted.
HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline std::uint64_t hand_scope_on(Machine m, InletView const& v) {
  LaneScope task = m.scope();
  m.set_scope({});
  if constexpr (RoleOf<Machine>::counts_scopes) {
    return result_at_host(m, task, v.end->scope_road);
  } else {
    return result_at_device(m, task, v.end->scope_road);
  }
}

/// The word of the lane's last put for its task. *Errors*: put_without_scope, scope_exhausted.
HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline std::uint64_t share_rest(Machine m, InletView const& v) {
  if (!has_scope(m, v)) raise(m, *v.control, FaultKind::put_without_scope, v.stage, v.tunnel, 0);
  return hand_scope_on(m, v);
}

/// The lane's task, if it has a scope, has ended.
HIWAY_NO_SPACE_CHECK template <class Machine, class View>
HIWAY_DEVICE inline void end_scope_task(Machine m, View const& v) {
  if (!has_scope(m, v)) return;
  LaneScope const task = m.scope();
  m.set_scope({});
  if constexpr (RoleOf<Machine>::counts_scopes) {
    end_at_host(m, task);
  } else {
    end_at_device(m, task);
  }
}

/// Throws MisuseError.
[[noreturn]] void throw_failure_of_several();

/// A CPU thread works on items of several scopes from now on: none of them may be failed.
template <class Machine, class View>
inline void begin_tasks_of_scopes(Machine m, View const& v) {
  m.set_scope({0, v.end->scopes, m.load(v.end->scopes->run, MemoryOrder::relaxed)});
}
template <class Machine>
inline void refuse_failure_of_several(Machine m, LaneScope const& task) {
  if (task.word == 0 && task.table != nullptr && is_of_this_run(m, task)) throw_failure_of_several();
}

/// Implements fail_scope_h and fail_scope_d. False: the task has no scope.
HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline bool fail_scope_of_task(Machine m, char const* message) {
  LaneScope task = scope_here(m);
  if constexpr (RoleOf<Machine>::counts_scopes) refuse_failure_of_several(m, task);
  if (task.word == 0 || !is_of_this_run(m, task)) return false;
  if constexpr (RoleOf<Machine>::counts_scopes) {
    task.table->ends->fail_scope(scope_place(task.word), message);
  } else {
    std::uint64_t const value = take_to_leave(m, task, ScopeRoad::to_host);
    m.set_scope(task);
    mail_failure(m, task.table->mail, *task.table->control, scope_place(task.word), value, message);
  }
  return true;
}

}  // namespace hiway::detail

namespace hiway {

/// In a stage: the place of its task's scope, 0 to most_open - 1, for data of the scope's own. 0 if it has none.
[[nodiscard]] HIWAY_DEVICE inline std::uint32_t scope_index() {
  return anywhere([](auto m) { return detail::scope_place(detail::scope_here(m).word); });
}

/// In a stage: the scope of its task ends with an error that says `message`, once all its tasks have ended; the run
/// goes on. The first message counts. Without a scope it does nothing.
inline void fail_scope_h(char const* message) {
  on_this_thread([&](auto m) { detail::fail_scope_of_task(m, message); });
}
HIWAY_DEVICE inline void fail_scope_d(char const* message) {
  on_this_device([&](auto m) { detail::fail_scope_of_task(m, message); });
}
HIWAY_DEVICE inline void fail_scope(char const* message) {
  anywhere([&](auto m) { detail::fail_scope_of_task(m, message); });
}

}  // namespace hiway
