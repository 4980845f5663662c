// Marks: signals between the items of a queue, and the order that they keep.
//
//   A queue with marks has a second, bounded one beside it. A mark says how many items had been put before it, so a node takes
//   items up to the first mark; when it has taken them all it hears the signal, and puts it behind what came of them, in each
//   of its channels (MERCATOR's credits, as positions).
//
//   what           written by                              read by
//   MarkState      the replica's first lane, as a          all lanes, before a node fires
//                  QueueState
//   marks          the lane whose signal it is             all lanes, behind a sync()
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hiway/segment/node.hpp"
#include "hiway/segment/queue.hpp"

namespace hiway::segment {

/// Of a node's input queue, in one replica.
struct alignas(16) MarkState {
  std::uint32_t head = 0;
  std::uint32_t count = 0;  ///< marks
  std::uint32_t put = 0;    ///< items that have ever been put, modulo 2^32, as taken
  std::uint32_t taken = 0;
  std::uint32_t now = Boundary::none;  ///< the innermost region in which the next item lies
};

template <class Signal>
struct Mark {
  std::uint32_t at = 0;  ///< MarkState::put when it was put
  Signal signal{};
};

/// The marks of one replica's queues. Signal: the segment's; void: it has none.
template <class Signal>
class Marks {
 public:
  static constexpr bool exist = true;
  using Reading = MarkState;  ///< of a node that fires; alike in all lanes
  /// Of a queue that it puts into.
  struct Writing {
    Mark<Signal>* ring = nullptr;
    std::uint32_t next = 0;
    std::uint32_t ring_slots = 0;
    std::uint32_t free = ~0u;  ///< what leads to a sink takes any number
    std::uint32_t room = 0;
    std::uint32_t put = 0;  ///< items, before this firing
    std::uint32_t pushed = 0;
  };

  HIWAY_DEVICE Marks(MarkState* states, NodeRow const* rows) : states_(states), rows_(rows) {}

  HIWAY_DEVICE void clear(unsigned node) const { states_[node] = MarkState{}; }
  /// Of the root, by the first lane: so many items came from the source.
  HIWAY_DEVICE void came(unsigned node, std::uint32_t items) const { states_[node].put += items; }
  [[nodiscard]] HIWAY_DEVICE bool wait_at(unsigned node) const { return states_[node].count != 0; }

  [[nodiscard]] HIWAY_DEVICE Reading read(unsigned node) const { return states_[node]; }
  [[nodiscard]] HIWAY_DEVICE static bool is_one(Reading const& r) { return r.count != 0; }
  /// Of `count` items those before the first mark. `ring`: the node's.
  [[nodiscard]] HIWAY_DEVICE static std::uint32_t due(Reading const& r, Mark<Signal> const* ring, std::uint32_t count) {
    return r.count != 0 ? ring[r.head].at - r.taken : count;
  }
  HIWAY_DEVICE static void take(Reading& r, std::uint32_t items) { r.taken += items; }
  /// The first is heard.
  HIWAY_DEVICE void drop(unsigned node, Reading& r) const {
    r.head = r.head + 1 == rows_[node].mark_slots ? 0 : r.head + 1;
    --r.count;
  }
  /// So many that what is put next may not have room.
  [[nodiscard]] HIWAY_DEVICE static bool press(NodeRow const& row, Reading const& r) {
    return row.mark_slots - r.count < row.mark_room;
  }
  /// By the first lane: what was read and written is so for others.
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
  /// The lane's signal, of `all`, `before` of which are those of lanes below; `items`: pushed in this firing before it. Whether
  /// the queue has room for more.
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
