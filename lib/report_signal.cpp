// The handler of SIGUSR1 counts signals; the watcher of a run compares the count with the count at its last look.
//
//   word     written by                     read by
//   signals  the handler, on any thread     watchers
//
// The handler is code of this library. If a plugin contains the library, unloading the plugin removes that code. So
// from then on the signal is ignored, and a pending signal is discarded. The default action is not restored: it kills
// the process, and the sender of the signal cannot know when a plugin is unloaded.
#include "lib/report_signal.hpp"

#include <atomic>
#include <csignal>

#include "hiway/report.hpp"

namespace hiway {
namespace {

std::atomic<unsigned> signals{0};
static_assert(std::atomic<unsigned>::is_always_lock_free, "the signal handler must not lock");

void count_signal(int) { signals.fetch_add(1, std::memory_order_relaxed); }

/// A flag that has no effect on SIG_IGN, set there as a mark. It tells a plugin that is loaded again that the library
/// itself ignores the signal.
constexpr int ignored_by_hiway = SA_NODEFER;

struct Handler {
  Handler() noexcept {
    struct sigaction seen{};
    if (sigaction(SIGUSR1, nullptr, &seen) != 0 || (seen.sa_flags & SA_SIGINFO) != 0) return;
    bool const ours = seen.sa_handler == SIG_IGN && (seen.sa_flags & ignored_by_hiway) != 0;
    if (seen.sa_handler == SIG_DFL || ours) set(&count_signal, SA_RESTART);
  }
  ~Handler() {
    struct sigaction seen{};
    if (sigaction(SIGUSR1, nullptr, &seen) != 0 || (seen.sa_flags & SA_SIGINFO) != 0) return;
    if (seen.sa_handler == &count_signal) set(SIG_IGN, ignored_by_hiway);
  }
  Handler(Handler const&) = delete;
  Handler& operator=(Handler const&) = delete;

 private:
  static void set(void (*handler)(int), int flags) noexcept {
    struct sigaction action{};
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaction(SIGUSR1, &action, nullptr);
  }
};

}  // namespace

// Destroyed when the library is unloaded, and at the end of the process.
void take_report_signal() noexcept { static Handler const handler; }

unsigned report_signals() noexcept { return signals.load(std::memory_order_relaxed); }

}  // namespace hiway
