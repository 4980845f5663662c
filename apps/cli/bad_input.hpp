// BadInput: the user's arguments or files are wrong; the program says so in one line and ends with 2.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>

namespace cli {

/// What is wrong, in one line that names the option, or the file and its line.
struct BadInput : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// *Throws* BadInput unless the option's value is `least` to `most`.
inline void require_in_range(std::string const& option, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
  if (value < least || value > most)
    throw BadInput{option + " must be " + std::to_string(least) + " to " + std::to_string(most) + ": " +
                   std::to_string(value)};
}

}  // namespace cli
