// Dispatcher: decides which block starts when, on which emulated processor, and on which worker (OS thread).
//
//   a block:   waiting --placed--> on a processor, in a worker's inbox --taken--> its lanes run --ended--> gone
//
//   D1  all words are under mutex_, except a worker's `news`: a hint that its inbox is not empty
//   D2  the sum over the blocks on a processor never exceeds the limits
//   D3  blocks of one launch are placed in order. Launches are visited in order; one whose next block does not fit is
//       passed over, so a launch can start beside older ones that run forever
//   Starvation   a launch of large blocks may wait as long as smaller ones keep coming; on a GPU, too
//   Mutex        never taken on a lane (sanitizers.hpp says why)
//   Memory       a launch brings the nodes that queue it and its blocks (LaunchRecord), so nothing here allocates once
//                the device is made. A launch is queued whole or not at all, and a worker cannot run out of memory
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "hiway/launch/simt.hpp"
#include "launch_record.hpp"

namespace hiway::simt {

inline constexpr unsigned warp_lanes = 32;

/// What is in use on one emulated processor.
struct Occupancy {
  std::size_t warps = 0;
  std::size_t blocks = 0;
  std::size_t shared_bytes = 0;
};

/// What one block of `grid` takes.
[[nodiscard]] Occupancy block_occupancy(Grid const& grid) noexcept;
/// How many more blocks of `grid` fit on a processor with `taken` in use. 0 for a block without threads.
[[nodiscard]] std::size_t blocks_that_fit(DeviceLimits const& limits, Occupancy const& taken,
                                          Grid const& grid) noexcept;

/// *Threads*: every member may be called from any thread at any time, unless it says otherwise.
class Dispatcher {
 public:
  Dispatcher(DeviceLimits const& limits, std::size_t workers);

  /// Queues the blocks of a launch, which lives until the last of them has ended.
  void submit(LaunchRecord& launch) noexcept;
  /// The next block for this worker, or nothing. Costs one load while there is none.
  [[nodiscard]] std::optional<PlacedBlock> try_take(std::size_t worker);
  /// *Waits* for the next block for this worker; nothing once stopped.
  [[nodiscard]] std::optional<PlacedBlock> take(std::size_t worker);
  /// Gives the block's place back.
  void ended(PlacedBlock const& block);
  void stop();
  /// True when no block is placed and none waits.
  [[nodiscard]] bool idle();

 private:
  struct Worker {
    BlockQueue inbox;
    std::atomic<bool> news{false};
    std::condition_variable wake;
    std::size_t warps = 0;  // placed here
  };
  void place_all();
  bool place_one(LaunchRecord& launch);
  std::optional<PlacedBlock> take_from(Worker& worker);

  DeviceLimits const limits_;
  std::mutex mutex_;
  std::vector<Occupancy> processors_;
  std::deque<Worker> workers_;       // never resized
  LaunchRecord* waiting_ = nullptr;  // launches with blocks that have no place, in the order of submission
  std::size_t placed_blocks_ = 0;
  bool stopped_ = false;
};

}  // namespace hiway::simt
