#include "lib/futex.hpp"

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#endif

namespace hiway {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

void sleep_while(std::atomic<std::uint32_t> const& word, std::uint32_t value) noexcept {
#if defined(__linux__)
  while (word.load(std::memory_order_acquire) == value)
    (void)syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
#else
  word.wait(value, std::memory_order_acquire);
#endif
}

#if defined(__linux__)
namespace {

void wake(std::atomic<std::uint32_t>& word, int threads) noexcept {
  (void)syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, threads, nullptr, nullptr, 0);
}

}  // namespace

void wake_one(std::atomic<std::uint32_t>& word) noexcept { wake(word, 1); }
void wake_all(std::atomic<std::uint32_t>& word) noexcept { wake(word, INT_MAX); }
#else
void wake_one(std::atomic<std::uint32_t>& word) noexcept { word.notify_one(); }
void wake_all(std::atomic<std::uint32_t>& word) noexcept { word.notify_all(); }
#endif

}  // namespace hiway
