// The planner from C++: two streams between six tasks can be traded for each other. Prints the least capacities, and what
// happens with less memory. The same program as JSON: global_surface.json.
#include <cstdio>
#include <hiway/plan/plan.hpp>

int main() {
  using namespace hiway::plan;
  Program program;
  program.streams = {{"s1", 8}, {"s2", 8}};
  program.body = {
      {Task{"tw1", {write("s1", 2)}}},
      {Task{"tw2", {write("s2", 3)}}},
      {Task{"ta", {write("s2", 2), read("s1", 2)}}},
      {Task{"tb", {write("s1", 1), read("s2", 3)}}},
      {Task{"tc1", {read("s1", 1)}}},
      {Task{"tc2", {read("s2", 2)}}},
  };
  for (Corner const& corner : make_plan(program).pareto) {
    std::printf("s1 %lld, s2 %lld: %lld bytes\n", static_cast<long long>(corner.capacities[0]),
                static_cast<long long>(corner.capacities[1]), static_cast<long long>(corner.bytes));
  }
  Plan const little = make_plan(program, {.memory_bytes = 40});
  std::printf("%s: %s\n", name_of(little.verdict), little.why.c_str());
}
