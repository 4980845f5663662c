// RunMonitors: the host monitors of a run: the threads that carry tunnels to and from the devices, the supervisor and
// the watcher.
#pragma once
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "layout.hpp"
#include "monitors/host_monitor.hpp"
#include "run_errors.hpp"

namespace hiway {

/// What the run itself does on the monitors' threads.
struct RunDuties {
  Duty supervise;
  Duty watch;
  std::function<bool()> is_over;
};

class RunMonitors {
 public:
  RunMonitors(Layout& layout, RunErrors& errors) : layout_(layout), errors_(errors) {}

  /// *Throws* Error that names the monitor whose thread could not be started.
  void start(RunDuties duties);
  /// *Waits* until all have ended.
  void stop() { monitors_.clear(); }
  /// Ends the watcher's nap. *Threads*: any, while the run is live.
  void wake_watcher() { watcher_->wake(); }

 private:
  /// The duties of one thread.
  struct Post {
    NamedFailure const& part;
    std::vector<Duty> duties{};
  };

  void add_relays(Post& to_device, Post& from_device);
  void add_lines(Post& to_device, Post& from_device);
  [[nodiscard]] bool a_line_asks_the_driver() const;
  void make(Post& post, std::function<bool()> const& is_over);
  void start_all();

  Layout& layout_;
  RunErrors& errors_;
  std::vector<std::unique_ptr<HostMonitor>> monitors_;
  std::vector<NamedFailure const*> names_;  ///< of the monitors
  HostMonitor* watcher_ = nullptr;          ///< one of them
};

}  // namespace hiway
