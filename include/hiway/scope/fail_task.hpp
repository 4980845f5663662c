// fail_task: one task fails alone, and the run goes on.
#pragma once
#include "hiway/failed_tasks.hpp"
#include "hiway/launch/stage_words.hpp"
#include "hiway/machine/on_this_device.hpp"
#include "hiway/scope/task.hpp"

namespace hiway {
namespace detail {

/// Implements fail_task_h and fail_task_d.
HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline void fail_this_task(Machine m, char const* message) {
  bool const has_scope = fail_scope_of_task(m, message);
  if (FailedTasks* const failed = failed_tasks_here()) return count_failed_task(m, *failed, message, has_scope);
  if (!has_scope) fail(message);
}

}  // namespace detail

/// In a stage: its task has failed, alone. It is counted (StageReport::failed_tasks), its scope ends with the error, as
/// by fail_scope_h, and the run goes on; the first of a stage is logged if it has no scope. The call returns: the task
/// ends as others do, and what it puts, or returns in value form, is put. Outside of a stage, without a scope, it is
/// fail_h.
inline void fail_task_h(char const* message) {
  on_this_thread([&](auto m) { detail::fail_this_task(m, message); });
}
HIWAY_DEVICE inline void fail_task_d(char const* message) {
  on_this_device([&](auto m) { detail::fail_this_task(m, message); });
}
HIWAY_DEVICE inline void fail_task(char const* message) {
  anywhere([&](auto m) { detail::fail_this_task(m, message); });
}

}  // namespace hiway
