// Target: where one channel of a firing node leads, and how the lanes put items and signals there together.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hiway/segment/lanes.hpp"
#include "hiway/segment/queue.hpp"
#include "hiway/segment/region.hpp"
#include "hiway/segment/replica_state.hpp"
#include "hiway/segment/tasks.hpp"

namespace hiway::segment {

/// The tags of a queue that is put into, one for each slot; null unless its node is dense.
struct QueueTags {
  std::uint16_t* of = nullptr;
};
struct NoTags {};

/// The end of a channel; the same in all lanes. `leads`: what the tree's type tells about it, so that a node that puts
/// only into queues has no code for sinks.
template <class State, Leads leads>
struct Target {
  using MarksOf = typename State::MarksOf;

  std::byte* queue = nullptr;
  std::uint32_t at = 0;    ///< the next slot to write
  std::uint32_t size = 0;  ///< slots of the queue
  std::uint32_t free = 0;
  std::uint32_t room = 0;  ///< with fewer free slots the node becomes active; 0: never
  std::uint32_t pushed = 0;
  std::uint8_t node = 0;  ///< or first_sink + the sink's number
  [[no_unique_address]] typename MarksOf::Writing marks;
  [[no_unique_address]] std::conditional_t<State::has_regions, QueueTags, NoTags> tags;

  Target() = default;
  HIWAY_DEVICE Target(State const& r, unsigned from, unsigned channel) : node(r.rows[from].to[channel]) {
    if (is_sink()) return;
    NodeRow const& row = r.rows[node];
    QueueState const s = r.states[node];
    std::byte* const its_room = r.rooms.of(row.queue_is_far);
    queue = its_room + row.queue_at;
    size = row.queue_slots;
    at = detail::wrap(s.head + s.count, row.queue_slots);
    free = row.queue_slots - s.count;
    room = (r.rows[from].loop >> node & 1u) != 0 ? 0 : row.room;
    if constexpr (MarksOf::exist) marks = r.marks.write(node, its_room + row.marks_at);
    if constexpr (State::has_regions) {
      if (row.is_dense) tags.of = reinterpret_cast<std::uint16_t*>(its_room + row.tags_at);
    }
  }

  [[nodiscard]] HIWAY_DEVICE bool is_sink() const {
    if constexpr (leads == Leads::either) {
      return node >= first_sink;
    } else {
      return leads == Leads::sinks;
    }
  }
  /// Adds what the node has put to the counts of the queue or sink. All lanes see it after a sync().
  HIWAY_DEVICE void close(State& r) const {
    if (is_sink()) {
      r.sink_counts[node - first_sink] += pushed;
    } else {
      r.states[node].count += pushed;
      r.marks.close(node, marks, pushed);
    }
  }
  /// Puts the items of all lanes that bring one, by their tally. `last`: it is the last item that the lane's task puts.
  template <class T>
  HIWAY_DEVICE void put(State& r, T const& item, bool brings, Tally const& tally, InRegion in, bool last = true) {
    if (is_sink()) {
      r.program.sinks.template put<T>(r, node - first_sink, item, brings, tally, last);
    } else {
      std::uint32_t const slot = detail::wrap(at + tally.before, size);
      if (brings) detail::write_slot(r, reinterpret_cast<typename State::template Slot<T>*>(queue)[slot], item, last);
      if constexpr (State::has_regions) {
        if (brings && tags.of != nullptr) tags.of[slot] = in.region;
      }
      at = detail::wrap(at + tally.all, size);
      free -= tally.all;
      if (free < room) r.activity.add(1u << node);
    }
    pushed += tally.all;
  }
  /// The same with a tally of its own. Tally::any of the result: whether `other` holds in any lane.
  template <class T>
  HIWAY_DEVICE Tally put(State& r, T const& item, bool brings, bool other, InRegion in = {}, bool last = true) {
    Tally const tally = r.lanes.tally(brings, other);
    put(r, item, brings, tally, in, last);
    return tally;
  }
  /// Puts the lane's signal behind the first `items` items that this firing has pushed on the channel.
  template <class S>
  HIWAY_DEVICE void put_mark(State& r, S const& signal, bool brings, Tally const& tally, std::uint32_t items) {
    if (is_sink()) return;
    if (!MarksOf::put(marks, signal, brings, tally.before, tally.all, items)) r.activity.add(1u << node);
  }
};

}  // namespace hiway::segment
