// Observer: the looks at a run under way: its deadline, stalls, samples of a trace, tunnels that must grow, and
// HIWAY_WATCH. The watcher observes. While a call to the driver holds it up, the supervisor observes in its place,
// without the devices' words.
//
//   under observing_   all fields but references
//   PlacedTunnel::capacity   written under Snapshots::hold()
//
//   W1  No call to the driver is made under observing_.
//   W2  No exception ends a look. It becomes the run's error, and the look is taken again.
#pragma once
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/stall_report.hpp"
#include "reports.hpp"
#include "run_errors.hpp"
#include "run_over_nodes.hpp"
#include "snapshots.hpp"

namespace hiway {

class Observer {
 public:
  using Time = std::chrono::steady_clock::time_point;

  Observer(Layout& layout, RunState const& state, RunErrors& errors, Snapshots& snapshots, Reports& reports,
           RunOverNodes& over_nodes, std::function<void()> write_graph)
      : layout_(layout),
        state_(state),
        errors_(errors),
        snapshots_(snapshots),
        reports_(reports),
        over_nodes_(over_nodes),
        write_graph_(std::move(write_graph)) {}

  /// Before a run. *Throws* ConfigError if HIWAY_WATCH is no number.
  void begin();
  /// After a run: the driver holds nobody up.
  void end() { driver_held_ = std::chrono::nanoseconds(0); }
  /// Takes every look that is due, unless another thread observes. `driver_held` is 0 on the watcher.
  void try_observe(Time now, std::chrono::nanoseconds driver_held) noexcept;
  /// Logs the first task that has failed of each stage, if it has no scope. *Threads*: any when no run is under way.
  void log_failed_tasks(PipelineSnapshot const& seen);
  /// True if a look is due.
  [[nodiscard]] bool is_due(Time now);
  /// What the run's counters say now. *Threads*: the observer; any when no run is under way.
  [[nodiscard]] PipelineSnapshot snapshot() { return snapshots_.take(driver_held_); }

 private:
  struct Deadline {
    Time next_look{};
    std::optional<Progress> before{};  ///< what had moved shortly before it
    bool passed = false;
  };
  struct Stalls {
    StallWatch watch{std::chrono::nanoseconds(0)};
    Time next_look{};
    bool hinted = false;
    unsigned signals_seen = 0;
    unsigned times_asked = 0;  ///< by node 0
  };
  struct Growth {
    StallWatch watch{std::chrono::nanoseconds(0)};
    Time next_look{};
  };
  struct Table {
    std::chrono::milliseconds every{0};  ///< HIWAY_WATCH
    Time next{};
  };

  [[nodiscard]] bool deadline_is_due(Time now) const;
  void check_deadline(Time now);
  [[nodiscard]] bool sample_is_due(Time now) const;
  void sample(Time now);
  [[nodiscard]] bool table_is_due(Time now) const { return table_.every.count() != 0 && now >= table_.next; }
  void show_table(Time now);
  [[nodiscard]] bool growth_is_due(Time now) const;
  void grow_tunnels(Time now);
  void grow(PlacedTunnel& tunnel);
  [[nodiscard]] bool stall_is_due(Time now) const;
  void report_stalls(Time now);
  void report_as_asked(PipelineSnapshot const& seen);
  void report_stall(PipelineSnapshot const& seen);
  void note_stall(std::string const& text);
  /// The stall report, with the scopes that are open.
  [[nodiscard]] std::string describe(PipelineSnapshot seen, std::string_view occasion) const;
  void trace_event(std::string category, std::string name, std::string text);

  Layout& layout_;
  RunState const& state_;
  RunErrors& errors_;
  Snapshots& snapshots_;
  Reports& reports_;
  RunOverNodes& over_nodes_;
  std::function<void()> write_graph_;
  std::mutex observing_;
  std::chrono::nanoseconds driver_held_{0};  ///< how long the driver has held the watcher up
  Deadline deadline_;
  Stalls stalls_;
  Growth growth_;
  Table table_;
  Time next_sample_{};
  std::vector<bool> told_of_failed_task_;  ///< by stage
};

}  // namespace hiway
