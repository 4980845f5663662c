#include "host_monitor.hpp"

#include <exception>

namespace hiway {

void HostMonitor::start() {
  thread_ = std::jthread([this](std::stop_token stop) { run(std::move(stop)); });
}

void HostMonitor::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

void HostMonitor::run(std::stop_token stop) {
  for (unsigned misses = 0; !stop.stop_requested() && !is_over_();) {
    bool moved = false;
    for (std::size_t i = 0; i < duties_.size(); ++i) {
      try {
        moved = duties_[i]() || moved;
      } catch (...) {
        on_failure_(std::current_exception());
        duties_[i] = [] { return false; };
      }
    }
    misses = moved ? 0 : misses + 1;
    if (!moved) relax_thread(misses);
  }
}

}  // namespace hiway
