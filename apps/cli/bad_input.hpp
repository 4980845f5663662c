// BadInput: the user's arguments or files are wrong; the program says so in one line and ends with 2.
#pragma once
#include <stdexcept>

namespace cli {

/// What is wrong, in one line that names the option, or the file and its line.
struct BadInput : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace cli
