// Dispatcher: decides which block starts when, on which emulated processor, and on which worker (OS thread).
//
//   a block:   waiting --placed--> on a processor, in a worker's inbox --taken--> its lanes run --ended--> gone
//
//   D1  all words are under mutex_, except a worker's `news`: a hint that its inbox is not empty
//   D2  the sum over the blocks on a processor never exceeds the limits
//   D3  blocks of one launch are placed in order. Launches are visited in order; one whose next block does not fit is
//       passed over, so a launch can start beside older ones that run forever
//   Starvation   a launch of large blocks may wait as long as smaller ones keep coming. A GPU's may, too.
//   Mutex        never taken on a lane (sanitizers.hpp says why)
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

/// What is taken of one emulated processor.
struct Occupancy {
  std::size_t warps = 0;
  std::size_t blocks = 0;
  std::size_t shared_bytes = 0;
};

/// What one block of `grid` takes.
[[nodiscard]] Occupancy block_occupancy(Grid const& grid) noexcept;
/// How many blocks of `grid` fit on a processor beside what is taken. 0 for a block without threads.
[[nodiscard]] std::size_t blocks_that_fit(DeviceLimits const& limits, Occupancy const& taken,
                                          Grid const& grid) noexcept;

/// A block that has its place.
struct PlacedBlock {
  LaunchRecord* launch = nullptr;  ///< lives until this block has ended
  unsigned index = 0;              ///< in the grid
  std::size_t processor = 0;
  std::size_t worker = 0;
};

/// *Threads*: every member may be called from any thread at any time, unless it says less.
class Dispatcher {
 public:
  Dispatcher(DeviceLimits const& limits, std::size_t workers);

  /// Queues the blocks of a launch, which lives until the last of them has ended.
  void submit(LaunchRecord& launch);
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
    std::deque<PlacedBlock> inbox;
    std::atomic<bool> news{false};
    std::condition_variable wake;
    std::size_t warps = 0;  // placed here
  };
  struct Waiting {
    LaunchRecord* launch = nullptr;
    unsigned next_block = 0;
  };
  void place_all();
  bool place_one(Waiting& waiting);
  std::optional<PlacedBlock> take_from(Worker& worker);

  DeviceLimits const limits_;
  std::mutex mutex_;
  std::vector<Occupancy> processors_;
  std::deque<Worker> workers_;  // never resized
  std::deque<Waiting> waiting_;
  std::size_t placed_blocks_ = 0;
  bool stopped_ = false;
};

}  // namespace hiway::simt
