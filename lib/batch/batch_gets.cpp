#include "lib/batch/batch_gets.hpp"

#include <algorithm>

#include "hiway/outlet/get.hpp"
#include "hiway/outlet/span.hpp"

namespace hiway {

bool BatchGets::collect(UnderWay& batch) {
  if (arrivals_) return collect_scoped(batch);
  std::size_t const most = options_.max_items - batch.items;
  std::size_t const there = copies_from_ring_ ? std::min(most, items_there()) : 0;
  if (there != 0 && waits_for_more(batch, there)) return false;
  std::size_t const some = get_some(batch, most, there);
  detail::note_result(m_, from_, some != 0);
  if (some != 0 && !collects_since_) collects_since_ = Clock::now();
  batch.items += some;
  return some != 0 || free_own_slots(batch);
}

/// What came with others and is left goes into the batch first. Then as many come as the batch may have, if it takes
/// them.
bool BatchGets::collect_scoped(UnderWay& batch) {
  if (batch.items != 0 && batch.scopes.is_cancelled(m_, from_)) drop(batch);
  bool came = arrivals_->move_to(m_, batch, options_.max_items);
  for (std::size_t left = options_.max_items - batch.items; left != 0;) {
    std::size_t const some = arrivals_->get(m_, left);
    if (some == 0) break;
    came = true;
    left -= some;
    static_cast<void>(arrivals_->move_to(m_, batch, options_.max_items));
  }
  detail::note_result(m_, from_, came);
  if (batch.items != 0 && !collects_since_) collects_since_ = Clock::now();
  return came;
}

void BatchGets::drop(UnderWay& batch) {
  batch.scopes.drop(m_, from_);
  detail::end_own_tasks(m_, from_, batch.items);
  batch.items = 0;
  collects_since_.reset();
}

/// Of a batch that needs more, and may hold all that the ring has. Whether there were any.
bool BatchGets::free_own_slots(UnderWay& batch) {
  if (batch.got.items() == 0 || batch.items >= options_.min_items) return false;
  if (!marks_own_) {
    give_copies(batch);
    stream_.mark_copies(batch.number);
    marks_own_ = true;
  }
  if (!stream_.has_copied(batch.number)) return false;
  end_slots(batch);
  marks_own_ = false;
  return true;
}

void BatchGets::end_collecting(UnderWay& batch) {
  collects_since_.reset();
  marks_own_ = false;
  give_copies(batch);
  if (batch.got.items() != 0) stream_.mark_copies(batch.number);
}

bool BatchGets::free_slots() {
  bool any = false;
  for (std::size_t i = 0; i < batches_.size(); ++i) {
    UnderWay& batch = batches_[i];
    if (batch.got.items() == 0 || !stream_.has_copied(batch.number)) continue;
    end_slots(batch);
    any = true;
  }
  return any;
}

std::size_t BatchGets::items_there() const {
  static_cast<void>(detail::help_to_come(m_, from_));
  std::int32_t const there = items_about(m_, from_.ring);
  return there > 0 ? static_cast<std::size_t>(there) : 0;
}

/// Leaves few items in the ring while the batch needs more in any case.
bool BatchGets::waits_for_more(UnderWay const& batch, std::size_t there) {
  if (batch.items + there >= options_.min_items) return false;
  if (there * end_.item_bytes >= good_copy(stream_)) return false;
  if (!collects_since_) collects_since_ = Clock::now();
  return !has_waited();
}

/// The thread copies few items, the stream many, or all where the thread does not reach them.
std::size_t BatchGets::get_some(UnderWay& batch, std::size_t most, std::size_t there) {
  if (end_.on_device && there == 0) return 0;
  BatchMemory const& memory = batch.place->got;
  std::size_t const at = batch.items * end_.item_bytes;
  if (there * end_.item_bytes < least_copy(stream_, end_))
    return detail::get_pieces(m_, from_, memory.host + at, most, end_.item_bytes);
  std::size_t const n = std::min(there, may_be_held());
  if (n < there && n <= end_.capacity / 4) return 0;
  give_copies(batch);
  marks_own_ = false;
  std::size_t const some = batch.got.take(m_, from_, stream_, memory.device + at, n);
  batch.given += some;
  return some;
}

/// How many items more may stay in the ring while they are copied.
std::size_t BatchGets::may_be_held() const {
  std::size_t held = 0;
  for (UnderWay const& batch : batches_.all()) held += batch.got.items();
  std::size_t const half = (end_.capacity + 1) / 2;
  return held < half ? half - held : 0;
}

/// Lets the stream copy what the thread has got itself.
void BatchGets::give_copies(UnderWay& batch) {
  BatchMemory const& memory = batch.place->got;
  std::size_t const at = batch.given * end_.item_bytes;
  stream_.copy(BusDirection::to_device, memory.device + at, memory.host + at,
               (batch.items - batch.given) * end_.item_bytes);
  batch.given = batch.items;
}

}  // namespace hiway
