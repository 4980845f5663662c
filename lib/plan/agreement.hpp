// Agreement: checks, for one choice of parameters, that a model says what the program does. Every task that the program
// creates must be a point of exactly one statement, and its windows must be the statement's.
#pragma once
#include <string>

#include "lib/plan/expand.hpp"
#include "lib/plan/model.hpp"

namespace hiway::plan {

/// "" when they agree, else where they do not. `symbols`: values of the model's first parameters.
[[nodiscard]] std::string disagreement(Program const& program, Model const& model, Tasks const& tasks,
                                       std::vector<std::int64_t> const& symbols);

}  // namespace hiway::plan
