// FaultyDevice: the emulated device, with faults on order. It makes itself known the way the CUDA library does
// (register_cuda), under the name "cuda:0", and as further ones: the library has no hook for it, and no path differs from a
// user's.
#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "hiway/backend.hpp"

namespace hiway_tests {

/// What goes wrong. The n-th of a kind is counted from 1 over the life of the FaultyDevice; 0: none.
struct FaultPlan {
  std::uint64_t failed_allocation = 0;
  std::uint64_t failed_submission = 0;
  std::uint64_t failed_start = 0;       ///< of a kernel
  std::uint64_t failed_completion = 0;  ///< a question for completed submissions
  std::uint64_t lost_context = 0;       ///< a question whether a kernel has left, and all behind it
  int lost_on = -1;                     ///< that of this device's kernels; -1: of any
  std::uint64_t lost_submission = 0;    ///< it never completes, nor does any behind it
  std::uint64_t late_by_polls = 0;      ///< a submission's first copy starts after so many polls
  std::size_t split_bytes = 0;          ///< a row of a copy lands in pieces of so many bytes; 0: whole
  bool apart = false;                   ///< devices do not reach one another's memory
  std::uint64_t failed_call = 0;        ///< of all calls together; a peek that fails brings nothing
};

/// *Threads*: the log is read when no pipeline of the device runs. *Lifetime*: outlives its pipelines; one at a time.
class FaultyDevice {
 public:
  using Clock = std::chrono::steady_clock;

  explicit FaultyDevice(FaultPlan plan);
  ~FaultyDevice();
  FaultyDevice(FaultyDevice const&) = delete;
  FaultyDevice& operator=(FaultyDevice const&) = delete;

  /// What PipelineConfig::device takes.
  static constexpr char const* name = "cuda:0";

  FaultPlan plan;
  std::atomic<std::uint64_t> allocations = 0;
  std::atomic<std::uint64_t> submissions = 0;
  std::atomic<std::uint64_t> starts = 0;
  std::atomic<std::uint64_t> completions = 0;  ///< questions for them
  std::atomic<std::uint64_t> questions = 0;    ///< whether a kernel has left
  std::atomic<std::uint64_t> calls = 0;        ///< all of these, and the others
  std::set<std::string> users;                 ///< what memory was asked for
  std::set<std::string> places;                ///< likewise, with where it lies: "WHAT at the host", "WHAT on cuda:1"
  std::map<void*, std::string> held;           ///< memory that was not released
  Clock::time_point failed_at{};               ///< the fault was told to the library
  std::string failed;                          ///< what failed last

  /// Counts `counter` up and returns it. *Throws* CudaError when it reaches `failing`.
  std::uint64_t count(std::atomic<std::uint64_t>& counter, std::uint64_t failing, std::string const& what);
  /// Questions whether kernels have left, copies' completions and peeks wait while it is set, as for a CUDA call that has the
  /// driver's lock.
  std::atomic<bool> stuck = false;
  void wait_while_stuck() const;
  void count_call(std::string const& what) { count(calls, plan.failed_call, what); }
};

}  // namespace hiway_tests
