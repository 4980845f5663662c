// What the program hiway can do: all of its commands.
#pragma once
#include "bench/bench.hpp"
#include "cli/app.hpp"
#include "cli/command.hpp"

namespace cli {

/// In the order in which the help has them. *Lifetime*: `apps` and `benches` outlive them.
[[nodiscard]] Commands all_commands(Apps const& apps, bench::Benches const& benches);

}  // namespace cli
