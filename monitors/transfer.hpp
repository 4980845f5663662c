// A transfer line carries the published items of all dma tunnels of one bus direction. Batches of
// several tunnels leave together as one submission, and submissions follow one another without a gap.
//
// Bytes in flight are bounded, because whatever comes next waits for them. A submission takes at most half of the
// bound, so that the next one is already queued when it completes. When the bound stops a round, the next round starts
// with the tunnel that was left out. So between two batches of one tunnel, every other tunnel that is due has its turn.
//
//   word       written by                                         read by
//   published  the outbox's relay                                 this line
//   arrived    to the device: the submission, after its copies;   the inbox's relay
//              from the device: this line, after the copies
//   closing    the end check                                      this line
//
//   X1  room needs no check: published <= retired + capacity <= retired + slots, so the inbox's slots are free, and
//       submissions in flight, whose copies run in any order, share no slot
//   X2  `published` is acquired before the copy starts; `arrived` is set after the copy is done. No specification
//       guarantees that a running kernel sees a copy once the host signals it; a later operation on the same stream
//       gives that guarantee.
//   X3  submissions complete in order, and hold a tunnel's batches in the order of their tickets: `arrived` only grows
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "../stencil/stencil_plan.hpp"
#include "flush_policy.hpp"
#include "hiway/backend.hpp"
#include "hiway/ranges.hpp"
#include "hiway/ring.hpp"

namespace hiway {

/// One submission, or several that followed without a gap between two looks.
struct CopyRecord {
  std::int64_t begin_ns = 0;  ///< steady clock: when it was submitted, or when the one ahead of it was done
  std::int64_t end_ns = 0;    ///< when it was seen to be done
  std::uint64_t items = 0;    ///< or regions
  std::uint64_t bytes = 0;
  std::uint32_t batches = 0;
};

/// *Threads*: one at a time.
class TransferLine {
 public:
  /// How many bytes may be in flight.
  struct Bounds {
    std::size_t shared_bytes;  ///< while several tunnels are due
    std::size_t alone_bytes;   ///< while one is
  };
  static constexpr Bounds over_the_bus{std::size_t{1} << 20, std::size_t{4} << 20};
  /// Takes about the same time: the link is some seven times as fast.
  static constexpr Bounds between_devices{std::size_t{4} << 20, std::size_t{32} << 20};

  /// A tunnel's way across.
  struct Route {
    std::byte* from_items = nullptr;  ///< the outbox's
    std::byte* to_items = nullptr;    ///< the inbox's
    Ring outbox;                      ///< for its slots
    Word<std::uint64_t>* published = nullptr;
    Word<std::uint64_t>* arrived = nullptr;  ///< at the consumers' home
    Word<std::uint32_t>* closing = nullptr;
    std::uint64_t capacity_items = 1;
    std::uint64_t batch_items = 0;  ///< 0: the library chooses
    std::chrono::nanoseconds flush_after{0};
    Bounds bounds = over_the_bus;  ///< when several tunnels are due, the smallest counts
    /// For a stencil tunnel. Its items are references, which lie in host memory for both sides; the regions that they
    /// name are what is copied.
    std::optional<RegionCopies> regions{};

    [[nodiscard]] std::size_t item_bytes() const { return regions ? regions->region_bytes() : outbox.item_bytes; }
  };

  /// `stream` makes the copies in `direction`.
  TransferLine(BusDirection direction, std::vector<Route> const& routes, std::unique_ptr<CopyStream> stream);

  /// One step; true when something was started or finished. Never waits. *Throws* CudaError.
  template <class Machine>
  bool step(Machine m);
  /// Starts again at the first item, before a run. *Waits* for copies that an aborted run left in flight. *Throws*
  /// Error if they are not done after 2 s, CudaError.
  void reset();
  /// If `keep`, the line records its copies, from the next reset on.
  void keep_records(bool keep) { keeps_records_ = keep; }
  [[nodiscard]] std::vector<CopyRecord> const& records() const { return records_; }
  /// Totals of a route since reset: batches, items (or regions) in them, and bytes copied.
  [[nodiscard]] std::uint64_t batches(std::size_t route) const { return tracks_[route].batches; }
  [[nodiscard]] std::uint64_t items(std::size_t route) const { return tracks_[route].started_to; }
  [[nodiscard]] std::uint64_t copied_bytes(std::size_t route) const { return tracks_[route].copied_bytes; }

 private:
  using Clock = std::chrono::steady_clock;
  /// A route and the progress of its items, as the host knows it: completed_to <= started_to <= published.
  struct Track {
    Route route;
    std::uint64_t completed_to = 0;
    std::uint64_t started_to = 0;
    std::uint64_t published = 0;
    std::uint64_t due_to = 0;  ///< up to here items were decided to leave; the bound may split them
    std::uint64_t batches = 0;
    std::uint64_t copied_bytes = 0;
    Clock::time_point oldest_seen{};  ///< when the oldest pending item was first seen
    [[nodiscard]] bool due() const { return due_to > started_to; }
  };
  /// A track's share of a submission in flight.
  struct Batch {
    std::uint64_t submission;
    std::size_t track;
    std::uint64_t to;
    std::size_t bytes;
    std::uint64_t items;
    std::int64_t begun_ns;  ///< 0 if no records are kept
  };
  static constexpr std::size_t most_records = std::size_t{1} << 15;

  template <class Machine>
  bool finish(Machine m);
  template <class Machine>
  void look(Machine m, Track& track, Clock::time_point now);
  bool start();
  [[nodiscard]] std::size_t bound() const;
  void add(std::size_t track, std::uint64_t items);
  static void add(CopyRecord& record, Batch const& batch);
  void keep(CopyRecord& record);

  BusDirection direction_;
  std::unique_ptr<CopyStream> stream_;
  std::vector<Track> tracks_;
  std::deque<Batch> under_way_;  ///< in order of submission
  std::size_t under_way_bytes_ = 0;
  std::uint64_t submitted_ = 0;  ///< numbers of the stream's submissions
  std::uint64_t completed_ = 0;
  std::uint64_t range_ = 0;  ///< the profiler's range, open while copies are in flight
  std::size_t first_ = 0;    ///< the track that a round starts with
  bool keeps_records_ = false;
  std::vector<CopyRecord> records_;
  // The submission being made; members, so that their memory is reused.
  std::vector<Copy> copies_;
  std::vector<WordCopy> words_;
};

template <class Machine>
bool TransferLine::step(Machine m) {
  bool const finished = finish(m);
  if (submitted_ - completed_ == CopyStream::most_under_way) return finished;
  auto const now = Clock::now();
  for (Track& t : tracks_) look(m, t, now);
  return start() || finished;
}

template <class Machine>
bool TransferLine::finish(Machine m) {
  if (completed_ == submitted_) return false;
  completed_ = stream_->completed();
  if (completed_ == submitted_) stop_range(range_);
  bool finished = false;
  CopyRecord record;
  for (; !under_way_.empty() && under_way_.front().submission <= completed_; under_way_.pop_front()) {  // X3
    Batch const& batch = under_way_.front();
    Track& t = tracks_[batch.track];
    if (direction_ == BusDirection::from_device) m.store(*t.route.arrived, batch.to, MemoryOrder::release);  // X2
    t.completed_to = batch.to;
    under_way_bytes_ -= batch.bytes;
    if (keeps_records_) add(record, batch);
    finished = true;
  }
  if (record.batches != 0) keep(record);
  return finished;
}

/// Reads what is published and decides whether it leaves now.
template <class Machine>
void TransferLine::look(Machine m, Track& t, Clock::time_point now) {
  Route const& r = t.route;
  t.published = m.load(*r.published, MemoryOrder::acquire);  // X2
  if (t.published == t.started_to || t.due()) return;
  if (t.oldest_seen == Clock::time_point{}) t.oldest_seen = now;
  FlushState const state{.pending_items = t.published - t.started_to,
                         .under_way_items = t.started_to - t.completed_to,
                         .batch_items = r.batch_items,
                         .item_bytes = r.item_bytes(),
                         .capacity_items = r.capacity_items,
                         .age = now - t.oldest_seen,
                         .flush_after = r.flush_after,
                         .closing = m.load(*r.closing, MemoryOrder::relaxed) != 0};
  if (decide_flush(state) == FlushDecision::flush) t.due_to = t.published;
}

}  // namespace hiway
