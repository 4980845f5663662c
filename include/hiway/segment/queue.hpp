// The queues of a segment, as its replicas see them: one before each node, bounded, read and written by the lanes of one
// replica only, so without atomics.
//
//   a replica's rooms       near: in shared memory           far: in the slab, device memory
//     near   the queues' states, the sinks' counts, what lanes meet through, and queues as long as they fit
//     far    the other queues, and cursors
//   before the near rooms a block has the rows, and its functions' tables
//
//   what           written by                              read by
//   QueueState     the replica's first lane, when a node   all lanes, before one fires
//                  has fired, between two sync()
//   slots          the lane whose item it is               the lane that takes it, behind a sync()
//   NodeRow        nobody: copied at the start             all lanes
//
// Nodes are numbered so that a node's children have lower numbers; the root has the highest. The nodes of a loop have
// higher numbers than what leaves it.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hiway/machine/machine.hpp"

namespace hiway::segment {

/// Nodes of a segment: one bit each in a word.
inline constexpr unsigned most_nodes = 32;
/// Channels of a node.
inline constexpr unsigned most_channels = 4;
/// Behind these come the sinks' numbers, where a channel leads.
inline constexpr std::uint8_t first_sink = most_nodes;
/// Where the channels of all nodes with one function lead.
enum class Leads : std::uint8_t { queues, sinks, either };

/// What every replica knows of a node.
struct alignas(16) NodeRow {
  std::uint32_t queue_at = 0;  ///< its input queue's first slot: bytes from the room's begin
  std::uint32_t queue_slots = 0;
  std::uint32_t width = 0;        ///< items of a full ensemble
  std::uint32_t room = 0;         ///< with fewer free slots the node is active, and its parent may not fire
  std::uint32_t cursors_at = 0;   ///< saved cursors, one for each lane
  std::uint32_t state_at = 0;     ///< what the node keeps by itself; in the near room
  std::uint32_t in_block_at = 0;  ///< of a function with a table: the block's copy of both
  std::uint32_t marks_at = 0;     ///< of a segment with signals: the queue's marks, in its room
  std::uint16_t mark_slots = 0;
  std::uint16_t mark_room = 0;   ///< with fewer free ones the node is active
  std::uint32_t children = 0;    ///< bits of the nodes that it puts into, but for those of its own loop
  std::uint32_t loop = 0;        ///< bits of the nodes of the loop that it is in
  std::uint32_t item_bytes = 0;  ///< of its queue's items
  std::uint8_t module = 0;       ///< its function's type
  std::uint8_t index = 0;        ///< its function among those of the type
  // Of a segment with regions (region.hpp).
  std::uint32_t arena_at = 0;    ///< what opens regions: their heads, then the parents
  std::uint32_t parents_at = 0;  ///< in the arena's room
  std::uint32_t inside = 0;      ///< bits of the nodes of these regions, with those that close them
  std::uint32_t tags_at = 0;     ///< of a dense node: of each slot of its queue, in its room
  std::uint32_t sums_at = 0;     ///< what opens regions: elements of the parents up to each; in the near room
  std::uint32_t values_at = 0;   ///< what closes regions: their values, in the arena's room
  std::uint16_t arena_slots = 0;
  std::uint16_t leaves = 0;          ///< channels at whose ends these regions are closed
  std::uint8_t opener = first_sink;  ///< the node that has opened the regions in which this one's items lie; or none
  bool stops_at_marks = true;        ///< no ensemble spans a mark
  bool is_dense = false;
  bool is_mixed = false;  ///< items of several regions come in any order
  bool arena_is_far = false;
  bool poisons = false;  ///< for tests: what is freed is overwritten
  bool suspends = false;
  bool keeps_lanes = false;  ///< what is kept of it are lanes with their items, not an ensemble in its queue
  bool spreads = false;      ///< much may come of one item
  bool queue_is_far = false;
  bool cursors_are_far = false;
  /// Where each channel leads: a node, or first_sink + a sink. Nothing leads to a node where there is no channel.
  std::uint8_t to[most_channels] = {first_sink, first_sink, first_sink, first_sink};
};

/// A queue's state in one replica. The root's of a source that is a range: `count` items of its window.
struct alignas(16) QueueState {
  std::uint32_t head = 0;       ///< slot of the first item
  std::uint32_t count = 0;      ///< items
  std::uint32_t suspended = 0;  ///< the first items of which a suspended ensemble is made
  std::uint32_t done = 0;       ///< an indexed expander's outputs that the suspended ensemble has put
};

/// Counted for each node and replica where Shape::counters says so.
struct NodeCounters {
  std::uint64_t firings = 0;    ///< times that the scheduler chose it
  std::uint64_t ensembles = 0;  ///< begun: vectors
  std::uint64_t full = 0;       ///< of them, with an item for every lane
  std::uint64_t items = 0;      ///< taken
  std::uint64_t suspensions = 0;
  std::uint64_t shared = 0;             ///< ensembles in which it had items of its own beside those of other nodes
  std::uint64_t steps = 0;              ///< times that lanes put together
  std::uint64_t outputs = 0;            ///< put on all channels
  std::uint64_t signals_heard = 0;      ///< or passed on
  std::uint64_t cycles = 0;             ///< spent in it
  Word<std::uint32_t> most_outputs{0};  ///< of one item

  /// What another replica counted at the same node.
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

/// Of each replica.
struct ReplicaTimes {
  std::uint64_t began_ns = 0;
  std::uint64_t ended_ns = 0;
  std::uint64_t waited_ns = 0;  ///< for work of others, in between
  std::uint64_t scheduler_calls = 0;
};

/// Words that all replicas share, in device memory, zero at the start of a run.
struct SharedWords {
  /// Of a source that is a range: items that are claimed, beside each replica's own first part.
  alignas(128) Word<std::uint64_t> next{0};
};

/// One sink's words. *Units*: items.
struct SinkWords {
  alignas(128) Word<std::uint64_t> items{0};  ///< put, added by each replica at its end
  Word<std::uint64_t> used{0};                ///< places of a buffer that were claimed
};

/// Of a node in a segment with regions.
struct RegionWords {
  Word<std::uint64_t> items{0};  ///< that came to it, modulo 2^32 in each replica, added at its end
};

}  // namespace hiway::segment
