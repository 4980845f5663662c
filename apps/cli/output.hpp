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

/// Says early what would hinder write_whole, naming the option that has the path. *Throws* BadInput when the file's folder
/// is not there or not writable.
void require_writable(std::string const& option, std::string const& path);

/// Writes `text` so that the file has its old content or all of the new one, never a part.
/// *Throws* std::runtime_error with the path.
void write_whole(std::string const& path, std::string const& text);

}  // namespace cli
