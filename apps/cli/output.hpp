// Output: what `hiway run` says about its methods, for programs and for people; how text gets out.
#pragma once
#include <string>

#include "cli/app.hpp"

namespace cli {

/// The contract's object for one method.
Json to_json(std::string const& app, std::string const& method, MethodRun const& run);

/// A few lines for people.
std::string to_text(std::string const& app, std::string const& method, MethodRun const& run, bool verify);

/// On stdout. *Throws* std::runtime_error when it cannot be written.
void print(std::string const& text);

/// Says early what would hinder write_whole. *Throws* BadInput when the file's folder is not there or not writable.
void require_writable(std::string const& path);

/// Writes `text` so that the file has its old content or all of the new one, never a part.
/// *Throws* std::runtime_error with the path.
void write_whole(std::string const& path, std::string const& text);

}  // namespace cli
