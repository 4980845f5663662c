// A CPU thread as a machine: a block of one lane, words by std::atomic_ref.
#pragma once
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hiway/machine/machine.hpp"
#include "hiway/machine/tuning.hpp"

namespace hiway {

class Bell;

/// What the current CPU thread runs. The pipeline sets it around a stage's body; the defaults are for a thread of the
/// user's own.
struct ThreadContext {
  unsigned thread = 0;
  unsigned threads = 1;
  unsigned misses = 0;  ///< gets in a row, of any outlets, that brought nothing
  Wait wait = Wait::automatic;
  std::uint64_t naps = 0;        ///< naps so far
  Control const* run = nullptr;  ///< its stage's run
  std::uint32_t stage = 0;       ///< its stage's number
  Bell* bell = nullptr;          ///< ends a nap
  LaneScope scope{};             ///< of the task that it works on
  unsigned unwinds = 0;          ///< Unwinds thrown out of calls of its run
};
namespace detail {
extern constinit thread_local ThreadContext thread_context;
}
/// The current thread's context.
inline ThreadContext& this_thread_context() noexcept { return detail::thread_context; }

/// Waits a little, in the way that the thread's context says.
void relax_thread(unsigned misses) noexcept;
/// The same; it sleeps for `at_most` at most.
void relax_thread(unsigned misses, std::chrono::microseconds at_most) noexcept;
/// Lets the core rest `times` times, each for as long as a few accesses to other cores' cache lines take.
void pause_thread(unsigned times) noexcept;
/// Lets some microseconds pass before the next look at what busy threads write: looks without a rest would take their
/// cache lines from them. It sleeps where others compete for the CPU, which a thread that is awake would lose for long.
void rest_between_looks() noexcept;
/// From here on the calling thread's naps end when they should; Linux makes them up to 50 us longer otherwise.
void end_naps_on_time() noexcept;
/// The number of misses after which a thread that waits in this way naps.
[[nodiscard]] unsigned misses_awake(Wait wait) noexcept;
/// The length of the next nap after `naps` naps: about a fiftieth of the time waited so far, and 10 ms at most, which
/// it reaches after 500 ms.
[[nodiscard]] std::chrono::microseconds nap_length(unsigned naps) noexcept;
/// Sleeps for nap_length(naps), or until its context's bell rings, and counts the nap.
void nap(unsigned naps) noexcept;

/// Whether the system has fences of all threads; asks it once.
[[nodiscard]] bool has_asymmetric_fences() noexcept;
/// Each thread of the process passes a full fence (membarrier). Only where the system has that. It takes microseconds.
void fence_all_threads() noexcept;

/// Copies past the caches if the machine can; later stores are ordered after it. It is for large data that this side
/// does not read again, such as the source of a copy engine. Writing such data through caches that do not hold it would
/// move it three times.
void copy_past_caches(void* to, void const* from, std::size_t bytes) noexcept;
/// Memory of this size or more does not stay in the caches of the threads that write it.
inline constexpr std::size_t beyond_caches = std::size_t{8} << 20;

/// Throws Unwind.
[[noreturn]] void throw_unwind();
/// Throws Unwind out of a CPU thread's or an emulated lane's call, because its run has ended or aborts. On a thread
/// that runs no stage the text gives the reason and names the tunnel.
[[noreturn]] void leave_thread(Control& control, std::uint32_t tunnel);
[[noreturn]] void leave_lane(Control& control);
/// Whether a call returns instead of throwing its Unwind, which is the stage's `times`-th. It returns when an exception
/// is already in flight, because a second one would end the program. It also returns when the body has caught an Unwind
/// before and the call `has_result`: the result then says that no more comes.
[[nodiscard]] bool returns_when_left(unsigned times, bool has_result) noexcept;

/// hiway's orders as std::atomic_ref takes them.
struct HostWords {
  static constexpr std::memory_order std_order(MemoryOrder order) {
    switch (order) {
      case MemoryOrder::relaxed: return std::memory_order_relaxed;
      case MemoryOrder::acquire: return std::memory_order_acquire;
      case MemoryOrder::release: return std::memory_order_release;
      case MemoryOrder::acq_rel: return std::memory_order_acq_rel;
    }
    return std::memory_order_seq_cst;
  }
};

/// What the host's machines share. Words across are at home for them, too; and the accesses of which a GPU lane has
/// several under way are done one after another, each with its own order.
template <class Machine>
struct AllAtHome {
  template <class T>
  HIWAY_DEVICE T load_across(Word<T>& word, MemoryOrder order) const {
    return self().load(word, order);
  }
  template <class T>
  HIWAY_DEVICE void store_across(Word<T>& word, T value, MemoryOrder order) const {
    self().store(word, value, order);
  }
  template <class T>
  HIWAY_DEVICE T load_ahead(Word<T>& word) const {
    return self().load(word, MemoryOrder::acquire);
  }
  HIWAY_DEVICE void acquire_ahead() const {}
  HIWAY_DEVICE std::uint32_t zero_of_lane() const { return 0; }
  static constexpr bool tags_bring_items = false;
  template <class Slot>
  HIWAY_DEVICE Slot look_tagged(Slot& slot) const {
    Slot seen{};
    seen.tag.bits = self().load(slot.tag, MemoryOrder::acquire);
    return seen;
  }
  template <class Slot>
  HIWAY_DEVICE void put_tagged(Slot& slot, Slot const& value) const {
    memcpy(slot.item, value.item, sizeof slot.item);
    self().store(slot.tag, value.tag.bits, MemoryOrder::release);
  }
  HIWAY_DEVICE void release_ahead() const {}
  template <class T>
  HIWAY_DEVICE void store_ahead(Word<T>& word, T value) const {
    self().store(word, value, MemoryOrder::release);
  }
  template <class T>
  HIWAY_DEVICE void store_fenced_across(Word<T>& word, T value) const {
    self().store(word, value, MemoryOrder::release);
  }

 private:
  HIWAY_DEVICE Machine const& self() const { return static_cast<Machine const&>(*this); }
};

struct ThreadMachine : AllAtHome<ThreadMachine> {
  using Tuning = ThreadTuning;

  HIWAY_NO_SPACE_CHECK template <class T>
  HIWAY_DEVICE T load(Word<T>& word, MemoryOrder order) const {
    return std::atomic_ref<T>(word.bits).load(HostWords::std_order(order));
  }
  HIWAY_NO_SPACE_CHECK template <class T>
  HIWAY_DEVICE void store(Word<T>& word, T value, MemoryOrder order) const {
    std::atomic_ref<T>(word.bits).store(value, HostWords::std_order(order));
  }
  HIWAY_NO_SPACE_CHECK template <class T>
  HIWAY_DEVICE T fetch_add(Word<T>& word, T value, MemoryOrder order) const {
    return std::atomic_ref<T>(word.bits).fetch_add(value, HostWords::std_order(order));
  }
  HIWAY_NO_SPACE_CHECK template <class T>
  HIWAY_DEVICE T fetch_or(Word<T>& word, T value, MemoryOrder order) const {
    return std::atomic_ref<T>(word.bits).fetch_or(value, HostWords::std_order(order));
  }
  HIWAY_NO_SPACE_CHECK template <class T>
  HIWAY_DEVICE T fetch_xor(Word<T>& word, T value, MemoryOrder order) const {
    return std::atomic_ref<T>(word.bits).fetch_xor(value, HostWords::std_order(order));
  }
  HIWAY_NO_SPACE_CHECK template <class T>
  HIWAY_DEVICE T fetch_min(Word<T>& word, T value, MemoryOrder order) const {
    std::atomic_ref<T> const at(word.bits);
    T before = at.load(std::memory_order_relaxed);
    while (!at.compare_exchange_weak(before, value < before ? value : before, HostWords::std_order(order),
                                     std::memory_order_relaxed)) {
    }
    return before;
  }
  HIWAY_NO_SPACE_CHECK template <class T>
  HIWAY_DEVICE bool compare_exchange(Word<T>& word, T& expected, T desired, MemoryOrder order) const {
    return std::atomic_ref<T>(word.bits).compare_exchange_strong(expected, desired, HostWords::std_order(order),
                                                                 std::memory_order_relaxed);
  }
  HIWAY_NO_SPACE_CHECK HIWAY_DEVICE void fence_across() const { std::atomic_thread_fence(std::memory_order_seq_cst); }
  HIWAY_NO_SPACE_CHECK HIWAY_DEVICE void fence_behind_ticket() const {
#if defined(__x86_64__)  // a locked addition is a full fence already
    std::atomic_signal_fence(std::memory_order_seq_cst);
#else
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
  }

  /// One thread stores, passes a light fence, and loads; another stores, passes a heavy one, and loads. At least one of
  /// the loads brings what the other thread has stored. The light fence costs nothing.
  void asymmetric_fence_light() const { std::atomic_signal_fence(std::memory_order_seq_cst); }
  void asymmetric_fence_heavy() const { fence_all_threads(); }

  static constexpr unsigned warp_lanes = 1;
  HIWAY_DEVICE unsigned lane() const { return 0; }
  HIWAY_DEVICE std::uint32_t lanes() const { return 1; }
  HIWAY_DEVICE std::uint32_t converged() const { return 1; }
  HIWAY_DEVICE std::uint32_t ballot(std::uint32_t, bool predicate) const { return predicate ? 1u : 0u; }
  template <class T>
  HIWAY_DEVICE T shuffle(std::uint32_t, T value, unsigned) const {
    return value;
  }
  HIWAY_DEVICE void sync_warp(std::uint32_t) const {}
  HIWAY_DEVICE unsigned count(std::uint32_t mask) const { return mask; }
  HIWAY_NO_SPACE_CHECK HIWAY_DEVICE unsigned lowest(std::uint32_t mask) const {
    return static_cast<unsigned>(std::countr_zero(mask));
  }

  static constexpr bool shares_blocks = false;
  HIWAY_DEVICE unsigned thread_in_block() const { return 0; }
  HIWAY_DEVICE unsigned block_threads() const { return 1; }
  /// Always 0: each thread is given ends of its own.
  HIWAY_DEVICE unsigned block_index() const { return 0; }
  HIWAY_DEVICE void sync_block() const {}
  HIWAY_DEVICE std::byte* shared_memory() const { return nullptr; }
  HIWAY_DEVICE std::uint64_t share_in_block(std::uint64_t value) const { return value; }
  HIWAY_DEVICE bool is_own(void const*) const { return true; }

  HIWAY_NO_SPACE_CHECK HIWAY_DEVICE unsigned thread_index() const { return this_thread_context().thread; }
  HIWAY_NO_SPACE_CHECK HIWAY_DEVICE unsigned thread_count() const { return this_thread_context().threads; }
  HIWAY_NO_SPACE_CHECK HIWAY_DEVICE unsigned block_count() const { return this_thread_context().threads; }

  HIWAY_NO_SPACE_CHECK HIWAY_DEVICE LaneScope scope() const { return this_thread_context().scope; }
  HIWAY_NO_SPACE_CHECK HIWAY_DEVICE void set_scope(LaneScope scope) const { this_thread_context().scope = scope; }
  HIWAY_NO_SPACE_CHECK HIWAY_DEVICE unsigned& misses(unsigned&) const { return this_thread_context().misses; }
  HIWAY_NO_SPACE_CHECK HIWAY_DEVICE void relax(unsigned misses) const { relax_thread(misses); }
  HIWAY_NO_SPACE_CHECK HIWAY_DEVICE std::uint64_t now_ns() const {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                      std::chrono::nanoseconds(1));
  }
  HIWAY_NO_SPACE_CHECK [[noreturn]] HIWAY_DEVICE void leave() const { throw_unwind(); }
  HIWAY_NO_SPACE_CHECK [[noreturn]] HIWAY_DEVICE void leave_run(Control& control, std::uint32_t tunnel) const {
    leave_thread(control, tunnel);
  }
};
static_assert(Machine<ThreadMachine>);

}  // namespace hiway
