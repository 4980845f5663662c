#include "host_monitor.hpp"

#include <exception>
#include <utility>

#include "hiway/machine/thread_machine.hpp"

namespace hiway {

void HostMonitor::run(std::stop_token stop) {
  this_thread_context() = {.wait = wait_};
  has_failed_.assign(duties_.size(), false);
  for (unsigned misses = 0; !stop.stop_requested() && !is_over_();) {
    bool moved = false;
    for (std::size_t i = 0; i < duties_.size(); ++i) {
      if (has_failed_[i]) continue;
      try {
        moved = duties_[i]() || moved;
      } catch (...) {
        has_failed_[i] = true;
        on_failure_(std::current_exception());
      }
    }
    if (moved) {
      misses = 0;
      rest_between_looks();
    } else {
      idle(stop, misses);
    }
  }
}

// Like relax_thread, but wake() ends a nap: a caller that waits for the end of a run does not wait for naps.
void HostMonitor::idle(std::stop_token const& stop, unsigned& misses) {
  unsigned const awake = misses_awake(wait_);
  if (++misses < awake) return relax_thread(misses);
  ++this_thread_context().naps;
  std::unique_lock lock(mutex_);
  woken_.wait_for(lock, stop, nap_length(misses - awake), [&] { return wake_; });
  if (std::exchange(wake_, false)) misses = 0;
}

void HostMonitor::wake() {
  {
    std::scoped_lock const lock(mutex_);
    wake_ = true;
  }
  woken_.notify_one();
}

}  // namespace hiway
