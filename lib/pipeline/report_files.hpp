// The files that a run leaves if the environment or its configuration asks for them. A run that has ended keeps its
// outcome, report or error, even if one of its files cannot be made: that is only logged.
#pragma once
#include <functional>
#include <string>

#include "hiway/report.hpp"

namespace hiway {

/// The environment variable does.
[[nodiscard]] bool names_a_file(char const* variable) noexcept;

/// Calls `write`; an exception is logged as a warning.
void at_the_end(std::function<void()> const& write) noexcept;

/// *Throws* ConfigError.
void write_or_throw(std::string const& path, std::string const& text, char const* what);

/// HIWAY_GRAPH names a file. It gets `graph()` in the dot language, or a picture if the name ends with .svg and
/// Graphviz is installed.
void write_graph_where_asked(std::function<std::string()> const& graph) noexcept;

/// HIWAY_STATS names a file. Its ending selects the form: .json, .prom, whose text `prometheus` makes, else a table;
/// "-" is stderr.
void write_stats_where_asked(RunReport const& report, std::function<std::string()> const& prometheus) noexcept;

}  // namespace hiway
