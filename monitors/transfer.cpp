#include "transfer.hpp"

#include <algorithm>

#include "hiway/machine/thread_machine.hpp"

namespace hiway {

bool Transfer::step() {
  ThreadMachine const m;
  if (started_to_ != moved_to_) {
    if (!stream_.done()) return false;
    if (route_.direction == BusDirection::from_device) m.store(*route_.arrived, started_to_, Order::release);  // X2
    moved_to_ = started_to_;
    oldest_seen_ = {};
    return true;
  }
  std::uint64_t const published = m.load(*route_.published, Order::acquire);  // X2
  if (published == moved_to_) return false;
  auto const now = std::chrono::steady_clock::now();
  if (oldest_seen_ == std::chrono::steady_clock::time_point{}) oldest_seen_ = now;
  FlushState const state{.pending_items = published - moved_to_,
                         .batch_items = route_.batch_items,
                         .age = now - oldest_seen_,
                         .flush_after = route_.flush_after,
                         .closing = m.load(*route_.closing, Order::relaxed) != 0};
  if (decide_flush(state) == FlushDecision::wait) return false;
  start(published);
  return true;
}

void Transfer::start(std::uint64_t to) {
  Ring const& ring = route_.outbox;
  std::uint64_t const slots = std::uint64_t{ring.slots_mask} + 1;
  for (std::uint64_t at = moved_to_; at < to;) {  // X1; a run that wraps is two copies
    std::uint64_t const slot = ring.slot(at);
    std::uint64_t const n = std::min(to - at, slots - slot);
    std::size_t const offset = static_cast<std::size_t>(slot) * ring.item_bytes;
    stream_.copy(route_.to_items + offset, route_.from_items + offset, static_cast<std::size_t>(n) * ring.item_bytes);
    at += n;
  }
  if (route_.direction == BusDirection::to_device) stream_.publish(*route_.arrived, to);  // X2
  started_to_ = to;
  ++batches_;
}

}  // namespace hiway
