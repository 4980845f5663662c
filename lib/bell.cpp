#include "hiway/machine/bell.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <ctime>
#include <mutex>

namespace hiway {

struct Bell::Sleepers {
  std::mutex mutex;
  std::condition_variable rung;
  unsigned wakes = 0;  ///< threads that were woken and have not left yet
  int event = -1;      ///< readable: the thread in nap_at() is rung; made by its first nap
  bool polls = false;  ///< a thread is in nap_at()

  ~Sleepers() {
    if (event >= 0) close(event);
  }
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

bool Bell::nap_at(int descriptor, std::atomic<bool> const& over, std::chrono::microseconds time) {
  Sleepers& s = *sleepers_;
  {
    std::scoped_lock const lock(s.mutex);
    if (over.load(std::memory_order_relaxed)) return true;
    if (s.event < 0) s.event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);  // without one it sleeps to its nap's end
    s.polls = true;
    nappers_.fetch_add(1, std::memory_order_relaxed);
  }
  pollfd at[] = {{s.event, POLLIN, 0}, {descriptor, POLLIN, 0}};
  auto const seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
  timespec const length{.tv_sec = seconds.count(), .tv_nsec = std::chrono::nanoseconds(time - seconds).count()};
  bool const news = ppoll(at, 2, &length, nullptr) > 0;
  std::scoped_lock const lock(s.mutex);
  s.polls = false;
  if (eventfd_t rings = 0; s.event >= 0) (void)eventfd_read(s.event, &rings);
  if (s.wakes != 0) --s.wakes;
  nappers_.fetch_sub(1, std::memory_order_relaxed);
  return news;
}

void Bell::wake(unsigned threads) {
  Sleepers& s = *sleepers_;
  {
    std::scoped_lock const lock(s.mutex);
    unsigned const asleep = nappers_.load(std::memory_order_relaxed) - s.wakes;
    if (asleep == 0 && threads == 1) return;
    s.wakes += std::min(threads, asleep);
    if (s.polls && s.event >= 0) (void)eventfd_write(s.event, 1);
  }
  threads == 1 ? s.rung.notify_one() : s.rung.notify_all();
}

}  // namespace hiway
