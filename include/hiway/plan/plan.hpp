// Plan: what capacities a program's streams need, which are the smallest, and why less deadlocks. docs/planner.md says
// what is guaranteed and when.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hiway/plan/program.hpp"

namespace hiway::plan {

enum class Verdict {
  fits,        ///< it runs within the memory given, or in some memory when none is given
  needs_more,  ///< it runs, in more memory than given
  deadlock,    ///< it runs in no memory
  starved,     ///< a task reads elements that nobody writes
  unknown      ///< the search was cut short before it could tell
};
[[nodiscard]] char const* name_of(Verdict verdict);

/// One figure for each stream, in the order of Program::streams.
using Capacities = std::vector<std::int64_t>;

/// Capacities of which none can be lowered alone.
struct Corner {
  Capacities capacities;
  std::int64_t bytes = 0;
  std::int64_t makespan = 0;  ///< the longest chain of costs
};

/// The memory that a makespan takes.
struct Trade {
  std::int64_t bytes = 0;
  std::int64_t makespan = 0;
  Capacities capacities;
};

struct PlanOptions {
  std::optional<std::int64_t> memory_bytes{};
  Parameters params{};  ///< in the place of the program's own
  bool memory_vs_makespan = false;
  std::int64_t max_states = 100'000;     ///< capacities tried, in each of the two searches
  std::int64_t max_steps = 100'000'000;  ///< dependences followed, in each of the two searches
};

struct Plan {
  Verdict verdict = Verdict::unknown;
  bool feasible = false;  ///< some finite capacities work
  std::uint64_t tasks = 0;
  std::vector<std::string> streams{};  ///< the names, in the program's order
  Capacities element_bytes{};          ///< of a capacity of one, in all streams of an array
  Parameters params{};                 ///< what it was planned for
  /// Each stream's own least capacity, the others unbounded. Empty where infeasible.
  Capacities min{};
  /// All least vectors, in increasing bytes; the first is the cheapest. Those found so far where not exhausted.
  std::vector<Corner> pareto{};
  /// Of the cheapest; nothing where the search was cut short before it was found.
  std::optional<std::int64_t> min_bytes{};
  std::int64_t least_bytes = 0;         ///< fewer are not enough: min_bytes, or what is known when it is not
  std::int64_t unbounded_makespan = 0;  ///< with as much room as is asked for
  std::vector<Trade> trades{};          ///< with memory_vs_makespan: in increasing bytes, and decreasing makespan
  bool pareto_exhausted = true;         ///< pareto is all of them
  bool trades_exhausted = true;         ///< trades are all of them, if any were asked for
  std::int64_t states = 0;              ///< capacities tried
  std::string why{};                    ///< one line: who waits for room in what, held for whom, what to raise
  std::string dot{};                    ///< tasks and streams with their capacities, for Graphviz
};

/// *Throws* ConfigError where the program is described wrongly, one line with the place.
[[nodiscard]] Plan make_plan(Program const& program, PlanOptions const& options = {});

}  // namespace hiway::plan
