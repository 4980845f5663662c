#include "lib/batch/batch_puts.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "hiway/error.hpp"
#include "hiway/inlet/span.hpp"

namespace hiway {
namespace {

/// Items that are not put, and not in the ring.
std::size_t rest_of(UnderWay const& batch, std::size_t inlet) {
  return batch.sizes[inlet].items - batch.made[inlet].gone;
}

}  // namespace

BatchPuts::BatchPuts(Inlets into, BatchOptions const& options, BatchStream& stream, BatchesUnderWay& batches)
    : into_(into), options_(options), stream_(stream), batches_(batches) {
  for (BatchEnd const& end : into.ends) {
    joined_.emplace_back();
    if (end.has_scopes) joined_.back().emplace(end);
  }
}

void BatchPuts::fetch(UnderWay& batch) {
  batch.is_counted = true;
  for (std::size_t i = 0; i < batch.sizes.size(); ++i) {
    detail::BatchSize const& size = batch.sizes[i];
    if (!size.is_set) throw MisuseError("the body returned without the size of a batch that it makes: call resize");
    if (size.on_device == nullptr) continue;
    stream_.copy_count(&batch.place->counts[i], size.on_device);
    batch.is_counted = false;
  }
  for (std::size_t i = 0; i < batch.sizes.size(); ++i)
    if (batch.sizes[i].on_device == nullptr) {
      check_size(batch, i);
      fetch_items(batch, i);
    }
  stream_.mark(batch.number);
}

/// Fetches the items of the first batch whose sizes are not known, if its counts have come.
bool BatchPuts::count_next() {
  for (std::size_t i = 0; i < batches_.size(); ++i) {
    UnderWay& batch = batches_[i];
    if (batch.is_counted) continue;
    if (!stream_.has_passed(batch.number)) return false;
    fetch_counted(batch);
    return true;
  }
  return false;
}

void BatchPuts::fetch_counted(UnderWay& batch) {
  for (std::size_t i = 0; i < batch.sizes.size(); ++i) {
    detail::BatchSize& size = batch.sizes[i];
    if (size.on_device == nullptr) continue;
    size.items = batch.place->counts[i];
    if (std::size_t const capacity = into_.ends[i].capacity; size.items > capacity) {
      throw MisuseError("a batch of " + std::to_string(size.items) +
                        " items was made on the device, and its tunnel holds " + std::to_string(capacity));
    }
    check_size(batch, i);
    fetch_items(batch, i);
  }
  batch.is_counted = true;
  stream_.mark(batch.number);
}

void BatchPuts::check_size(UnderWay const& batch, std::size_t inlet) const {
  std::size_t const made = batch.sizes[inlet].items;
  if (!options_.one_to_one || made == batch.items) return;
  throw MisuseError("one_to_one: of a batch of " + std::to_string(batch.items) + " items one of " +
                    std::to_string(made) + " is made, and each item makes one for each tunnel");
}

/// As many as may be go to the ring at once. Few others go to the batch's memory at the host, many stay on the device
/// until there is room.
void BatchPuts::fetch_items(UnderWay& batch, std::size_t inlet) {
  if (goes_to_ring(batch, inlet) && is_next_in_ring(batch, inlet)) static_cast<void>(give_to_ring(batch, inlet));
  if (!goes_to_ring(batch, inlet)) fetch_rest(batch, inlet);
}

void BatchPuts::fetch_rest(UnderWay& batch, std::size_t inlet) {
  BatchMemory const& made = batch.place->made[inlet];
  std::size_t const bytes = into_.ends[inlet].item_bytes;
  std::size_t const at = batch.made[inlet].gone * bytes;
  batch.made[inlet].rest_at_host = true;
  stream_.copy(BusDirection::from_device, made.host + at, made.device + at, rest_of(batch, inlet) * bytes);
}

/// Whether the stream is to copy the rest to the ring.
bool BatchPuts::goes_to_ring(UnderWay const& batch, std::size_t inlet) const {
  InletView const& v = into_.views[inlet];
  BatchEnd const& end = into_.ends[inlet];
  if (options_.device < 0 || batch.made[inlet].rest_at_host || end.has_scopes) return false;
  if (rest_of(batch, inlet) * end.item_bytes < least_copy(stream_, end)) return false;
  return RingRuns::may_lie_in(v) && !has_spill(v.spill) && !drops_or_fails(v.when_full);
}

/// Whether it may have slots before it is the oldest batch (B3).
bool BatchPuts::is_next_in_ring(UnderWay const& batch, std::size_t inlet) const {
  if (into_.ends.size() != 1 || detail::is_throttled(m_, into_.views[inlet])) return false;
  for (std::size_t i = 0; i < batches_.size(); ++i) {
    UnderWay const& older = batches_[i];
    if (&older == &batch) return true;
    if (!older.is_counted || rest_of(older, inlet) != 0) return false;
  }
  return true;
}

/// Lets the stream copy items of the first batch that has some left to the ring, if it may and there is room.
bool BatchPuts::give_next_to_ring() {
  if (into_.ends.size() != 1) return false;
  for (std::size_t i = 0; i < batches_.size(); ++i) {
    UnderWay& batch = batches_[i];
    if (!batch.is_counted) return false;
    if (rest_of(batch, 0) != 0) return goes_to_ring(batch, 0) && put_in_ring(batch, 0) == PutProgress::some;
  }
  return false;
}

/// False if there was no room.
bool BatchPuts::give_to_ring(UnderWay& batch, std::size_t inlet) {
  BatchMade& made = batch.made[inlet];
  std::byte const* const from = batch.place->made[inlet].device + made.gone * into_.ends[inlet].item_bytes;
  std::size_t const some = made.in_ring.give(m_, into_.views[inlet], stream_, from, rest_of(batch, inlet));
  made.gone += some;
  return some != 0;
}

PutProgress BatchPuts::put_some(UnderWay& batch) {
  for (std::size_t i = 0; i < batch.made.size(); ++i)
    if (PutProgress const put = put_some(batch, i); put != PutProgress::all) return put;
  return PutProgress::all;
}

PutProgress BatchPuts::put_some(UnderWay& batch, std::size_t inlet) {
  InletView const& v = into_.views[inlet];
  BatchMade& made = batch.made[inlet];
  if (made.in_ring.items() != 0) {
    made.in_ring.end(m_, v.ring, ClaimKind::put, *v.control);
    detail::note_put(m_, v);
    detail::help_to_leave(m_, v, detail::Sent::span);
  }
  std::size_t const rest = rest_of(batch, inlet);
  if (rest == 0) return PutProgress::all;
  if (goes_to_ring(batch, inlet)) return put_in_ring(batch, inlet);
  if (!made.rest_at_host) {
    fetch_rest(batch, inlet);
    stream_.mark(batch.number);
    return PutProgress::some;
  }
  put_rest(batch, inlet);
  return PutProgress::all;
}

void BatchPuts::put_rest(UnderWay& batch, std::size_t inlet) {
  if (joined_[inlet]) return put_with_words(batch, inlet);
  BatchMade& made = batch.made[inlet];
  std::size_t const bytes = into_.ends[inlet].item_bytes;
  std::size_t const rest = rest_of(batch, inlet);
  detail::put_pieces(m_, into_.views[inlet], batch.place->made[inlet].host + made.gone * bytes, rest, bytes);
  made.gone += rest;
}

void BatchPuts::put_with_words(UnderWay& batch, std::size_t inlet) {
  InletView const& v = into_.views[inlet];
  BatchEnd const& end = into_.ends[inlet];
  ScopedItems& joined = *joined_[inlet];
  std::size_t& gone = batch.made[inlet].gone;
  TaskShare const share = inlet + 1 == into_.ends.size() ? TaskShare::rest : TaskShare::part;
  batch.scopes.begin_puts(m_, v, rest_of(batch, inlet));
  while (std::size_t const n = std::min(rest_of(batch, inlet), joined.most())) {
    joined.copy_from(batch.place->made[inlet].host + gone * end.item_bytes, n);
    for (std::size_t i = 0; i < n; ++i) joined.set_word(i, batch.scopes.word_of(m_, v, gone + i, share));
    detail::put_pieces(m_, v, joined.slot(0), n, end.slot_bytes);
    gone += n;
  }
}

PutProgress BatchPuts::put_in_ring(UnderWay& batch, std::size_t inlet) {
  InletView const& v = into_.views[inlet];
  BatchEnd const& end = into_.ends[inlet];
  std::size_t const enough =
      std::min({rest_of(batch, inlet), good_copy(stream_) / end.item_bytes + 1, end.capacity / 4 + 1});
  if (detail::is_throttled(m_, v) || room_about(m_, v.ring) < static_cast<std::int64_t>(enough)) {
    if (!std::exchange(waits_for_room_, true)) detail::note_full(m_, v);
    return v.relays != nullptr && hear_if_free(m_, v.relays->hears) ? PutProgress::some : PutProgress::none;
  }
  if (!give_to_ring(batch, inlet)) return PutProgress::none;  // another writer was faster
  if (std::exchange(waits_for_room_, false)) detail::note_room(m_, v, 1);
  stream_.mark(batch.number);
  return PutProgress::some;
}

}  // namespace hiway
