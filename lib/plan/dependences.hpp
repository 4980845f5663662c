// Dependences: which task runs before which, whatever the capacities. Waits for room depend on the capacities; Schedule
// handles them.
//
// Nodes 0 to tasks - 1 are the tasks. The others join the writers of one channel in a binary tree, so that a reader
// with a wide window waits for only a few nodes. The number of edges is linear in the program, but for a factor
// log(writers) where windows are wide.
#pragma once
#include <cstdint>
#include <vector>

#include "lib/plan/expand.hpp"

namespace hiway::plan {

/// Why one task runs after another.
enum class Cause : std::uint8_t {
  flow,           ///< it needs elements that the other writes
  room,           ///< it needs room that the other holds
  process,        ///< both are of one process
  writers_order,  ///< fifo: both write a channel
  readers_order   ///< fifo: both read a channel
};

struct Dependence {
  std::uint32_t later;    ///< node
  std::uint32_t channel;  ///< index into Tasks::channels; for `process` into Tasks::processes
  Cause cause;
};

struct Dependences {
  std::vector<std::uint32_t> first;  ///< edges of node n: first[n] to first[n + 1] - 1
  std::vector<Dependence> edges;
  std::vector<std::uint32_t> before;  ///< how many edges lead to a node

  [[nodiscard]] std::size_t nodes() const { return before.size(); }
};

/// Every element that a task reads must be written at some time: nothing starves.
[[nodiscard]] Dependences find_dependences(Tasks const& tasks, Discipline discipline);

}  // namespace hiway::plan
