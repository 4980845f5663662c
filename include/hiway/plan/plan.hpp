// Plan: what capacities a program's streams need, which of them are the smallest, and why smaller ones deadlock.
// docs/planner.md says what is guaranteed and when.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hiway/plan/program.hpp"

namespace hiway::plan {

enum class Verdict {
  fits,        ///< it runs within the memory given, or within some memory if none is given
  needs_more,  ///< it runs, but needs more memory than given
  deadlock,    ///< it does not run, however much memory there is
  starved,     ///< a task reads elements that no task writes
  unknown      ///< the search was cut short before it could tell
};
[[nodiscard]] char const* name_of(Verdict verdict);

/// One capacity for each stream, in the order of Program::streams.
using Capacities = std::vector<std::int64_t>;

/// Minimal capacities: none can be lowered while the others stay.
struct Corner {
  Capacities capacities;
  std::int64_t bytes = 0;
  std::int64_t makespan = 0;  ///< the longest chain of costs
};

/// A makespan, and the memory it takes.
struct Trade {
  std::int64_t bytes = 0;
  std::int64_t makespan = 0;
  Capacities capacities;
};

struct PlanOptions {
  std::optional<std::int64_t> memory_bytes{};
  Parameters params{};  ///< used instead of the program's own
  bool memory_vs_makespan = false;
  std::int64_t max_states = 100'000;     ///< most capacities tried in each of the two searches
  std::int64_t max_steps = 100'000'000;  ///< most dependences followed in each of the two searches
};

struct Plan {
  Verdict verdict = Verdict::unknown;
  bool feasible = false;  ///< some finite capacities work
  std::uint64_t tasks = 0;
  std::vector<std::string> streams{};  ///< the names, in the program's order
  Capacities element_bytes{};          ///< bytes for a capacity of one, in all streams of an array together
  Parameters params{};                 ///< the parameters it was planned for
  /// Each stream's least capacity while the others are unbounded. Empty if infeasible.
  Capacities min{};
  /// All corners, by increasing bytes; the first is the cheapest. If not exhausted, those found so far.
  std::vector<Corner> pareto{};
  /// Bytes of the cheapest corner; no value if the search was cut short before it was found.
  std::optional<std::int64_t> min_bytes{};
  std::int64_t least_bytes = 0;         ///< fewer bytes are not enough: min_bytes, or the best bound known without it
  std::int64_t unbounded_makespan = 0;  ///< makespan with as much room as the program can use
  std::vector<Trade> trades{};          ///< with memory_vs_makespan: by increasing bytes and decreasing makespan
  bool pareto_exhausted = true;         ///< `pareto` has all corners
  bool trades_exhausted = true;         ///< `trades` has all trades, if any were asked for
  std::int64_t states = 0;              ///< capacities tried
  /// One line: which task waits for room in which stream, for which task that room is held, and what to raise.
  std::string why{};
  std::string dot{};  ///< tasks and streams with their capacities, for Graphviz
};

/// *Throws* ConfigError if the program is described wrongly; its text is one line with the place.
[[nodiscard]] Plan make_plan(Program const& program, PlanOptions const& options = {});

}  // namespace hiway::plan
