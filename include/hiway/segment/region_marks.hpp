// RegionMarks: how a firing node passes on the marks of regions (region.hpp), and how its lanes find the regions of
// their items.
//
//   R1  A node passes a mark on when all items before it are done, and puts it behind their outputs. A filter in the
//       lane or the dense context does so for all marks of an ensemble at once: it puts each mark behind the outputs of
//       the lanes before it.
//   R2  An expander in the dense context mixes the items of an ensemble. Of the marks among them it passes the openings
//       on before it puts anything, and the closings when it has put everything. In the nodes behind it regions
//       overlap, so all of these are dense.
//   R4  Marks drive the scheduling as items do: a node is active when its ring has no room for the marks of a push, and
//       passes on those that it can.
// R3 is in region_enumerate.hpp.
#pragma once
#include <cstdint>

#include "hiway/segment/lanes.hpp"
#include "hiway/segment/marks.hpp"
#include "hiway/segment/node.hpp"
#include "hiway/segment/queue.hpp"
#include "hiway/segment/region.hpp"
#include "hiway/segment/region_arena.hpp"
#include "hiway/segment/replica_state.hpp"

namespace hiway::segment {

template <class State, class F>
struct OfOne;

/// What a lane passes along with a put: the region of its item, and a mark from among the ensemble's items.
struct PassedAlong : InRegion {
  std::uint32_t marks = 0;   ///< how many marks all lanes have; lane i has the i-th
  std::uint32_t before = 0;  ///< items of the ensemble before the lane's mark
  Boundary boundary;
};

/// The marks of the firing node's queue, held in registers: from memory they would be loaded again after each store.
struct MarkRing {
  unsigned node;
  Mark<Boundary> const* ring;
  std::uint32_t ring_slots;
  std::uint32_t opener;

  [[nodiscard]] HIWAY_DEVICE Mark<Boundary> const& at(MarkState const& marks, std::uint32_t i) const {
    return ring[detail::wrap(marks.head + i, ring_slots)];
  }
  /// How many items before the `i`-th mark have not been taken.
  [[nodiscard]] HIWAY_DEVICE std::uint32_t ahead(MarkState const& marks, std::uint32_t i) const {
    return at(marks, i).at - marks.taken;
  }
  HIWAY_DEVICE void drop(MarkState& marks, std::uint32_t n) const {
    marks.head = detail::wrap(marks.head + n, ring_slots);
    marks.count -= n;
  }
  /// Sets `marks.now` to the region of the next item behind the first `n` marks.
  HIWAY_DEVICE void advance(MarkState& marks, std::uint32_t n) const {
    while (n-- != 0) {
      Boundary const b = at(marks, n).signal;
      if (b.opener != opener) continue;  // the mark of an outer region
      marks.now = b.opens;
      return;
    }
  }
};

/// What a node takes at once: items, and the marks before, among and directly behind them.
struct Stretch {
  std::uint32_t items = 0;
  std::uint32_t marks = 0;
};

/// Whether a stretch goes on behind a mark or ends there.
enum class Span : std::uint8_t { over_marks, to_mark };
HIWAY_DEVICE inline Span span_of(NodeRow const& row) { return row.stops_at_marks ? Span::to_mark : Span::over_marks; }

/// How many items a node's next ensemble may have, and whether it waits until they fill the lanes.
struct Due {
  std::uint32_t items = 0;
  bool waits = false;
};

template <class State>
class RegionMarks {
  using MarksOf = typename State::MarksOf;
  using Reading = typename State::Reading;

 public:
  HIWAY_DEVICE explicit RegionMarks(State& replica) : r_(replica), arena_(replica) {}

  [[nodiscard]] HIWAY_DEVICE MarkRing marked(unsigned node) const {
    NodeRow const& row = r_.rows[node];
    return {node, r_.marks_of(node), row.mark_slots, row.opener};
  }

  // ---- what a node takes

  /// How many of the first marks satisfy `is`. Each lane looks at one mark; those that satisfy it come first.
  template <class Is>
  [[nodiscard]] HIWAY_DEVICE std::uint32_t count_marks(Reading const& marks, Is&& is) const {
    if (marks.count == 0) return 0;
    std::uint32_t const i = r_.lanes.rank();
    return r_.lanes.tally(i < marks.count && is(i)).all;
  }
  [[nodiscard]] HIWAY_DEVICE Stretch stretch(MarkRing const& q, Reading const& marks, std::uint32_t most_items,
                                             std::uint32_t most_marks, Span span) const {
    std::uint32_t k = most_items;
    if (marks.count == 0) return {k, 0};
    std::uint32_t const first = q.ahead(marks, 0);
    if (first > k) return {k, 0};
    if (span == Span::to_mark || most_marks == 0) k = first;
    if (most_marks == 0) return {k, 0};
    if (marks.count > most_marks) {
      std::uint32_t const beyond = q.ahead(marks, most_marks);
      k = k < beyond ? k : beyond;
    }
    if (marks.count == 1 || most_marks == 1 || q.ahead(marks, 1) > k) return {k, 1};
    return {k, count_marks(marks, [&](std::uint32_t i) { return i < most_marks && q.ahead(marks, i) <= k; })};
  }
  /// How many marks can be passed on at once: each needs room in all channels, and a lane.
  template <class F>
  [[nodiscard]] HIWAY_DEVICE std::uint32_t marks_for(OfOne<State, F> const& e) const {
    std::uint32_t const free = e.free_marks();
    return free < r_.lanes.size() ? free : r_.lanes.size();
  }
  /// The lane's own of the first `n` marks, if it has one.
  [[nodiscard]] HIWAY_DEVICE Boundary boundary(MarkRing const& q, Reading const& marks, std::uint32_t n) const {
    std::uint32_t const i = r_.lanes.rank();
    return i < n ? q.at(marks, i).signal : Boundary{};
  }
  /// Whether a node that does not drain waits for a full ensemble. `most`: items that it could take now.
  [[nodiscard]] HIWAY_DEVICE static bool waits(NodeRow const& row, Reading const& marks, std::uint32_t most) {
    return most < row.width && !MarksOf::press(row, marks) && !(row.stops_at_marks && marks.count != 0);
  }
  /// The region of the lane's item: by its tag, or by the marks before it.
  [[nodiscard]] HIWAY_DEVICE std::uint16_t region_of(MarkRing const& q, QueueState const& s, Reading const& marks,
                                                     Stretch const& taken) const {
    std::uint32_t const rank = r_.lanes.rank();
    if (rank >= taken.items) return Boundary::none;
    if (r_.rows[q.node].is_dense) return arena_.tag(q.node, s, rank);
    std::uint32_t low = 0;  // marks at or before the item
    for (std::uint32_t high = taken.marks; low < high;) {
      std::uint32_t const middle = (low + high) / 2;
      if (q.ahead(marks, middle) <= rank) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return static_cast<std::uint16_t>(low == 0 ? marks.now : q.at(marks, low - 1).signal.opens);
  }

  // ---- lane and dense filters (R1)

  /// Called before an ensemble: its puts pass along the marks of `taken`.
  template <class F>
  HIWAY_DEVICE void open(OfOne<State, F>& e, MarkRing const& q, Reading const& marks, Stretch const& taken) const {
    e.along.marks = taken.marks;
    if (taken.marks == 0) return;
    e.along.boundary = boundary(q, marks, taken.marks);
    e.along.before = r_.lanes.rank() < taken.marks ? q.ahead(marks, r_.lanes.rank()) : 0;
    if constexpr (Function<F>::hears_begin) call_begin(e, e.along.boundary);
  }
  /// Called after the ensemble: the marks of `taken` are passed.
  template <class F>
  HIWAY_DEVICE void close(OfOne<State, F>& e, MarkRing const& q, Reading& marks, Stretch const& taken) const {
    if (taken.marks == 0) return;
    if constexpr (Function<F>::hears_end) call_end(e, e.along.boundary);
    q.advance(marks, taken.marks);
    drop(q, marks, taken.marks);
    e.along.marks = 0;
  }
  HIWAY_DEVICE void drop(MarkRing const& q, Reading& marks, std::uint32_t n) const {
    r_.counting.passed_on(r_.lanes, q.node, n);
    q.drop(marks, n);
  }
  /// Puts the lane's mark among the items of a push, behind those of the lanes below `along.before`.
  template <class Target>
  HIWAY_DEVICE void put_along(Target& t, PassedAlong const& along, Tally const& pushed) {
    std::uint32_t const items = t.pushed - pushed.all + r_.lanes.below(pushed, along.before);
    put(t, along.boundary, along.marks, items);
  }

  // ---- other nodes inside: sparse, dense (R2)

  /// What is due in the dense context. It waits if no mark requires less than a full ensemble.
  template <class F>
  [[nodiscard]] HIWAY_DEVICE Due due_in_dense(OfOne<State, F>& e, Reading const& marks, std::uint32_t count) const {
    std::uint32_t const width = r_.rows[e.node].width;
    std::uint32_t const most = count < width ? count : width;
    std::uint32_t const k = stretch(marked(e.node), marks, most, marks_for(e) / 2, Span::over_marks).items;
    return {k, k == most && !MarksOf::press(r_.rows[e.node], marks)};
  }
  /// Called before an ensemble of `k` items, new or suspended: passes on the opening marks among them.
  template <class F>
  HIWAY_DEVICE void begin_ensemble(OfOne<State, F>& e, Reading const& marks, QueueState const& s, std::uint32_t k) {
    NodeRow const& row = r_.rows[e.node];
    if (!row.is_dense) {
      e.along.region = static_cast<std::uint16_t>(marks.now);
      return;
    }
    std::uint32_t const rank = r_.lanes.rank();
    MarkRing const q = marked(e.node);
    bool const resumed = s.suspended != 0;
    std::uint32_t const n = resumed ? 0 : count_marks(marks, [&](std::uint32_t i) { return q.ahead(marks, i) < k; });
    if (n != 0) {
      Boundary b = boundary(q, marks, n);
      if constexpr (Function<F>::hears_begin) call_begin(e, b);
      b.closes = Boundary::none;
      put_all(e, b, n);
    }
    e.along.region = rank < k ? arena_.tag(e.node, s, rank) : Boundary::none;
  }
  /// Passes on the closing marks among the ensemble's items, which have been taken.
  template <class F>
  HIWAY_DEVICE void end_ensemble(OfOne<State, F>& e, Reading& marks) {
    if (!r_.rows[e.node].is_dense) return;
    MarkRing const q = marked(e.node);
    std::uint32_t const n =
        count_marks(marks, [&](std::uint32_t i) { return static_cast<std::int32_t>(q.ahead(marks, i)) < 0; });
    if (n == 0) return;
    Boundary b = boundary(q, marks, n);
    if constexpr (Function<F>::hears_end) call_end(e, b);
    b.opens = Boundary::none;
    put_all(e, b, n);
    drop(q, marks, n);
  }
  /// Passes on the marks before the next item.
  template <class F>
  HIWAY_DEVICE void pass_due(OfOne<State, F>& e, Reading& marks) {
    MarkRing const q = marked(e.node);
    Stretch const taken = stretch(q, marks, 0, marks_for(e), Span::over_marks);
    open(e, q, marks, taken);
    put_all(e, e.along.boundary, taken.marks);
    close(e, q, marks, taken);
  }

  // ---- putting marks

  /// Puts the first `n` lanes' marks behind all items pushed, on all channels.
  template <class F>
  HIWAY_DEVICE void put_all(OfOne<State, F>& e, Boundary const& b, std::uint32_t n) {
    detail::unrolled<Function<F>::channels>([&](auto c) { put(e.to[c], b, n, e.to[c].pushed); });
  }
  /// Puts the first `n` lanes' marks, each behind `items` pushed.
  template <class Target>
  HIWAY_DEVICE void put(Target& t, Boundary const& b, std::uint32_t n, std::uint32_t items) {
    put_boundary(t, b, r_.lanes.rank() < n, Tally{r_.lanes.rank(), n, false}, items);
  }
  /// Puts the marks of the lanes in `who`. At a sink their regions end instead.
  template <class Target>
  HIWAY_DEVICE void put_boundary(Target& t, Boundary const& b, bool brings, Tally const& who, std::uint32_t items) {
    if (t.is_sink()) {
      arena_.release(b, brings && b.closes != Boundary::none);
    } else {
      t.put_mark(r_, b, brings, who, items);
    }
  }

  // ---- the hooks of node functions

  template <class F>
  HIWAY_DEVICE void call_begin(OfOne<State, F> const& e, Boundary const& b) const {
    using Parent = typename detail::Signature<decltype(&F::begin)>::Item;
    NodeRow const& row = r_.rows[e.node];
    if (b.opener == row.opener && b.opens != Boundary::none)
      e.f.begin(arena_.template parents<Parent>(r_.rows[row.opener])[b.opens]);
  }
  template <class F>
  HIWAY_DEVICE void call_end(OfOne<State, F> const& e, Boundary const& b) const {
    using Parent = typename detail::Signature<decltype(&F::end)>::Item;
    NodeRow const& row = r_.rows[e.node];
    if (b.opener == row.opener && b.closes != Boundary::none)
      e.f.end(arena_.template parents<Parent>(r_.rows[row.opener])[b.closes]);
  }

 private:
  State& r_;
  RegionArena<State> arena_;
};

}  // namespace hiway::segment
