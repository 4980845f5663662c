// Lane and Block: the emulated device's state of one resident block.
//
//   a lane:  runnable (running or in ready_) <--> waiting (in a warp's group or at the barrier) --> left
//
//   B1  every word of a block is written by one OS thread only, its worker's: nothing here is atomic
//   B2  live = lanes that have not left; runnable = live - lanes that wait
//   B3  runnable is 0 only when live is 0: a wait that would break this fails every waiting lane of the block. Lanes
//       wait only for lanes of their own block, so nothing else could wake them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "dispatcher.hpp"
#include "fiber.hpp"
#include "hiway/machine/lane.hpp"
#include "warp.hpp"

namespace hiway::simt {

struct Block;

/// One lane, and the fiber it runs on. Recycled by the worker.
struct Lane final : Fiber {
  using Fiber::Fiber;

  enum class Wait : std::uint8_t { none, warp, barrier };
  /// Why a wait ended without its partners.
  enum class Failure : std::uint8_t { none, partner_left, nobody_can_run };

  Block* block = nullptr;
  unsigned thread = 0;           ///< in the block
  std::uint32_t mark = 0;        ///< lane_mark()
  Control const* run = nullptr;  ///< lane_run()
  unsigned misses = 0;           ///< lane_misses()
  LaneScope scope{};             ///< lane_scope()
  unsigned unwinds = 0;          ///< count_lane_unwind()
  unsigned accesses_left = 0;    ///< until it must yield
  std::uint32_t converged = 0;   ///< the group that it converged with; 0 while it still waits for one
  Wait wait = Wait::none;
  Failure failure = Failure::none;
  Meeting meeting;  ///< while wait is warp, and until its result is read

  [[nodiscard]] unsigned in_warp() const noexcept { return thread % warp_lanes; }
};

struct SharedMemoryDeleter {
  void operator()(std::byte* bytes) const noexcept { ::operator delete (bytes, std::align_val_t{128}); }
};

/// One resident block.
struct Block {
  PlacedBlock placed;
  unsigned live = 0;      ///< B2
  unsigned runnable = 0;  ///< B2
  FiberQueue barrier;     ///< lanes that wait in sync_block
  std::vector<Warp> warps;
  std::vector<Lane*> lanes;
  std::unique_ptr<std::byte, SharedMemoryDeleter> shared;
  std::uint64_t shared_value = 0;  ///< of share_in_block
  alignas(16) std::byte room[block_room_bytes] = {};
  Block* next_ended = nullptr;
  /// Orders stated to TSan. One for each parity of the barrier's phases, as a slow lane may still be leaving one phase
  /// while a fast one enters the next.
  char barrier_order[2] = {};
  unsigned barrier_phase = 0;
  char exit_order = 0;

  [[nodiscard]] Warp& warp_of(Lane const& lane) noexcept { return warps[lane.thread / warp_lanes]; }
};

}  // namespace hiway::simt
