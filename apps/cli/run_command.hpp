// hiway run: one application by one or several of its methods, verified. program.hpp says how it ends.
#pragma once
#include <memory>

#include "cli/app.hpp"
#include "cli/command.hpp"

namespace cli {

/// *Lifetime*: `apps` outlive it.
[[nodiscard]] std::unique_ptr<Command> make_run_command(Apps const& apps);

}  // namespace cli
