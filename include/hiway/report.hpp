// The report of a run.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hiway {

/// What went through one tunnel.
struct TunnelReport {
  std::string name;
  std::string movement;        ///< "memory" (both ends at one home), "direct", "dma" or "managed"
  std::string why;             ///< why this movement: "asked for", or the table's row that Movement::automatic took
  std::uint64_t items = 0;     ///< items put, including spilled ones: what the end check calls created
  std::uint64_t finished = 0;  ///< tasks ended by its readers; equal to `items` when the run has ended
  std::uint64_t spilled = 0;
  /// WhenFull::drop_newest: items that found no room, which `items` leaves out. drop_oldest: items that were put and
  /// made room for others: they count in `items` and `finished`.
  std::uint64_t dropped = 0;
  bool spills_to_host = false;     ///< its pool's items lie in host memory: the device had too little
  std::uint64_t throttled = 0;     ///< times that writers from outside a cycle waited for its spill pools to empty
  std::uint64_t batches = 0;       ///< dma: batches copied
  std::size_t capacity_items = 0;  ///< at the end of the run: TunnelConfig::grow_to_items may have raised it
  std::string direction;           ///< "cpu_to_gpu"
  std::size_t item_bytes = 0;
  std::uint64_t holds = 0;  ///< during the run: items in it now, including spilled ones
  /// Contention groups (choosing.md#grouping): claims that several warps of a GPU block made together.
  std::uint64_t put_groups = 0;
  std::uint64_t get_groups = 0;
  // From samples taken while the run was traced; -1 if it was not traced.
  double most_items = -1;  ///< most items in its rings at once
  double mean_items = -1;
  double full = -1;   ///< fraction of the samples in which it was full
  double empty = -1;  ///< fraction of the samples in which it held nothing
};

/// How long a stage's CPU threads waited for a tunnel.
struct WaitReport {
  std::string tunnel;
  double seconds = -1;  ///< sum over all threads; -1: not known, as for a GPU stage
};

/// What one stage did.
struct StageReport {
  std::string name;
  bool gpu = false;
  unsigned executors = 0;  ///< threads or blocks
  /// GPU stage: how often its kernel was started. 1: it stayed on the device; more: it left and came back. Else 0.
  unsigned launches = 0;
  std::uint64_t items = 0;         ///< tasks that it ended
  std::uint64_t failed_tasks = 0;  ///< calls of fail_task
  std::string first_failure;       ///< the message of the first; cut off after 123 characters
  double seconds = 0;  ///< CPU stage: sum of its threads' lives; GPU stage: the run's time, times its blocks
  /// CPU stage: fraction of `seconds` in which its threads did not wait. GPU stage in a traced run: fraction of blocks
  /// that got something between two samples. -1: not known.
  double busy = -1;
  std::vector<WaitReport> items_of;  ///< waits for items: one entry per tunnel in from(...)
  std::vector<WaitReport> room_in;   ///< waits for room: one entry per tunnel in into(...)
};

/// Fraction, 0 to 1, of the lives of the stage's threads that went into this wait; -1: not known.
[[nodiscard]] double wait_share(StageReport const& stage, WaitReport const& wait);

/// What went through one stencil tunnel.
struct StencilReport {
  std::string name;
  std::uint64_t regions = 0;  ///< regions completed
  /// Completed regions that were copied from home to home; 0 if values are set at the home where they are read.
  std::uint64_t region_copies = 0;
  std::uint64_t values = 0;       ///< values of complete frames
  std::uint64_t bytes_moved = 0;  ///< across the bus, or from device to device
  std::uint64_t tasks = 0;
  std::uint64_t put_back = 0;               ///< StencilTasks::put_back: times that a strip of tasks was not ready
  bool first_task_before_last_set = false;  ///< a task had ended when the run's last value was set
};

/// Times of a path's sampled items (latency.hpp), in microseconds; 0 if there were no samples.
struct LatencyReport {
  std::string path;
  std::uint64_t samples = 0;
  double least_us = 0;
  double median_us = 0;
  double p99_us = 0;
  double most_us = 0;
};

/// A pipeline's scopes of one kind. Times are 0 if there were none; of all scopes together each is off by a sixteenth
/// at most, but for the slowest.
struct ScopesReport {
  std::string name;
  std::size_t most_open = 0;  ///< ScopesConfig::most_open
  std::uint64_t opened = 0;
  std::uint64_t ended = 0;      ///< the next two included
  std::uint64_t failed = 0;     ///< fail_scope, fail_task, a failed run
  std::uint64_t cancelled = 0;  ///< Scope::cancel
  std::uint64_t open = 0;       ///< now
  double median_us = 0;         ///< from opening to the end, of those that have ended
  double p99_us = 0;
  double slowest_us = 0;
  std::uint32_t slowest_place = 0;  ///< Scope::index() of the slowest
  double oldest_us = 0;             ///< of those open now: how long the oldest has been open
  std::uint32_t oldest_place = 0;
  std::uint64_t waits = 0;  ///< openers that waited for a place
  double wait_seconds = 0;  ///< all of them together
};

/// What Pipeline::wait() returns about a run.
struct RunReport {
  std::string device;
  double seconds = 0;       ///< steady clock from the start of the stages to the end of the last
  std::uint64_t items = 0;  ///< put into all tunnels together
  /// From the last task of the last CPU stage to the announced end; -1 when no CPU stage reads a tunnel.
  double end_detection_us = -1;
  std::vector<TunnelReport> tunnels;
  std::vector<StencilReport> stencils;
  std::vector<StageReport> stages;
  std::vector<LatencyReport> latencies;
  std::vector<ScopesReport> scopes;
};

/// From now on SIGUSR1 makes every run under way print a stall report and no longer kills the process; while no run is
/// under way it does nothing. If the program has its own handler, or ignores the signal, that stays. The first Pipeline
/// calls this function; a program calls it itself if the signal may come earlier. *Threads*: any. *Lifetime*: when the
/// library is unloaded, as a plugin may be, the signal is ignored from then on.
void take_report_signal() noexcept;

/// The report as JSON, in one line (docs/tracing.md has the format).
[[nodiscard]] std::string to_json(RunReport const& report);
/// The report as a table for people.
[[nodiscard]] std::string to_text(RunReport const& report);
/// The report in Prometheus' text format; every name has the prefix "hiway_".
[[nodiscard]] std::string to_prometheus(RunReport const& report);

}  // namespace hiway
