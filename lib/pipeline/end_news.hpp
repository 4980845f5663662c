// EndNews: how the program hears of the end of a run: by a stop token, and by a function of its own.
#pragma once
#include <exception>
#include <functional>
#include <mutex>
#include <stop_token>
#include <utility>

namespace hiway {

/// *Threads*: as each method says.
class EndNews {
 public:
  using OnEnd = std::function<void(std::exception_ptr)>;

  /// An empty function: none. *Threads*: the caller's, between runs.
  void set(OnEnd on_end) { on_end_ = std::move(on_end); }
  /// Of the run under way, or else of the next. *Threads*: any.
  [[nodiscard]] std::stop_token stop_token() {
    std::scoped_lock const lock(mutex_);
    return source_.get_token();
  }

  /// The run fails. The program's callbacks run within the first call. *Threads*: any of the run that holds no lock.
  void stop() noexcept { source_.request_stop(); }
  /// A function of the program's waits for the end. *Threads*: any of the run.
  [[nodiscard]] bool is_asked_for() const { return static_cast<bool>(on_end_); }
  /// Calls it. What it throws is logged. *Threads*: one of the run's.
  void tell(std::exception_ptr const& error) const noexcept;
  /// *Threads*: the caller's, before the run.
  void begin_run() { next_ = std::stop_source(); }
  /// From now on tokens are the next run's. *Threads*: the caller's, after the run's threads have left.
  void end_run() noexcept {
    std::scoped_lock const lock(mutex_);
    source_ = std::move(next_);
  }

 private:
  std::mutex mutex_;         ///< of source_, between end_run() and stop_token()
  std::stop_source source_;  ///< the run's threads use it without the lock: it changes when there are none
  std::stop_source next_;    ///< made beforehand: a run may end when no memory is left
  OnEnd on_end_;
};

}  // namespace hiway
