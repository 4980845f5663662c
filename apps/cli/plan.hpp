// hiway plan: what capacities the streams of a program need. docs/planner.md has the input and the theory.
//
//   0  it fits
//   1  it does not fit, deadlocks or starves
//   2  bad input: one line with the place in the file
//   3  it cannot tell: the search was cut short, or there is no proof
#pragma once
#include <memory>

#include "cli/command.hpp"

namespace cli {

[[nodiscard]] std::unique_ptr<Command> make_plan_command();

}  // namespace cli
