// Search: the least capacities with which a program runs, all of them, cheapest first.
//
// More room never harms: a program that runs also runs with more. When a vector of capacities fails, the cycle that
// blocks it contains waits for room, and every vector that works must break one of these. That is a clause, "s1 at
// least 3, or s2 at least 5". The search keeps a queue of candidates, cheapest first. It takes one out. If the
// candidate breaks a clause, the search puts in one candidate for each way to meet the clause; otherwise it runs the
// schedule.
//
// "At least" between vectors is meant in every entry.
//
//   S1  every vector that works is at least some candidate in the queue, or some vector already found (clauses hold)
//   S2  hence the cheapest candidate that runs is a least vector, unless it is at least one already found: a smaller
//       vector that works would lie above a cheaper candidate
//   S3  hence an empty queue means that all least vectors are found. Until then, none that is still missing costs less
//       than the cheapest candidate
//
// The same search finds the memory that a makespan takes. There a vector also fails when it is not faster than the last
// one found, and the clause comes from a longest chain of costs.
#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "hiway/plan/plan.hpp"
#include "lib/plan/schedule.hpp"

namespace hiway::plan {

/// The sum of the streams' bytes: capacity times element size times the channels that share the capacity.
[[nodiscard]] std::int64_t bytes_of(Tasks const& tasks, Capacities const& capacities);

/// Capacities with which no writer waits for room.
[[nodiscard]] Capacities unbounded(Tasks const& tasks);

/// What each stream needs, whatever the order of tasks: room for the elements there at the start, and (hold) for those
/// that are never read.
[[nodiscard]] Capacities floor_of(Tasks const& tasks, Leftover leftover);

/// Each stream's own least capacity, with the others unbounded. The program must run unbounded.
[[nodiscard]] Capacities own_minima(Tasks const& tasks, Schedule& schedule, Capacities const& floor);

/// Lowers one stream after the other, the one with the most expensive elements first, as far as the schedule still
/// runs. The result is a corner.
[[nodiscard]] Capacities lowered(Tasks const& tasks, Schedule& schedule, Capacities capacities,
                                 Capacities const& floor);

struct Limits {
  std::int64_t states;
  std::int64_t steps;
};

/// *Lifetime*: the tasks and the schedule outlive it.
class Search {
 public:
  /// `least`: below it nothing works. `fastest`: the makespan with unbounded capacities.
  Search(Tasks const& tasks, Schedule& schedule, Capacities least, std::int64_t fastest, Limits limits);

  /// The next least vector in increasing bytes; nothing when there is none, or the limits are reached.
  std::optional<Corner> next_corner();
  /// The cheapest vector with a makespan below the last one's; nothing as above.
  std::optional<Trade> next_trade();

  /// All vectors were found.
  [[nodiscard]] bool exhausted() const { return open_.empty(); }
  /// No vector that is still to be found takes fewer bytes. Call it only when not exhausted.
  [[nodiscard]] std::int64_t least_bytes() const { return open_.begin()->first; }

 private:
  /// A part of a clause. In every vector that works, at least one part of each clause holds.
  struct AtLeast {
    std::uint32_t stream;
    std::int64_t capacity;
  };
  using Clause = std::vector<AtLeast>;

  [[nodiscard]] bool within_limits() const;
  [[nodiscard]] bool works(Capacities const& capacities);
  [[nodiscard]] Clause clause_of_last_run();
  void learn();
  void open(Capacities capacities);
  std::optional<Capacities> next();
  [[nodiscard]] bool holds(Clause const& clause, Capacities const& capacities) const;

  Tasks const& tasks_;
  Schedule& schedule_;
  Capacities top_;
  std::int64_t fastest_;
  Limits limits_;
  std::int64_t scans_ = 0;    // work outside of runs, in the schedule's steps
  std::size_t failures_ = 0;  // since the last vector that works
  /// Only makespans below this one work.
  std::int64_t below_ = std::numeric_limits<std::int64_t>::max();
  std::set<std::pair<std::int64_t, Capacities>> open_;
  std::vector<Clause> clauses_;
  std::vector<Capacities> found_;
};

}  // namespace hiway::plan
