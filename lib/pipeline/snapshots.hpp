// Snapshots: a run's counters as the observer and stats() see them. Words of a GPU come from copies that the watcher
// fetches through the driver; other words are read in place.
//
//   under mutex_   live_, copies_, asked_, served_; also PlacedTunnel::capacity, and the last report (run.hpp)
//
//   W1  No call to the driver is made under mutex_. stats() waits for fresh copies for a bounded time; otherwise it
//       gets copies in which no device is seen.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "counters.hpp"

namespace hiway {

class Snapshots {
 public:
  Snapshots(Layout& layout, RunState& state, RunKernels const& kernels)
      : layout_(layout), state_(state), kernels_(kernels) {}

  /// Before a run: no device is seen. Finds whether the run asks the driver.
  void begin();
  /// A run and its watcher are active, or no longer. From then on stats() does not wake the watcher.
  void set_live();
  void end_live();

  /// *Threads*: the observer; any when no run is under way. `driver_held`: how long the driver has held the watcher up.
  [[nodiscard]] PipelineSnapshot take(std::chrono::nanoseconds driver_held);
  /// Copies the devices' words. *Threads*: the watcher; the caller's once the watcher has ended.
  void fetch();
  /// True if stats() waits for copies.
  [[nodiscard]] bool are_wanted();

  /// While the caller holds this, a live run does not end, no tunnel grows, and the last report stays.
  [[nodiscard]] std::unique_lock<std::mutex> hold() { return std::unique_lock(mutex_); }
  /// Under hold().
  [[nodiscard]] bool is_live() const { return live_; }
  /// Under hold(), which it gives up while it waits: the run may have ended afterwards.
  [[nodiscard]] std::shared_ptr<WordCopies const> fresh(std::unique_lock<std::mutex>& held,
                                                        std::function<void()> const& wake_watcher);
  [[nodiscard]] PipelineSnapshot read(WordCopies const& copies) {
    return read_counters({layout_, state_, copies, nullptr});
  }

 private:
  [[nodiscard]] WordCopies unseen() const;
  [[nodiscard]] bool is_asked_of_driver(Home home) const;

  Layout& layout_;
  RunState& state_;
  RunKernels const& kernels_;
  std::mutex mutex_;
  bool live_ = false;                         ///< a run and its watcher are active
  std::shared_ptr<WordCopies const> copies_;  ///< the last that were fetched
  std::uint64_t asked_ = 0;                   ///< how many copies stats() has asked for
  std::uint64_t served_ = 0;
  std::condition_variable came_;
};

}  // namespace hiway
