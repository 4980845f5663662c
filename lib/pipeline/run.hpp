// PipelineRun: one run after another of a pipeline: start, the two looks at it, end, report.
//
//   supervisor   handles errors of the device, the end, and throttles of a pipeline without a device. It asks the
//                driver nothing.
//   watcher      asks the driver whether kernels have left, and for copies of the devices' words. Then it observes
//                (observer.hpp). It has a thread of its own, because a CUDA call of the process may hold the driver up
//                until kernels have left, and kernels may need the monitors to leave (docs/adr/0009).
//
//   word                       written by             read by
//   RunState driver_since_ns   the watcher            the supervisor
//   Observer observing_        a mutex of the observer's own fields
//   report_                    the caller of wait(), under Snapshots::hold()
//
//   W1  No call to the driver is made under the observer's mutex or Snapshots::hold(). While the driver holds the
//       watcher up, the supervisor observes in its place, and stats() returns; both without the devices' words.
//   W2  No exception ends a look. It becomes the run's error, and the look is taken again. The code that ends an
//       aborting run allocates nothing.
#pragma once
#include <atomic>
#include <chrono>
#include <optional>
#include <string>

#include "kept_threads.hpp"
#include "launches.hpp"
#include "layout.hpp"
#include "lib/dot_text.hpp"
#include "observer.hpp"
#include "reports.hpp"
#include "run_errors.hpp"
#include "run_files.hpp"
#include "run_kernels.hpp"
#include "run_monitors.hpp"
#include "run_over_nodes.hpp"
#include "run_state.hpp"
#include "run_threads.hpp"
#include "snapshots.hpp"
#include "start_check.hpp"

namespace hiway {

class PipelineRun {
 public:
  PipelineRun(Layout& layout, Launches& launches);
  /// Aborts a run under way and waits for it.
  ~PipelineRun();
  PipelineRun(PipelineRun const&) = delete;
  PipelineRun& operator=(PipelineRun const&) = delete;

  void prepare();
  /// `after`: kernels and batch stages wait for the work that this stream has now.
  void start(std::optional<CUstream_st*> after = {});
  /// Later work of the stream waits for the end of the run.
  void finished_on(CUstream_st* stream);
  RunReport wait();
  bool wait_for(std::chrono::nanoseconds duration);
  [[nodiscard]] EndNews& end_news() { return state_.end_news; }
  void abort();
  /// Calls `f` if a run is under way, which does not end meanwhile. *Threads*: any.
  void while_live(char const* what, std::function<void()> const& f);
  [[nodiscard]] RunReport stats();
  [[nodiscard]] std::string graph();
  Latency& add_latency(std::string path, unsigned every) { return reports_.add_latency(std::move(path), every); }

  [[nodiscard]] bool is_running() const { return state_.running; }
  /// *Throws* ConfigError, MisuseError.
  void require_idle(char const* what) const;
  /// Says why the run does not go on. `who`: what the text begins with. May be called between two runs, so it reads
  /// only words and the error of the last run.
  [[noreturn]] void refuse(std::string const& who);
  /// True if the pipeline cannot be destroyed here, so its memory must be left allocated: the process was forked while
  /// the pipeline's threads ran, or the caller is a thread of its own run (exit() in a stage). Such a run is aborted.
  /// *Waits* for the run's other threads, at most 1 s.
  [[nodiscard]] bool must_be_left() noexcept;

 private:
  using Time = std::chrono::steady_clock::time_point;

  void require_own_process(char const* what) const;
  [[nodiscard]] bool is_left_behind_by_fork() const;
  [[nodiscard]] bool is_called_by_itself() const noexcept;
  [[nodiscard]] bool is_over() const { return state_.has_left(std::memory_order_acquire); }
  void make_threads();
  void reset();
  void finish();
  void make_reports(Time end);
  void leave_files(Time end, RunReport const& report);
  [[nodiscard]] DotPart graph_part(std::string const& prefix);
  bool supervise() noexcept;
  void look_for_the_end();
  bool watch() noexcept;

  Layout& layout_;
  Launches& launches_;
  RunState state_;
  RunErrors errors_;
  RunKernels kernels_;
  Snapshots snapshots_;
  Reports reports_;
  Observer observer_;
  StartCheck start_check_;
  RunOverNodes over_nodes_;
  RunThreads threads_;
  RunMonitors monitors_;
  std::atomic<bool> waiting_{false};  ///< a thread is in wait()
  RunReport report_;                  ///< of the last run
  KeptThreads kept_;                  ///< last: its threads use the others
};

}  // namespace hiway
