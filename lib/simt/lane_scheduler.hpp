// LaneScheduler: runs the lanes of the blocks that were placed on one OS thread (a worker).
//
//   main (the OS thread's own flow) --> lane --> lane --> ... --> main --> ...       one round
//
//   S1  one OS thread owns every word here and in its blocks. So nothing is atomic, and two lanes of a block never run
//       at the same time
//   S2  while a lane runs, main is in ready_. So there is always a next fiber, and each round passes main, which takes
//       new blocks, ends old ones, and recycles lanes that have left
//   S3  every runnable lane that is not running is in ready_ or parked_, once. A waiting lane is in its block's barrier
//       queue, or, if it waits in a warp's group, in no queue
//   S4  ready_ is first in, first out; a lane yields after at most access_budget accesses; a lane is parked for at most
//       longest_parking passes of main and a nap. So every runnable lane runs again, and a spin on what another lane
//       will do always ends
//   S5  code on a lane takes no mutex and allocates nothing (but the text of an error): sanitizers.hpp, fiber.hpp
//   S6  a block without runnable lanes has no live ones (block.hpp, B3). So a worker with live lanes has ready or
//       parked ones, and main never finds both queues empty while a block is here
//   Idle       when the lanes have only waited (lane.hpp, wait) for a round, the worker gives way to other OS threads.
//              After many such rounds in a row it is drowsy: a lane that waits is then parked. When all are parked, the
//              worker naps, and each lane looks once more. (Lanes in a meeting or at the barrier do not count: they
//              wait for parked lanes of their block.) A lane that finds something is not parked, so no nap delays it;
//              its next wait(0), or a long round, wakes the worker up. Nothing ends a nap early, as words have no
//              hooks: what another OS thread does meanwhile is seen up to a nap later (machine.cpp)
//   Progress   a lane that spins without any access or yield stops its worker: stage code must not
#pragma once
#include <cstddef>
#include <cstdint>

#include "block.hpp"
#include "dispatcher.hpp"
#include "fiber.hpp"
#include "hiway/machine/lane.hpp"

namespace hiway::simt {

class LaneScheduler {
 public:
  LaneScheduler(Dispatcher& dispatcher, std::size_t worker, std::size_t stack_bytes)
      : dispatcher_(dispatcher), worker_(worker), stack_bytes_(stack_bytes) {}
  /// *Lifetime*: run has returned, or was never called.
  ~LaneScheduler();
  LaneScheduler(LaneScheduler const&) = delete;
  LaneScheduler& operator=(LaneScheduler const&) = delete;

  /// Runs blocks until the dispatcher stops. *Threads*: one, once; it becomes the worker.
  void run();

  /// The calling thread's scheduler; null on a thread that is no worker.
  [[nodiscard]] static LaneScheduler* of_this_thread() noexcept;
  /// The lane that runs; null while main does.
  [[nodiscard]] Lane* lane() const noexcept;

  // *Threads*: on a lane only.
  void wait(unsigned misses);
  void schedule_point();
  std::uint64_t meet(WarpOperation operation, std::uint32_t mask, std::uint64_t value, unsigned source_lane);
  void sync_block();
  std::uint32_t converge(void const* place);

 private:
  static void lane_entry(Fiber& fiber);

  void start(PlacedBlock const& placed);
  void end(PlacedBlock const& placed);
  void tidy();
  void idle();
  [[nodiscard]] bool drowsy() const noexcept;

  void give_way(Lane& lane);
  void run_next();
  void wait_in(Lane& lane, Lane::Wait wait);
  void wake(Lane& lane, Lane::Failure failure);
  void wake_barrier(Block& block);
  void fail_waiters(Block& block);
  [[noreturn]] void leave(Lane& lane);

  Dispatcher& dispatcher_;
  std::size_t const worker_;
  std::size_t const stack_bytes_;
  std::uint32_t alone_ = 1;  ///< pseudo-random: whether a lane converges alone
  Fiber* main_ = nullptr;
  Fiber* running_ = nullptr;
  FiberQueue ready_;          // S3
  FiberQueue parked_;         // S3; in use while drowsy, and until main sees that it no longer is
  FiberQueue left_;           // lanes whose stacks main recycles
  FiberQueue unused_;         // lanes for reuse
  Block* ended_ = nullptr;    // blocks whose last lane has left
  std::size_t waits_ = 0;     // in this idle round
  unsigned idle_rounds_ = 0;  // in a row
  unsigned passes_ = 0;       // passes of main since the last idle round
};

}  // namespace hiway::simt
