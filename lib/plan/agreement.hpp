// Agreement: a model says what the program does, for one choice of parameters: every task that the program creates is a
// point of one statement, and its windows are the statement's.
#pragma once
#include <string>

#include "lib/plan/expand.hpp"
#include "lib/plan/model.hpp"

namespace hiway::plan {

/// "" when they agree, else where they do not. `symbols`: the model's first parameters' values.
[[nodiscard]] std::string disagreement(Program const& program, Model const& model, Tasks const& tasks,
                                       std::vector<std::int64_t> const& symbols);

}  // namespace hiway::plan
