// Host monitors: what CPU threads do that run the host's half of the tunnels, one thread for each direction, and the
// watcher of kernels. Each is a list of duties and a way to idle.
#pragma once
#include <atomic>
#include <functional>
#include <stop_token>
#include <vector>

#include "hiway/machine/bell.hpp"
#include "hiway/machine/thread_machine.hpp"

namespace hiway {

/// One thing that a monitor does again and again. A call takes one step and returns whether anything moved.
using Duty = std::function<bool()>;
/// Sleeps for `time`, until it is rung, or until `over` was set and its bell rung. True: something has come.
using Nap = std::function<bool(std::atomic<bool> const& over, std::chrono::microseconds time, bool heeds)>;
/// How a monitor waits.
struct Pauses {
  Nap nap{};                                        ///< by the monitor's bell; none: as a bell does
  std::function<void()> rest = rest_between_looks;  ///< after a round in which something moved
};

class HostMonitor {
 public:
  /// `on_failure` gets what a duty throws; that duty is not called again until the next run(), the others are. `wait`
  /// says how to wait after rounds in which nothing moved. Rung, it looks again.
  HostMonitor(std::vector<Duty> duties, std::function<bool()> is_over,
              std::function<void(std::exception_ptr)> on_failure, Bell& bell, Wait wait = Wait::automatic,
              Pauses pauses = {})
      : duties_(std::move(duties)),
        has_failed_(duties_.size()),
        is_over_(std::move(is_over)),
        on_failure_(std::move(on_failure)),
        bell_(bell),
        pauses_(std::move(pauses)),
        wait_(wait) {}
  HostMonitor(HostMonitor const&) = delete;
  HostMonitor& operator=(HostMonitor const&) = delete;

  /// Calls the duties in turn until `is_over()`, or until it is told to stop. *Threads*: one at a time.
  void run(std::stop_token stop = {});
  /// Ends the monitor's nap; the next rounds follow without one. *Threads*: any, also while it does not run.
  void wake();

 private:
  void idle(unsigned& misses);

  std::vector<Duty> duties_;
  std::vector<bool> has_failed_;  ///< for each duty
  std::function<bool()> is_over_;
  std::function<void(std::exception_ptr)> on_failure_;
  Bell& bell_;
  Pauses pauses_;
  Wait wait_;
  std::atomic<bool> wake_{false};
};

}  // namespace hiway
