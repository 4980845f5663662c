// RunTrace: what the watcher of a traced run saw of its tunnels and GPU stages. chrome_trace() writes this, and what
// CPU threads and transfer lines recorded themselves, as one Chrome trace (docs/tracing.md).
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "../monitors/transfer.hpp"
#include "hiway/report.hpp"
#include "hiway/trace.hpp"
#include "scope/times.hpp"
#include "stall_report.hpp"

namespace hiway {

/// What was seen at one moment.
struct RunSample {
  struct Tunnel {
    std::uint64_t items = 0;  ///< in its rings
    std::uint64_t spilled = 0;
    std::uint64_t put = 0;
    std::uint64_t ended = 0;  ///< tasks
  };
  std::int64_t ns = 0;  ///< steady clock
  std::vector<Tunnel> tunnels;
  /// For each stage: executors that got something since the previous sample.
  std::vector<std::uint32_t> active;
};

/// One tunnel over all samples.
struct TunnelLevels {
  std::uint64_t samples = 0;
  std::uint64_t sum = 0;
  std::uint64_t most = 0;
  std::uint64_t full = 0;   ///< samples in which it was full
  std::uint64_t empty = 0;  ///< samples in which it held nothing
  std::uint64_t spilled = 0;
};
/// One stage over all samples.
struct StageLevels {
  std::uint64_t samples = 0;  ///< samples in which some of its blocks had started and not all had returned
  std::uint64_t active = 0;
  std::int64_t left_ns = 0;  ///< time of the first sample in which all had returned; 0: there was none
};

struct RunEvent {
  std::int64_t ns = 0;
  std::string category;
  std::string name;
  std::string text;
};

/// A transfer line.
struct BusTrack {
  std::string name;
  std::vector<CopyRecord> const* copies = nullptr;
};
/// A CPU thread of a stage.
struct ThreadTrack {
  std::size_t stage = 0;
  unsigned thread = 0;
  ThreadTrace const* trace = nullptr;
};

/// A kind of scopes.
struct ScopesTrack {
  std::string name;
  std::vector<detail::ScopeRecord> ended;
};

/// *Threads*: the watcher; any thread once the watcher has ended.
class RunTrace {
 public:
  static constexpr std::size_t most_samples = std::size_t{1} << 13;

  void sample(std::int64_t ns, PipelineSnapshot const& seen);
  void event(RunEvent event) { events_.push_back(std::move(event)); }

  [[nodiscard]] std::vector<RunSample> const& samples() const { return samples_; }
  [[nodiscard]] std::vector<RunEvent> const& events() const { return events_; }
  [[nodiscard]] std::vector<TunnelLevels> const& tunnels() const { return tunnels_; }
  [[nodiscard]] std::vector<StageLevels> const& stages() const { return stages_; }

 private:
  /// Each writes its part of the sample and counts it among the levels.
  void sample_tunnels(RunSample& sample, PipelineSnapshot const& seen);
  void sample_stages(RunSample& sample, PipelineSnapshot const& seen);
  /// Keeps every other sample only when there are too many.
  void keep(RunSample sample);

  std::vector<RunSample> samples_;
  std::size_t every_ = 1;    ///< one of so many moments is kept as a sample
  std::size_t moments_ = 0;  ///< moments so far
  std::vector<RunEvent> events_;
  std::vector<TunnelLevels> tunnels_;
  std::vector<StageLevels> stages_;
  std::vector<std::vector<std::uint64_t>> got_;  ///< at the previous sample, by stage and executor
};

/// What one process has recorded.
struct TraceParts {
  int node = -1;               ///< of a run over several nodes
  std::int64_t origin_ns = 0;  ///< where the file's time begins, by the process' clock
  std::int64_t began_ns = 0;
  std::int64_t ended_ns = 0;
  std::int64_t end_detection_ns = 0;  ///< time that end detection took at the run's end; 0: not known
  RunReport report;
  std::string error;
  std::vector<ThreadTrack> threads;
  std::vector<BusTrack> copies;
  std::vector<ScopesTrack> scopes;
  RunTrace const* run = nullptr;
};

/// A node's part of a trace.
struct TraceOfNode {
  std::string events;
  std::int64_t clock_error_ns = 0;
  std::string missing;  ///< why there are no events
};

/// What the process did, as events of the file.
[[nodiscard]] std::string trace_events(TraceParts const& parts);
/// The file's text.
[[nodiscard]] std::string chrome_trace(TraceParts const& parts);
/// The same of a run over several nodes. `report`: of all of them.
[[nodiscard]] std::string chrome_trace(std::vector<TraceOfNode> const& nodes, RunReport const& report,
                                       std::string const& error);

}  // namespace hiway
