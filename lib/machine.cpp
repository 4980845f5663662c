// The parts of the host machines that are not templates.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <limits>
#include <string>
#include <thread>

#include "hiway/cpus.hpp"
#include "hiway/launch/stage_words.hpp"
#include "hiway/log.hpp"
#include "hiway/machine/bell.hpp"
#include "hiway/machine/on_this_device.hpp"
#include "hiway/machine/stage_thread.hpp"
#include "hiway/memory.hpp"
#include "lib/cpu_contention.hpp"

#if defined(__linux__)
#include <sys/prctl.h>
#endif

#if defined(__SSE2__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#if defined(__has_feature)
#if !__has_feature(thread_sanitizer) && !__has_feature(address_sanitizer)
#define HIWAY_STREAMING_STORES  // a sanitizer does not see them
#endif
#else
#define HIWAY_STREAMING_STORES
#endif
#endif
#if defined(HIWAY_STREAMING_STORES)
#include <emmintrin.h>
#endif

namespace hiway {

constinit thread_local ThreadContext detail::thread_context;

std::uint32_t detail::number_of_this_thread() noexcept {
  static std::atomic<std::uint32_t> threads{0};
  constexpr std::uint32_t far_apart = 0x9E3779B1;  // odd: the last bits of consecutive numbers differ, too
  thread_local std::uint32_t const number = threads.fetch_add(1, std::memory_order_relaxed) * far_apart;
  return number;
}

void pause_thread(unsigned times) noexcept {
  for (unsigned i = 0; i < times; ++i) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }
}

void copy_past_caches(void* to, void const* from, std::size_t bytes) noexcept {
  auto* t = static_cast<std::byte*>(to);
  auto const* f = static_cast<std::byte const*>(from);
#if defined(HIWAY_STREAMING_STORES)
  constexpr std::size_t line = 64;
  std::size_t const head = std::min(bytes, (line - reinterpret_cast<std::uintptr_t>(t) % line) % line);
  std::memcpy(t, f, head);
  for (t += head, f += head, bytes -= head; bytes >= line; t += line, f += line, bytes -= line) {
    for (std::size_t at = 0; at < line; at += 16)
      _mm_stream_si128(reinterpret_cast<__m128i*>(t + at), _mm_loadu_si128(reinterpret_cast<__m128i const*>(f + at)));
  }
  std::memcpy(t, f, bytes);
  _mm_sfence();  // these stores keep no order with later ones
#else
  std::memcpy(t, f, bytes);
#endif
}

namespace {

constexpr std::chrono::microseconds longest_nap(10'000);

constinit CpuContention contention;
constinit thread_local CpuContention::Thread this_threads_cpu;

// Of the process, which the library is loaded into before a thread of it is pinned.
unsigned const cpus_of_process = available_cpus();

bool has_few_cores() noexcept { return cpus_of_process <= 4; }

void yield() noexcept { std::this_thread::yield(); }

/// Rests by `rest` where that is short; false: it is not, where the thread is now.
template <class Rest>
bool rest_if_short(Rest const& rest) noexcept {
  auto const began = std::chrono::steady_clock::now();
  CpuContention::Turn const turn = CpuContention::turn(this_threads_cpu, began);
  if (turn == CpuContention::Turn::avoid) return false;
  turn == CpuContention::Turn::try_again ? yield() : rest();
  contention.rested(this_threads_cpu, turn, began, std::chrono::steady_clock::now());
  return true;
}

/// Until the thread's bell rings, at most for `time`.
void sleep_by_bell(std::chrono::microseconds time) noexcept {
  if (Bell* const bell = this_thread_context().bell; bell != nullptr) {
    (void)bell->nap(time);
  } else {
    std::this_thread::sleep_for(time);
  }
}

/// Waits a little: some 50 us in all without giving the CPU away where yields take long, then asleep. With few cores a
/// pipeline's own threads compute on all of them, and are to have them.
void relax_by_yield(unsigned misses, std::chrono::microseconds at_most) noexcept {
  constexpr unsigned awake = 256;
  constexpr unsigned pauses = 8;
  if (has_few_cores()) return yield();
  if (rest_if_short(yield)) return;
  misses < awake ? pause_thread(pauses) : sleep_by_bell(std::min(nap_length(misses - awake), at_most));
}

void nap_at_most(unsigned naps, std::chrono::microseconds at_most) noexcept {
  ++this_thread_context().naps;
  sleep_by_bell(std::min(nap_length(naps), at_most));
}

}  // namespace

void relax_thread(unsigned misses) noexcept { relax_thread(misses, longest_nap); }

// A waiting thread yields soon if there are few cores: others need them more.
void relax_thread(unsigned misses, std::chrono::microseconds at_most) noexcept {
  constexpr unsigned misses_spinning = 16;
  Wait const wait = this_thread_context().wait;
  unsigned const awake = misses_awake(wait);
  if (misses >= awake) {
    nap_at_most(misses - awake, at_most);
  } else if (wait == Wait::spin || (wait == Wait::automatic && misses < misses_spinning)) {
    pause_thread(1);
  } else if (wait == Wait::yield) {
    yield();
  } else {
    relax_by_yield(misses, at_most);
  }
}

void rest_between_looks() noexcept {
  auto const pause = [] { pause_thread(128); };
  if (has_few_cores()) return pause();
  if (!rest_if_short(pause)) std::this_thread::sleep_for(nap_length(0));
}

void end_naps_on_time() noexcept {
#if defined(__linux__)
  if (has_few_cores()) return;  // naps that are three times as short take that from others
  constexpr unsigned long slack_ns = 1000;
  (void)prctl(PR_SET_TIMERSLACK, slack_ns, 0, 0, 0);
#endif
}

unsigned misses_awake(Wait wait) noexcept {
  static unsigned const yields = has_few_cores() ? 64 : 2048;
  switch (wait) {
    case Wait::automatic: return yields;
    case Wait::sleep: return 0;
    case Wait::spin:
    case Wait::yield: break;
  }
  return std::numeric_limits<unsigned>::max();
}

// A nap takes 20 microseconds in the first millisecond, then 2 % more each time, which doubles it every 35 naps. So a
// napping thread is late by at most a fiftieth of the time it has waited. A nap reaches 1 ms after 50 ms of naps, and
// its maximum of 10 ms after 500 ms. A wake-up costs 6 to 20 microseconds of a virtual machine's core.
std::chrono::microseconds nap_length(unsigned naps) noexcept {
  constexpr unsigned first_us = 20;
  constexpr unsigned short_naps = 50;
  constexpr unsigned doubling = 35;
  constexpr unsigned growing = 9 * doubling;  // then it is longer than the longest
  unsigned const n = std::clamp(naps, short_naps, short_naps + growing) - short_naps;
  unsigned const us = (first_us + first_us * (n % doubling) / doubling) << n / doubling;
  return std::min(std::chrono::microseconds(us), longest_nap);
}

void nap(unsigned naps) noexcept { nap_at_most(naps, longest_nap); }

namespace {

constexpr char const* leaving =
    "the pipeline is aborting, and this exception leaves the stage; if it ended the program, it came out of a "
    "destructor or another noexcept function that puts or gets: declare that noexcept(false)";
constexpr unsigned told_after = 1000;

/// Warns of a stage whose thread or lane has caught Unwind `times` before and goes on.
void note_catcher(Control& control, std::uint32_t stage, unsigned times) {
  if (times != told_after || ThreadMachine{}.fetch_or(control.told_of_catcher, 1u, MemoryOrder::relaxed) != 0) return;
  std::string const name = control.run != nullptr ? control.run->stage_name(stage) : std::string();
  log(LogLevel::warning,
      "stage '" + name + "' has caught hiway::Unwind " + std::to_string(times) +
          " times and goes on, so the run cannot end: let it pass, and catch your own exceptions by their type");
}

}  // namespace

void throw_unwind() { throw Unwind(leaving); }

void leave_thread(Control& control, std::uint32_t tunnel) {
  ThreadContext& context = this_thread_context();
  if (context.run != &control) {
    if (control.run != nullptr) control.run->refuse(tunnel);
    throw_unwind();
  }
  note_catcher(control, context.stage, ++context.unwinds);
  if (context.unwinds > told_after) nap(0);  // give the core to others
  throw Unwind(leaving, context.unwinds);
}

void leave_lane(Control& control) {
  unsigned const times = simt::count_lane_unwind();
  note_catcher(control, simt::lane_mark(), times);
  if (times > told_after) simt::wait(times);
  throw Unwind(leaving, times);
}

bool returns_when_left(unsigned times, bool has_result) noexcept {
  return std::uncaught_exceptions() > 0 || (has_result && times > 1);
}

void require_lane() {
  if (!simt::on_lane())
    throw WrongDevice("wrong device: a _d function was called on a CPU thread; use the _h function there");
}
void detail::throw_on_lane() {
  throw WrongDevice("wrong device: an _h function was called in a GPU stage; use the _d function there");
}

void detail::throw_drained() {
  throw Drained("put from outside after drain(): the pipeline finishes what it has, and takes nothing more");
}

void throw_stage_failure(char const* message) { throw StageFailure(message); }

char const* fault_text(FaultKind kind) {
  switch (kind) {
    case FaultKind::none: return "no fault";
    case FaultKind::failed: return "failed";
    case FaultKind::put_after_close: return "put after close";
    case FaultKind::put_after_end: return "put into a tunnel that has ended";
    case FaultKind::put_without_task: return "put inside a cycle without a task that was got and not yet ended";
    case FaultKind::end_task_too_many: return "one end_task too many";
    case FaultKind::items_left: return "returned with items left, got without end_task or not got at all";
    case FaultKind::time_out_too_short: return "the time-out was too short for a task";
    case FaultKind::put_without_scope:
      return "put into a tunnel with scopes, but neither a scope was named nor does the task belong to one";
    case FaultKind::scope_task_open:
      return "get from a tunnel with scopes before the last task's end_task: such a stage works on one item at a time";
    case FaultKind::scope_exhausted:
      return "a task has put more items than its scope can count; let the host put more items for it";
    case FaultKind::spill_exhausted: return "the spill pool is full";
    case FaultKind::tunnel_full: return "the tunnel is full";
    case FaultKind::put_with_key: return "a put with a key into a tunnel without TunnelConfig::keyed";
    case FaultKind::unknown_tunnel: return "there is no tunnel of that number";
    case FaultKind::wrong_type: return "the item is not of the tunnel's type";
    case FaultKind::set_twice: return "a value was set twice in one frame";
    case FaultKind::outside_matrix: return "outside the matrix, or behind the last frame";
    case FaultKind::wrong_end: return "the tunnel's end is on the other device, or belongs to a stage";
  }
  return "unknown fault";
}

void check_buffer_range(std::size_t offset, std::size_t count, std::size_t size) {
  if (offset > size || count > size - offset) {
    throw ConfigError("buffer: elements " + std::to_string(offset) + " to " + std::to_string(offset + count) +
                      " do not lie in a buffer of " + std::to_string(size));
  }
}

}  // namespace hiway
