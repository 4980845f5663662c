// Marks: signals between the items of a queue. They keep their order with the items.
//
// A queue with marks has a second bounded queue, for the marks. A mark says how many items had been put before it, so a
// node takes items up to the first mark. When it has taken them all, it hears the signal, and puts it behind the
// outputs of those items, on each of its channels (MERCATOR's credits, as positions).
//
//   what           written by                              read by
//   MarkState      the replica's first lane, like          all lanes, before a node fires
//                  QueueState
//   marks          the lane that puts the signal           all lanes, after a sync()
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hiway/segment/node.hpp"
#include "hiway/segment/queue.hpp"

namespace hiway::segment {

/// State of the marks in a node's input queue, in one replica.
struct alignas(16) MarkState {
  std::uint32_t head = 0;
  std::uint32_t count = 0;  ///< marks
  std::uint32_t put = 0;    ///< items ever put, modulo 2^32; `taken` likewise
  std::uint32_t taken = 0;
  std::uint32_t now = Boundary::none;  ///< the innermost region that the next item is in
};

template <class Signal>
struct Mark {
  std::uint32_t at = 0;  ///< MarkState::put when it was put
  Signal signal{};
};

/// The marks of one replica's queues. Signal: the segment's type of signal; void if it has none.
template <class Signal>
class Marks {
 public:
  static constexpr bool exist = true;
  using Reading = MarkState;  ///< the firing node's own marks; the same in all lanes
  /// The marks of a queue that the firing node puts into.
  struct Writing {
    Mark<Signal>* ring = nullptr;
    std::uint32_t next = 0;
    std::uint32_t ring_slots = 0;
    std::uint32_t free = ~0u;  ///< a sink takes any number
    std::uint32_t room = 0;
    std::uint32_t put = 0;  ///< items, before this firing
    std::uint32_t pushed = 0;
  };

  HIWAY_DEVICE Marks(MarkState* states, NodeRow const* rows) : states_(states), rows_(rows) {}

  HIWAY_DEVICE void clear(unsigned node) const { states_[node] = MarkState{}; }
  /// The first lane tells that so many items came to the root from the source.
  HIWAY_DEVICE void came(unsigned node, std::uint32_t items) const { states_[node].put += items; }
  [[nodiscard]] HIWAY_DEVICE bool wait_at(unsigned node) const { return states_[node].count != 0; }

  [[nodiscard]] HIWAY_DEVICE Reading read(unsigned node) const { return states_[node]; }
  [[nodiscard]] HIWAY_DEVICE static bool is_one(Reading const& r) { return r.count != 0; }
  /// How many of `count` items are before the first mark. `ring`: the node's marks.
  [[nodiscard]] HIWAY_DEVICE static std::uint32_t due(Reading const& r, Mark<Signal> const* ring, std::uint32_t count) {
    return r.count != 0 ? ring[r.head].at - r.taken : count;
  }
  HIWAY_DEVICE static void take(Reading& r, std::uint32_t items) { r.taken += items; }
  /// Removes the first mark, which has been heard.
  HIWAY_DEVICE void drop(unsigned node, Reading& r) const {
    r.head = r.head + 1 == rows_[node].mark_slots ? 0 : r.head + 1;
    --r.count;
  }
  /// Whether there are so many marks that those of the next push may not have room.
  [[nodiscard]] HIWAY_DEVICE static bool press(NodeRow const& row, Reading const& r) {
    return row.mark_slots - r.count < row.mark_room;
  }
  /// The first lane writes the state back, for the other lanes to see.
  HIWAY_DEVICE void close(unsigned node, Reading const& r) const { states_[node] = r; }
  HIWAY_DEVICE void close(unsigned node, Writing const& w, std::uint32_t items) const {
    states_[node].count += w.pushed;
    states_[node].put += items;
  }

  [[nodiscard]] HIWAY_DEVICE Writing write(unsigned node, std::byte* ring) const {
    MarkState const s = states_[node];
    NodeRow const& row = rows_[node];
    std::uint32_t const next = s.head + s.count;
    return {reinterpret_cast<Mark<Signal>*>(ring),
            next >= row.mark_slots ? next - row.mark_slots : next,
            row.mark_slots,
            row.mark_slots - s.count,
            row.mark_room,
            s.put,
            0};
  }
  /// Puts the lane's signal, if it `brings` one: one of `all`, with `before` of them from lower lanes. `items`: items
  /// pushed in this firing before the signal. Returns whether the queue has room for the marks of another push.
  HIWAY_DEVICE static bool put(Writing& w, Signal const& signal, bool brings, std::uint32_t before, std::uint32_t all,
                               std::uint32_t items) {
    std::uint32_t const at = w.next + before;
    if (brings) w.ring[at >= w.ring_slots ? at - w.ring_slots : at] = {w.put + items, signal};
    w.next = w.next + all >= w.ring_slots ? w.next + all - w.ring_slots : w.next + all;
    w.free -= all;
    w.pushed += all;
    return w.free >= w.room;
  }

 private:
  MarkState* states_;
  NodeRow const* rows_;
};

template <>
class Marks<void> {
 public:
  static constexpr bool exist = false;
  struct Reading {};
  struct Writing {};
  HIWAY_DEVICE Marks(MarkState*, NodeRow const*) {}
  HIWAY_DEVICE void clear(unsigned) const {}
  [[nodiscard]] HIWAY_DEVICE static bool wait_at(unsigned) { return false; }
  [[nodiscard]] HIWAY_DEVICE static Reading read(unsigned) { return {}; }
  [[nodiscard]] HIWAY_DEVICE static bool is_one(Reading const&) { return false; }
  HIWAY_DEVICE static void take(Reading&, std::uint32_t) {}
  HIWAY_DEVICE void close(unsigned, Reading const&) const {}
  HIWAY_DEVICE void close(unsigned, Writing const&, std::uint32_t) const {}
};

}  // namespace hiway::segment
