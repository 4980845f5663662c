// Watchdog: ends a test program whose try hangs, and says which one it was.
#pragma once
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <string_view>

namespace hiway_tests::nth {

/// While it lives the program has so many seconds; then it ends with 97. It looks every few seconds, so that time in which the
/// program itself was stopped (SIGSTOP) does not count. *Threads*: one at a time.
class Watchdog {
 public:
#if defined(HIWAY_SANITIZED)  // everything is 5 to 20 times slower
  static constexpr int patience_seconds = 240;
#else
  static constexpr int patience_seconds = 60;
#endif

  explicit Watchdog(std::string_view what) {
    std::size_t const n = std::min(what.size(), sizeof text_ - 1);
    std::copy_n(what.data(), n, text_);
    text_[n] = '\0';
    left_ = patience_seconds;
    std::signal(SIGALRM, look);
    alarm(interval_seconds);
  }
  ~Watchdog() { alarm(0); }
  Watchdog(Watchdog const&) = delete;
  Watchdog& operator=(Watchdog const&) = delete;

 private:
  static constexpr int interval_seconds = 3;

  static void look(int) {
    if ((left_ -= interval_seconds) > 0) {
      alarm(interval_seconds);
      return;
    }
    for (std::string_view const part : {std::string_view("HANG: "), std::string_view(text_), std::string_view("\n")})
      static_cast<void>(!write(STDERR_FILENO, part.data(), part.size()));
    _exit(97);
  }

  static inline char text_[256];
  static inline std::atomic<int> left_{0};
};

}  // namespace hiway_tests::nth
