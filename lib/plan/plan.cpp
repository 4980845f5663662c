// make_plan: expand -> dependences -> schedule -> search, and what they mean for the user.
#include "hiway/plan/plan.hpp"

#include <algorithm>
#include <string>

#include "lib/plan/dependences.hpp"
#include "lib/plan/expand.hpp"
#include "lib/plan/explain.hpp"
#include "lib/plan/schedule.hpp"
#include "lib/plan/search.hpp"

namespace hiway::plan {
namespace {

std::string bytes_text(std::int64_t bytes) { return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes"); }

/// Plans a program that runs when it has unbounded room.
class Planner {
 public:
  Planner(Program const& program, PlanOptions const& options, Tasks const& tasks, Schedule& schedule, Plan& plan)
      : options_(options), tasks_(tasks), schedule_(schedule), floor_(floor_of(tasks, program.leftover)), plan_(plan) {}

  void whole() {
    plan_.feasible = true;
    plan_.unbounded_makespan = schedule_.makespan();
    plan_.min = own_minima(tasks_, schedule_, floor_);
    find_pareto();
    if (options_.memory_vs_makespan) find_trades();
    plan_.verdict = judge();
    plan_.why = explain();
  }

 private:
  [[nodiscard]] Limits limits() const { return {options_.max_states, options_.max_steps}; }

  void find_pareto() {
    Search search(tasks_, schedule_, plan_.min, plan_.unbounded_makespan, limits());
    while (std::optional<Corner> corner = search.next_corner()) plan_.pareto.push_back(std::move(*corner));
    plan_.pareto_exhausted = search.exhausted();
    if (!plan_.pareto.empty()) {
      plan_.min_bytes = plan_.least_bytes = plan_.pareto.front().bytes;
      return;
    }
    plan_.least_bytes = search.least_bytes();
    Corner known{lowered(tasks_, schedule_, unbounded(tasks_), floor_)};  // some corner is better than none
    known.bytes = bytes_of(tasks_, known.capacities);
    schedule_.run(known.capacities);
    known.makespan = schedule_.makespan();
    plan_.pareto.push_back(std::move(known));
  }

  void find_trades() {
    Search search(tasks_, schedule_, plan_.min, plan_.unbounded_makespan, limits());
    while (std::optional<Trade> trade = search.next_trade()) {
      if (!plan_.trades.empty() && plan_.trades.back().bytes == trade->bytes) plan_.trades.pop_back();
      plan_.trades.push_back(std::move(*trade));
    }
    plan_.trades_exhausted = search.exhausted();
  }

  [[nodiscard]] Verdict judge() const {
    if (!options_.memory_bytes || plan_.pareto.front().bytes <= *options_.memory_bytes) return Verdict::fits;
    return plan_.least_bytes > *options_.memory_bytes ? Verdict::needs_more : Verdict::unknown;
  }

  [[nodiscard]] std::string explain() {
    Corner const& best = plan_.pareto.front();
    std::string text = list_of(plan_.streams, best.capacities) + ": " + bytes_text(best.bytes);
    if (plan_.verdict == Verdict::needs_more) {
      text = std::to_string(*options_.memory_bytes) + " bytes are given, " + (plan_.min_bytes ? "" : "at least ") +
             bytes_text(plan_.least_bytes) + " are needed (" + list_of(plan_.streams, best.capacities) + ")";
    } else if (plan_.verdict == Verdict::unknown) {
      text = "not exhausted after " + std::to_string(schedule_.runs()) + " states: " + bytes_text(best.bytes) +
             " are enough (" + list_of(plan_.streams, best.capacities) + "), fewer than " +
             bytes_text(plan_.least_bytes) + " are not, and " + std::to_string(*options_.memory_bytes) + " are given";
    }
    std::string const less = explain_less(best.capacities);
    return less.empty() ? text : text + "; " + less;
  }

  /// Why the corner is one: what happens with one element less in its most expensive stream.
  [[nodiscard]] std::string explain_less(Capacities less) {
    std::size_t dearest = 0;
    auto const bytes = [&](std::size_t s) { return less[s] * tasks_.elem_bytes[s] * tasks_.channels_of[s]; };
    for (std::size_t s = 1; s < less.size(); ++s) dearest = bytes(s) > bytes(dearest) ? s : dearest;
    if (less.empty() || less[dearest] == 0) return "";
    --less[dearest];
    std::string const with = "with " + std::to_string(less[dearest]) + " of '" + plan_.streams[dearest] + "', ";
    if (less[dearest] < floor_[dearest])
      return with + "there is no room for elements that are there at the start, or are never read";
    schedule_.run(less);
    return with + explain_cycle(tasks_, plan_.streams, schedule_.chain());
  }

  PlanOptions const& options_;
  Tasks const& tasks_;
  Schedule& schedule_;
  Capacities const floor_;
  Plan& plan_;
};

}  // namespace

char const* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::fits: return "fits";
    case Verdict::needs_more: return "needs_more";
    case Verdict::deadlock: return "deadlock";
    case Verdict::starved: return "starved";
    case Verdict::unknown: return "unknown";
  }
  return "?";
}

Plan make_plan(Program const& program, PlanOptions const& options) {
  Tasks const tasks = expand(program, options.params);
  Plan plan;
  plan.tasks = tasks.size();
  plan.params = tasks.params;
  for (std::size_t s = 0; s != program.streams.size(); ++s) {
    plan.streams.push_back(program.streams[s].name);
    plan.element_bytes.push_back(tasks.elem_bytes[s] * tasks.channels_of[s]);
  }
  plan.why = explain_starved(tasks);
  if (!plan.why.empty()) {
    plan.verdict = Verdict::starved;
  } else {
    Dependences const dependences = find_dependences(tasks, program.discipline);
    Schedule schedule(tasks, dependences);
    if (schedule.run(unbounded(tasks))) {
      Planner(program, options, tasks, schedule, plan).whole();
    } else {
      plan.verdict = Verdict::deadlock;
      plan.why = explain_cycle(tasks, plan.streams, schedule.chain());
    }
    plan.states = schedule.runs();
  }
  plan.dot = dot_of(tasks, plan.streams, plan.pareto.empty() ? Capacities{} : plan.pareto.front().capacities);
  return plan;
}

}  // namespace hiway::plan
