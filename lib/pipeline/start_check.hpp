// StartCheck: whether all persistent kernels of a run have started. All must run at once. The residency check ensures
// it, but a tool that runs kernels one after another breaks it. On an emulated device no tool does, and lanes may wait
// long for a CPU: it is not asked.
#pragma once
#include <chrono>
#include <string>

#include "layout.hpp"
#include "run_errors.hpp"
#include "run_state.hpp"

namespace hiway {

/// *Threads*: the supervisor; the caller's before a run.
class StartCheck {
 public:
  StartCheck(Layout const& layout, RunState const& state, RunErrors& errors)
      : layout_(layout), state_(state), errors_(errors) {}

  void begin() {
    all_started_ = false;
    waits_for_a_stream_ = false;
  }
  /// The kernels of this run may start as late as a stream of the user's lets them.
  void wait_for_a_stream() { waits_for_a_stream_ = true; }
  /// A kernel that has not started in time is the run's error.
  void look(std::chrono::steady_clock::time_point now);

 private:
  [[nodiscard]] bool have_all_started() const;
  [[nodiscard]] std::string first_not_started() const;

  Layout const& layout_;
  RunState const& state_;
  RunErrors& errors_;
  bool all_started_ = false;
  bool waits_for_a_stream_ = false;
};

}  // namespace hiway
