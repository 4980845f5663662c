// hiway devices and hiway list: what there is to run, and what it runs on.
#pragma once
#include <memory>

#include "bench/bench.hpp"
#include "cli/app.hpp"
#include "cli/command.hpp"

namespace cli {

[[nodiscard]] std::unique_ptr<Command> make_devices_command();
/// *Lifetime*: `apps` and `benches` outlive it.
[[nodiscard]] std::unique_ptr<Command> make_list_command(Apps const& apps, bench::Benches const& benches);

}  // namespace cli
