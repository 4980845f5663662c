// ReplicaState: what the lanes of a replica know, the same in all of them, and where the replica's data lies.
//
// It is a struct with open members: the parts of a replica (intake.hpp, letters.hpp, scheduler.hpp and the firings)
// are functions over it. queue.hpp has the table of who writes which word in the rooms.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hiway/fault.hpp"
#include "hiway/inlet.hpp"
#include "hiway/outlet.hpp"
#include "hiway/segment/activity.hpp"
#include "hiway/segment/counting.hpp"
#include "hiway/segment/lanes.hpp"
#include "hiway/segment/marks.hpp"
#include "hiway/segment/node.hpp"
#include "hiway/segment/placement.hpp"
#include "hiway/segment/queue.hpp"
#include "hiway/segment/slot.hpp"

namespace hiway::segment {

namespace detail {

/// A block's copy of a node function, and its table.
template <class F>
struct InBlock {
  F function;
  typename F::Table table;
};

/// `at`, which is below 2 * size, as a place in a ring of `size` slots.
HIWAY_DEVICE inline std::uint32_t wrap(std::uint32_t at, std::uint32_t size) { return at >= size ? at - size : at; }

}  // namespace detail

/// Where a replica's data lies.
struct Rooms {
  std::byte const* block = nullptr;  ///< the block's shared memory: it begins with the rows and the functions' tables
  std::byte* near_room = nullptr;
  std::byte* far_room = nullptr;

  [[nodiscard]] HIWAY_DEVICE std::byte* of(bool is_far) const { return is_far ? far_room : near_room; }
};

/// How far a replica has come in its source (intake.hpp), a range.
struct RangeIntake {
  HIWAY_DEVICE RangeIntake(OutletView const*, unsigned own_turn) : turn(own_turn) {}

  unsigned turn;             ///< which part is the replica's first
  std::uint64_t window = 0;  ///< the number of the root's first item
  bool claimed = false;
  bool ended = false;

  HIWAY_DEVICE void set_to(RangeIntake const& other) {  // as Activity::set_to
    window = other.window;
    claimed = other.claimed;
    ended = other.ended;
  }
};
/// The same of a tunnel.
struct TunnelIntake {
  HIWAY_DEVICE TunnelIntake(OutletView const* own_outlets, unsigned) : outlets(own_outlets) {}

  OutletView const* outlets;
  std::uint64_t tasks = 0;  ///< got and not yet ended
  bool drained = false;     ///< a flush has begun since the last items came
  bool ended = false;

  HIWAY_DEVICE void set_to(TunnelIntake const& other) {
    tasks = other.tasks;
    drained = other.drained;
    ended = other.ended;
  }
};

/// What there is for a replica. leaves: it goes on in another launch (parking.hpp).
enum class Next : std::uint8_t { work, nothing, leaves };

/// When a replica looks around, and at whom (letters.hpp).
struct WatchState {
  std::uint32_t looked_at = 0;  ///< when it last looked around, by the lane's cycles
  std::uint32_t letters = 0;
  bool late = false;
};

template <class Program_, class Lanes_>
struct ReplicaState {
  using Program = Program_;
  using Lanes = Lanes_;
  using Source = typename Program::Source;
  using Intake = std::conditional_t<Source::is_range, RangeIntake, TunnelIntake>;
  using Signal = typename Program::Signal;
  using MarksOf = Marks<Signal>;
  using Reading = typename MarksOf::Reading;
  static constexpr bool has_regions = std::is_same_v<Signal, Boundary>;
  static constexpr bool has_scopes = Source::has_scopes;
  template <class T>
  using Slot = SlotOf<T, has_scopes>;
  template <unsigned M>
  using ModuleAt = typename detail::TypeAt<M, typename Program::Modules>::type;
  /// A node of this module may take its items from a range instead of a queue.
  template <unsigned M>
  static constexpr bool reads_range = Source::is_range&& M == Program::root_module;

  /// `turn`: which part of a range is the replica's first.
  HIWAY_DEVICE ReplicaState(Program const& p, Lanes const& own_lanes, OutletView const* outlets,
                            InletView const* own_inlets, Rooms const& places, unsigned turn, unsigned number)
      : program(p),
        lanes(own_lanes),
        inlets(own_inlets),
        rooms(places),
        rows(reinterpret_cast<NodeRow const*>(places.block)),
        states(reinterpret_cast<QueueState*>(places.near_room + p.states_at)),
        sink_counts(reinterpret_cast<std::uint64_t*>(places.near_room + p.sinks_at)),
        sums(reinterpret_cast<std::uint32_t*>(places.near_room + p.sums_at)),
        root(p.nodes - 1),
        replica(number),
        marks(reinterpret_cast<MarkState*>(places.near_room + p.marks_at), rows),
        counting(p.counters, p.made, number * p.nodes, lanes.size()),
        intake(outlets, turn) {}

  Program const& program;
  Lanes lanes;
  InletView const* inlets;
  Rooms rooms;
  NodeRow const* rows;
  QueueState* states;
  std::uint64_t* sink_counts;
  std::uint32_t* sums;  ///< of indexed expanders: a word for each lane
  unsigned root;
  unsigned replica;
  [[no_unique_address]] MarksOf marks;
  [[no_unique_address]] Counting<Lanes, Program::shape.counters> counting;
  Activity<has_regions> activity;
  Intake intake;
  WatchState watch;

  /// A range's items need a queue only if items of a loop come to the root, too.
  [[nodiscard]] HIWAY_DEVICE bool root_is_queued() const { return !Source::is_range || rows[root].loop != 0; }
  /// Whether the node takes its items from a range.
  [[nodiscard]] HIWAY_DEVICE bool takes_range(unsigned node) const { return node == root && !root_is_queued(); }
  template <class T>
  [[nodiscard]] HIWAY_DEVICE T* queue_of(unsigned node) const {
    NodeRow const& row = rows[node];
    return reinterpret_cast<T*>(rooms.of(row.queue_is_far) + row.queue_at);
  }
  /// The slot of the `k`-th item of a node's queue.
  template <class In>
  [[nodiscard]] HIWAY_DEVICE Slot<In>& slot_of(unsigned node, QueueState const& s, std::uint32_t k) const {
    return queue_of<Slot<In>>(node)[detail::wrap(s.head + k, rows[node].queue_slots)];
  }
  /// The `k`-th item of a node's queue or range.
  template <unsigned M, class In>
  [[nodiscard]] HIWAY_DEVICE In read(unsigned node, QueueState const& s, std::uint32_t k) const {
    if constexpr (reads_range<M>) {
      if (takes_range(node)) return program.source.item(intake.window + k);
    }
    return item_of(queue_of<Slot<In> const>(node)[detail::wrap(s.head + k, rows[node].queue_slots)]);
  }
  /// The same with its word, if there are scopes.
  template <unsigned M, class In>
  [[nodiscard]] HIWAY_DEVICE Slot<In> read_slot(unsigned node, QueueState const& s, std::uint32_t k) const {
    if constexpr (has_scopes) {
      return slot_of<In>(node, s, k);
    } else {
      return read<M, In>(node, s, k);
    }
  }
  /// Takes `k` items that have been read.
  HIWAY_DEVICE void take(unsigned node, QueueState& s, std::uint32_t k) {
    s.count -= k;
    if constexpr (Source::is_range) {
      if (takes_range(node)) {
        intake.window += k;
        return;
      }
    }
    s.head = detail::wrap(s.head + k, rows[node].queue_slots);
  }
  [[nodiscard]] HIWAY_DEVICE auto const* marks_of(unsigned node) const {
    NodeRow const& row = rows[node];
    return reinterpret_cast<Mark<Signal> const*>(rooms.of(row.queue_is_far) + row.marks_at);
  }
  /// How many of `count` items are before the first mark.
  [[nodiscard]] HIWAY_DEVICE std::uint32_t due_of(unsigned node, Reading const& reading, std::uint32_t count) const {
    if constexpr (MarksOf::exist) {
      return MarksOf::due(reading, marks_of(node), count);
    } else {
      return count;
    }
  }

  template <unsigned M>
  [[nodiscard]] HIWAY_DEVICE ModuleAt<M> const& function_of(NodeRow const& row) const {
    if constexpr (Function<ModuleAt<M>>::has_table) {
      return reinterpret_cast<detail::InBlock<ModuleAt<M>> const*>(rooms.block + row.in_block_at)->function;
    } else {
      return static_cast<ModuleAt<M> const*>(program.functions[M])[row.index];
    }
  }
  template <class F>
  [[nodiscard]] HIWAY_DEVICE typename Function<F>::State& state_of(unsigned node) const {
    return *reinterpret_cast<typename Function<F>::State*>(rooms.near_room + rows[node].state_at);
  }
  template <class Cursor>
  [[nodiscard]] HIWAY_DEVICE Cursor* cursors_of(unsigned node) const {
    return reinterpret_cast<Cursor*>(rooms.of(rows[node].cursors_are_far) + rows[node].cursors_at);
  }

  /// Whether a look is due because firings take long (Placement::look_after). The scheduler counts short firings
  /// instead: reading the clock for each costs more than it brings.
  HIWAY_DEVICE bool is_late() {
    std::uint32_t const after = program.look_after;
    watch.late = after != never_late && lanes.share(lanes.machine().cycles() - watch.looked_at >= after ? 1 : 0) != 0;
    return watch.late;
  }
  /// For loops that end when all lanes agree. A lane that has left in an abort does not vote. In a block the last vote
  /// of its warp stays in memory, and the other lanes would loop for ever. A warp's replica needs no look: each round
  /// asks its lanes afresh whether any is live. A look would cost it 6 %.
  HIWAY_DEVICE void look_for_abort(std::uint32_t& rounds) const {
    if constexpr (Lanes::is_warp) return;
    if ((++rounds & 255u) == 0) leave_if_aborted(lanes.machine(), *program.control);
  }
};

}  // namespace hiway::segment
