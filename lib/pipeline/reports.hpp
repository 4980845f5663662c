// Reports: what the stages and tunnels of a run did, while it runs and after it, and the file of a traced run.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "hiway/latency.hpp"
#include "hiway/report.hpp"
#include "layout.hpp"
#include "lib/run_trace.hpp"
#include "lib/stall_report.hpp"
#include "run_state.hpp"

namespace hiway {

class Reports {
 public:
  using Time = std::chrono::steady_clock::time_point;

  Reports(Layout& layout, RunState const& state) : layout_(layout), state_(state) {}

  Latency& add_latency(std::string path, unsigned every) { return latencies_.emplace_back(std::move(path), every); }
  /// Before a run: forgets the last one. *Throws* ConfigError if the trace's file cannot be written: an error now, not
  /// after the run.
  void begin();
  /// Empty if the run is not traced. *Threads*: the observer; any once the run has ended.
  [[nodiscard]] std::optional<RunTrace>& trace() { return trace_; }
  [[nodiscard]] bool is_traced() const { return trace_.has_value(); }

  [[nodiscard]] RunReport of(PipelineSnapshot const& seen, Time now) const;
  /// Of a run that has ended well. *Throws* Error if the devices' counters are missing, CudaError.
  [[nodiscard]] RunReport at_end(PipelineSnapshot const& seen, Time end);
  /// Of a run that is traced and has ended. `error`: why it has failed, or null. *Lifetime*: until begin().
  [[nodiscard]] TraceParts trace_parts(Time end, RunReport const& report, std::exception_ptr const& error) const;

 private:
  [[nodiscard]] TunnelReport tunnel_report(PipelineSnapshot const& seen, std::size_t tunnel) const;
  [[nodiscard]] StageReport stage_report(std::size_t stage, StageSnapshot const& seen, double run_seconds) const;
  void add_kernel_time(StageReport& report, std::size_t stage, double run_seconds) const;
  void add_thread_time(StageReport& report, std::size_t stage) const;
  /// Adds what the threads of the stage waited for these tunnels; returns all of it, in seconds.
  [[nodiscard]] double add_waits(std::size_t stage, std::vector<TunnelBase*> const& tunnels,
                                 std::vector<WaitReport>& waits, Word<std::uint64_t> WaitWords::*word) const;
  [[nodiscard]] StencilReport stencil_report(PlacedTunnel const& tunnel);
  [[nodiscard]] TransferLine const& line_of(PlacedTunnel const& tunnel) const;
  [[nodiscard]] double end_detection_us() const;

  Layout& layout_;
  RunState const& state_;
  std::deque<Latency> latencies_;
  std::optional<RunTrace> trace_;
};

}  // namespace hiway
