// The queues of a segment, as its replicas see them. Each node has one bounded input queue. Only the lanes of one
// replica read and write it, so it needs no atomics.
//
//   a replica's rooms
//     near   in shared memory: the queues' states, the sinks' counts, the words through which lanes meet, and queues as
//            long as they fit
//     far    in the slab in device memory: the other queues, and cursors
//   A block's shared memory begins with the rows and its functions' tables; the near rooms follow.
//
//   what           written by                              read by
//   QueueState     the replica's first lane, when a node   all lanes, before a node fires
//                  has fired, between two sync()
//   slots          the lane that puts the item             the lane that takes it, after a sync()
//   NodeRow        no lane: copied at the start            all lanes
//
// Nodes are numbered so that a node's children have lower numbers; the root has the highest. The nodes of a loop have
// higher numbers than the nodes to which items leave the loop.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hiway/machine/machine.hpp"

namespace hiway::segment {

/// Most nodes of a segment: each has a bit in a word.
inline constexpr unsigned most_nodes = 32;
/// Most channels of a node.
inline constexpr unsigned most_channels = 4;
/// In NodeRow::to, the number of the first sink; smaller numbers are nodes.
inline constexpr std::uint8_t first_sink = most_nodes;
/// Where the channels of all nodes with one type of function lead.
enum class Leads : std::uint8_t { queues, sinks, either };

/// A node's data; the same for every replica.
struct alignas(16) NodeRow {
  std::uint32_t queue_at = 0;  ///< its input queue's first slot: bytes from the room's start
  std::uint32_t queue_slots = 0;
  std::uint32_t width = 0;        ///< items of a full ensemble
  std::uint32_t room = 0;         ///< with fewer free slots the node is active, and its parent may not fire
  std::uint32_t cursors_at = 0;   ///< saved cursors, one for each lane
  std::uint32_t state_at = 0;     ///< the node's State, in the near room
  std::uint32_t in_block_at = 0;  ///< of a function with a table: the block's copy of the function and its table
  std::uint32_t marks_at = 0;     ///< of a segment with signals: the queue's marks, in its room
  std::uint16_t mark_slots = 0;
  std::uint16_t mark_room = 0;   ///< with fewer free mark slots the node is active
  std::uint32_t children = 0;    ///< bits of the nodes that it puts into, except those of its own loop
  std::uint32_t loop = 0;        ///< bits of all nodes of its loop; 0: it is in none
  std::uint32_t item_bytes = 0;  ///< of its queue's items
  std::uint8_t module = 0;       ///< number of its function's type
  std::uint8_t index = 0;        ///< number of its function among those of the type
  // Of a segment with regions (region.hpp).
  std::uint32_t arena_at = 0;    ///< of an opener: its arena, which holds the heads of regions, then the parents
  std::uint32_t parents_at = 0;  ///< in the arena's room
  std::uint32_t inside = 0;      ///< of an opener: bits of the nodes inside its regions, with those that close them
  std::uint32_t tags_at = 0;     ///< of a dense node: a tag for each slot of its queue, in its room
  std::uint32_t sums_at = 0;     ///< of an opener: running sums of its parents' elements, in the near room
  std::uint32_t values_at = 0;   ///< of an aggregate: its regions' values, in the arena's room
  std::uint16_t arena_slots = 0;
  std::uint16_t leaves = 0;          ///< of an opener: number of channels at whose ends its regions are closed
  std::uint8_t opener = first_sink;  ///< the opener of the innermost regions that its items are in; or none
  bool stops_at_marks = true;        ///< no ensemble spans a mark
  bool is_dense = false;
  bool is_mixed = false;  ///< items of several regions come in any order
  bool arena_is_far = false;
  bool poisons = false;  ///< for tests: a freed parent is overwritten
  bool suspends = false;
  bool keeps_lanes = false;  ///< suspended, it keeps lanes with their items, not an ensemble in its queue
  bool spreads = false;      ///< one item may give many
  bool queue_is_far = false;
  bool cursors_are_far = false;
  /// Where each channel leads: a node, or first_sink + a sink's number. A channel that does not exist leads to no node.
  std::uint8_t to[most_channels] = {first_sink, first_sink, first_sink, first_sink};
};

/// A queue's state in one replica. Of a range's root without a queue: `count` items of its window are left.
struct alignas(16) QueueState {
  std::uint32_t head = 0;       ///< slot of the first item
  std::uint32_t count = 0;      ///< items
  std::uint32_t suspended = 0;  ///< how many of the first items make up a suspended ensemble
  std::uint32_t done = 0;       ///< of an indexed expander: outputs that the suspended ensemble has put
};

/// Counters of a node in one replica, if Shape::counters is set.
struct NodeCounters {
  std::uint64_t firings = 0;    ///< how often the scheduler chose the node
  std::uint64_t ensembles = 0;  ///< ensembles (vectors) begun
  std::uint64_t full = 0;       ///< full ones among them
  std::uint64_t items = 0;      ///< items taken
  std::uint64_t suspensions = 0;
  std::uint64_t shared = 0;             ///< ensembles that it shared with other nodes
  std::uint64_t steps = 0;              ///< how often the lanes put together
  std::uint64_t outputs = 0;            ///< items put, on all channels
  std::uint64_t signals_heard = 0;      ///< signals heard or passed on
  std::uint64_t cycles = 0;             ///< cycles spent in the node
  Word<std::uint32_t> most_outputs{0};  ///< the most outputs of one item

  /// Adds another replica's counters of the same node.
  void add(NodeCounters const& other) {
    firings += other.firings;
    ensembles += other.ensembles;
    full += other.full;
    items += other.items;
    suspensions += other.suspensions;
    shared += other.shared;
    steps += other.steps;
    outputs += other.outputs;
    signals_heard += other.signals_heard;
    cycles += other.cycles;
    most_outputs.bits = (std::max)(most_outputs.bits, other.most_outputs.bits);
  }
};

/// Times of one replica.
struct ReplicaTimes {
  std::uint64_t began_ns = 0;
  std::uint64_t ended_ns = 0;
  std::uint64_t waited_ns = 0;  ///< time in between spent waiting for others' work
  std::uint64_t scheduler_calls = 0;
};

/// Words that all replicas share, in device memory; zero at the start of a run.
struct SharedWords {
  /// Of a range: number of claimed items, not counting each replica's own first part.
  alignas(128) Word<std::uint64_t> next{0};
};

/// One sink's words. *Units*: items.
struct SinkWords {
  alignas(128) Word<std::uint64_t> items{0};  ///< items put; each replica adds its own at its end
  Word<std::uint64_t> used{0};                ///< claimed places of a buffer
};

/// A node's words, in a segment with regions.
struct RegionWords {
  Word<std::uint64_t> items{0};  ///< items that came to it; each replica adds its own, modulo 2^32, at its end
};

}  // namespace hiway::segment
