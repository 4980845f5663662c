// hiway plan: what capacities the streams of a program need. docs/planner.md has the input and the theory.
//
//   0  it fits
//   1  it does not fit, deadlocks or starves
//   2  bad input: one line with the place in the file
//   3  it cannot tell: the search was cut short, or there is no proof
#pragma once
#include <string>
#include <vector>

#include "cli/options.hpp"

namespace cli {

struct PlanRequest {
  std::string file;
  std::string memory;
  std::vector<std::string> params;
  std::vector<std::string> symbols;
  int degree = 2;
  std::string certificate;
  std::string json;
  bool front = false;
  bool dot = false;
};

/// *Lifetime*: `command` goes before `request` does.
void add_plan_options(Options& command, PlanRequest& request);

/// Returns the exit code. *Throws* BadInput.
int run_plan(Options const& command, PlanRequest const& request);

}  // namespace cli
