// Replica: runs the nodes of a segment, on the lanes of a warp or a block. Its scheduling is MERCATOR's AFIE (active,
// full, inactive, empty).
//
// A full ensemble has one item per lane, or more or fewer if lanes take several items or share one (node.hpp:
// items_per_lane, lanes_per_item). A node becomes active when its input queue has no room for its parent's next push.
// It stays active until the queue holds no full ensemble, or, if the node flushes, no item. It may fire while none of
// its children is active: then each channel has room for the worst case.
//
//   S1  Of the active nodes, the one with the lowest number fires. Its children have lower numbers, so none is active.
//   S2  A firing node takes full ensembles until one of its children becomes active, or its queue has no full ensemble.
//       An expander that can suspend is left between two pushes when a child becomes active, and later resumes the same
//       ensemble. So its children need room for one push of all lanes, not for everything that an ensemble may give.
//   S3  The last items of the source are flushed: a node drains its queue to 0, then passes the flush on. So each node
//       has ceil(items / width) ensembles. Exceptions: the root at the end of a claim, lent items, and expanders whose
//       lanes take items one by one.
//   S4  A flushing node that cannot fill its lanes fills the rest with items of other nodes of the same function type,
//       if their children have room (same-module firing). Each lane then has a node of its own.
//   S5  Loops: a loop's node puts at most one item into the loop for each item it takes. Items enter the loop only
//       while they leave as many slots of the head's queue free as there are lanes. So the loop's queues together
//       always have a free slot, and some node of the loop can fire. It fires with the items there are, as far as its
//       successor in the loop has room.
//
// All lanes hold the same scheduling state in registers, so they make the same decisions.
#pragma once
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "hiway/fault.hpp"
#include "hiway/inlet.hpp"
#include "hiway/item.hpp"
#include "hiway/outlet.hpp"
#include "hiway/segment/counting.hpp"
#include "hiway/segment/lanes.hpp"
#include "hiway/segment/lending.hpp"
#include "hiway/segment/marks.hpp"
#include "hiway/segment/node.hpp"
#include "hiway/segment/queue.hpp"
#include "hiway/segment/region.hpp"
#include "hiway/segment/region_firing.hpp"

namespace hiway::segment {

namespace detail {

/// One lane's Emit for each channel of a function.
template <class List>
struct Emits;
template <>
struct Emits<Types<>> {};
template <class T, class... Rest>
struct Emits<Types<T, Rest...>> {
  Emit<T> first;
  Emits<Types<Rest...>> rest;
  template <unsigned C>
  HIWAY_DEVICE auto& get() {
    if constexpr (C == 0) {
      return first;
    } else {
      return rest.template get<C - 1>();
    }
  }
};

/// What is saved of a lane when its node is left with the lane's item unfinished.
template <class F>
struct LaneOf {
  typename Function<F>::In item;
  typename Function<F>::Cursor cursor;
};

/// A block's copy of a node function, and its table.
template <class F>
struct InBlock {
  F function;
  typename F::Table table;
};

}  // namespace detail

template <class Program, class Lanes>
class Replica {
  using Source = typename Program::Source;
  using Signal = typename Program::Signal;
  using MarksOf = Marks<Signal>;
  static constexpr bool has_regions = std::is_same_v<Signal, Boundary>;
  using LanesOf = Lanes;
  template <class>
  friend class RegionFiring;

  /// Where one channel of the firing node leads; the same in all lanes. `leads`: what the tree's type tells about it,
  /// so that a node that puts only into queues has no code for sinks.
  template <Leads leads>
  struct Target {
    std::byte* queue = nullptr;
    std::uint32_t at = 0;    ///< the next slot to write
    std::uint32_t size = 0;  ///< slots of the queue
    std::uint32_t free = 0;
    std::uint32_t room = 0;  ///< with fewer free slots the node becomes active; 0: never
    std::uint32_t pushed = 0;
    std::uint8_t node = 0;  ///< or first_sink + the sink's number
    [[no_unique_address]] typename MarksOf::Writing marks;
    [[no_unique_address]] std::conditional_t<has_regions, QueueTags, NoTags> tags;

    [[nodiscard]] HIWAY_DEVICE bool is_sink() const {
      if constexpr (leads == Leads::either) {
        return node >= first_sink;
      } else {
        return leads == Leads::sinks;
      }
    }
  };

 public:
  /// `block`: the start of the block's shared memory, where its copy of the program's rows is. `near_room`, `far_room`:
  /// the replica's rooms. `turn`: which part of a range is the replica's first.
  HIWAY_DEVICE Replica(Program const& program, Lanes lanes, OutletView const* outlets, InletView const* inlets,
                       std::byte const* block, std::byte* near_room, std::byte* far_room, unsigned replica,
                       unsigned turn)
      : p_(program),
        lanes_(lanes),
        outlets_(outlets),
        inlets_(inlets),
        block_(block),
        rows_(reinterpret_cast<NodeRow const*>(block)),
        near_(near_room),
        far_(far_room),
        states_(reinterpret_cast<QueueState*>(near_room + program.states_at)),
        sink_counts_(reinterpret_cast<std::uint64_t*>(near_room + program.sinks_at)),
        sums_(reinterpret_cast<std::uint32_t*>(near_room + program.sums_at)),
        root_(program.nodes - 1),
        replica_(replica),
        turn_(turn),
        marks_(reinterpret_cast<MarkState*>(near_room + program.marks_at), rows_),
        counting_(program.counters, program.made, replica * program.nodes, lanes.size()) {}

  /// Takes items from the source until it has ended and all items are done. All lanes of the replica call it.
  HIWAY_DEVICE void run() {
    auto const m = lanes_.machine();
    for (unsigned i = lanes_.rank(); i < p_.nodes; i += lanes_.size()) {
      states_[i] = QueueState{};
      marks_.clear(i);
    }
    for (unsigned i = lanes_.rank(); i < Program::Sinks::count; i += lanes_.size()) sink_counts_[i] = 0;
    if (lanes_.rank() == 0) p_.times[replica_] = {.began_ns = m.now_ns()};
    for_states<0>([](auto const& f, auto& state) {
      ::new (static_cast<void*>(&state)) std::remove_reference_t<decltype(state)>{};
      f.init(state);
    });
    lanes_.sync();
    looked_at_ = m.cycles();
    std::uint64_t calls = 0;
    while (active_ != 0 || refill()) {
      step(m.lowest(active_));
      if ((++calls & 15u) == 0 || late_) look_around();
    }
    finish(calls);
  }

 private:
  /// Whether a look is due because firings take long: about 20 us of a GPU's cycles have passed since the last look.
  /// run() counts short firings instead: reading the clock for each costs more than it brings.
  HIWAY_DEVICE bool is_late() {
    constexpr std::uint32_t cycles = 32768;
    late_ = p_.lending.idle != nullptr && lanes_.share(lanes_.machine().cycles() - looked_at_ >= cycles ? 1 : 0) != 0;
    return late_;
  }
  /// Called now and then: looks whether the run aborts, or another replica asks for work.
  HIWAY_DEVICE void look_around() {
    auto const m = lanes_.machine();
    constexpr unsigned most_letters = 4;
    for (unsigned sent = 0; sent != most_letters; ++sent) {
      bool asked = false;
      if (lanes_.rank() == 0) {
        leave_if_aborted(m, *p_.control);
        asked = p_.lending.idle != nullptr && anyone_asks(m, p_.lending) &&
                m.now_ns() - p_.times[replica_].began_ns >= p_.lend_after_ns;
      }
      asked = lanes_.share(asked ? 1 : 0) != 0;
      leave_if_aborted(m, *p_.control);  // the first lane may have left instead of sharing (grouping/team.hpp E3)
      if (!asked || !lend()) break;
    }
    looked_at_ = m.cycles();
    late_ = false;
  }

  /// For loops that end when all lanes agree. A lane that has left in an abort does not vote. In a block the last vote
  /// of its warp stays in memory, and the other lanes would loop for ever. A warp's replica needs no look: each round
  /// asks its lanes afresh whether any is live. A look would cost it 6 %.
  HIWAY_DEVICE void look_for_abort(std::uint32_t& rounds) const {
    if constexpr (Lanes::is_warp) return;
    if ((++rounds & 255u) == 0) leave_if_aborted(lanes_.machine(), *p_.control);
  }

  // ---- lending

  /// Sends half of the items of the node nearest to the root to a replica that asks, if that leaves work for this one.
  /// Returns whether it did. If a node does not spread and has one ensemble of items or less, they are not split: with
  /// half of the lanes they take as long.
  HIWAY_DEVICE bool lend() {
    auto const m = lanes_.machine();
    unsigned from = most_nodes;
    std::uint32_t free = 0;  // its items that no suspended ensemble holds
    std::uint32_t others = 0;
    for (unsigned node = p_.nodes; node-- != 0;) {
      QueueState const s = states_[node];
      std::uint32_t const bound = rows_[node].keeps_lanes ? 0 : s.suspended;
      std::uint32_t const least = rows_[node].spreads ? 1 : rows_[node].width + 1;
      if (from == most_nodes && (node != root_ || root_is_queued()) && s.count >= bound + least) {
        from = node;
        free = s.count - bound;
        others += s.suspended;
      } else {
        others += s.count + s.suspended;
      }
    }
    if (from == most_nodes || free + others < 2) return false;
    std::uint32_t to = no_replica;
    if (lanes_.rank() == 0) to = answer(m, p_.lending, replica_ / 32 + letters_);
    to = static_cast<std::uint32_t>(lanes_.share(to));
    leave_if_aborted(m, *p_.control);
    ++letters_;  // the next search starts elsewhere
    if (to == no_replica) return false;
    lanes_.sync();  // O1: the first lane has taken over the request before any lane writes the letter
    std::uint32_t k = (free + 1) / 2;
    if (k > lanes_.size()) k = lanes_.size();
    NodeRow const& row = rows_[from];
    QueueState s = states_[from];
    std::byte* const letter = p_.lending.letters + std::size_t{to} * p_.lending.letter_bytes;
    if (lanes_.rank() < k) {
      std::uint32_t const at = wrap(s.head + s.count - k + lanes_.rank(), row.queue_slots);
      copy_bytes(letter + std::size_t{lanes_.rank()} * row.item_bytes,
                 room_of(row.queue_is_far) + row.queue_at + std::size_t{at} * row.item_bytes, row.item_bytes);
    }
    s.count -= k;
    lanes_.sync();
    if (lanes_.rank() == 0) {
      send(m, p_.lending, to, from, k);
      states_[from] = s;
    }
    lanes_.sync();
    return true;
  }

  /// Asks for a letter and opens it. Returns false when no replica has work any more.
  HIWAY_DEVICE bool borrow() {
    auto const m = lanes_.machine();
    bool got = false;
    if (lanes_.rank() == 0) {
      std::uint64_t const began = m.now_ns();
      ask(m, p_.lending, replica_);
      got = await_letter(m, p_.lending, replica_, *p_.control);
      p_.times[replica_].waited_ns += m.now_ns() - began;
    }
    got = lanes_.share(got ? 1 : 0) != 0;
    leave_if_aborted(m, *p_.control);
    if (!got) return false;
    lanes_.sync();  // O2: all lanes see the letter as the first lane does
    LetterBox const& box = p_.lending.boxes[replica_];
    std::uint32_t const node = box.node;
    std::uint32_t const k = box.count;
    NodeRow const& row = rows_[node];
    std::byte const* const letter = p_.lending.letters + std::size_t{replica_} * p_.lending.letter_bytes;
    if (lanes_.rank() < k) {
      copy_bytes(room_of(row.queue_is_far) + row.queue_at + std::size_t{lanes_.rank()} * row.item_bytes,
                 letter + std::size_t{lanes_.rank()} * row.item_bytes, row.item_bytes);
    }
    lanes_.sync();
    if (lanes_.rank() == 0) {
      states_[node].head = 0;
      states_[node].count = k;
    }
    lanes_.sync();
    flush_ |= 1u << node;
    active_ |= 1u << node;
    return true;
  }

  // ---- the source

  /// Brings items to the root, or starts the last flush. Returns false when everything is done.
  HIWAY_DEVICE bool refill() {
    if constexpr (Source::is_range) {
      if (!ended_) return claim();
      return p_.lending.idle != nullptr && borrow();
    } else {
      return !ended_ && get();
    }
  }

  /// How many items to claim when a range has `left` items left: fewer towards its end.
  HIWAY_DEVICE std::uint64_t part_of(std::uint64_t left) const {
    std::uint64_t part = left / (2 * p_.replicas);
    std::uint64_t const width = rows_[root_].width;
    if (part >= width) part -= part % width;
    return part < p_.least_claim ? p_.least_claim : part > p_.most_claim ? p_.most_claim : part;
  }
  /// Claims a part of the range. Each replica's first part is reserved for it: a small range then goes to one replica
  /// of each block, not to all replicas of the blocks that started first. A queued root reserves none: its queue may
  /// have no room for it.
  HIWAY_DEVICE bool claim() {
    auto const m = lanes_.machine();
    std::uint64_t const size = p_.source.size;
    std::uint64_t first = 0;
    std::uint32_t count = 0;
    if (lanes_.rank() == 0) {
      bool const is_own = !claimed_ && !root_is_queued();
      std::uint64_t const others = root_is_queued() ? 0 : part_of(size) * p_.replicas;
      std::uint64_t const seen = is_own ? 0 : others + m.load(p_.words->next, Order::relaxed);
      if (seen < size) {
        std::uint64_t part = part_of(size - seen);
        if (root_is_queued()) {
          std::uint64_t const free = free_of_root(states_[root_]);
          part = part < free ? part : free;
        }
        first = is_own ? turn_ * part : others + m.fetch_add(p_.words->next, part, Order::relaxed);
        if (first < size) count = static_cast<std::uint32_t>(first + part < size ? part : size - first);
      }
    }
    claimed_ = true;
    first = lanes_.share(first);
    count = static_cast<std::uint32_t>(lanes_.share(count));
    leave_if_aborted(m, *p_.control);
    if (count == 0) return begin_flush();
    if (root_is_queued()) {
      QueueState const s = states_[root_];
      using Item = typename Source::Item;
      NodeRow const& row = rows_[root_];
      auto* const queue = reinterpret_cast<Item*>(room_of(row.queue_is_far) + row.queue_at);
      for (std::uint32_t k = lanes_.rank(); k < count; k += lanes_.size())
        queue[wrap(wrap(s.head + s.count, row.queue_slots) + k, row.queue_slots)] = p_.source.item(first + k);
      set_root_count(s.count + count);
    } else {
      window_ = first;
      set_root_count(count);
    }
    active_ |= 1u << root_;
    return true;
  }
  /// A range's items need a queue only if items of a loop come to the root, too.
  HIWAY_DEVICE bool root_is_queued() const { return !Source::is_range || rows_[root_].loop != 0; }
  /// Room for items from the source (S5).
  HIWAY_DEVICE std::uint32_t free_of_root(QueueState const& s) const {
    std::uint32_t const free = rows_[root_].queue_slots - s.count;
    if (rows_[root_].loop == 0) return free;
    return free < lanes_.size() ? 0 : free - lanes_.size();
  }

  /// Gets the items that are there. If there are none, it flushes those that came before, and ends their tasks: the
  /// source may be waiting for their results.
  HIWAY_DEVICE bool get() {
    auto const m = lanes_.machine();
    OutletView const& outlet = outlets_[0];
    NodeRow const& row = rows_[root_];
    using Item = typename Source::Item;
    for (unsigned misses = 0;; m.relax(misses++)) {
      QueueState const s = states_[root_];
      std::uint32_t const at = wrap(s.head + s.count, row.queue_slots);
      std::uint32_t const free = free_of_root(s);
      std::uint32_t const straight = row.queue_slots - at < free ? row.queue_slots - at : free;
      auto* const items = reinterpret_cast<Item*>(room_of(row.queue_is_far) + row.queue_at) + at;
      auto const [n, has_ended] = get_into(items, straight);
      tasks_ += n;
      if (n != 0) {
        set_root_count(s.count + n);
        misses = 0;
        drained_ = false;
        if (s.count + n < row.width) continue;
        active_ |= 1u << root_;
        return true;
      }
      if (tasks_ != 0) {
        if (!drained_) return begin_flush();
        hiway::detail::end_task_together(lanes_.team(), outlet, tasks_);
        tasks_ = 0;
        drained_ = false;
        misses = 0;
      }
      if (has_ended) {
        ended_ = true;
        return false;
      }
    }
  }
  struct Got {
    std::uint32_t items;
    bool has_ended;
  };
  /// Gets up to `n` items, or one large item, which all lanes copy together.
  template <class Item>
  HIWAY_DEVICE Got get_into(Item* items, std::uint32_t n) {
    if constexpr (stays_in_slot<Item>) {
      auto const found = hiway::detail::work_together(lanes_.team(), outlets_[0], [&](std::byte const* slot) {
        copy_bytes(items, slot, sizeof(Item), lanes_.rank(), lanes_.size());
      });
      return {found == hiway::detail::Found::item ? 1u : 0u, found == hiway::detail::Found::ended};
    } else {
      auto const claimed =
          hiway::detail::get_span_by_team(lanes_.team(), outlets_[0], n, hiway::detail::ReadItems<Item>{items});
      return {claimed.run.count, claimed.ended};
    }
  }

  HIWAY_DEVICE bool begin_flush() {
    if constexpr (Source::is_range) ended_ = true;
    drained_ = true;
    flush_ |= 1u << root_;
    active_ |= 1u << root_;
    return true;
  }

  HIWAY_DEVICE void set_root_count(std::uint32_t count) {
    lanes_.sync();
    if (lanes_.rank() == 0) {
      if constexpr (has_regions) marks_.came(root_, count - states_[root_].count);
      states_[root_].count = count;
    }
    lanes_.sync();
  }

  // ---- scheduling

  HIWAY_DEVICE void step(unsigned node) {
    std::uint32_t const loop = rows_[node].loop;
    if (loop != 0) {
      node = busiest(loop);
      if (node == most_nodes) {
        settle_loop(loop);
        return;
      }
    } else if (states_[node].count + states_[node].suspended == 0 && !marks_.wait_at(node)) {
      settle(node, 0);
      return;
    }
    fire_module<0>(node, rows_[node].module);
  }

  template <unsigned M>
  HIWAY_DEVICE void fire_module(unsigned node, unsigned module) {
    if constexpr (M + 1 == Program::Modules::count) {
      fire_node<M>(node);
    } else {
      if (module == M) {
        fire_node<M>(node);
      } else {
        fire_module<M + 1>(node, module);
      }
    }
  }

  template <unsigned M>
  HIWAY_DEVICE void fire_node(unsigned node) {
    using Fn = Function<ModuleAt<M>>;
    if constexpr (Fn::kind == Kind::enumerate) {
      RegionFiring<Replica>(*this).template fire_enumerate<M>(node);
    } else if constexpr (Fn::kind == Kind::aggregate) {
      RegionFiring<Replica>(*this).template fire_aggregate<M>(node);
    } else if constexpr (has_regions && Fn::kind == Kind::filter && Fn::items_per_lane == 1) {
      RegionFiring<Replica>(*this).template fire_filter<M>(node);
    } else if constexpr (Program::refills_lanes && Fn::kind == Kind::expander) {
      if constexpr (has_regions) {
        if (rows_[node].is_dense) {
          fire<M>(node);
          return;
        }
      }
      fire_lanes<M>(node);
    } else {
      fire<M>(node);
    }
  }

  /// Called when a node has fired. The node becomes inactive if it has no full ensemble left, or, if it flushes, no
  /// item; it then passes the flush on.
  HIWAY_DEVICE void settle(unsigned node, std::uint32_t left) {
    std::uint32_t const bit = 1u << node;
    bool const flushes = is_flushed(node);
    if (marks_.wait_at(node) && (flushes || rows_[node].stops_at_marks || presses(node))) return;
    if (left >= rows_[node].width || (left != 0 && (flushes || (Source::is_range && node == root_)))) return;
    active_ &= ~bit;
    if ((flush_ & bit) != 0) pass_flush(bit, rows_[node].children);
    if constexpr (has_regions) drains_.pass(bit, rows_[node].children, active_);
  }
  /// No further items are to be waited for: the node drains to 0.
  [[nodiscard]] HIWAY_DEVICE bool is_flushed(unsigned node) const {
    if constexpr (has_regions) {
      return ((flush_ | drains_.nodes) >> node & 1u) != 0;
    } else {
      return (flush_ >> node & 1u) != 0;
    }
  }
  /// The node's marks leave no room for those of a push.
  [[nodiscard]] HIWAY_DEVICE bool presses(unsigned node) const {
    if constexpr (has_regions) {
      return MarksOf::press(rows_[node], marks_.read(node));
    } else {
      return false;
    }
  }
  HIWAY_DEVICE void pass_flush(std::uint32_t from, std::uint32_t to) {
    flush_ = (flush_ & ~from) | to;
    active_ |= to;
  }

  /// The node of a loop that can fire the most lanes, or most_nodes if none can.
  HIWAY_DEVICE unsigned busiest(std::uint32_t loop) {
    auto const m = lanes_.machine();
    unsigned best = most_nodes;
    std::uint32_t most = (flush_ & loop) != 0 ? 0 : lanes_.size() - 1;
    bool any_full = false;
    for (std::uint32_t left = loop; left != 0; left &= left - 1) {
      unsigned const node = m.lowest(left);
      std::uint32_t const count = states_[node].count;
      any_full = any_full || count >= lanes_.size();
      std::uint32_t lanes = count < lanes_.size() ? count : lanes_.size();
      std::uint32_t const free = free_ahead(node, loop);
      if (free < lanes) lanes = free;
      if (lanes > most) {
        most = lanes;
        best = node;
      }
    }
    if (best != most_nodes || !any_full) return best;
    // A full ensemble waits because the next queue is full. The loop goes on with whichever node can fire (S5).
    for (std::uint32_t left = loop; left != 0; left &= left - 1) {
      unsigned const node = m.lowest(left);
      std::uint32_t const count = states_[node].count;
      std::uint32_t const free = free_ahead(node, loop);
      std::uint32_t const lanes = count < free ? count : free;
      if (lanes > 0 && (best == most_nodes || lanes > most)) {
        most = lanes;
        best = node;
      }
    }
    return best;
  }
  /// The least number of free slots in the queues that the node puts into inside its loop.
  HIWAY_DEVICE std::uint32_t free_ahead(unsigned node, std::uint32_t loop) {
    std::uint32_t free = ~0u;
    for (unsigned c = 0; c != most_channels; ++c) {
      std::uint8_t const to = rows_[node].to[c];
      if (to >= first_sink || (loop >> to & 1u) == 0) continue;
      std::uint32_t const f = rows_[to].queue_slots - states_[to].count;
      free = f < free ? f : free;
    }
    return free;
  }
  HIWAY_DEVICE void settle_loop(std::uint32_t loop) {
    auto const m = lanes_.machine();
    bool const flushes = (flush_ & loop) != 0;
    active_ &= ~loop;
    if (!flushes) return;
    std::uint32_t out = 0;
    for (std::uint32_t left = loop; left != 0; left &= left - 1) out |= rows_[m.lowest(left)].children;
    pass_flush(loop, out);
  }

  // ---- firing

  HIWAY_DEVICE std::byte* room_of(bool is_far) const { return is_far ? far_ : near_; }
  HIWAY_DEVICE static std::uint32_t wrap(std::uint32_t at, std::uint32_t size) { return at >= size ? at - size : at; }

  template <Leads leads>
  HIWAY_DEVICE Target<leads> open(unsigned node, unsigned channel) const {
    Target<leads> t;
    t.node = rows_[node].to[channel];
    if (t.is_sink()) return t;
    NodeRow const& row = rows_[t.node];
    QueueState const s = states_[t.node];
    t.queue = room_of(row.queue_is_far) + row.queue_at;
    t.size = row.queue_slots;
    t.at = wrap(s.head + s.count, row.queue_slots);
    t.free = row.queue_slots - s.count;
    t.room = (rows_[node].loop >> t.node & 1u) != 0 ? 0 : row.room;
    if constexpr (MarksOf::exist) t.marks = marks_.write(t.node, room_of(row.queue_is_far) + row.marks_at);
    if constexpr (has_regions) {
      if (row.is_dense) t.tags.of = reinterpret_cast<std::uint16_t*>(room_of(row.queue_is_far) + row.tags_at);
    }
    return t;
  }
  /// Adds what a node has put to the counts of the queue or sink. All lanes see it after a sync().
  template <Leads leads>
  HIWAY_DEVICE void close(Target<leads> const& t) {
    if (t.is_sink()) {
      sink_counts_[t.node - first_sink] += t.pushed;
    } else {
      states_[t.node].count += t.pushed;
      marks_.close(t.node, t.marks, t.pushed);
    }
  }

  /// Puts the items of all lanes that bring one. Tally::any of the result: whether `other` holds in any lane.
  template <Leads leads, class T>
  HIWAY_DEVICE Tally put(Target<leads>& t, T const& item, bool brings, bool other, InRegion in = {}) {
    Tally const tally = lanes_.tally(brings, other);
    put(t, item, brings, tally, in);
    return tally;
  }
  template <Leads leads, class T>
  HIWAY_DEVICE void put(Target<leads>& t, T const& item, bool brings, Tally const& tally, InRegion in) {
    if (t.is_sink()) {
      p_.sinks.template put<T>(*this, t.node - first_sink, item, brings, tally);
    } else {
      std::uint32_t const at = wrap(t.at + tally.before, t.size);
      if (brings) reinterpret_cast<T*>(t.queue)[at] = item;
      if constexpr (has_regions) {
        if (brings && t.tags.of != nullptr) t.tags.of[at] = in.region;
      }
      t.at = wrap(t.at + tally.all, t.size);
      t.free -= tally.all;
      if (t.free < t.room) active_ |= 1u << t.node;
    }
    t.pushed += tally.all;
  }
  /// Puts the lane's signal behind the first `items` items that this firing has pushed on the channel.
  template <Leads leads, class S>
  HIWAY_DEVICE void put_mark(Target<leads>& t, S const& signal, bool brings, Tally const& tally, std::uint32_t items) {
    if (t.is_sink()) return;
    if (!MarksOf::put(t.marks, signal, brings, tally.before, tally.all, items)) active_ |= 1u << t.node;
  }

  /// An ensemble of items of one node.
  template <class F>
  struct OfOne {
    using Fn = Function<F>;
    Replica& r;
    unsigned node;
    F const& f;
    static constexpr Leads leads = Program::template leads<F>;
    Target<leads> to[Fn::channels == 0 ? 1 : Fn::channels];
    [[no_unique_address]] std::conditional_t<has_regions, PassedAlong, InRegion> along{};

    HIWAY_DEVICE OfOne(Replica& replica, unsigned n, F const& function) : r(replica), node(n), f(function) {
      detail::unrolled<Fn::channels>([&](auto c) { to[c] = r.template open<leads>(node, c); });
    }
    /// The node function, bound to the parents of the lane's item if it takes any.
    HIWAY_DEVICE decltype(auto) function() const {
      if constexpr (Fn::Parents::count == 0) {
        return (f);
      } else {
        return RegionFiring<Replica>(r).template bind<F>(f, node, along.region);
      }
    }
    HIWAY_DEVICE bool must_suspend() const {
      return r.rows_[node].suspends && (r.rows_[node].children & r.active_) != 0;
    }
    template <unsigned C, class T>
    HIWAY_DEVICE Tally put(T const& item, bool brings, bool other) {
      if constexpr (C == 0) r.counting_.step(r.lanes_, node);
      if constexpr (has_regions) {
        Tally const tally = r.put(to[C], item, brings, other, along);
        if (along.marks != 0) RegionFiring<Replica>(r).put_along(to[C], along, tally);
        return tally;
      } else {
        return r.put(to[C], item, brings, other);
      }
    }
    /// Puts the lane's signal behind the item that the lane `brought` with the last put. `pushed`: the tally of that
    /// put.
    template <unsigned C>
    HIWAY_DEVICE void raise(EmitSignal<Signal> const& signal, Tally const& pushed, bool brought) {
      std::uint32_t const items = to[C].pushed - pushed.all + pushed.before + (brought ? 1 : 0);
      r.put_mark(to[C], signal.value, signal.ok, r.lanes_.tally(signal.ok), items);
    }
    /// How many marks every channel has room for.
    HIWAY_DEVICE std::uint32_t free_marks() const {
      std::uint32_t free = ~0u;
      detail::unrolled<Fn::channels>([&](auto c) { free = to[c].marks.free < free ? to[c].marks.free : free; });
      return free;
    }
  };

  /// An ensemble with items of several nodes whose functions have the same type. `tag`: the node of the lane's item
  /// (S4).
  template <class F, unsigned M>
  struct OfSeveral {
    using Fn = Function<F>;
    Replica& r;
    std::uint32_t nodes;  ///< bits
    unsigned tag;
    F const& f;

    HIWAY_DEVICE F const& function() const { return f; }
    HIWAY_DEVICE bool must_suspend() const {
      auto const m = r.lanes_.machine();
      for (std::uint32_t left = nodes; left != 0; left &= left - 1) {
        NodeRow const& row = r.rows_[m.lowest(left)];
        if (row.suspends && (row.children & r.active_) != 0) return true;
      }
      return false;
    }
    template <unsigned C, class T>
    HIWAY_DEVICE Tally put(T const& item, bool brings, bool other) {
      auto const m = r.lanes_.machine();
      Tally all;
      for (std::uint32_t left = nodes; left != 0; left &= left - 1) {
        unsigned const node = m.lowest(left);
        auto t = r.template open<Program::template leads<F>>(node, C);
        if constexpr (C == 0) r.counting_.step(r.lanes_, node);
        Tally const of_node = r.put(t, item, brings && tag == node, other);
        all.all += of_node.all;
        all.any = all.any || of_node.any;
        r.lanes_.sync();
        if (r.lanes_.rank() == 0) r.close(t);
        r.lanes_.sync();
      }
      return all;
    }
  };

  /// The object with which a collective's lanes put items.
  template <class Ensemble>
  struct Push {
    Ensemble& ensemble;
    Replica& r;
    std::uint32_t& put;
    std::uint32_t rounds = 0;
    /// All lanes call it; those with `brings` put an item. Returns whether there is room for another push of all lanes.
    template <class T>
    HIWAY_DEVICE bool operator()(T const& item, bool brings) {
      r.look_for_abort(rounds);
      ensemble.template put<0>(item, brings, false);
      put += brings ? 1 : 0;
      return !ensemble.must_suspend();
    }
  };

  template <unsigned M>
  using ModuleAt = typename detail::TypeAt<M, typename Program::Modules>::type;

  struct NoSignal {};
  template <class F>
  using TileOf = Tile<decltype(std::declval<Lanes const&>().machine()), Function<F>::lanes_per_item>;

  template <unsigned M>
  HIWAY_DEVICE ModuleAt<M> const& function_of(NodeRow const& row) const {
    if constexpr (Function<ModuleAt<M>>::has_table) {
      return reinterpret_cast<detail::InBlock<ModuleAt<M>> const*>(block_ + row.in_block_at)->function;
    } else {
      return static_cast<ModuleAt<M> const*>(p_.functions[M])[row.index];
    }
  }
  /// A node of this module may take its items from a range instead of a queue.
  template <unsigned M>
  static constexpr bool reads_range = Source::is_range&& M == Program::root_module;
  /// The `k`-th item of a node's queue or range.
  template <unsigned M, class In>
  HIWAY_DEVICE In read(unsigned node, QueueState const& s, std::uint32_t k) const {
    if constexpr (reads_range<M>) {
      if (node == root_ && !root_is_queued()) return p_.source.item(window_ + k);
    }
    NodeRow const& row = rows_[node];
    auto const* const queue = reinterpret_cast<In const*>(room_of(row.queue_is_far) + row.queue_at);
    return queue[wrap(s.head + k, row.queue_slots)];
  }
  template <class F>
  HIWAY_DEVICE typename Function<F>::State& state_of(unsigned node) const {
    return *reinterpret_cast<typename Function<F>::State*>(near_ + rows_[node].state_at);
  }
  /// Calls `body(function, state)` in the first lane, for every node that keeps a state.
  template <unsigned M, class Body>
  HIWAY_DEVICE void for_states(Body&& body) {
    if constexpr (M != Program::Modules::count) {
      using F = ModuleAt<M>;
      if constexpr (Function<F>::has_state) {
        if (lanes_.rank() == 0) {
          auto const m = lanes_.machine();
          for (std::uint32_t left = p_.modules[M]; left != 0; left &= left - 1) {
            unsigned const node = m.lowest(left);
            body(function_of<M>(rows_[node]), state_of<F>(node));
          }
        }
      }
      for_states<M + 1>(body);
    }
  }
  template <class Cursor>
  HIWAY_DEVICE Cursor* cursors_of(unsigned node) const {
    return reinterpret_cast<Cursor*>(room_of(rows_[node].cursors_are_far) + rows_[node].cursors_at);
  }

  HIWAY_ITEMS_MAY_LOOK_UNSET
  /// Works on the items of one ensemble. Returns false when it suspends. `kept`: where the lane's cursor is kept.
  /// `put`: grows by the items that the lane puts.
  template <class F, class Ensemble>
  HIWAY_DEVICE bool work(Ensemble& e, typename Function<F>::In const& item, bool mine, bool resumed,
                         typename Function<F>::Cursor* kept, std::uint32_t& put) {
    using Fn = Function<F>;
    auto&& f = e.function();
    if constexpr (Fn::kind == Kind::filter) {
      if constexpr (Fn::emits) {
        detail::Emits<typename Fn::Outs> out;
        std::conditional_t<Fn::raises, EmitSignal<typename Fn::Raised>, NoSignal> signal;
        if (mine) {
          [&]<std::size_t... C>(std::index_sequence<C...>) {
            if constexpr (Fn::raises) {
              f(item, out.template get<C>()..., signal);
            } else {
              f(item, out.template get<C>()...);
            }
          }
          (std::make_index_sequence<Fn::channels>{});
        }
        detail::unrolled<Fn::channels>([&](auto c) {
          auto const& o = out.template get<c>();
          [[maybe_unused]] Tally const pushed = e.template put<c>(o.value, o.ok, false);
          if constexpr (Fn::raises) e.template raise<c>(signal, pushed, o.ok);
          put += o.ok ? 1 : 0;
        });
      } else {
        Maybe<typename Fn::template Out<0>> out;
        if (mine) out = detail::as_maybe(f(item));
        e.template put<0>(out.value, out.ok, false);
        put += out.ok ? 1 : 0;
      }
      return true;
    } else if constexpr (Fn::kind == Kind::expander) {
      typename Fn::Cursor cursor;
      bool live = false;
      if (mine) {
        if (resumed) {
          cursor = *kept;
        } else {
          cursor = f.start(item);
        }
        live = f.more(item, cursor);
      }
      bool any = lanes_.any(live);
      std::uint32_t rounds = 0;
      while (any) {
        look_for_abort(rounds);
        if (e.must_suspend()) {
          if (mine) *kept = cursor;
          return false;
        }
        Maybe<typename Fn::template Out<0>> out;
        if (live) {
          out = detail::as_maybe(f.next(item, cursor));
          live = f.more(item, cursor);
        }
        any = e.template put<0>(out.value, out.ok, live).any;
        put += out.ok ? 1 : 0;
      }
      return true;
    } else if constexpr (Fn::kind == Kind::tile) {
      Maybe<typename Fn::template Out<0>> out;
      if (mine) out = f(TileOf<F>(lanes_.machine()), item);
      e.template put<0>(out.value, out.ok, false);
      put += out.ok ? 1 : 0;
      return true;
    } else if constexpr (Fn::kind == Kind::collective) {
      if constexpr (Fn::has_state) {
        f(LanesView<Lanes>(lanes_), item, mine, Push<Ensemble>{e, *this, put}, state_of<F>(e.node));
      } else {
        f(LanesView<Lanes>(lanes_), item, mine, Push<Ensemble>{e, *this, put});
      }
      return true;
    } else {
      static_assert(Fn::kind == Kind::by_hand);
      typename Fn::Cursor saved{};
      if (mine && resumed) saved = *kept;
      Progress const progress = f(LanesView<Lanes>(lanes_), item, mine, saved, resumed, Push<Ensemble>{e, *this, put});
      if (progress == Progress::suspended && mine) *kept = saved;
      return progress == Progress::finished;
    }
  }
  HIWAY_ITEMS_END

  /// Works on an ensemble of a filter whose lanes take several items. All loads of a lane are under way before it puts
  /// its first item.
  template <unsigned M>
  HIWAY_DEVICE void work_wide(OfOne<ModuleAt<M>>& e, QueueState const& s, std::uint32_t k, std::uint32_t& put) {
    using Fn = Function<ModuleAt<M>>;
    std::uint32_t const lanes = lanes_.size();
    std::uint32_t const rank = lanes_.rank();
    Maybe<typename Fn::template Out<0>> out[Fn::items_per_lane];
    auto const make = [&](std::uint32_t i) {
      out[i] = detail::as_maybe(e.function()(read<M, typename Fn::In>(e.node, s, i * lanes + rank)));
    };
    if (k == Fn::items_per_lane * lanes) {
      detail::unrolled<Fn::items_per_lane>(make);
    } else {
      detail::unrolled<Fn::items_per_lane>([&](std::uint32_t i) {
        if (i * lanes + rank < k) make(i);
      });
    }
    detail::unrolled<Fn::items_per_lane>([&](auto i) {
      e.template put<0>(out[i].value, out[i].ok, false);
      put += out[i].ok ? 1 : 0;
    });
  }

  /// Works on an indexed expander's ensemble. Its outputs are numbered consecutively, and each lane makes every
  /// lanes-th.
  template <unsigned M>
  HIWAY_DEVICE bool work_indexed(OfOne<ModuleAt<M>>& e, QueueState& s, std::uint32_t k, std::uint32_t& put) {
    using F = ModuleAt<M>;
    using Fn = Function<F>;
    using In = typename Fn::In;
    std::uint32_t const rank = lanes_.rank();
    std::uint32_t n = 0;
    if (rank < k) n = e.function().count(read<M, In>(e.node, s, rank));
    counting_.item(lanes_, e.node, n);
    std::uint32_t all = 0;
    std::uint32_t const before = lanes_.sum_before(n, all);
    sums_[rank] = before + n;
    lanes_.sync();
    std::uint32_t rounds = 0;
    for (; s.done < all; s.done += lanes_.size()) {
      look_for_abort(rounds);
      if (e.must_suspend()) return false;
      Maybe<typename Fn::template Out<0>> out;
      std::uint32_t const t = s.done + rank;
      if (t < all) {
        std::uint32_t low = 0;  // the first lane whose sum is above t
        for (std::uint32_t high = k - 1; low < high;) {
          std::uint32_t const middle = (low + high) / 2;
          if (sums_[middle] > t) {
            high = middle;
          } else {
            low = middle + 1;
          }
        }
        if constexpr (has_regions) {
          if (rows_[e.node].is_dense) e.along.region = RegionFiring<Replica>(*this).tag(e.node, s, low);
        }
        out = detail::as_maybe(e.function().at(read<M, In>(e.node, s, low), t - (low == 0 ? 0 : sums_[low - 1])));
      }
      e.template put<0>(out.value, out.ok, false);
      put += out.ok ? 1 : 0;
    }
    s.done = 0;
    lanes_.sync();  // all lanes have read the sums
    return true;
  }

  /// The first lane writes back what the node has taken and put, for the other lanes to see.
  template <class F>
  HIWAY_DEVICE void leave(OfOne<F> const& e, QueueState const& s, typename MarksOf::Reading const& marks) {
    lanes_.sync();
    if (lanes_.rank() == 0) {
      states_[e.node] = s;
      marks_.close(e.node, marks);
      detail::unrolled<Function<F>::channels>([&](auto c) { close(e.to[c]); });
    }
    lanes_.sync();
  }

  HIWAY_ITEMS_MAY_LOOK_UNSET
  /// Fires an expander whose lanes each take an item whenever they are free.
  template <unsigned M>
  HIWAY_DEVICE void fire_lanes(unsigned node) {
    using F = ModuleAt<M>;
    using Fn = Function<F>;
    using Lane = detail::LaneOf<F>;
    NodeRow const& row = rows_[node];
    std::uint32_t const lanes = lanes_.size();
    std::uint32_t const rank = lanes_.rank();
    QueueState s = states_[node];
    bool const of_range = node == root_ && !root_is_queued();
    bool const partly = is_flushed(node) || of_range;
    std::uint32_t const began = counting_.now(lanes_);
    OfOne<F> e(*this, node, function_of<M>(row));
    [[maybe_unused]] auto marks = marks_.read(node);
    Lane* const kept = cursors_of<Lane>(node);
    Lane own;
    bool live = rank < s.suspended;
    if (live) own = kept[rank];
    std::uint32_t taken = 0;
    std::uint32_t put = 0;
    std::uint32_t made = 0;  // by the lane's current item
    if (live) made = counting_.kept(lanes_, node, rank);
    Tally idle = lanes_.idle(live);
    std::uint32_t rounds = 0;
    for (;;) {
      look_for_abort(rounds);
      if constexpr (has_regions) e.along.region = static_cast<std::uint16_t>(marks.now);
      auto&& f = e.function();
      bool const blocked = (row.children & active_) != 0;
      if (blocked && (row.suspends || idle.all == lanes)) break;
      std::uint32_t const due = due_of(node, marks, s.count);
      if (MarksOf::is_one(marks) && due == 0 && idle.all == lanes) {
        pass_mark<M>(e, marks);
        continue;
      }
      if (idle.all != 0 && !blocked) {
        if (idle.all > due && !partly && !MarksOf::is_one(marks)) break;
        std::uint32_t const n = idle.all < due ? idle.all : due;
        // Newest items first: they are still in the caches. With marks the order must be kept.
        constexpr bool in_order = MarksOf::exist;
        if (!live && idle.before < n) {
          own.item = read<M, typename Fn::In>(node, s, of_range || in_order ? idle.before : s.count - 1 - idle.before);
          own.cursor = f.start(own.item);
          live = f.more(own.item, own.cursor);
          made = 0;
        }
        if (of_range) window_ += n;
        if (in_order && !of_range) s.head = wrap(s.head + n, row.queue_slots);
        s.count -= n;
        MarksOf::take(marks, n);
        taken += n;
        if (n != 0 && s.count != 0) {  // items that give nothing have left lanes idle
          idle = lanes_.idle(live);
          if (idle.all * 4 > lanes) continue;
        }
      }
      Maybe<typename Fn::template Out<0>> out;
      if (live) {
        out = detail::as_maybe(f.next(own.item, own.cursor));
        live = f.more(own.item, own.cursor);
        put += out.ok ? 1 : 0;
        made += out.ok ? 1 : 0;
        if (!live) counting_.item(lanes_, node, made);
      }
      e.template put<0>(out.value, out.ok, false);
      idle = lanes_.idle(live);
      if (idle.all == lanes && s.count == 0 && !MarksOf::is_one(marks)) break;
    }
    s.suspended = lanes - idle.all;
    if (s.suspended != 0) lanes_.sync();  // all lanes have read what was kept before
    if (live) {
      kept[rank - idle.before] = own;
      counting_.keep(lanes_, node, rank - idle.before, made);
    }
    leave(e, s, marks);
    counting_.ensemble(lanes_, node, taken, taken == lanes, false, s.suspended == 0, put, false);
    counting_.firing(lanes_, node, began);
    settle(node, s.count + s.suspended);
  }

  template <unsigned M>
  HIWAY_DEVICE void fire(unsigned node) {
    using F = ModuleAt<M>;
    using Fn = Function<F>;
    using In = typename Fn::In;
    using Cursor = typename Fn::Cursor;
    NodeRow const& row = rows_[node];
    std::uint32_t const lanes = lanes_.size();
    std::uint32_t const width = row.width;
    QueueState s = states_[node];
    bool const flushes = is_flushed(node);
    bool const partly = flushes || row.loop != 0 || (Source::is_range && node == root_);
    constexpr bool shares =
        !MarksOf::exist && Program::may_share(M) && (Fn::kind == Kind::filter || Fn::kind == Kind::expander);
    bool const may_share = shares && flushes && row.loop == 0;
    if constexpr (shares) {
      if (may_share && s.count < lanes && fire_several<M>(node)) return;
    }
    std::uint32_t const began = counting_.now(lanes_);
    OfOne<F> e(*this, node, function_of<M>(row));
    [[maybe_unused]] auto marks = marks_.read(node);
    std::uint32_t suspended = 0;
    for (;;) {
      std::uint32_t due = due_of(node, marks, s.count);
      bool waits = !MarksOf::is_one(marks);  // for a full ensemble
      if constexpr (has_regions) {
        if (row.is_dense && due != 0) due = RegionFiring<Replica>(*this).due_in_dense(e, marks, s.count, waits);
      }
      std::uint32_t const whole = due < width ? due : width;
      std::uint32_t k = whole;
      if constexpr (Fn::raises) k = k < e.free_marks() ? k : e.free_marks();
      if (row.loop != 0) {
        detail::unrolled<Fn::channels>([&](auto c) {
          auto const& t = e.to[c];
          if (!t.is_sink() && t.room == 0 && t.free < k) k = t.free;
        });
      }
      if (MarksOf::is_one(marks) && due == 0) {
        pass_mark<M>(e, marks);
        if ((row.children & active_) != 0 || is_late()) break;
        continue;
      }
      if (k == 0 || (whole < width && !partly && waits)) break;
      bool const resumed = s.suspended != 0;
      if (resumed) k = s.suspended;
      std::uint32_t const place = lanes_.rank() / Fn::lanes_per_item;
      bool const mine = place < k;
      if constexpr (has_regions) RegionFiring<Replica>(*this).begin_ensemble(e, marks, s, k, resumed);
      std::uint32_t put = 0;
      std::uint32_t before = 0;  // what the lane's item had given before the ensemble was left
      if (resumed && mine) before = counting_.kept(lanes_, node, lanes_.rank());
      bool finished = true;
      if constexpr (Fn::kind == Kind::indexed) {
        finished = work_indexed<M>(e, s, k, put);
      } else if constexpr (Fn::items_per_lane > 1) {
        work_wide<M>(e, s, k, put);
      } else {
        ItemRoom<In> item;
        if (mine) item.item() = read<M, In>(node, s, place);
        Cursor* kept = nullptr;
        if constexpr (Fn::can_suspend) kept = cursors_of<Cursor>(node) + lanes_.rank();
        finished = work<F>(e, item.item(), mine, resumed, kept, put);
      }
      counting_.ensemble(lanes_, node, k, k == width, resumed, finished, put, false);
      std::uint32_t made = before + put;
      if constexpr (Fn::items_per_lane > 1) made = made != 0 ? 1 : 0;
      if constexpr (Fn::kind == Kind::tile && Program::shape.counters) made = TileOf<F>(lanes_.machine()).sum(made);
      if (mine && finished && Fn::kind != Kind::indexed) counting_.item(lanes_, node, made);
      if (mine && !finished) counting_.keep(lanes_, node, lanes_.rank(), made);
      if (!finished) {
        s.suspended = suspended = k;
        break;
      }
      s.suspended = 0;
      take(node, s, k);
      MarksOf::take(marks, k);
      if constexpr (has_regions) RegionFiring<Replica>(*this).end_ensemble(e, marks);
      detail::unrolled<Fn::channels>([&](auto c) {
        if (e.to[c].node == node) e.to[c].free += k;
      });
      if ((row.children & active_) != 0 || (s.count < lanes && (row.loop != 0 || may_share)) || is_late()) break;
    }
    leave(e, s, marks);
    counting_.firing(lanes_, node, began);
    if (suspended == 0 && row.loop == 0) settle(node, s.count);
  }

  // ---- signals

  [[nodiscard]] HIWAY_DEVICE auto const* marks_of(unsigned node) const {
    NodeRow const& row = rows_[node];
    return reinterpret_cast<Mark<Signal> const*>(room_of(row.queue_is_far) + row.marks_at);
  }
  /// How many of `count` items are before the first mark.
  template <class Reading>
  [[nodiscard]] HIWAY_DEVICE std::uint32_t due_of(unsigned node, Reading const& marks, std::uint32_t count) const {
    if constexpr (MarksOf::exist) {
      return MarksOf::due(marks, marks_of(node), count);
    } else {
      return count;
    }
  }
  /// The node hears the first signal of its queue, and passes it on. All items before it are done; no child is active.
  template <unsigned M>
  HIWAY_DEVICE void pass_mark(OfOne<ModuleAt<M>>& e, typename MarksOf::Reading& marks) {
    if constexpr (has_regions) {
      RegionFiring<Replica>(*this).pass_due(e, marks);
    } else if constexpr (MarksOf::exist) {
      using F = ModuleAt<M>;
      using Fn = Function<F>;
      bool const first = lanes_.rank() == 0;
      Signal signal = marks_of(e.node)[marks.head].signal;
      bool passes = true;
      std::uint32_t put = 0;
      if constexpr (Fn::hears) {
        detail::Emits<typename Fn::Outs> out;
        if (first) {
          if constexpr (Fn::has_state) {
            passes = detail::hear(e.function(), signal, out, &state_of<F>(e.node));
          } else {
            passes = detail::hear(e.function(), signal, out, static_cast<detail::NoState*>(nullptr));
          }
        }
        if constexpr (Fn::puts_at_signals) {
          detail::unrolled<Fn::channels>([&](auto c) {
            auto const& o = out.template get<c>();
            e.template put<c>(o.value, o.ok, false);
            put += o.ok ? 1 : 0;
          });
        }
        passes = lanes_.any(first && passes);
      }
      counting_.signal(lanes_, e.node, put);
      marks_.drop(e.node, marks);
      if (!passes) return;
      detail::unrolled<Fn::channels>([&](auto c) {
        put_mark(e.to[c], signal, first, Tally{0, 1, false}, e.to[c].pushed);
      });
    }
  }

  HIWAY_DEVICE void take(unsigned node, QueueState& s, std::uint32_t k) {
    s.count -= k;
    if constexpr (Source::is_range) {
      if (node == root_ && !root_is_queued()) {
        window_ += k;
        return;
      }
    }
    s.head = wrap(s.head + k, rows_[node].queue_slots);
  }

  /// Fires `first`, and fills its free lanes with items of other nodes of the same function type. Returns false,
  /// without firing, if no other node has items that it may work on.
  template <unsigned M>
  HIWAY_DEVICE bool fire_several(unsigned first) {
    using F = ModuleAt<M>;
    using Fn = Function<F>;
    using In = typename Fn::In;
    using Cursor = typename Fn::Cursor;
    auto const m = lanes_.machine();
    std::uint32_t const lanes = lanes_.size();
    std::uint32_t const rank = lanes_.rank();
    std::uint32_t const began = counting_.now(lanes_);
    std::uint32_t nodes = 0;
    std::uint32_t filled = 0;
    unsigned tag = first;
    std::uint32_t mine_at = 0;
    bool mine = false;
    for (std::uint32_t left = 1u << first | (p_.modules[M] & ~(1u << first)), n = first; left != 0;
         n = m.lowest(left)) {
      left &= ~(1u << n);
      QueueState const s = states_[n];
      NodeRow const& row = rows_[n];
      std::uint32_t k = s.suspended != 0 ? s.suspended : s.count;
      bool const may = k != 0 && row.loop == 0 && (row.children & active_) == 0 &&
                       (s.suspended == 0 || k <= lanes - filled) && filled != lanes;
      if (may) {
        if (k > lanes - filled) k = lanes - filled;
        if (rank >= filled && rank < filled + k) {
          mine = true;
          tag = n;
          mine_at = rank - filled;
        }
        filled += k;
        nodes |= 1u << n;
      }
      if (left == 0) break;
    }
    if (nodes == 1u << first) return false;
    ItemRoom<In> item;
    bool resumed = false;
    Cursor* kept = nullptr;
    std::uint32_t before = 0;
    if (mine) {
      QueueState const s = states_[tag];
      item.item() = read<M, In>(tag, s, mine_at);
      resumed = s.suspended != 0;
      if constexpr (Fn::can_suspend) kept = cursors_of<Cursor>(tag) + mine_at;
      if (resumed) before = counting_.kept(lanes_, tag, mine_at);
    }
    OfSeveral<F, M> e{*this, nodes, tag, function_of<M>(rows_[tag])};
    std::uint32_t put = 0;
    bool const finished = work<F>(e, item.item(), mine, resumed, kept, put);
    if (mine && finished) counting_.item(lanes_, tag, before + put);
    if (mine && !finished) counting_.keep(lanes_, tag, mine_at, before + put);
    lanes_.sync();
    for (std::uint32_t left = nodes; left != 0; left &= left - 1) {
      unsigned const node = m.lowest(left);
      std::uint32_t const k = lanes_.tally(mine && tag == node).all;
      QueueState s = states_[node];
      bool const again = s.suspended != 0;
      s.suspended = finished ? 0 : k;
      if (finished) take(node, s, k);
      lanes_.sync();
      if (rank == 0) states_[node] = s;
      lanes_.sync();
      counting_.ensemble(lanes_, node, k, k == lanes, again, finished, tag == node ? put : 0, true);
      // Only active nodes settle; the others of the ensemble need not be active.
      if (finished && ((active_ >> node & 1u) != 0)) settle(node, s.count);
    }
    counting_.firing(lanes_, first, began);
    return true;
  }
  HIWAY_ITEMS_END

  HIWAY_DEVICE void finish(std::uint64_t calls) {
    auto const m = lanes_.machine();
    lanes_.sync();
    for_states<0>([](auto const& f, auto& state) { f.finish(state); });
    if constexpr (has_regions) RegionFiring<Replica>(*this).tell_lengths();
    for (unsigned i = lanes_.rank(); i < Program::Sinks::count; i += lanes_.size()) {
      if (sink_counts_[i] != 0) m.fetch_add(p_.sink_words[i].items, sink_counts_[i], Order::relaxed);
    }
    if (lanes_.rank() == 0) {
      p_.times[replica_].ended_ns = m.now_ns();
      p_.times[replica_].scheduler_calls = calls;
    }
  }

 public:
  // For the sinks.
  HIWAY_DEVICE Lanes& lanes() { return lanes_; }
  HIWAY_DEVICE Control& control() { return *p_.control; }
  HIWAY_DEVICE std::uint32_t stage() const { return p_.stage; }
  HIWAY_DEVICE InletView const& inlet(unsigned i) const { return inlets_[i]; }

 private:
  Program const& p_;
  Lanes lanes_;
  OutletView const* outlets_;
  InletView const* inlets_;
  std::byte const* block_;
  NodeRow const* rows_;
  std::byte* near_;
  std::byte* far_;
  QueueState* states_;
  std::uint64_t* sink_counts_;
  std::uint32_t* sums_;
  unsigned root_;
  unsigned replica_;
  unsigned turn_;
  [[no_unique_address]] MarksOf marks_;
  [[no_unique_address]] Counting<Lanes, Program::shape.counters> counting_;
  std::uint32_t active_ = 0;  ///< bits of nodes
  std::uint32_t flush_ = 0;
  [[no_unique_address]] std::conditional_t<has_regions, Drains, NoTags> drains_;
  std::uint64_t window_ = 0;     ///< of a range: the number of the root's first item
  std::uint64_t tasks_ = 0;      ///< of a tunnel: tasks got and not yet ended
  std::uint32_t looked_at_ = 0;  ///< when it last looked around, by the lane's cycles
  std::uint32_t letters_ = 0;
  bool late_ = false;
  bool claimed_ = false;
  bool ended_ = false;
  bool drained_ = false;  ///< a flush has begun since the last items came
};

}  // namespace hiway::segment
