// RunMonitors: the host monitors of a pipeline's runs: those that carry tunnels to and from the devices, the supervisor
// and the watcher.
#pragma once
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "kept_threads.hpp"
#include "layout.hpp"
#include "monitors/host_monitor.hpp"
#include "run_errors.hpp"

namespace hiway {

/// What the run itself does on the monitors' threads.
struct RunDuties {
  Duty supervise;
  Duty watch;
  std::function<bool()> is_over;
  std::function<void()> at_end;     ///< called once it is
  std::function<void()> after_end;  ///< called then, when the other monitors have been woken to leave
  std::vector<Duty> over_nodes;     ///< none if there is one node
  Pauses pauses_over_nodes;
  std::function<bool()> is_over_on_nodes;  ///< ends these
};

class RunMonitors {
 public:
  RunMonitors(Layout& layout, RunErrors& errors) : layout_(layout), errors_(errors) {}

  /// Makes the monitors that the prepared layout needs, in place of those that there are. Their posts come first in
  /// `posts`. *Throws* std::bad_alloc.
  void make(RunDuties const& duties, std::vector<KeptThreads::Post>& posts);
  /// Ends the watcher's nap. *Threads*: any, once make() has returned.
  void wake_watcher() { watcher_->wake(); }

 private:
  /// The duties of one thread.
  struct Post {
    NamedFailure const& part;
    Bell* bell;
    std::vector<Duty> duties{};
    Pauses pauses{};
  };

  void add_relays(Post& to_device, Post& from_device);
  void add_lines(Post& to_device, Post& from_device);
  [[nodiscard]] bool a_line_asks_the_driver() const;
  [[nodiscard]] bool a_monitor_yields() const;
  [[nodiscard]] std::vector<Bell*> bells_of_readers(PlacedTunnel const& tunnel) const;
  [[nodiscard]] HostMonitor& make(Post post, std::function<bool()> const& is_over);
  void watch_to_the_end();

  Layout& layout_;
  RunErrors& errors_;
  Bell supervisor_bell_;
  Bell watcher_bell_;
  std::vector<std::unique_ptr<HostMonitor>> monitors_;
  HostMonitor* watcher_ = nullptr;  ///< one of them
  std::function<void()> at_end_;
  std::function<void()> after_end_;
};

}  // namespace hiway
