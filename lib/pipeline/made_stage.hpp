// CPU stages of the library's, which carry what leads to other nodes (docs/adr/0051, 0052).
#pragma once
#include <functional>

#include "hiway/persistent.hpp"

namespace hiway {

/// What each thread of the stage runs.
template <class Runner>
[[nodiscard]] std::function<void(StageEnds const&)> body_of(Runner const& runner) {
  return [runner](StageEnds const& all) {
    Runner own = runner;
    Ends<Runner> const ends = make_ends<Runner>(all);
    run_persistent(StageThread{}, own, ends);
  };
}

}  // namespace hiway
