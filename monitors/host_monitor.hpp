// Host monitors: CPU threads that run the host's half of the tunnels, one a direction, and the watcher of kernels; each
// a list of steps and a way to idle.
#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "hiway/machine/thread_machine.hpp"

namespace hiway {

/// One thing a monitor does again and again: takes one step, returns whether anything moved.
using Duty = std::function<bool()>;

class HostMonitor {
 public:
  /// Ends by itself when `is_over()`. `on_failure` gets what a duty throws; that duty is not called again, the others
  /// are. `wait`: between steps in which nothing moved.
  HostMonitor(std::vector<Duty> duties, std::function<bool()> is_over,
              std::function<void(std::exception_ptr)> on_failure, Wait wait = Wait::automatic)
      : duties_(std::move(duties)), is_over_(std::move(is_over)), on_failure_(std::move(on_failure)), wait_(wait) {}
  ~HostMonitor() { stop(); }
  HostMonitor(HostMonitor const&) = delete;
  HostMonitor& operator=(HostMonitor const&) = delete;

  void start();
  /// *Waits* until the monitor's thread has ended.
  void stop();
  /// Ends its nap, and the next steps follow one another without one. *Threads*: any.
  void wake();

 private:
  void run(std::stop_token stop);
  void idle(std::stop_token const& stop, unsigned& misses);

  std::vector<Duty> duties_;
  std::function<bool()> is_over_;
  std::function<void(std::exception_ptr)> on_failure_;
  Wait wait_;
  std::mutex mutex_;
  std::condition_variable_any woken_;
  bool wake_ = false;    ///< under mutex_
  std::jthread thread_;  ///< last: it uses the others
};

}  // namespace hiway
