// Names that a user may choose from, and what is said where the choice is missing or wrong.
#pragma once
#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

using Names = std::vector<std::string>;

/// Of applications, benches or commands.
template <class Things>
[[nodiscard]] Names names_of(Things const& things) {
  Names names;
  for (auto const& thing : things) names.push_back(thing->name());
  return names;
}

[[nodiscard]] inline bool contains(Names const& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// "a, b, c".
[[nodiscard]] std::string joined(Names const& names);

/// The word after a command that needs one of these names.
struct Choice {
  std::string command;  ///< "run"
  std::string what;     ///< "an application"
  std::string kind;     ///< "application"
  Names names;

  /// "run needs an application: a, b".
  [[nodiscard]] std::string needed() const;
  /// Of the words after the command the first is one of the names, or an option. *Throws* BadInput.
  void check(std::span<std::string const> words) const;
};

}  // namespace cli
