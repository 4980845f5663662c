// RunState: what the threads of a run tell each other. The caller's thread resets it before the run.
//
//   word                 written by                            read by
//   running              the caller of start() and wait()      any
//   ended, finishing     the supervisor                        the watcher
//   kernels_started      the caller, once                      supervisor, watcher: then kernels are the watcher's
//   kernels_done         the watcher, once                     who waits for the end
//   threads_running      each stage thread, as it leaves       likewise
//   inside[s]            the threads of stage s                the observer
//   driver_since_ns      the watcher                           the supervisor
#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "end_news.hpp"
#include "waiting_streams.hpp"

namespace hiway {

struct RunState {
  std::atomic<bool> running{false};
  std::atomic<bool> ended{false};            ///< every unit has ended
  std::atomic<bool> kernels_started{false};  ///< once true, only the watcher touches the kernels
  std::atomic<bool> finishing{false};        ///< the run has ended or is aborting: kernels are about to leave
  std::atomic<bool> kernels_done{false};
  std::atomic<unsigned> threads_running{0};
  std::vector<std::atomic<unsigned>> inside;  ///< threads in each stage's code
  std::atomic<std::int64_t> last_thread_end_ns{0};
  std::chrono::steady_clock::time_point started;
  std::uint64_t range = 0;         ///< the run as a profiler sees it
  bool asks_driver = false;        ///< the run has a device whose memory can only be read through its driver
  WaitingStreams waiting_streams;  ///< for its end
  EndNews end_news;                ///< for the program
  std::atomic<std::int64_t> driver_since_ns{0};  ///< when the watcher's call to the driver began; 0: it is in none

  void reset(std::size_t stages, unsigned threads) {
    ended = false;
    kernels_started = false;
    finishing = false;
    kernels_done = false;
    threads_running = threads;
    inside = std::vector<std::atomic<unsigned>>(stages);
    last_thread_end_ns = 0;
    started = std::chrono::steady_clock::now();
    driver_since_ns = 0;
  }
  /// True if all threads and kernels have left. *Threads*: the acquiring one waits for the end.
  [[nodiscard]] bool has_left(std::memory_order order) const {
    return threads_running.load(order) == 0 && kernels_done.load(order);
  }
};

[[nodiscard]] inline std::int64_t ns_of(std::chrono::steady_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

/// While it lives, records when the watcher's call to the driver began.
class DriverCall {
 public:
  explicit DriverCall(RunState& state) : since_ns_(state.driver_since_ns) {
    since_ns_.store(ns_of(std::chrono::steady_clock::now()), std::memory_order_relaxed);
  }
  ~DriverCall() { since_ns_.store(0, std::memory_order_relaxed); }
  DriverCall(DriverCall const&) = delete;
  DriverCall& operator=(DriverCall const&) = delete;

 private:
  std::atomic<std::int64_t>& since_ns_;
};

/// The calling thread's role in a pipeline.
struct ThreadRole {
  void const* layout = nullptr;  ///< of the pipeline whose stage, supervisor or watcher it runs, or null
  bool observes = false;         ///< it is the supervisor or the watcher
};
[[nodiscard]] ThreadRole& role_of_this_thread() noexcept;

}  // namespace hiway
