#include "hiway/machine/bell.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>

namespace hiway {

struct Bell::Sleepers {
  std::mutex mutex;
  std::condition_variable rung;
  unsigned wakes = 0;  ///< threads that were woken and have not left yet
};

Bell::Bell() : sleepers_(std::make_unique<Sleepers>()) {}
Bell::~Bell() = default;

bool Bell::sleep(std::chrono::microseconds time, std::atomic<bool> const* over, bool heeds) {
  Sleepers& s = *sleepers_;
  std::unique_lock lock(s.mutex);
  auto const is_over = [&] { return over != nullptr && over->load(std::memory_order_relaxed); };
  if (!heeds) return s.rung.wait_for(lock, time, is_over);
  nappers_.fetch_add(1, std::memory_order_relaxed);
  bool const woken = s.rung.wait_for(lock, time, [&] { return s.wakes != 0 || is_over(); });
  if (s.wakes != 0) --s.wakes;
  nappers_.fetch_sub(1, std::memory_order_relaxed);
  return woken;
}

void Bell::wake(unsigned threads) {
  Sleepers& s = *sleepers_;
  {
    std::scoped_lock const lock(s.mutex);
    unsigned const asleep = nappers_.load(std::memory_order_relaxed) - s.wakes;
    if (asleep == 0 && threads == 1) return;
    s.wakes += std::min(threads, asleep);
  }
  threads == 1 ? s.rung.notify_one() : s.rung.notify_all();
}

}  // namespace hiway
