// FailedTasks: how many tasks of a stage have failed by fail_task (scope/fail_task.hpp), and what the first one said.
// One for each stage, at its home.
//
//   word    written by                                          read by
//   count   each task that fails                                the report
//   taken   the first (compare-exchange)                        later ones
//   first   the winner of `taken`                               the report, after `ready`
//   ready   the winner of `taken`, after `first` (release)      the report (acquire; copies of a device's words have it
//                                                               before `first`)
#pragma once
#include <cstdint>

#include "hiway/fault.hpp"
#include "hiway/machine/machine.hpp"

namespace hiway {

/// The first task of a stage that has failed.
struct FirstFailure {
  std::uint32_t without_scope = 0;  ///< 1: its task had no scope
  char message[124] = {};           ///< a longer one is cut off
};

struct alignas(64) FailedTasks {
  Word<std::uint64_t> count{0};
  Word<std::uint32_t> taken{0};
  Word<std::uint32_t> ready{0};
  FirstFailure* first = nullptr;
};

namespace detail {

/// Counts a task that has failed; the first one leaves its message.
template <class Machine>
HIWAY_DEVICE inline void count_failed_task(Machine m, FailedTasks& tasks, char const* message, bool has_scope) {
  m.fetch_add(tasks.count, std::uint64_t{1}, MemoryOrder::relaxed);
  std::uint32_t expected = 0;
  if (m.load(tasks.taken, MemoryOrder::relaxed) != 0 ||
      !m.compare_exchange(tasks.taken, expected, 1u, MemoryOrder::relaxed))
    return;
  tasks.first->without_scope = has_scope ? 0 : 1;
  copy_message(tasks.first->message, message);
  m.store(tasks.ready, 1u, MemoryOrder::release);
}

}  // namespace detail
}  // namespace hiway
