// Openers: enumerate() opens each parent into its elements, a region (region.hpp). The elements of an ensemble of
// parents are numbered consecutively, and each lane makes every lanes-th.
//
//   R3  An opener that has no free place in its arena drains its regions: all nodes inside are flushed, down to those
//       that close the regions. The last element of each ensemble of parents has a closing mark behind it, so no region
//       stays open.
#pragma once
#include <cstdint>

#include "hiway/item.hpp"
#include "hiway/segment/ensemble.hpp"
#include "hiway/segment/firing/firing.hpp"
#include "hiway/segment/lanes.hpp"
#include "hiway/segment/marks.hpp"
#include "hiway/segment/node.hpp"
#include "hiway/segment/region_arena.hpp"
#include "hiway/segment/region_marks.hpp"
#include "hiway/segment/replica_state.hpp"
#include "hiway/segment/scheduler.hpp"

namespace hiway::segment {

namespace detail {

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

}  // namespace detail

HIWAY_ITEMS_MAY_LOOK_UNSET
/// The opening of one ensemble of `k` parents, new or suspended, by an opener of module M.
template <class State, unsigned M>
class Opening {
  using F = typename State::template ModuleAt<M>;
  using Fn = Function<F>;
  using In = typename Fn::In;
  using Out = typename Fn::template Out<0>;
  using Ensemble = OfOne<State, F>;
  /// Elements that a lane makes at once. A block's tally is valid only until its lanes meet again: if elements may be
  /// missing, a lane makes one at a time.
  static constexpr std::uint32_t wide = Fn::maybe && !State::Lanes::is_warp ? 1 : Fn::items_per_lane;

 public:
  HIWAY_DEVICE Opening(Ensemble& e, QueueState& s, std::uint32_t k, std::uint32_t now)
      : r_(e.r),
        e_(e),
        s_(s),
        row_(e.r.rows[e.node]),
        k_(k),
        now_(static_cast<std::uint16_t>(now)),
        kept_(RegionArena<State>(e.r).template parents<In>(row_)),
        sums_(reinterpret_cast<std::uint32_t*>(e.r.rooms.near_room + row_.sums_at)) {}

  /// Returns whether the ensemble is finished, or suspended.
  HIWAY_DEVICE Worked open() {
    bool const resumed = s_.suspended != 0;
    std::uint32_t const lanes = r_.lanes.size();
    std::uint32_t const rank = r_.lanes.rank();
    if constexpr (Fn::Parents::count != 0) e_.along.region = now_;
    auto const f = e_.function();
    detail::ArenaState& ring = RegionArena<State>(r_).ring(e_.node);
    std::uint32_t const places = row_.arena_slots;
    base_ = detail::wrap(ring.next + (resumed ? places - k_ : 0), places);
    if (!resumed) keep_parents(f, ring);
    all_ = sums_[k_ - 1];
    first_ = rank == 0 ? 0 : sums_[rank - 1];
    opened_ = s_.done == 0 ? 0 : r_.lanes.tally(rank < k_ && first_ < s_.done).all;
    next_ = begin_of(opened_);
    OwnParent own(*this);
    std::uint32_t put = 0;
    std::uint32_t looks = 0;
    for (; s_.done < all_ || opened_ != k_; s_.done += lanes * wide) {
      r_.look_for_abort(looks);
      if (r_.activity.any(row_.children)) return {false, put};
      Elements made;
      make(f, own, made);
      r_.counting.step(r_.lanes, e_.node);
      std::uint32_t const items = put_elements(made, put);
      if (next_ < s_.done + lanes * wide) open_regions(items);
    }
    if (r_.activity.any(row_.children)) return {false, put};
    RegionMarks<State>(r_).put_all(e_, Boundary{place(k_ - 1), Boundary::none, static_cast<std::uint16_t>(e_.node)}, 1);
    s_.done = 0;
    r_.lanes.sync();  // all lanes have read the sums
    return {true, put};
  }

 private:
  /// What a lane makes in one step. `in`: the elements' regions, if some may be missing; else a lane writes the tags
  /// itself.
  struct Elements {
    Maybe<Out> out[wide];
    InRegion in[Fn::maybe ? wide : 1];
  };
  /// The parent of the lane's last element, or the one before the first region that is not open.
  struct OwnParent {
    detail::ParentOfLane<In> parent;
    std::uint32_t low;  ///< its number in the ensemble
    std::uint32_t begins = 0;
    std::uint32_t ends;

    HIWAY_DEVICE explicit OwnParent(Opening const& o)
        : low(o.opened_ < 2 ? ~0u : o.opened_ - 2), ends(o.opened_ < 2 ? 0 : o.sums_[o.opened_ - 2]) {}
    /// Goes on to the parent of element `i`.
    HIWAY_DEVICE void reach(Opening const& o, std::uint32_t i) {
      do {
        ++low;
        begins = ends;
        ends = o.sums_[low];
      } while (i >= ends);
      parent.set(o.kept_[o.place(low)]);
    }
  };

  /// The place of the `i`-th parent in the arena.
  [[nodiscard]] HIWAY_DEVICE std::uint16_t place(std::uint32_t i) const {
    return static_cast<std::uint16_t>(detail::wrap(base_ + i, row_.arena_slots));
  }
  /// The number of the `i`-th region's first element.
  [[nodiscard]] HIWAY_DEVICE std::uint32_t begin_of(std::uint32_t i) const {
    return i == 0 ? 0 : i == k_ ? ~0u : sums_[i - 1];
  }

  /// Keeps the parents in the arena, and counts their elements.
  template <class Bound>
  HIWAY_DEVICE void keep_parents(Bound const& f, detail::ArenaState& ring) {
    std::uint32_t const rank = r_.lanes.rank();
    std::uint32_t n = 0;
    if constexpr (stays_in_slot<In>) {
      copy_large_parents();
      if (rank < k_) n = f.count(kept_[place(rank)]);
    }
    if (rank < k_) {
      if constexpr (!stays_in_slot<In>) {
        In const item = r_.template read<M, In>(e_.node, s_, rank);
        n = f.count(item);
        kept_[place(rank)] = item;
      }
      RegionArena<State>(r_).heads(row_)[place(rank)] = {row_.leaves, now_};
      r_.counting.item(r_.lanes, e_.node, n);
    }
    std::uint32_t all = 0;
    std::uint32_t const before = r_.lanes.sum_before(n, all);
    r_.lanes.sync();  // all lanes have read the ring
    sums_[rank] = before + n;
    if (rank == 0) {
      ring.next = detail::wrap(ring.next + k_, row_.arena_slots);
      ring.live += k_;
    }
    r_.lanes.sync();
  }
  /// All lanes copy each parent together.
  HIWAY_DEVICE void copy_large_parents() {
    std::uint32_t const rank = r_.lanes.rank();
    if constexpr (State::template reads_range<M>) {
      if (rank < k_) copy_item(kept_[place(rank)], r_.template read<M, In>(e_.node, s_, rank));
    } else {
      auto const* const queue = r_.template queue_of<In const>(e_.node);
      for (std::uint32_t i = 0; i != k_; ++i)
        copy_bytes(kept_ + place(i), queue + detail::wrap(s_.head + i, row_.queue_slots), sizeof(In), rank,
                   r_.lanes.size());
    }
    r_.lanes.sync();
  }

  /// Makes the lane's elements of a step.
  template <class Bound>
  HIWAY_DEVICE void make(Bound const& f, OwnParent& own, Elements& made) {
    std::uint32_t const lanes = r_.lanes.size();
    std::uint32_t const rank = r_.lanes.rank();
    if (s_.done + rank < all_ && s_.done >= own.ends) own.reach(*this, s_.done + rank);
    if (own.ends >= s_.done + lanes * wide) {  // all elements of the step have the same parent
      detail::unrolled<wide>([&](auto w) { make_one(f, own, made, w, s_.done + w * lanes + rank); });
    } else {
      detail::unrolled<wide>([&](auto w) {
        std::uint32_t const i = s_.done + w * lanes + rank;
        if (i >= all_) return;
        if (i >= own.ends) own.reach(*this, i);
        make_one(f, own, made, w, i);
      });
    }
  }
  template <class Bound, class Row>
  HIWAY_DEVICE void make_one(Bound const& f, OwnParent& own, Elements& made, Row w, std::uint32_t i) {
    auto& t = e_.to[0];
    made.out[w] = detail::as_maybe(f.at(own.parent.get(), i - own.begins));
    if (t.tags.of == nullptr) return;
    if constexpr (Fn::maybe) {
      made.in[w].region = place(own.low);
    } else {
      t.tags.of[detail::wrap(t.at + w * r_.lanes.size() + r_.lanes.rank(), t.size)] = place(own.low);
    }
  }

  /// Puts the elements of a step. Returns how many items are before the lane's region, if it begins in this step.
  HIWAY_DEVICE std::uint32_t put_elements(Elements const& made, std::uint32_t& put) {
    auto& t = e_.to[0];
    if constexpr (Fn::maybe) {
      std::uint32_t const lanes = r_.lanes.size();
      std::uint32_t items = 0;
      detail::unrolled<wide>([&](auto w) {
        Tally const pushed = t.put(r_, made.out[w].value, made.out[w].ok, false, made.in[w]);
        put += made.out[w].ok ? 1 : 0;
        std::uint32_t const in_row = first_ - s_.done - w * lanes;
        if (in_row < lanes) items = t.pushed - pushed.all + r_.lanes.below(pushed, in_row);
      });
      return items;
    } else {
      std::uint32_t const items = t.pushed + first_ - s_.done;
      put += put_rows(made, all_ - s_.done);
      return items;
    }
  }
  /// Puts the first `count` of the elements, none of which is missing, row by row; they have their tags. Returns how
  /// many of them are the lane's.
  HIWAY_DEVICE std::uint32_t put_rows(Elements const& made, std::uint32_t count) {
    auto& t = e_.to[0];
    std::uint32_t const lanes = r_.lanes.size();
    std::uint32_t const rank = r_.lanes.rank();
    std::uint32_t own = 0;
    if (t.is_sink()) {
      detail::unrolled<wide>([&](auto w) {
        std::uint32_t const left = count > w * lanes ? count - w * lanes : 0;
        std::uint32_t const n = left < lanes ? left : lanes;
        t.put(r_, made.out[w].value, rank < n, Tally{rank < n ? rank : n, n, false}, {});
        own += rank < n ? 1 : 0;
      });
      return own;
    }
    if (count > wide * lanes) count = wide * lanes;
    detail::unrolled<wide>([&](auto w) {
      if (w * lanes + rank >= count) return;
      std::uint32_t const at = detail::wrap(t.at + w * lanes + rank, t.size);
      reinterpret_cast<Out*>(t.queue)[at] = made.out[w].value;
      ++own;
    });
    t.at = detail::wrap(t.at + count, t.size);
    t.free -= count;
    t.pushed += count;
    if (t.free < t.room) r_.activity.add(1u << t.node);
    return own;
  }

  /// Puts the marks of the regions that begin among the elements of a step: all that are not open yet, except those
  /// that wait for a later step. A lane that has left in an abort does not count as waiting.
  HIWAY_DEVICE void open_regions(std::uint32_t items) {
    std::uint32_t const rank = r_.lanes.rank();
    std::uint32_t const end = s_.done + r_.lanes.size() * wide;
    bool const opens = rank >= opened_ && rank < k_ && first_ < end;
    std::uint32_t const waiting = r_.lanes.tally(rank < k_ && first_ >= end).all;
    Boundary const b{rank == 0 ? Boundary::none : place(rank - 1), place(rank), static_cast<std::uint16_t>(e_.node)};
    Tally const who{rank - opened_, k_ - opened_ - waiting, false};
    RegionMarks<State>(r_).put_boundary(e_.to[0], b, opens, who, items);
    opened_ += who.all;
    next_ = begin_of(opened_);
  }

  State& r_;
  Ensemble& e_;
  QueueState& s_;
  NodeRow const row_;
  std::uint32_t const k_;
  std::uint16_t const now_;  ///< the region that the parents are in
  In* const kept_;
  std::uint32_t* const sums_;  ///< for each parent, the number of elements up to its last one
  std::uint32_t base_ = 0;     ///< the first parent's place in the arena
  std::uint32_t all_ = 0;      ///< elements of all parents
  std::uint32_t first_ = 0;    ///< number of the first element of the lane's parent
  std::uint32_t opened_ = 0;   ///< regions whose opening marks are put
  std::uint32_t next_ = 0;     ///< where the next region begins
};

/// One firing of an opener of module M.
template <class State, unsigned M>
class EnumerateFiring {
  using F = typename State::template ModuleAt<M>;
  using Reading = typename State::Reading;

 public:
  HIWAY_DEVICE EnumerateFiring(State& replica, unsigned node)
      : r_(replica),
        row_(replica.rows[node]),
        s_(replica.states[node]),
        partly_(replica.activity.is_flushed(node) || (State::Source::is_range && node == replica.root)) {}

  HIWAY_DEVICE void fire(unsigned node) {
    std::uint32_t const began = r_.counting.now(r_.lanes);
    OfOne<State, F> e(r_, node, r_.template function_of<M>(row_));
    Reading marks = r_.marks.read(node);
    bool starves = false;
    for (;;) {
      std::uint32_t const due = r_.due_of(node, marks, s_.count);
      if (marks.count != 0 && due == 0) {
        RegionMarks<State>(r_).pass_due(e, marks);
        if (must_leave()) break;
        continue;
      }
      std::uint32_t k = s_.suspended;
      if (k == 0) {
        if (due == 0 || (due < row_.width && !partly_ && marks.count == 0)) break;
        std::uint32_t const free = row_.arena_slots - r_.template state_of<F>(node).live;
        starves = free == 0;
        if (starves) break;
        k = parents_of(e, due, free);
      }
      if (!open(e, marks, k) || must_leave()) break;
    }
    e.leave(s_, marks);
    r_.counting.firing(r_.lanes, node, began);
    if (starves) {
      r_.activity.drain(row_.children, row_.inside);
    } else if (s_.suspended == 0) {
      Scheduler<State>(r_).settle(node, s_.count);
    }
  }

 private:
  HIWAY_DEVICE bool must_leave() { return r_.activity.any(row_.children) || r_.is_late(); }
  /// How many of `due` parents an ensemble takes: each needs a lane and one of the `free` places in the arena, and one
  /// step must have room for all of their marks.
  HIWAY_DEVICE std::uint32_t parents_of(OfOne<State, F> const& e, std::uint32_t due, std::uint32_t free) const {
    std::uint32_t const most = e.to[0].is_sink() ? ~0u : e.to[0].marks.ring_slots;
    std::uint32_t k = due < r_.lanes.size() ? due : r_.lanes.size();
    k = k < free ? k : free;
    return k < most ? k : most;
  }
  /// Returns whether the ensemble of `k` parents is finished.
  HIWAY_DEVICE bool open(OfOne<State, F>& e, Reading& marks, std::uint32_t k) {
    bool const resumed = s_.suspended != 0;
    Worked const worked = Opening<State, M>(e, s_, k, marks.now).open();
    r_.counting.ensemble(r_.lanes, e.node, k, k == r_.lanes.size(), resumed, worked.finished, worked.put, false);
    s_.suspended = worked.finished ? 0 : k;
    if (!worked.finished) return false;
    r_.take(e.node, s_, k);
    State::MarksOf::take(marks, k);
    return true;
  }

  State& r_;
  NodeRow const row_;
  QueueState s_;
  bool const partly_;
};
HIWAY_ITEMS_END

template <>
struct Firing<Kind::enumerate> {
  template <unsigned M, class State>
  HIWAY_DEVICE static void fire(State& r, unsigned node) {
    EnumerateFiring<State, M>(r, node).fire(node);
  }
};

}  // namespace hiway::segment
