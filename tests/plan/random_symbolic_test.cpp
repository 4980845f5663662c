// Random programs with a parameter: what is proven for all values must hold for values that the planner has not tried.
// HIWAY_SEED: the first seed; HIWAY_SYMBOLIC_PLANS: how many.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <map>
#include <random>
#include <sstream>

#include "hiway/plan/plan.hpp"
#include "hiway/plan/symbolic.hpp"
#include "tests/environment.hpp"

namespace {

using namespace hiway::plan;
using hiway_tests::from_environment;

/// A chain of stages, each a loop; the loops in any order, so that some read what is written far below.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  Program operator()() {
    program_.params = {{"N", 4}};
    program_.discipline = below(4) == 0 ? Discipline::fifo : Discipline::indexed;
    program_.leftover = below(3) == 0 ? Leftover::drop : Leftover::hold;
    int const streams = 1 + below(2);
    for (int s = 0; s < streams; ++s) program_.streams.push_back({name(s), 1, {}, below(4) == 0 ? 1 + below(3) : 0});
    std::vector<std::string> iterations{"N", "2 * N", "N + 1", "N / 2", "3 * N", "N * N"};
    std::string count = iterations[static_cast<std::size_t>(below(below(4) == 0 ? 6 : 4))];
    for (int s = 0; s <= streams; ++s) {
      Task task{name(s), {}, below(3) > 0 ? "" : below(2) == 0 ? "p" : "q"};
      if (s > 0) add_reader(task, s - 1, count);
      if (s < streams) {
        int const amount = 1 + below(3);
        task.operations.push_back(write(name(s), amount));
        written_ = "(" + count + ") * " + std::to_string(amount);
      }
      add_loop(std::move(task), count);
    }
    std::ranges::shuffle(program_.body, random_);
    return program_;
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  static std::string name(int stream) { return std::string(1, static_cast<char>('a' + stream)); }

  /// Reads what the stage before has written, or a little less; sets how often.
  void add_reader(Task& task, int stream, std::string& count) {
    int const amount = 1 + below(3);
    count = amount == 1 ? written_ : "(" + written_ + ") / " + std::to_string(amount);
    Operation operation = read(name(stream), amount);
    if (below(4) == 0) {  // a look ahead: the last ones would starve
      int const more = 1 + below(2);
      operation.horizon = amount + more;
      count = "(" + written_ + " - " + std::to_string(more) + ") / " + std::to_string(amount);
    }
    task.operations.push_back(operation);
    if (below(6) == 0) task.operations.push_back(peek(name(stream), 1));
  }
  void add_loop(Task task, std::string const& count) {
    Task other = task;
    other.name += "_first";
    switch (below(4)) {
      case 0: {
        constexpr std::array conditions{"i == 0", "not (i > 0 and i != 0)", "not i > 0", "!(i >= 2) and i == 0"};
        char const* const condition = conditions[static_cast<std::size_t>(below(static_cast<int>(conditions.size())))];
        program_.body.push_back({For{"i", 0, count, {{If{condition, {{other}}, {{task}}}}}}});
        return;
      }
      case 1:
        if (count == "N * N") {
          program_.body.push_back({For{"i", 0, "N", {{For{"j", 0, "N", {{task}}}}}}});
          return;
        }
        [[fallthrough]];
      default: program_.body.push_back({For{"i", 0, count, {{task}}}});
    }
  }

  std::mt19937_64 random_;
  Program program_;
  std::string written_;
};

/// The value of an expression, by the planner for given parameters: what one task writes.
std::int64_t value_of(std::string const& expression, std::int64_t n) {
  Program program;
  program.params = {{"N", n}};
  program.streams = {{"s"}};
  program.body = {{Task{"w", {write("s", expression)}}}};
  return make_plan(program).min[0];
}

/// With each capacity so much less than the bound.
bool suffices(Program program, std::vector<std::string> const& bound, std::int64_t n, std::int64_t less) {
  program.params = {{"N", n}};
  Plan const plan = make_plan(program);
  std::vector<std::int64_t> capacities;
  for (std::string const& one : bound) capacities.push_back(value_of(one, n) - less);
  return plan.feasible && std::ranges::any_of(plan.pareto, [&](Corner const& corner) {
           return std::ranges::equal(capacities, corner.capacities, std::ranges::greater_equal{});
         });
}

TEST(RandomSymbolicPlans, HoldForValuesThatWereNotTried) {
  std::uint64_t const first = from_environment("HIWAY_SEED", 1);
  std::uint64_t const count = from_environment("HIWAY_SYMBOLIC_PLANS", 60);
  std::map<std::string, int> outcomes;
  std::map<std::string, int> reasons;
  int noticed = 0;
  for (std::uint64_t seed = first; seed != first + count; ++seed) {
    Program const program = Generator(seed)();
    SymbolicPlan const plan = make_symbolic_plan(program, {.symbols = {"N"}});
    ++outcomes[name_of(plan.outcome)];
    if (plan.outcome == Outcome::unknown) ++reasons[plan.why.substr(0, 40)];
    if (plan.outcome != Outcome::proven) continue;
    for (std::int64_t n = plan.least; n < plan.least + 16; ++n) {
      ASSERT_TRUE(suffices(program, plan.bound, n, 0))
          << "HIWAY_SEED=" << seed << " HIWAY_SYMBOLIC_PLANS=1: N=" << n << " with " << plan.bound[0];
    }
    noticed += suffices(program, plan.bound, plan.least + 7, 1) ? 0 : 1;
  }
  std::cout << count << " programs: " << outcomes["proven"] << " proven, " << outcomes["disproven"] << " disproven, "
            << outcomes["unknown"] << " unknown" << std::endl;
  for (auto const& [reason, times] : reasons) std::cout << "  " << times << " x " << reason << std::endl;
  if (count >= 50) {  // the programs are worth something, and the check can fail
    EXPECT_GT(outcomes["proven"], static_cast<int>(count / 2));
    EXPECT_GT(outcomes["disproven"] + outcomes["unknown"], 0);
    EXPECT_GT(noticed, outcomes["proven"] * 9 / 10);
  }
}

}  // namespace
