// Slices: a yielding kernel is started again and again. A launch leaves between tasks when its slice is over, so that
// the device is free for others, and the next one goes on where it was (docs/adr/0053).
//
//   word        at           written by                      read by
//   begun       the host's   a launch's first thread         the watcher, which queues the next one
//   over        the host's   the block that returns last     the watcher, which queues no more
//   returned[]  the stage's  thread 0 of each block          thread 0 of the block, in later launches
//   held[]      the stage's  each thread, before it leaves   the same thread, in the next launch
//
//   L1  A warp leaves only between tasks; all its lanes at the same place, since a slice is over for the warp.
//   L2  A task whose result finds no room ends its slice: the result is held, and the task has not ended. The thread's
//       first act in the next launch is to put it. So what is held is counted by the end check as any task that goes
//       on.
//   L3  A block returns once, when its stage has ended. Nothing is held then: the tasks of what is held have not ended.
#pragma once
#include <cstddef>
#include <cstdint>

#include "hiway/machine/machine.hpp"

namespace hiway {

/// At the host.
struct alignas(64) SliceNews {
  Word<std::uint32_t> begun{0};  ///< the number of the launch that has begun last
  Word<std::uint32_t> over{0};   ///< 1: the stage has returned
};

/// What one launch of a yielding kernel knows; an argument of the kernel.
struct Slice {
  std::uint64_t ns = 0;      ///< how long it stays; 0: the kernel is resident, and the rest is not used
  std::uint32_t number = 1;  ///< of the launch, from 1
  SliceNews* news = nullptr;
  Word<std::uint32_t>* returned = nullptr;  ///< for each block
  std::byte* held = nullptr;                ///< for each thread a Held<O>
};

/// A thread's result that found no room.
template <class O>
struct alignas(16) Held {
  Word<std::uint32_t> is_there{0};
  alignas(alignof(O) < 16 ? 16 : alignof(O)) std::byte item[sizeof(O)];
};

/// When the warp's slice ends: when it does by any lane's clock, so that all agree.
template <class Machine>
class SliceClock {
 public:
  HIWAY_DEVICE SliceClock(Machine m, Slice const& slice) : ns_(slice.ns), begin_(slice.ns == 0 ? 0 : m.now_ns()) {}
  /// All lanes of `group` call it together.
  HIWAY_DEVICE bool is_over(Machine m, std::uint32_t group) const {
    if (ns_ == 0) return false;
    return m.ballot(group, m.now_ns() - begin_ >= ns_) != 0;
  }

 private:
  std::uint64_t ns_;
  std::uint64_t begin_;
};

}  // namespace hiway
