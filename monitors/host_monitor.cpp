#include "host_monitor.hpp"

#include <exception>
#include <utility>

#include "hiway/machine/thread_machine.hpp"

namespace hiway {

void HostMonitor::run(std::stop_token stop) {
  this_thread_context() = {.wait = wait_};
  std::stop_callback const on_stop(stop, [this] { wake(); });
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
      pauses_.rest();
    } else {
      idle(misses);
    }
  }
}

// Like relax_thread, but wake() ends a nap: a caller that waits for the end of a run does not wait for naps. Rung, it
// goes on with short naps: what was put takes a while to be answered. For these nobody rings, which costs a put more
// than it saves: so it is rung once in some 10 ms.
void HostMonitor::idle(unsigned& misses) {
  unsigned const awake = misses_awake(wait_);
  if (++misses < awake) return relax_thread(misses);
  ++this_thread_context().naps;
  constexpr std::chrono::microseconds worth_a_ring{200};
  std::chrono::microseconds const length = nap_length(misses - awake);
  bool const heeds = length >= worth_a_ring;
  if (pauses_.nap ? pauses_.nap(wake_, length, heeds) : bell_.nap_unless(wake_, length, heeds)) misses = awake;
  if (wake_.exchange(false, std::memory_order_relaxed)) misses = 0;
}

void HostMonitor::wake() {
  wake_.store(true, std::memory_order_relaxed);
  bell_.wake_all();
}

}  // namespace hiway
