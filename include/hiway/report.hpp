// What a run tells about itself.
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
  std::string movement;        ///< "memory" (one home), "direct", "dma" or "managed"
  std::string why;             ///< why this movement: "asked for", or the table's row that Movement::automatic took
  std::uint64_t items = 0;     ///< put, spilled ones included: what the end check calls created
  std::uint64_t finished = 0;  ///< tasks ended by its readers; equal to items where the run has ended
  std::uint64_t spilled = 0;
  bool spills_to_host = false;     ///< its pool's items lie in host memory: the device had too little
  std::uint64_t throttled = 0;     ///< times that writers from outside a cycle waited for its spill pools to empty
  std::uint64_t batches = 0;       ///< dma: batches that were copied
  std::size_t capacity_items = 0;  ///< at the end: with TunnelConfig::grow_to_items more than it began with, perhaps
  std::string direction;           ///< "cpu_to_gpu"
  std::size_t item_bytes = 0;
  std::uint64_t holds = 0;  ///< while the run goes on: items in it now, spilled ones, too
  /// Contention groups (choosing.md#grouping): claims that several warps of a GPU block made together.
  std::uint64_t put_groups = 0;
  std::uint64_t get_groups = 0;
  // Of what was sampled while the run was traced; -1 where it was not.
  double most_items = -1;  ///< in its rings at once
  double mean_items = -1;
  double full = -1;   ///< fraction of the samples in which it was full
  double empty = -1;  ///< in which it held nothing
};

/// How long a stage's CPU threads waited for a tunnel.
struct WaitReport {
  std::string tunnel;
  double seconds = -1;  ///< all threads together; -1: a GPU stage, of which it is not known
};

/// What one stage did.
struct StageReport {
  std::string name;
  bool gpu = false;
  unsigned executors = 0;   ///< threads or blocks
  std::uint64_t items = 0;  ///< tasks that it ended
  double seconds = 0;       ///< lives of its CPU threads together; of a GPU stage the run's time, for each block
  /// Fraction of that in which a CPU thread waited for nothing; of a traced run's GPU stage: blocks that got something
  /// between two samples; -1: not known.
  double busy = -1;
  std::vector<WaitReport> items_of;  ///< for each tunnel in from
  std::vector<WaitReport> room_in;   ///< for each tunnel in into
};

/// Fraction of the lives of the stage's threads, 0 to 1, in which they waited; -1: not known.
[[nodiscard]] double wait_share(StageReport const& stage, WaitReport const& wait);

/// What went through one stencil tunnel.
struct StencilReport {
  std::string name;
  std::uint64_t regions = 0;  ///< that became whole
  std::uint64_t region_copies =
      0;                          ///< of them, copied from home to home; none where values are set where they are read
  std::uint64_t values = 0;       ///< of complete frames
  std::uint64_t bytes_moved = 0;  ///< across the bus, or from device to device
  std::uint64_t tasks = 0;
  std::uint64_t put_back = 0;               ///< StencilTasks::put_back: times that tasks were not ready, by strips
  bool first_task_before_last_set = false;  ///< a task had ended when the run's last value was set
};

/// Of a path's sampled items (latency.hpp), in microseconds; 0 where there was none.
struct LatencyReport {
  std::string path;
  std::uint64_t samples = 0;
  double least_us = 0;
  double median_us = 0;
  double p99_us = 0;
  double most_us = 0;
};

/// What Pipeline::wait() tells about a run.
struct RunReport {
  std::string device;
  double seconds = 0;       ///< steady clock from the start of the stages to the end of the last
  std::uint64_t items = 0;  ///< put into all tunnels together
  double end_detection_us =
      -1;  ///< from the last task of the last CPU stage to the announced end; -1 when no CPU stage reads a tunnel
  std::vector<TunnelReport> tunnels;
  std::vector<StencilReport> stencils;
  std::vector<StageReport> stages;
  std::vector<LatencyReport> latencies;
};

/// From now on SIGUSR1 asks every run under way for a stall report, and kills the process no more; while no run is under way
/// it does nothing. A program that has its own handler, or ignores the signal, keeps that. The first Pipeline calls this: a
/// program calls it itself where the signal may come before. *Threads*: any. *Lifetime*: when the library is unloaded, as with
/// a plugin, the signal is ignored from then on.
void take_report_signal() noexcept;

/// The report as JSON, in one line (docs/tracing.md has the format).
[[nodiscard]] std::string to_json(RunReport const& report);
/// As a table for people.
[[nodiscard]] std::string to_text(RunReport const& report);
/// In Prometheus' text format, every name with the prefix "hiway_".
[[nodiscard]] std::string to_prometheus(RunReport const& report);

}  // namespace hiway
