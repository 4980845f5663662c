#include "transfer.hpp"

#include <algorithm>
#include <string>

#include "hiway/error.hpp"
#include "hiway/machine/thread_machine.hpp"

namespace hiway {
namespace {

constexpr auto patience = std::chrono::seconds(2);

/// A submission may take at least this much of a tunnel, even if that is more than a quarter: copies of this size hide
/// the cost of a submission.
constexpr std::size_t large_bytes = std::size_t{2} << 20;

/// The most items of one tunnel in a submission: half of the bound, but no more than a quarter of a large tunnel, so
/// that other items are put and got meanwhile.
std::uint64_t most_items(TransferLine::Route const& route, std::size_t bound) {
  std::size_t const tunnel_bytes = static_cast<std::size_t>(route.capacity_items) * route.item_bytes();
  std::size_t const bytes = std::min(bound / 2, std::max(large_bytes, tunnel_bytes / 4));
  return std::max<std::uint64_t>(1, bytes / route.item_bytes());
}

}  // namespace

TransferLine::TransferLine(BusDirection direction, std::vector<Route> const& routes, std::unique_ptr<CopyStream> stream)
    : direction_(direction), stream_(std::move(stream)) {
  for (Route const& route : routes) tracks_.push_back({.route = route});
}

/// The bound on bytes in flight, given by the tracks that are due; 0 when none is.
std::size_t TransferLine::bound() const {
  auto const due = std::ranges::count_if(tracks_, &Track::due);
  std::size_t least = 0;
  for (Track const& t : tracks_) {
    if (!t.due()) continue;
    std::size_t const own = due > 1 ? t.route.bounds.shared_bytes : t.route.bounds.alone_bytes;
    least = least == 0 ? own : std::min(least, own);
  }
  return least;
}

bool TransferLine::start() {
  std::size_t const bound = this->bound();
  if (bound == 0) return false;
  std::size_t const room = std::min(bound / 2, bound - std::min(bound, under_way_bytes_));
  copies_.clear();
  words_.clear();
  std::size_t bytes = 0;
  std::size_t const first = first_;
  for (std::size_t i = 0; i < tracks_.size(); ++i) {
    std::size_t const at = (first + i) % tracks_.size();
    Track const& t = tracks_[at];
    if (!t.due()) continue;
    std::size_t const item_bytes = t.route.item_bytes();
    std::uint64_t const most = most_items(t.route, bound);
    std::uint64_t const items = std::min(t.published - t.started_to, most);
    std::size_t const n = static_cast<std::size_t>(items) * item_bytes;
    bool const alone = bytes + under_way_bytes_ == 0;  // then even a region larger than the bound may go
    if (bytes + n > room && !alone) {                  // wait and send it whole: what fits now may be next to nothing
      first_ = at;
      break;
    }
    add(at, items);
    bytes += n;
  }
  if (copies_.empty()) return false;
  under_way_bytes_ += bytes;
  if (completed_ == submitted_) range_ = start_range(direction_ == BusDirection::to_device ? "dma in" : "dma out");
  submitted_ = stream_->submit(copies_, words_);
  return true;
}

/// Adds the next `items` of a track to the submission.
void TransferLine::add(std::size_t track, std::uint64_t items) {
  Track& t = tracks_[track];
  Ring const& ring = t.route.outbox;
  std::uint64_t const slots = std::uint64_t{ring.slots_mask} + 1;
  std::uint64_t const to = t.started_to + items;
  std::size_t const first = copies_.size();
  if (t.route.regions) {
    for (std::uint64_t at = t.started_to; at < to; ++at)
      copies_.push_back(t.route.regions->copy(item_in<RegionReference>(ring.item(at))));
  }
  for (std::uint64_t at = t.started_to; at < to && !t.route.regions;) {  // X1; a run that wraps takes 2 copies
    std::uint64_t const slot = ring.slot(at);
    std::uint64_t const n = std::min(to - at, slots - slot);
    std::size_t const offset = static_cast<std::size_t>(slot) * ring.item_bytes;
    copies_.push_back({.target = t.route.to_items + offset,
                       .source = t.route.from_items + offset,
                       .bytes = static_cast<std::size_t>(n) * ring.item_bytes});
    at += n;
  }
  for (std::size_t c = first; c < copies_.size(); ++c) t.copied_bytes += copies_[c].bytes * copies_[c].rows;
  if (direction_ == BusDirection::to_device) words_.push_back({.word = t.route.arrived, .value = to});  // X2
  under_way_.push_back({.submission = submitted_ + 1,
                        .track = track,
                        .to = to,
                        .bytes = static_cast<std::size_t>(items) * t.route.item_bytes(),
                        .items = items,
                        .begun_ns = keeps_records_ ? Clock::now().time_since_epoch().count() : 0});
  t.started_to = to;
  if (to == t.published) t.oldest_seen = {};
  ++t.batches;
}

void TransferLine::add(CopyRecord& record, Batch const& batch) {
  if (record.batches++ == 0) record.begin_ns = batch.begun_ns;
  record.items += batch.items;
  record.bytes += batch.bytes;
}

// Submissions complete in order, so none may appear to begin before the one ahead of it was done.
void TransferLine::keep(CopyRecord& record) {
  record.end_ns = Clock::now().time_since_epoch().count();
  if (!records_.empty()) record.begin_ns = std::max(record.begin_ns, records_.back().end_ns);
  if (records_.size() < most_records) return records_.push_back(record);
  CopyRecord& last = records_.back();
  last.end_ns = record.end_ns;
  last.items += record.items;
  last.bytes += record.bytes;
  last.batches += record.batches;
}

void TransferLine::reset() {
  auto const until = Clock::now() + patience;
  for (unsigned misses = 0; stream_->completed() != submitted_; ++misses) {
    if (Clock::now() > until) {
      throw Error(std::string(direction_ == BusDirection::to_device ? "to" : "from") +
                  " the device: copies of the run before have not completed after " + std::to_string(patience.count()) +
                  " s");
    }
    relax_thread(misses);
  }
  if (completed_ != submitted_) stop_range(range_);
  completed_ = submitted_;
  under_way_.clear();
  under_way_bytes_ = 0;
  first_ = 0;
  records_.clear();
  for (Track& t : tracks_) t = {.route = t.route};
}

}  // namespace hiway
