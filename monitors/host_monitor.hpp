// Host monitors: CPU threads that run the host's half of the tunnels, one thread for each direction, and the watcher of
// kernels. Each is a list of duties and a way to idle.
#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "hiway/machine/thread_machine.hpp"

namespace hiway {

/// One thing that a monitor does again and again. A call takes one step and returns whether anything moved.
using Duty = std::function<bool()>;

class HostMonitor {
 public:
  /// The monitor ends by itself when `is_over()`. `on_failure` gets what a duty throws; that duty is not called again,
  /// the others are. `wait` says how to wait after rounds in which nothing moved.
  HostMonitor(std::vector<Duty> duties, std::function<bool()> is_over,
              std::function<void(std::exception_ptr)> on_failure, Wait wait = Wait::automatic)
      : duties_(std::move(duties)), is_over_(std::move(is_over)), on_failure_(std::move(on_failure)), wait_(wait) {}
  ~HostMonitor() { stop(); }
  HostMonitor(HostMonitor const&) = delete;
  HostMonitor& operator=(HostMonitor const&) = delete;

  void start();
  /// *Waits* until the monitor's thread has ended.
  void stop();
  /// Ends the monitor's nap; the next rounds follow without one. *Threads*: any.
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
  std::jthread thread_;  ///< last member: the thread uses the others
};

}  // namespace hiway
