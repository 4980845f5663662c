#include "cli/names.hpp"

#include "cli/bad_input.hpp"

namespace cli {

std::string joined(Names const& names) {
  std::string text;
  for (std::string const& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string Choice::needed() const { return command + " needs " + what + ": " + joined(names); }

void Choice::check(std::span<std::string const> words) const {
  if (words.empty()) throw BadInput{needed()};
  std::string const& name = words.front();
  if (!name.starts_with("-") && !contains(names, name))
    throw BadInput{command + ": no " + kind + " '" + name + "': " + joined(names)};
}

}  // namespace cli
