// Aggregates: one value of all items of each region, which the node closes (region.hpp).
//
// A region's items come one after the other, unless a node before it mixes regions. So the lanes keep what they have of
// the current region to themselves, and join it to the region's value when a mark comes.
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
#include "hiway/segment/region_values.hpp"
#include "hiway/segment/replica_state.hpp"
#include "hiway/segment/scheduler.hpp"

namespace hiway::segment {

HIWAY_ITEMS_MAY_LOOK_UNSET
/// One firing of an aggregate of module M.
template <class State, unsigned M>
class AggregateFiring {
  using F = typename State::template ModuleAt<M>;
  using Fn = Function<F>;
  using In = typename Fn::In;
  using Value = typename Fn::Value;
  using MarksOf = typename State::MarksOf;

 public:
  HIWAY_DEVICE AggregateFiring(State& replica, unsigned node)
      : r_(replica),
        row_(replica.rows[node]),
        q_(RegionMarks<State>(replica).marked(node)),
        s_(replica.states[node]),
        flushes_(replica.activity.is_flushed(node)),
        e_(replica, node, replica.template function_of<M>(row_)),
        marks_(replica.marks.read(node)),
        values_(replica.lanes, e_.f, RegionArena<State>(replica).template values<Value>(row_)),
        queue_(replica.template queue_of<In const>(node)),
        own_(e_.f.identity()) {}

  HIWAY_DEVICE void fire() {
    std::uint32_t const began = r_.counting.now(r_.lanes);
    for (;;) {
      std::uint32_t const most_marks = RegionMarks<State>(r_).marks_for(e_) - passed_;
      std::uint32_t const to_mark = take_full_ensembles();
      Stretch const taken = next_stretch(most_marks, to_mark);
      if (taken.items + taken.marks != 0) {
        take_stretch(taken);
        continue;
      }
      if (passed_ == 0) break;
      close_regions();
      passed_ = 0;
      if (r_.activity.any(row_.children) || r_.is_late()) break;
    }
    settle_own();
    e_.leave(s_, marks_);
    r_.counting.firing(r_.lanes, e_.node, began);
    Scheduler<State>(r_).settle(e_.node, s_.count);
  }

 private:
  [[nodiscard]] HIWAY_DEVICE In const& item(std::uint32_t k) const {
    return queue_[detail::wrap(s_.head + k, row_.queue_slots)];
  }
  HIWAY_DEVICE void take(std::uint32_t n) {
    s_.head = detail::wrap(s_.head + n, row_.queue_slots);
    s_.count -= n;
    MarksOf::take(marks_, n);
  }

  /// Takes the full ensembles of one region, as long as its items are not mixed with others. Returns how many items are
  /// left before the first mark.
  HIWAY_DEVICE std::uint32_t take_full_ensembles() {
    std::uint32_t const lanes = r_.lanes.size();
    std::uint32_t const rank = r_.lanes.rank();
    std::uint32_t const to_mark = marks_.count != 0 ? q_.ahead(marks_, 0) : ~0u;
    std::uint32_t const quiet = row_.is_mixed ? 0 : to_mark < s_.count ? to_mark : s_.count;
    if (quiet < lanes) return to_mark;
    std::uint32_t const n = quiet / lanes;
    e_.along.region = static_cast<std::uint16_t>(marks_.now);
    auto&& f = e_.function();
    constexpr std::uint32_t at_once = 4;
    std::uint32_t i = 0;
    for (; i + at_once <= n; i += at_once) {
      ItemRoom<In> items[at_once];
      detail::unrolled<at_once>([&](auto k) { items[k].item() = item((i + k) * lanes + rank); });
      detail::unrolled<at_once>([&](auto k) { own_ = e_.f.join(own_, f.value(items[k].item())); });
    }
    for (; i != n; ++i) own_ = e_.f.join(own_, f.value(item(i * lanes + rank)));
    holds_ = true;
    take(n * lanes);
    r_.counting.full_ensembles(r_.lanes, e_.node, n);
    return marks_.count != 0 ? to_mark - n * lanes : to_mark;
  }
  /// The next ensemble, which has marks in it or is not full. None: it waits.
  HIWAY_DEVICE Stretch next_stretch(std::uint32_t most_marks, std::uint32_t to_mark) const {
    RegionMarks<State> const regions(r_);
    std::uint32_t const lanes = r_.lanes.size();
    std::uint32_t const most = s_.count < lanes ? s_.count : lanes;
    Stretch taken = regions.stretch(q_, marks_, most, most_marks, span_of(row_));
    // The ensemble is not full yet, so it waits. Marks before all of its items do not.
    if (taken.items == most && !flushes_ && regions.waits(row_, marks_, most)) {
      taken.items = 0;
      if (to_mark != 0) taken.marks = 0;
      if (taken.marks > 1) taken.marks = regions.stretch(q_, marks_, 0, most_marks, Span::over_marks).marks;
    }
    return taken;
  }
  HIWAY_DEVICE void take_stretch(Stretch const& taken) {
    constexpr std::uint32_t few = 3;  // so many marks cost less one after another than all together
    bool const is_few = taken.marks <= few && !row_.is_mixed;
    Value value = e_.f.identity();
    if (taken.items != 0) {
      if (Fn::Parents::count != 0 || !is_few) e_.along.region = RegionMarks<State>(r_).region_of(q_, s_, marks_, taken);
      if (r_.lanes.rank() < taken.items) value = e_.function().value(item(r_.lanes.rank()));
      r_.counting.ensemble(r_.lanes, e_.node, taken.items, taken.items == r_.lanes.size(), false, true, 0, false);
    }
    if (is_few) {
      join_one_by_one(taken, value);
    } else {
      pass_together(taken.marks);
      if (taken.items != 0) values_.join_runs(row_, e_.along.region, value);
    }
    take(taken.items);
  }

  /// Joins the lanes' values to their own, and passes the marks among them, one after the other.
  HIWAY_DEVICE void join_one_by_one(Stretch const& taken, Value const& value) {
    std::uint32_t const rank = r_.lanes.rank();
    std::uint32_t done = 0;  // lanes whose values are joined already
    auto const join_to = [&](std::uint32_t end) {
      if (done == end) return;
      if (rank >= done && rank < end) own_ = e_.f.join(own_, value);
      holds_ = true;
      done = end;
    };
    for (std::uint32_t left = taken.marks; left != 0; --left) {
      join_to(q_.ahead(marks_, 0));
      pass_one();
    }
    join_to(taken.items);
  }
  HIWAY_DEVICE void pass_one() {
    Boundary const b = q_.at(marks_, 0).signal;
    if (b.opener == row_.opener) {
      settle_own();
      is_new_ = b.opens != Boundary::none;
      marks_.now = b.opens;
    }
    q_.drop(marks_, 1);
    ++passed_;
  }
  /// Passes the first `n` marks; the regions that they open begin with no items.
  HIWAY_DEVICE void pass_together(std::uint32_t n) {
    settle_own();
    Boundary const b = RegionMarks<State>(r_).boundary(q_, marks_, n);
    if (b.opener == row_.opener && b.opens != Boundary::none) values_[b.opens] = e_.f.identity();
    q_.advance(marks_, n);
    q_.drop(marks_, n);
    passed_ += n;
    r_.lanes.sync();
  }
  /// Joins what the lanes hold of the current region to its value.
  HIWAY_DEVICE void settle_own() {
    if (!holds_ && !is_new_) return;
    auto const now = static_cast<std::uint16_t>(marks_.now);
    if (holds_) {
      values_.join_all(now, own_, is_new_ ? HasValue::no : HasValue::yes);
    } else if (r_.lanes.rank() == 0) {
      values_[now] = own_;
    }
    own_ = e_.f.identity();
    holds_ = false;
    is_new_ = false;
  }
  /// Closes the regions of the marks that were passed last, and puts their values. Marks of outer regions are passed
  /// on.
  HIWAY_DEVICE void close_regions() {
    using Parent = typename Fn::Parent;
    RegionMarks<State> regions(r_);
    RegionArena<State> arena(r_);
    std::uint32_t const n = passed_;
    std::uint32_t const rank = r_.lanes.rank();
    r_.lanes.sync();  // the regions' values have been written
    typename State::Reading before = marks_;
    before.head = detail::wrap(marks_.head + q_.ring_slots - n, q_.ring_slots);
    before.count = n;
    Boundary const b = regions.boundary(q_, before, n);
    bool const is_own = rank < n && b.opener == row_.opener;
    bool const ends = is_own && b.closes != Boundary::none;
    if constexpr (Fn::hears_begin) regions.call_begin(e_, b);
    Maybe<typename Fn::template Out<0>> out;
    InRegion in{};
    NodeRow const& opener = r_.rows[row_.opener];
    if (ends) {
      out = detail::as_maybe(e_.f.close(arena.template parents<Parent>(opener)[b.closes], values_[b.closes]));
      if (e_.to[0].tags.of != nullptr) in.region = arena.heads(opener)[b.closes].outer;
    }
    if constexpr (Fn::hears_end) regions.call_end(e_, b);
    Tally const pushed = e_.to[0].put(r_, out.value, out.ok, false, in);
    if (opener.opener < first_sink) {
      std::uint32_t const items = e_.to[0].pushed - pushed.all + r_.lanes.below(pushed, rank < n ? rank : 0);
      bool const passes = rank < n && !is_own;
      Tally const who = r_.lanes.tally(passes);
      regions.put_boundary(e_.to[0], b, passes, who, items);
    }
    arena.release(b, ends);
    r_.counting.closed(r_.lanes, e_.node, n, out.ok);
  }

  State& r_;
  NodeRow const row_;
  MarkRing const q_;
  QueueState s_;
  bool const flushes_;
  OfOne<State, F> e_;
  typename State::Reading marks_;  ///< the marks that have not been passed
  RegionValues<typename State::Lanes, F> values_;
  In const* const queue_;
  Value own_;                 ///< of the lane's items of the region marks_.now, not yet joined to the region's value
  bool holds_ = false;        ///< some lane has such items
  bool is_new_ = false;       ///< the region marks_.now has no value yet
  std::uint32_t passed_ = 0;  ///< marks passed whose regions are still to be closed: all lanes close them together
};
HIWAY_ITEMS_END

template <>
struct Firing<Kind::aggregate> {
  template <unsigned M, class State>
  HIWAY_DEVICE static void fire(State& r, unsigned node) {
    AggregateFiring<State, M>(r, node).fire();
  }
};

}  // namespace hiway::segment
