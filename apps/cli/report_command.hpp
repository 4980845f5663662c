// hiway report: a trace as a page that says what holds the run up. docs/report.md tells its parts.
//
//   0  the page is written
//   2  bad arguments, or no trace: one line with the place in the file
#pragma once
#include <memory>

#include "cli/command.hpp"

namespace cli {

[[nodiscard]] std::unique_ptr<Command> make_report_command();

}  // namespace cli
