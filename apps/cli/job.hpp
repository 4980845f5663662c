// Job: how often a method runs, and where.
#pragma once
#include <functional>
#include <string>
#include <vector>

namespace cli {

struct Job {
  std::string device;  ///< a name of hiway::devices(); a reference does not use it
  unsigned repeat = 1;
  std::function<void()> ran = [] {};  ///< called after each run
};

/// What `run()` measures, as often as the job says.
template <class Run>
auto repeated(Job const& job, Run&& run) {
  std::vector<decltype(run())> runs;
  for (unsigned i = 0; i < job.repeat; ++i) {
    runs.push_back(run());
    job.ran();
  }
  return runs;
}

}  // namespace cli
