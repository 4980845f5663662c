// Bell: wakes threads that nap until there is something for them: those of a CPU stage, for items; the host's monitors,
// for what was put across the bus and for its answers.
//
// A thread that has waited long naps (thread_machine.hpp), which would make an item late by up to a nap. So a put looks
// whether a thread naps, and wakes one thread for one item. Between its last look for items and its nap a thread is not
// seen; then it sleeps to its nap's end, as it would without a bell. Since a thread takes some 50 us to wake, the
// thread that rings may do what is most urgent itself.
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>

namespace hiway {

/// *Threads*: any.
class Bell {
 public:
  Bell();
  ~Bell();
  Bell(Bell const&) = delete;
  Bell& operator=(Bell const&) = delete;

  /// Sleeps for `time`, or until somebody rings. True: it was woken.
  bool nap(std::chrono::microseconds time) { return sleep(time, nullptr, true); }
  /// The same, but also until wake_all() with `over` set. `heeds` is false: it is not seen to nap, and not rung for.
  bool nap_unless(std::atomic<bool> const& over, std::chrono::microseconds time, bool heeds) {
    return sleep(time, &over, heeds);
  }
  /// The same for a thread that heeds, but also until the descriptor is readable. *Threads*: one at a time.
  bool nap_at(int descriptor, std::atomic<bool> const& over, std::chrono::microseconds time);
  [[nodiscard]] bool has_nappers() const { return nappers_.load(std::memory_order_relaxed) != 0; }
  /// Wakes up to `threads` of those that nap.
  void ring(unsigned threads) {
    if (!has_nappers()) return;
    if (help_) help_();
    wake(threads);
  }
  /// From now on a thread that rings for one that naps calls it first; null: nothing. It must not throw. *Threads*:
  /// while nobody naps or rings.
  void set_help(std::function<void()> help) { help_ = std::move(help); }
  /// Wakes all. A thread that is about to nap sees its `over`, if that was set before.
  void wake_all() { wake(~0U); }

 private:
  struct Sleepers;

  bool sleep(std::chrono::microseconds time, std::atomic<bool> const* over, bool heeds);
  void wake(unsigned threads);

  std::atomic<unsigned> nappers_{0};  ///< written under the mutex of sleepers_
  std::unique_ptr<Sleepers> sleepers_;
  std::function<void()> help_;
};

}  // namespace hiway
