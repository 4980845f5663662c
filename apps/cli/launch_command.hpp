// hiway launch: a program as several nodes on this machine. Its exit status is theirs (processes.hpp).
#pragma once
#include <memory>

#include "cli/command.hpp"

namespace cli {

[[nodiscard]] std::unique_ptr<Command> make_launch_command();

}  // namespace cli
