// Job: how often a method runs, and where.
#pragma once
#include <functional>
#include <string>

namespace cli {

struct Job {
  std::string device;  ///< a name of hiway::devices(); a reference does not use it
  unsigned repeat = 1;
  std::function<void()> ran = [] {};  ///< called after each run
};

}  // namespace cli
