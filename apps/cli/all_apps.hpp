// Every application of the program hiway.
#pragma once
#include "cli/app.hpp"

namespace cli {

/// Anew at each call, in the order of `hiway list`: an App is used once.
[[nodiscard]] Apps all_apps();

}  // namespace cli
