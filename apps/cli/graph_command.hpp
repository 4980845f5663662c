// hiway graph: an application's pipeline in Graphviz' dot language.
#pragma once
#include <memory>

#include "cli/app.hpp"
#include "cli/command.hpp"

namespace cli {

/// *Lifetime*: `apps` outlive it.
[[nodiscard]] std::unique_ptr<Command> make_graph_command(Apps const& apps);

}  // namespace cli
