// Output: what `hiway run` says about its methods, for programs and for people; how text gets out.
#pragma once
#include <hiway/report.hpp>
#include <string>
#include <vector>

#include "cli/app.hpp"

namespace cli {

/// The contract's object for one method.
Json to_json(std::string const& app, std::string const& method, MethodRun const& run);

/// The tunnels of a run: [{name, movement, why, items, finished, batches}].
Json to_json(std::vector<hiway::TunnelReport> const& tunnels);

/// A few lines for people.
std::string to_text(std::string const& app, std::string const& method, MethodRun const& run, bool verify);

/// On stdout. *Throws* std::runtime_error when it cannot be written.
void print(std::string const& text);

/// Says before the work that the file cannot be written, naming the option that has the path. *Throws* BadInput.
void require_writable(std::string const& option, std::string const& path);

// After the work nothing throws: one file that cannot be written must not cost the others. hiway::write_file says how they are
// written.

/// False when the file cannot be written, which stderr says.
[[nodiscard]] bool write_or_say(File const& file);

/// As write_or_say; what the command was run for goes to stdout then. Without a path it goes there at once. *Throws* as print.
[[nodiscard]] bool write_or_print(std::string const& path, std::string const& text);

}  // namespace cli
