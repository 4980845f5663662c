// Slices: a yielding kernel is started again and again. A launch leaves between tasks when its slice is over, or when
// it finds nothing to do and is sent away, so that the device is free for others. The next one goes on where it was
// (docs/adr/0053, 0054).
//
//   word         at           written by                          read by
//   next         the host's   a launch that has found work, or    the watcher, which starts that launch
//                             the monitor (monitors/recall.hpp)
//   gone         the host's   the block that leaves last          the watcher
//   launched     the host's   the watcher                         the monitor, when it begins
//   over         the host's   the block that returns last         the watcher, which starts no more
//   launch       the stage's  the block that leaves last          the next launch; the monitor
//   left         the stage's  each block as it leaves             the block that leaves last
//   found        the stage's  a launch that has found work        the same launch; the monitor
//   sent_away    the stage's  the monitor                         warps that find nothing, or no room, or have rested
//   held_count   the stage's  threads that hold a result          the monitor
//   returned[]   the stage's  thread 0 of each block              thread 0 of the block, in later launches
//   held[]       the stage's  each thread, before it leaves       the same thread, in the next launch
//
//   L1  A warp leaves only between tasks; all its lanes at the same place, since a slice is over for the warp.
//   L2  A task whose result finds no room ends its slice: the result is held, and the task has not ended. The thread's
//       first act in the next launch is to put it. So what is held is counted by the end check as any task that goes
//       on.
//   L3  A block returns once, when its stage has ended. Nothing is held then: the tasks of what is held have not ended.
//   L4  Launch n + 1 starts once `next` is n + 1. Launch n says so if it has found work; else the monitor does, after
//       all of n has left, if there is work. So a kernel that has left before it saw an item comes back for it. While
//       the monitor is away, the host may start n + 1 unasked; it says so in `launched` before it starts the monitor.
//   L5  A warp that gets an item after a rest leaves after that task if its launch has been sent away meanwhile: others
//       have left. Else it would work alone until its slice is over, while launch n + 1 waits.
#pragma once
#include <cstddef>
#include <cstdint>

#include "hiway/machine/machine.hpp"

namespace hiway {

/// When the kernel of a stage may leave. between_tasks: not while a put waits for room. any_time: as soon as the task
/// that a lane is at has been worked on.
enum class Leaves : std::uint8_t { never, between_tasks, any_time };

/// At the host. Launches are numbered from 1.
struct alignas(64) SliceNews {
  Word<std::uint32_t> next{0};      ///< the last launch that may start; the first one may, whatever it says
  Word<std::uint32_t> gone{0};      ///< the last launch of which nothing is on the device any more
  Word<std::uint32_t> over{0};      ///< 1: the stage has returned
  Word<std::uint32_t> launched{1};  ///< the last launch
};

/// At the device.
struct alignas(64) SliceWords {
  Word<std::uint32_t> launch{1};      ///< the launch that is on the device, or the next one
  Word<std::uint32_t> left{0};        ///< blocks that have left
  Word<std::uint32_t> found{0};       ///< the last launch that has found work
  Word<std::uint32_t> sent_away{0};   ///< the last launch that is to leave when it finds nothing
  Word<std::uint32_t> held_count{0};  ///< results that are held
};

/// What a yielding kernel knows; an argument of it.
struct Slice {
  std::uint64_t ns = 0;  ///< how long it stays; 0: the kernel is resident, and the rest is not used
  SliceNews* news = nullptr;
  SliceWords* words = nullptr;
  Word<std::uint32_t>* returned = nullptr;  ///< for each block
  std::byte* held = nullptr;                ///< for each thread a Held<O>
};

/// Of what is resident.
struct NoClock {
  template <class Machine>
  HIWAY_DEVICE static constexpr bool is_over(Machine, std::uint32_t) {
    return false;
  }
  template <class Machine>
  HIWAY_DEVICE static constexpr bool is_over_idle(Machine, std::uint32_t, unsigned) {
    return false;
  }
  template <class Machine>
  HIWAY_DEVICE static constexpr void note_work(Machine, unsigned) {}
};

/// By the block, or warp, that leaves last: the launch is gone (L4).
template <class Machine>
HIWAY_DEVICE inline void leave_last(Machine m, Word<std::uint32_t>& launch, Word<std::uint32_t>& left,
                                    SliceNews& news) {
  std::uint32_t const gone = m.load(launch, MemoryOrder::relaxed);
  m.store(left, 0u, MemoryOrder::relaxed);
  m.store(launch, gone + 1, MemoryOrder::release);  // the monitor acquires what the launch has said
  m.store_across(news.gone, gone, MemoryOrder::release);
}

/// A thread's result that found no room.
template <class O>
struct alignas(16) Held {
  Word<std::uint32_t> is_there{0};
  alignas(alignof(O) < 16 ? 16 : alignof(O)) std::byte item[sizeof(O)];
};

/// One lane tells that `launch`, which is on the device, has found work (L4).
template <class Machine>
HIWAY_DEVICE inline void tell_of_work(Machine m, Slice const& slice, std::uint32_t launch) {
  if (m.load(slice.words->found, MemoryOrder::relaxed) == launch) return;
  m.store(slice.words->found, launch, MemoryOrder::relaxed);
  m.store_across(slice.news->next, launch + 1, MemoryOrder::relaxed);
}

/// When the warp's slice ends: when it does by any lane's clock, so that all agree. All lanes of `group` call its
/// functions together.
template <class Machine>
class SliceClock {
 public:
  HIWAY_DEVICE SliceClock(Machine m, Slice const& slice)
      : slice_(slice),
        begin_(slice.ns == 0 ? 0 : m.now_ns()),
        launch_(slice.words == nullptr ? 0 : m.load(slice.words->launch, MemoryOrder::relaxed)) {}
  HIWAY_DEVICE bool is_over(Machine m, std::uint32_t group) { return leaves(m, group, has_rested_); }
  /// After this many misses: also if the launch has been sent away.
  HIWAY_DEVICE bool is_over_idle(Machine m, std::uint32_t group, unsigned misses) {
    constexpr unsigned between_looks = 16;
    return leaves(m, group, has_rested_ || misses % between_looks == between_looks - 1);
  }
  /// The warp has found work, after this many misses: the next launch may wait for the end of this one. L4, L5.
  HIWAY_DEVICE void note_work(Machine m, unsigned misses) {
    if (slice_.ns == 0) return;
    has_rested_ = misses != 0;
    if (noted_) return;
    noted_ = true;
    by_one_lane(m, [&] { tell_of_work(m, slice_, launch_); });
  }

 private:
  HIWAY_DEVICE bool leaves(Machine m, std::uint32_t group, bool looks) {
    if (slice_.ns == 0) return false;
    has_rested_ = false;
    bool const away = looks && m.load(slice_.words->sent_away, MemoryOrder::relaxed) >= launch_;
    return m.ballot(group, away || m.now_ns() - begin_ >= slice_.ns) != 0;
  }

  Slice const& slice_;
  std::uint64_t begin_;
  std::uint32_t launch_;
  bool noted_ = false;
  bool has_rested_ = false;  ///< before the task that it is at
};

}  // namespace hiway
