// Firing of nodes that open regions, close them, or are inside them (region.hpp). A part of Replica (scheduler.hpp).
//
//   R1  A node passes a mark on when all items before it are done, and puts it behind their outputs. A filter in the
//       lane or the dense context does so for all marks of an ensemble at once: it puts each mark behind the outputs of
//       the lanes before it.
//   R2  An expander in the dense context mixes the items of an ensemble. Of the marks among them it passes the openings
//       on before it puts anything, and the closings when it has put everything. In the nodes behind it regions
//       overlap, so all of these are dense.
//   R3  An opener that has no free place in its arena drains its regions: all nodes inside are flushed, down to those
//       that close the regions. The last element of each ensemble of parents has a closing mark behind it, so no region
//       stays open.
//   R4  Marks drive the scheduling as items do: a node is active when its ring has no room for the marks of a push, and
//       passes on those that it can.
#pragma once
#include <bit>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "hiway/item.hpp"
#include "hiway/segment/lanes.hpp"
#include "hiway/segment/marks.hpp"
#include "hiway/segment/region.hpp"

namespace hiway::segment {

/// The tags of a queue that is put into, one for each slot; null unless its node is dense.
struct QueueTags {
  std::uint16_t* of = nullptr;
};
struct NoTags {};

/// What a lane passes along with a put: the region of its item, and a mark from among the ensemble's items.
struct PassedAlong : InRegion {
  std::uint32_t marks = 0;   ///< how many marks all lanes have; lane i has the i-th
  std::uint32_t before = 0;  ///< items of the ensemble before the lane's mark
  Boundary boundary;
};

/// The parent whose elements a lane makes. A small one is copied to registers, a large one stays in its arena.
template <class P, bool large = stays_in_slot<P>>
class ParentOfLane {
 public:
  HIWAY_DEVICE void set(P const& parent) { copy_.item() = parent; }
  HIWAY_DEVICE P const& get() { return copy_.item(); }

 private:
  ItemRoom<P> copy_;
};
template <class P>
class ParentOfLane<P, true> {
 public:
  HIWAY_DEVICE void set(P const& parent) { at_ = &parent; }
  HIWAY_DEVICE P const& get() const { return *at_; }

 private:
  P const* at_ = nullptr;
};

/// Nodes that drain because an arena is full (R3).
struct Drains {
  std::uint32_t nodes = 0;  ///< bits of the nodes that drain now
  std::uint32_t scope = 0;  ///< bits of the nodes to which draining is passed on

  HIWAY_DEVICE void begin(std::uint32_t children, std::uint32_t inside, std::uint32_t& active) {
    scope = (nodes != 0 ? scope : 0) | inside;
    nodes |= children & inside;
    active |= children & inside;
  }
  HIWAY_DEVICE void pass(std::uint32_t from, std::uint32_t children, std::uint32_t& active) {
    if ((nodes & from) == 0) return;
    nodes = (nodes & ~from) | (children & scope);
    active |= children & scope;
  }
};

template <class Replica>
class RegionFiring {
  using Lanes = typename Replica::LanesOf;
  using MarksOf = typename Replica::MarksOf;
  using Reading = typename MarksOf::Reading;
  using MarkOf = Mark<Boundary>;

  template <unsigned M>
  using ModuleAt = typename Replica::template ModuleAt<M>;
  template <class F>
  using OfOne = typename Replica::template OfOne<F>;

 public:
  HIWAY_DEVICE explicit RegionFiring(Replica& replica) : r_(replica) {}

  // ---- arenas

  [[nodiscard]] HIWAY_DEVICE RegionHead* heads(NodeRow const& opener) const {
    return reinterpret_cast<RegionHead*>(r_.room_of(opener.arena_is_far) + opener.arena_at);
  }
  template <class Parent>
  [[nodiscard]] HIWAY_DEVICE Parent* parents(NodeRow const& opener) const {
    return reinterpret_cast<Parent*>(r_.room_of(opener.arena_is_far) + opener.parents_at);
  }
  template <class Value>
  [[nodiscard]] HIWAY_DEVICE Value* values(NodeRow const& closer) const {
    return reinterpret_cast<Value*>(r_.room_of(closer.arena_is_far) + closer.values_at);
  }
  [[nodiscard]] HIWAY_DEVICE std::uint16_t tag(unsigned node, QueueState const& s, std::uint32_t k) const {
    NodeRow const& row = r_.rows_[node];
    auto const* const tags = reinterpret_cast<std::uint16_t const*>(r_.room_of(row.queue_is_far) + row.tags_at);
    return tags[Replica::wrap(s.head + k, row.queue_slots)];
  }
  /// The function bound to the parents of the lane's item.
  template <class F>
  [[nodiscard]] HIWAY_DEVICE auto bind(F const& f, unsigned node, std::uint32_t region) const {
    using Parents = typename Function<F>::Parents;
    return detail::Bound<F, Parents>{f, list_of(static_cast<Parents*>(nullptr), r_.rows_[node].opener, region)};
  }

  /// Adds the replica's counts of items, from which the host computes the lengths of regions.
  HIWAY_DEVICE void tell_lengths() const {
    auto const m = r_.lanes_.machine();
    for (unsigned i = r_.lanes_.rank(); i < r_.p_.nodes; i += r_.lanes_.size())
      m.fetch_add(r_.p_.region_words[i].items, std::uint64_t{r_.marks_.read(i).put}, Order::relaxed);
  }

  // ---- filters: sparse, lane, dense

  HIWAY_ITEMS_MAY_LOOK_UNSET
  template <unsigned M>
  HIWAY_DEVICE void fire_filter(unsigned node) {
    using F = ModuleAt<M>;
    using Fn = Function<F>;
    using In = typename Fn::In;
    NodeRow const row = r_.rows_[node];
    Marked const q = marked(node);
    std::uint32_t const rank = r_.lanes_.rank();
    std::uint32_t const width = row.width;
    QueueState s = r_.states_[node];
    bool const flushes = r_.is_flushed(node) || (Replica::Source::is_range && node == r_.root_);
    std::uint32_t const began = r_.counting_.now(r_.lanes_);
    OfOne<F> e(r_, node, r_.template function_of<M>(row));
    Reading marks = r_.marks_.read(node);
    bool tagged = Fn::Parents::count != 0;  // the regions of the lanes' items are needed
    detail::unrolled<Fn::channels>([&](auto c) { tagged = tagged || e.to[c].tags.of != nullptr; });
    for (;;) {
      std::uint32_t const most = s.count < width ? s.count : width;
      Stretch const taken = stretch(q, marks, most, marks_for(e), row.stops_at_marks);
      if (taken.items + taken.marks == 0 || (taken.items == most && waits(row, marks, most, flushes))) break;
      bool const mine = rank < taken.items;
      open(e, q, marks, taken);
      if (tagged) e.along.region = region_of(q, s, marks, taken);
      ItemRoom<In> item;
      if (mine) item.item() = r_.template read<M, In>(node, s, rank);
      std::uint32_t put = 0;
      (void)r_.template work<F>(e, item.item(), mine, false, static_cast<detail::NoCursor*>(nullptr), put);
      if (taken.items != 0)
        r_.counting_.ensemble(r_.lanes_, node, taken.items, taken.items == width, false, true, put, false);
      if (mine) r_.counting_.item(r_.lanes_, node, put);
      r_.take(node, s, taken.items);
      MarksOf::take(marks, taken.items);
      close(e, q, marks, taken);
      if ((row.children & r_.active_) != 0 || r_.is_late()) break;
    }
    r_.leave(e, s, marks);
    r_.counting_.firing(r_.lanes_, node, began);
    r_.settle(node, s.count);
  }

  HIWAY_ITEMS_END

  // ---- other nodes inside: sparse, dense (R2)

  /// How many items the next ensemble may have, in the dense context. `waits`: no mark requires less than a full
  /// ensemble.
  template <class F>
  [[nodiscard]] HIWAY_DEVICE std::uint32_t due_in_dense(OfOne<F>& e, Reading const& marks, std::uint32_t count,
                                                        bool& waits) const {
    std::uint32_t const width = r_.rows_[e.node].width;
    std::uint32_t const most = count < width ? count : width;
    std::uint32_t const k = stretch(marked(e.node), marks, most, marks_for(e) / 2, false).items;
    waits = k == most && !MarksOf::press(r_.rows_[e.node], marks);
    return k;
  }
  template <class F>
  HIWAY_DEVICE void begin_ensemble(OfOne<F>& e, Reading const& marks, QueueState const& s, std::uint32_t k,
                                   bool resumed) {
    NodeRow const& row = r_.rows_[e.node];
    if (!row.is_dense) {
      e.along.region = static_cast<std::uint16_t>(marks.now);
      return;
    }
    std::uint32_t const rank = r_.lanes_.rank();
    Marked const q = marked(e.node);
    std::uint32_t const n = resumed ? 0 : count_marks(marks, [&](std::uint32_t i) { return q.ahead(marks, i) < k; });
    if (n != 0) {
      Boundary b = boundary(q, marks, n);
      if constexpr (Function<F>::hears_begin) call_begin(e, b);
      b.closes = Boundary::none;
      put_all(e, b, n);
    }
    e.along.region = rank < k ? tag(e.node, s, rank) : Boundary::none;
  }
  /// Passes on the closing marks among the ensemble's items, which have been taken.
  template <class F>
  HIWAY_DEVICE void end_ensemble(OfOne<F>& e, Reading& marks) {
    if (!r_.rows_[e.node].is_dense) return;
    Marked const q = marked(e.node);
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
  HIWAY_DEVICE void pass_due(OfOne<F>& e, Reading& marks) {
    Marked const q = marked(e.node);
    Stretch const taken = stretch(q, marks, 0, marks_for(e), false);
    open(e, q, marks, taken);
    put_all(e, e.along.boundary, taken.marks);
    close(e, q, marks, taken);
  }
  /// Puts the lane's mark among the items of a push, behind those of the lanes below `along.before`.
  template <class Target>
  HIWAY_DEVICE void put_along(Target& t, PassedAlong const& along, Tally const& pushed) {
    std::uint32_t const items = t.pushed - pushed.all + r_.lanes_.below(pushed, along.before);
    put(t, along.boundary, along.marks, items);
  }

  // ---- openers

  template <unsigned M>
  HIWAY_DEVICE void fire_enumerate(unsigned node) {
    using F = ModuleAt<M>;
    NodeRow const row = r_.rows_[node];
    std::uint32_t const lanes = r_.lanes_.size();
    QueueState s = r_.states_[node];
    bool const of_range = Replica::Source::is_range && node == r_.root_;
    bool const partly = r_.is_flushed(node) || of_range;
    std::uint32_t const began = r_.counting_.now(r_.lanes_);
    OfOne<F> e(r_, node, r_.template function_of<M>(row));
    Reading marks = r_.marks_.read(node);
    bool starves = false;
    for (;;) {
      std::uint32_t const due = r_.due_of(node, marks, s.count);
      if (marks.count != 0 && due == 0) {
        pass_due(e, marks);
        if ((row.children & r_.active_) != 0 || r_.is_late()) break;
        continue;
      }
      bool const resumed = s.suspended != 0;
      std::uint32_t k = s.suspended;
      if (!resumed) {
        if (due == 0 || (due < row.width && !partly && marks.count == 0)) break;
        std::uint32_t const free = row.arena_slots - r_.template state_of<F>(node).live;
        starves = free == 0;
        if (starves) break;
        std::uint32_t const most = most_parents(e.to[0]);
        k = due < lanes ? due : lanes;
        k = k < free ? k : free;
        k = k < most ? k : most;
      }
      std::uint32_t put = 0;
      bool const finished = enumerate<M>(e, s, k, resumed, marks, put);
      r_.counting_.ensemble(r_.lanes_, node, k, k == lanes, resumed, finished, put, false);
      s.suspended = finished ? 0 : k;
      if (!finished) break;
      r_.take(node, s, k);
      MarksOf::take(marks, k);
      if ((row.children & r_.active_) != 0 || r_.is_late()) break;
    }
    r_.leave(e, s, marks);
    r_.counting_.firing(r_.lanes_, node, began);
    if (starves) {
      r_.drains_.begin(row.children, row.inside, r_.active_);
    } else if (s.suspended == 0) {
      r_.settle(node, s.count);
    }
  }

  // ---- aggregates

  HIWAY_ITEMS_MAY_LOOK_UNSET
  template <unsigned M>
  HIWAY_DEVICE void fire_aggregate(unsigned node) {
    using F = ModuleAt<M>;
    using Fn = Function<F>;
    using In = typename Fn::In;
    using Value = typename Fn::Value;
    NodeRow const row = r_.rows_[node];
    Marked const q = marked(node);
    std::uint32_t const lanes = r_.lanes_.size();
    std::uint32_t const rank = r_.lanes_.rank();
    QueueState s = r_.states_[node];
    bool const flushes = r_.is_flushed(node);
    std::uint32_t const began = r_.counting_.now(r_.lanes_);
    OfOne<F> e(r_, node, r_.template function_of<M>(row));
    Reading marks = r_.marks_.read(node);  // the marks that have not been passed
    Value* const all = values<Value>(row);
    auto const* const queue = reinterpret_cast<In const*>(r_.room_of(row.queue_is_far) + row.queue_at);
    auto const item = [&](std::uint32_t k) { return queue[Replica::wrap(s.head + k, row.queue_slots)]; };
    auto const take = [&](std::uint32_t n) {
      s.head = Replica::wrap(s.head + n, row.queue_slots);
      s.count -= n;
      MarksOf::take(marks, n);
    };
    Value own = e.f.identity();  // of the lane's items of the region marks.now, not yet joined to the region's value
    bool holds = false;
    bool is_new = false;       // the region marks.now has no value yet
    std::uint32_t passed = 0;  // marks passed whose regions are still to be closed: all lanes close them together
    auto const settle_own = [&] {
      if (!holds && !is_new) return;
      auto const now = static_cast<std::uint16_t>(marks.now);
      if (holds) {
        join_all(all, now, own, is_new, e.f);
      } else if (rank == 0) {
        all[now] = own;
      }
      own = e.f.identity();
      holds = false;
      is_new = false;
    };
    auto const pass = [&](std::uint32_t n) {
      settle_own();
      Boundary const b = boundary(q, marks, n);
      if (b.opener == row.opener && b.opens != Boundary::none) all[b.opens] = e.f.identity();
      q.advance(marks, n);
      q.drop(marks, n);
      passed += n;
      r_.lanes_.sync();
    };
    auto const pass_one = [&] {
      Boundary const b = q.at(marks, 0).signal;
      if (b.opener == row.opener) {
        settle_own();
        is_new = b.opens != Boundary::none;
        marks.now = b.opens;
      }
      q.drop(marks, 1);
      ++passed;
    };
    for (;;) {
      std::uint32_t const most_marks = marks_for(e) - passed;
      std::uint32_t to_mark = marks.count != 0 ? q.ahead(marks, 0) : ~0u;
      // First the full ensembles of one region.
      std::uint32_t const quiet = row.is_mixed ? 0 : to_mark < s.count ? to_mark : s.count;
      if (quiet >= lanes) {
        std::uint32_t const n = quiet / lanes;
        e.along.region = static_cast<std::uint16_t>(marks.now);
        auto&& f = e.function();
        constexpr std::uint32_t at_once = 4;
        std::uint32_t i = 0;
        for (; i + at_once <= n; i += at_once) {
          ItemRoom<In> items[at_once];
          detail::unrolled<at_once>([&](auto k) { items[k].item() = item((i + k) * lanes + rank); });
          detail::unrolled<at_once>([&](auto k) { own = e.f.join(own, f.value(items[k].item())); });
        }
        for (; i != n; ++i) own = e.f.join(own, f.value(item(i * lanes + rank)));
        holds = true;
        take(n * lanes);
        r_.counting_.full_ensembles(r_.lanes_, node, n);
        if (marks.count != 0) to_mark -= n * lanes;
      }
      // Then an ensemble with marks in it, or one that is not full.
      std::uint32_t const most = s.count < lanes ? s.count : lanes;
      Stretch const some = stretch(q, marks, most, most_marks, row.stops_at_marks);
      std::uint32_t taken = some.items;
      std::uint32_t passing = some.marks;
      // The ensemble is not full yet, so it waits. Marks before all of its items do not.
      if (taken == most && waits(row, marks, most, flushes)) {
        taken = 0;
        if (to_mark != 0) passing = 0;
        if (passing > 1) passing = stretch(q, marks, 0, most_marks, false).marks;
      }
      if (taken + passing == 0) {
        if (passed == 0) break;
        close_regions(e, q, marks, passed, all);
        passed = 0;
        if ((row.children & r_.active_) != 0 || r_.is_late()) break;
        continue;
      }
      constexpr std::uint32_t few = 3;  // so many marks cost less one after another than all together
      bool const is_few = passing <= few && !row.is_mixed;
      Value value = e.f.identity();
      if (taken != 0) {
        if (Fn::Parents::count != 0 || !is_few) e.along.region = region_of(q, s, marks, {taken, passing});
        if (rank < taken) value = e.function().value(item(rank));
        r_.counting_.ensemble(r_.lanes_, node, taken, taken == lanes, false, true, 0, false);
      }
      if (is_few) {
        std::uint32_t done = 0;  // lanes whose values are joined already
        auto const join_to = [&](std::uint32_t end) {
          if (done == end) return;
          if (rank >= done && rank < end) own = e.f.join(own, value);
          holds = true;
          done = end;
        };
        for (; passing != 0; --passing) {
          join_to(q.ahead(marks, 0));
          pass_one();
        }
        join_to(taken);
      } else {
        pass(passing);
        if (taken != 0) join_runs(all, e.along.region, value, e.f, row.is_mixed);
      }
      take(taken);
    }
    settle_own();
    r_.leave(e, s, marks);
    r_.counting_.firing(r_.lanes_, node, began);
    r_.settle(node, s.count);
  }
  HIWAY_ITEMS_END

 private:
  /// The marks of the firing node's queue, held in registers: from memory they would be loaded again after each store.
  struct Marked {
    unsigned node;
    MarkOf const* ring;
    std::uint32_t ring_slots;
    std::uint32_t opener;

    [[nodiscard]] HIWAY_DEVICE MarkOf const& at(Reading const& marks, std::uint32_t i) const {
      return ring[Replica::wrap(marks.head + i, ring_slots)];
    }
    /// How many items before the `i`-th mark have not been taken.
    [[nodiscard]] HIWAY_DEVICE std::uint32_t ahead(Reading const& marks, std::uint32_t i) const {
      return at(marks, i).at - marks.taken;
    }
    HIWAY_DEVICE void drop(Reading& marks, std::uint32_t n) const {
      marks.head = Replica::wrap(marks.head + n, ring_slots);
      marks.count -= n;
    }
    /// Sets `marks.now` to the region of the next item behind the first `n` marks.
    HIWAY_DEVICE void advance(Reading& marks, std::uint32_t n) const {
      while (n-- != 0) {
        Boundary const b = at(marks, n).signal;
        if (b.opener != opener) continue;  // the mark of an outer region
        marks.now = b.opens;
        return;
      }
    }
  };
  [[nodiscard]] HIWAY_DEVICE Marked marked(unsigned node) const {
    NodeRow const& row = r_.rows_[node];
    return {node, r_.marks_of(node), row.mark_slots, row.opener};
  }
  /// What a node takes at once: items, and the marks before, among and directly behind them.
  struct Stretch {
    std::uint32_t items = 0;
    std::uint32_t marks = 0;
  };

  [[nodiscard]] HIWAY_DEVICE detail::ParentList<detail::Types<>> list_of(detail::Types<>*, unsigned,
                                                                         std::uint32_t) const {
    return {};
  }
  template <class P, class... Rest>
  [[nodiscard]] HIWAY_DEVICE detail::ParentList<detail::Types<P, Rest...>> list_of(detail::Types<P, Rest...>*,
                                                                                   unsigned opener,
                                                                                   std::uint32_t region) const {
    if (region == Boundary::none) return {};
    NodeRow const& row = r_.rows_[opener];
    std::uint32_t outer = Boundary::none;
    if constexpr (sizeof...(Rest) != 0) outer = heads(row)[region].outer;
    return {parents<P>(row) + region, list_of(static_cast<detail::Types<Rest...>*>(nullptr), row.opener, outer)};
  }

  /// How many of the first marks satisfy `is`. Each lane looks at one mark; those that satisfy it come first.
  template <class Is>
  [[nodiscard]] HIWAY_DEVICE std::uint32_t count_marks(Reading const& marks, Is&& is) const {
    if (marks.count == 0) return 0;
    std::uint32_t const i = r_.lanes_.rank();
    return r_.lanes_.tally(i < marks.count && is(i)).all;
  }
  [[nodiscard]] HIWAY_DEVICE Stretch stretch(Marked const& q, Reading const& marks, std::uint32_t most_items,
                                             std::uint32_t most_marks, bool stops) const {
    std::uint32_t k = most_items;
    if (marks.count == 0) return {k, 0};
    std::uint32_t const first = q.ahead(marks, 0);
    if (first > k) return {k, 0};
    if (stops || most_marks == 0) k = first;
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
  [[nodiscard]] HIWAY_DEVICE std::uint32_t marks_for(OfOne<F> const& e) const {
    std::uint32_t const free = e.free_marks();
    return free < r_.lanes_.size() ? free : r_.lanes_.size();
  }
  /// The lane's own of the first `n` marks, if it has one.
  [[nodiscard]] HIWAY_DEVICE Boundary boundary(Marked const& q, Reading const& marks, std::uint32_t n) const {
    std::uint32_t const i = r_.lanes_.rank();
    return i < n ? q.at(marks, i).signal : Boundary{};
  }
  /// Whether the node waits for a full ensemble. `most`: items that it could take now.
  [[nodiscard]] HIWAY_DEVICE static bool waits(NodeRow const& row, Reading const& marks, std::uint32_t most,
                                               bool flushes) {
    return most < row.width && !flushes && !MarksOf::press(row, marks) && !(row.stops_at_marks && marks.count != 0);
  }
  /// The region of the lane's item: by its tag, or by the marks before it.
  [[nodiscard]] HIWAY_DEVICE std::uint16_t region_of(Marked const& q, QueueState const& s, Reading const& marks,
                                                     Stretch const& taken) const {
    std::uint32_t const rank = r_.lanes_.rank();
    if (rank >= taken.items) return Boundary::none;
    if (r_.rows_[q.node].is_dense) return tag(q.node, s, rank);
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

  template <class F>
  HIWAY_DEVICE void call_begin(OfOne<F> const& e, Boundary const& b) const {
    using Parent = typename detail::Signature<decltype(&F::begin)>::Item;
    NodeRow const& row = r_.rows_[e.node];
    if (b.opener == row.opener && b.opens != Boundary::none) e.f.begin(parents<Parent>(r_.rows_[row.opener])[b.opens]);
  }
  template <class F>
  HIWAY_DEVICE void call_end(OfOne<F> const& e, Boundary const& b) const {
    using Parent = typename detail::Signature<decltype(&F::end)>::Item;
    NodeRow const& row = r_.rows_[e.node];
    if (b.opener == row.opener && b.closes != Boundary::none) e.f.end(parents<Parent>(r_.rows_[row.opener])[b.closes]);
  }

  /// Called before an ensemble: its puts pass along the marks of `taken`.
  template <class F>
  HIWAY_DEVICE void open(OfOne<F>& e, Marked const& q, Reading const& marks, Stretch const& taken) const {
    e.along.marks = taken.marks;
    if (taken.marks == 0) return;
    e.along.boundary = boundary(q, marks, taken.marks);
    e.along.before = r_.lanes_.rank() < taken.marks ? q.ahead(marks, r_.lanes_.rank()) : 0;
    if constexpr (Function<F>::hears_begin) call_begin(e, e.along.boundary);
  }
  /// Called after the ensemble: the marks of `taken` are passed.
  template <class F>
  HIWAY_DEVICE void close(OfOne<F>& e, Marked const& q, Reading& marks, Stretch const& taken) const {
    if (taken.marks == 0) return;
    if constexpr (Function<F>::hears_end) call_end(e, e.along.boundary);
    q.advance(marks, taken.marks);
    drop(q, marks, taken.marks);
    e.along.marks = 0;
  }
  HIWAY_DEVICE void drop(Marked const& q, Reading& marks, std::uint32_t n) const {
    r_.counting_.passed_on(r_.lanes_, q.node, n);
    q.drop(marks, n);
  }

  /// Puts the first `n` lanes' marks behind all items pushed, on all channels.
  template <class F>
  HIWAY_DEVICE void put_all(OfOne<F>& e, Boundary const& b, std::uint32_t n) {
    detail::unrolled<Function<F>::channels>([&](auto c) { put(e.to[c], b, n, e.to[c].pushed); });
  }
  /// Puts the first `n` lanes' marks, each behind `items` pushed.
  template <class Target>
  HIWAY_DEVICE void put(Target& t, Boundary const& b, std::uint32_t n, std::uint32_t items) {
    put_boundary(t, b, r_.lanes_.rank() < n, Tally{r_.lanes_.rank(), n, false}, items);
  }
  /// Puts the marks of the lanes in `who`. At a sink their regions end instead.
  template <class Target>
  HIWAY_DEVICE void put_boundary(Target& t, Boundary const& b, bool brings, Tally const& who, std::uint32_t items) {
    if (t.is_sink()) {
      release(b, brings && b.closes != Boundary::none);
    } else {
      r_.put_mark(t, b, brings, who, items);
    }
  }
  /// The region that the lane's mark closes has ended on one channel. When it has ended on all, its place is free.
  HIWAY_DEVICE void release(Boundary const& b, bool ends) {
    auto const m = r_.lanes_.machine();
    bool freed = false;
    if (ends) {
      NodeRow const& row = r_.rows_[b.opener];
      freed = --heads(row)[b.closes].ends == 0;
      if (freed && row.poisons) {
        std::uint32_t const bytes = row.item_bytes;
        std::byte* const parent = r_.room_of(row.arena_is_far) + row.parents_at + std::size_t{b.closes} * bytes;
        for (std::uint32_t i = 0; i != bytes; ++i) parent[i] = std::byte{0xa5};
      }
    }
    for (std::uint32_t left = r_.p_.openers; left != 0; left &= left - 1) {
      unsigned const node = m.lowest(left);
      std::uint32_t const all = r_.lanes_.tally(freed && b.opener == node).all;
      if (r_.lanes_.rank() == 0) arena(node).live -= all;
    }
    r_.lanes_.sync();
  }
  [[nodiscard]] HIWAY_DEVICE detail::ArenaState& arena(unsigned opener) const {
    return *reinterpret_cast<detail::ArenaState*>(r_.near_ + r_.rows_[opener].state_at);
  }

  /// How many parents an ensemble may have: one step must have room for all of their marks.
  template <class Target>
  [[nodiscard]] HIWAY_DEVICE std::uint32_t most_parents(Target const& t) const {
    return t.is_sink() ? ~0u : t.marks.ring_slots;
  }
  HIWAY_ITEMS_MAY_LOOK_UNSET
  /// Opens `k` parents. Their elements are numbered consecutively, and each lane makes every lanes-th.
  template <unsigned M>
  HIWAY_DEVICE bool enumerate(OfOne<ModuleAt<M>>& e, QueueState& s, std::uint32_t k, bool resumed, Reading const& marks,
                              std::uint32_t& put) {
    using F = ModuleAt<M>;
    using Fn = Function<F>;
    using In = typename Fn::In;
    using Out = typename Fn::template Out<0>;
    // A block's tally is valid only until its lanes meet again: if elements may be missing, a lane makes one at a time.
    constexpr std::uint32_t wide = Fn::maybe && !Lanes::is_warp ? 1 : Fn::items_per_lane;
    NodeRow const row = r_.rows_[e.node];
    if constexpr (Fn::Parents::count != 0) e.along.region = static_cast<std::uint16_t>(marks.now);
    auto const f = e.function();
    auto& t = e.to[0];
    std::uint32_t const lanes = r_.lanes_.size();
    std::uint32_t const rank = r_.lanes_.rank();
    std::uint32_t const parents_most = row.arena_slots;
    detail::ArenaState& ring = arena(e.node);
    std::uint32_t const base =
        Replica::wrap(ring.next + (resumed ? parents_most - k : 0), parents_most);  // of the first parent
    auto const place = [&](std::uint32_t i) {
      return static_cast<std::uint16_t>(Replica::wrap(base + i, parents_most));
    };
    In* const kept = parents<In>(row);
    // For each parent, the number of elements up to its last one.
    auto* const sums = reinterpret_cast<std::uint32_t*>(r_.near_ + row.sums_at);
    if (!resumed) {
      std::uint32_t n = 0;
      if constexpr (stays_in_slot<In>) {
        keep<M>(e.node, s, k, kept, place);
        if (rank < k) n = f.count(kept[place(rank)]);
      }
      if (rank < k) {
        if constexpr (!stays_in_slot<In>) {
          In const item = r_.template read<M, In>(e.node, s, rank);
          n = f.count(item);
          kept[place(rank)] = item;
        }
        heads(row)[place(rank)] = {row.leaves, static_cast<std::uint16_t>(marks.now)};
        r_.counting_.item(r_.lanes_, e.node, n);
      }
      std::uint32_t all = 0;
      std::uint32_t const before = r_.lanes_.sum_before(n, all);
      r_.lanes_.sync();  // all lanes have read the ring
      sums[rank] = before + n;
      if (rank == 0) {
        ring.next = Replica::wrap(ring.next + k, parents_most);
        ring.live += k;
      }
      r_.lanes_.sync();
    }
    std::uint32_t const all = sums[k - 1];
    std::uint32_t const first = rank == 0 ? 0 : sums[rank - 1];  // number of the first element of the lane's parent
    std::uint32_t opened = s.done == 0 ? 0 : r_.lanes_.tally(rank < k && first < s.done).all;
    auto const begin_of = [&](std::uint32_t i) { return i == 0 ? 0 : i == k ? ~0u : sums[i - 1]; };
    std::uint32_t next = begin_of(opened);  // where the next region begins
    ParentOfLane<In> parent;
    std::uint32_t low = opened < 2 ? ~0u : opened - 2;  // the parent of the lane's last element, or the one before
    std::uint32_t begins = 0;
    std::uint32_t ends = opened < 2 ? 0 : sums[opened - 2];
    std::uint32_t looks = 0;
    for (; s.done < all || opened != k; s.done += lanes * wide) {
      r_.look_for_abort(looks);
      if ((row.children & r_.active_) != 0) return false;
      Maybe<Out> out[wide];
      InRegion in[Fn::maybe ? wide : 1];
      auto const make = [&](auto w, std::uint32_t i) {
        out[w] = detail::as_maybe(f.at(parent.get(), i - begins));
        if (t.tags.of == nullptr) return;
        if constexpr (Fn::maybe) {
          in[w].region = place(low);
        } else {
          t.tags.of[Replica::wrap(t.at + w * lanes + rank, t.size)] = place(low);
        }
      };
      auto const reach = [&](std::uint32_t i) {  // goes on to the parent of element i
        do {
          ++low;
          begins = ends;
          ends = sums[low];
        } while (i >= ends);
        parent.set(kept[place(low)]);
      };
      std::uint32_t const own = s.done + rank;
      if (own < all && s.done >= ends) reach(own);
      if (ends >= s.done + lanes * wide) {  // all elements of the step have the same parent
        detail::unrolled<wide>([&](auto w) { make(w, s.done + w * lanes + rank); });
      } else {
        detail::unrolled<wide>([&](auto w) {
          std::uint32_t const i = s.done + w * lanes + rank;
          if (i >= all) return;
          if (i >= ends) reach(i);
          make(w, i);
        });
      }
      r_.counting_.step(r_.lanes_, e.node);
      std::uint32_t const end = s.done + lanes * wide;
      std::uint32_t items = t.pushed + first - s.done;  // items before the lane's region, if it begins in this step
      if constexpr (Fn::maybe) {
        items = 0;
        detail::unrolled<wide>([&](auto w) {
          Tally const pushed = r_.put(t, out[w].value, out[w].ok, false, in[w]);
          put += out[w].ok ? 1 : 0;
          std::uint32_t const in_row = first - s.done - w * lanes;
          if (in_row < lanes) items = t.pushed - pushed.all + r_.lanes_.below(pushed, in_row);
        });
      } else {
        put += put_rows<wide>(t, out, all - s.done);
      }
      if (next >= end) continue;
      // The regions that begin among these elements: all that are not open yet, except those that wait for a later
      // step. A lane that has left in an abort does not count as waiting.
      bool const opens = rank >= opened && rank < k && first < end;
      std::uint32_t const waiting = r_.lanes_.tally(rank < k && first >= end).all;
      Boundary const b{rank == 0 ? Boundary::none : place(rank - 1), place(rank), static_cast<std::uint16_t>(e.node)};
      Tally const who{rank - opened, k - opened - waiting, false};
      put_boundary(t, b, opens, who, items);
      opened += who.all;
      next = begin_of(opened);
    }
    if ((row.children & r_.active_) != 0) return false;
    put_all(e, Boundary{place(k - 1), Boundary::none, static_cast<std::uint16_t>(e.node)}, 1);
    s.done = 0;
    r_.lanes_.sync();  // all lanes have read the sums
    return true;
  }

  HIWAY_ITEMS_END
  /// Copies the first `k` items, which are large, to their places in the arena. All lanes copy each item together.
  template <unsigned M, class In, class Place>
  HIWAY_DEVICE void keep(unsigned node, QueueState const& s, std::uint32_t k, In* kept, Place&& place) {
    std::uint32_t const rank = r_.lanes_.rank();
    if constexpr (Replica::template reads_range<M>) {
      if (rank < k) copy_item(kept[place(rank)], r_.template read<M, In>(node, s, rank));
    } else {
      NodeRow const& row = r_.rows_[node];
      auto const* const queue = reinterpret_cast<In const*>(r_.room_of(row.queue_is_far) + row.queue_at);
      for (std::uint32_t i = 0; i != k; ++i)
        copy_bytes(kept + place(i), queue + Replica::wrap(s.head + i, row.queue_slots), sizeof(In), rank,
                   r_.lanes_.size());
    }
    r_.lanes_.sync();
  }
  /// Puts the first `count` of the items that the lanes have made, row by row, without tags. Returns how many of them
  /// are the lane's.
  template <std::uint32_t wide, class Target, class T>
  HIWAY_DEVICE std::uint32_t put_rows(Target& t, Maybe<T> const (&out)[wide], std::uint32_t count) {
    std::uint32_t const lanes = r_.lanes_.size();
    std::uint32_t const rank = r_.lanes_.rank();
    std::uint32_t own = 0;
    if (t.is_sink()) {
      detail::unrolled<wide>([&](auto w) {
        std::uint32_t const left = count > w * lanes ? count - w * lanes : 0;
        std::uint32_t const n = left < lanes ? left : lanes;
        r_.put(t, out[w].value, rank < n, Tally{rank < n ? rank : n, n, false}, {});
        own += rank < n ? 1 : 0;
      });
      return own;
    }
    if (count > wide * lanes) count = wide * lanes;
    detail::unrolled<wide>([&](auto w) {
      if (w * lanes + rank >= count) return;
      std::uint32_t const at = Replica::wrap(t.at + w * lanes + rank, t.size);
      reinterpret_cast<T*>(t.queue)[at] = out[w].value;
      ++own;
    });
    t.at = Replica::wrap(t.at + count, t.size);
    t.free -= count;
    t.pushed += count;
    if (t.free < t.room) r_.active_ |= 1u << t.node;
    return own;
  }

  // ---- values

  using Warp = WholeWarp<decltype(std::declval<Lanes const&>().machine())>;
  /// Rounds of a reduction over a warp: each doubles the distance between lanes that join.
  static constexpr unsigned rounds = std::bit_width(Warp::size) - 1u;

  /// Calls `join_own` in one warp after the other, because several warps may join to the same region.
  template <class Join>
  HIWAY_DEVICE void warp_by_warp(Join&& join_own) {
    if constexpr (Lanes::is_warp) {
      join_own(0u);
      r_.lanes_.sync();
    } else {
      for (std::uint32_t w = 0; w != r_.lanes_.size() / Warp::size; ++w) {
        if (w == r_.lanes_.rank() / Warp::size) join_own(w);
        r_.lanes_.sync();
      }
    }
  }
  /// Joins the values of all lanes to the region's value. If the region is new, their join becomes its value.
  template <class Value, class F>
  HIWAY_DEVICE void join_all(Value* all, std::uint16_t region, Value value, bool is_new, F const& f) {
    Warp const warp(r_.lanes_.machine());
    r_.lanes_.sync();  // the region's value has been written
    detail::unrolled<rounds>([&](auto i) { value = f.join(value, warp.shuffle(value, warp.lane() ^ (1u << i))); });
    warp_by_warp([&](std::uint32_t w) {
      if (warp.lane() == 0) all[region] = is_new && w == 0 ? value : f.join(all[region], value);
    });
  }
  /// Joins each lane's value to the value of its region. Lanes of one region are neighbours, unless their items come
  /// `mixed`, from a node that mixes regions.
  template <class Value, class F>
  HIWAY_DEVICE void join_runs(Value* all, std::uint16_t region, Value value, F const& f, bool mixed) {
    Warp const warp(r_.lanes_.machine());
    unsigned const lane = warp.lane();
    std::uint32_t const left = warp.shuffle(std::uint32_t{region}, lane == 0 ? 0 : lane - 1);
    std::uint32_t const right = warp.shuffle(std::uint32_t{region}, lane + 1 == Warp::size ? lane : lane + 1);
    std::uint32_t const begins = warp.ballot(lane == 0 || left != region);
    bool const ends = region != Boundary::none && (lane + 1 == Warp::size || right != region);
    // The lanes, up to this one, in which a run begins: the highest is the first lane of this lane's run.
    std::uint32_t const upto = begins & (lanes_below(lane) | 1u << lane);
    detail::unrolled<rounds>([&](auto i) {
      constexpr unsigned d = 1u << i;
      Value const other = warp.shuffle(value, lane >= d ? lane - d : lane);
      if (lane >= d && (upto >> (lane - d) >> 1) == 0) value = f.join(other, value);
    });
    warp_by_warp([&](std::uint32_t) {
      if (!mixed) {
        if (ends) all[region] = f.join(all[region], value);
      } else {
        for (std::uint32_t who = warp.ballot(ends); who != 0; who &= who - 1) {
          if (r_.lanes_.machine().lowest(who) == lane) all[region] = f.join(all[region], value);
          warp.sync();
        }
      }
    });
  }
  /// Closes the regions of the `n` marks that were passed last, and puts their values. Marks of outer regions are
  /// passed on.
  template <class F, class Value>
  HIWAY_DEVICE void close_regions(OfOne<F>& e, Marked const& q, Reading const& marks, std::uint32_t n,
                                  Value const* all) {
    using Fn = Function<F>;
    using Parent = typename Fn::Parent;
    NodeRow const& row = r_.rows_[e.node];
    std::uint32_t const rank = r_.lanes_.rank();
    r_.lanes_.sync();  // the regions' values have been written
    Reading before = marks;
    before.head = Replica::wrap(marks.head + q.ring_slots - n, q.ring_slots);
    before.count = n;
    Boundary const b = boundary(q, before, n);
    bool const is_own = rank < n && b.opener == row.opener;
    bool const ends = is_own && b.closes != Boundary::none;
    if constexpr (Fn::hears_begin) call_begin(e, b);
    Maybe<typename Fn::template Out<0>> out;
    InRegion in{};
    NodeRow const& opener = r_.rows_[row.opener];
    if (ends) {
      out = detail::as_maybe(e.f.close(parents<Parent>(opener)[b.closes], all[b.closes]));
      if (e.to[0].tags.of != nullptr) in.region = heads(opener)[b.closes].outer;
    }
    if constexpr (Fn::hears_end) call_end(e, b);
    Tally const pushed = r_.put(e.to[0], out.value, out.ok, false, in);
    if (opener.opener < first_sink) {
      std::uint32_t const items = e.to[0].pushed - pushed.all + r_.lanes_.below(pushed, rank < n ? rank : 0);
      bool const passes = rank < n && !is_own;
      Tally const who = r_.lanes_.tally(passes);
      put_boundary(e.to[0], b, passes, who, items);
    }
    release(b, ends);
    r_.counting_.closed(r_.lanes_, e.node, n, out.ok);
  }

  Replica& r_;
};

}  // namespace hiway::segment
