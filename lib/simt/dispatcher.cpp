#include "dispatcher.hpp"

#include <algorithm>
#include <utility>

namespace hiway::simt {

Occupancy block_occupancy(Grid const& grid) noexcept {
  std::size_t const warps = (std::size_t{grid.threads_per_block} + warp_lanes - 1) / warp_lanes;
  return {.warps = warps, .blocks = 1, .shared_bytes = grid.shared_bytes};
}

std::size_t blocks_that_fit(DeviceLimits const& limits, Occupancy const& taken, Grid const& grid) noexcept {
  Occupancy const block = block_occupancy(grid);
  if (block.warps == 0) return 0;
  std::size_t const by_blocks = limits.blocks_per_processor - taken.blocks;
  std::size_t const by_warps = (limits.lanes_per_processor / warp_lanes - taken.warps) / block.warps;
  if (block.shared_bytes == 0) return std::min(by_blocks, by_warps);
  std::size_t const by_shared = (limits.shared_bytes_per_processor - taken.shared_bytes) / block.shared_bytes;
  return std::min({by_blocks, by_warps, by_shared});
}

Dispatcher::Dispatcher(DeviceLimits const& limits, std::size_t workers)
    : limits_(limits), processors_(limits.processors), workers_(workers) {}

void Dispatcher::submit(LaunchRecord& launch) noexcept {
  std::lock_guard const lock(mutex_);
  LaunchRecord** last = &waiting_;
  while (*last != nullptr) last = &(*last)->waiting.next;
  *last = &launch;
  place_all();
}

std::optional<PlacedBlock> Dispatcher::try_take(std::size_t worker) {
  Worker& mine = workers_[worker];
  if (!mine.news.load(std::memory_order_relaxed)) return std::nullopt;  // D1
  std::lock_guard const lock(mutex_);
  return take_from(mine);
}

std::optional<PlacedBlock> Dispatcher::take(std::size_t worker) {
  Worker& mine = workers_[worker];
  std::unique_lock lock(mutex_);
  mine.wake.wait(lock, [&] { return stopped_ || !mine.inbox.empty(); });
  return take_from(mine);
}

std::optional<PlacedBlock> Dispatcher::take_from(Worker& worker) {
  if (worker.inbox.empty()) return std::nullopt;
  PlacedBlock const block = worker.inbox.pop();
  worker.news.store(!worker.inbox.empty(), std::memory_order_relaxed);
  return block;
}

void Dispatcher::ended(PlacedBlock const& block) {
  std::lock_guard const lock(mutex_);
  Occupancy const freed = block_occupancy(block.launch->grid());
  Occupancy& taken = processors_[block.processor];
  taken.warps -= freed.warps;
  taken.blocks -= freed.blocks;
  taken.shared_bytes -= freed.shared_bytes;
  workers_[block.worker].warps -= freed.warps;
  --placed_blocks_;
  place_all();
}

void Dispatcher::stop() {
  std::lock_guard const lock(mutex_);
  stopped_ = true;
  for (Worker& worker : workers_) worker.wake.notify_one();
}

bool Dispatcher::idle() {
  std::lock_guard const lock(mutex_);
  return placed_blocks_ == 0 && waiting_ == nullptr;
}

void Dispatcher::place_all() {
  for (LaunchRecord** at = &waiting_; *at != nullptr;) {  // D3
    LaunchRecord& launch = **at;
    while (launch.waiting.first_block < launch.grid().blocks && place_one(launch)) {
    }
    if (launch.waiting.first_block < launch.grid().blocks) {
      at = &launch.waiting.next;
    } else {
      *at = launch.waiting.next;
    }
  }
}

// Places a block on the emptiest processor and on the worker with the fewest lanes: blocks spread as on a GPU.
bool Dispatcher::place_one(LaunchRecord& launch) {
  Grid const& grid = launch.grid();
  Occupancy* emptiest = nullptr;
  for (Occupancy& processor : processors_)
    if (blocks_that_fit(limits_, processor, grid) > 0 && (emptiest == nullptr || processor.warps < emptiest->warps))
      emptiest = &processor;
  if (emptiest == nullptr) return false;

  Occupancy const block = block_occupancy(grid);
  emptiest->warps += block.warps;
  emptiest->blocks += block.blocks;
  emptiest->shared_bytes += block.shared_bytes;  // D2
  ++placed_blocks_;

  auto const worker = std::min_element(workers_.begin(), workers_.end(),
                                       [](Worker const& a, Worker const& b) { return a.warps < b.warps; });
  worker->warps += block.warps;
  worker->inbox.push({.launch = &launch,
                      .index = launch.waiting.first_block++,
                      .processor = static_cast<std::size_t>(emptiest - processors_.data()),
                      .worker = static_cast<std::size_t>(worker - workers_.begin())});
  worker->news.store(true, std::memory_order_relaxed);
  worker->wake.notify_one();
  return true;
}

}  // namespace hiway::simt
