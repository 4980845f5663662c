// What a user sets for a segment and for its nodes. Light: pipeline.hpp includes it.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hiway/config.hpp"

namespace hiway::segment {

/// How a lane knows the parent of its item. automatic: lane. An expander cannot use lane: for it, automatic is dense if
/// fewer items of a region come to it than a replica has lanes, else sparse. Each run counts these items for the next
/// run; the first run estimates them from NodeOptions::gain of the nodes before it.
enum class Context : std::uint8_t { automatic, sparse, dense, lane };

/// What forms a replica, which runs a copy of the tree with queues of its own: a block, or each warp of a block.
enum class ReplicaOf : std::uint8_t { block, warp };

/// How the lanes of an expander are kept busy. lanes: a lane that has put all outputs of its item takes the next item;
/// when the node is left, items and cursors of all lanes are kept. ensembles: all lanes take items together, and wait
/// for each other (MERCATOR's way; then every node has ceil(items / lanes) ensembles).
enum class Refill : std::uint8_t { lanes, ensembles };

/// What a segment's kernel is compiled for.
struct Shape {
  ReplicaOf replica = ReplicaOf::block;
  Refill refill = Refill::lanes;
  bool counters = false;  ///< whether it counts for Segment::counters()
};

/// SegmentConfig::lend_after: replicas never lend.
inline constexpr std::chrono::nanoseconds never = (std::chrono::nanoseconds::max)();

/// Settings of one segment. 0: the library chooses.
struct SegmentConfig {
  unsigned blocks = 0;             ///< 0: as many as the device holds at once
  unsigned threads_per_block = 0;  ///< whole warps
  int device = -1;                 ///< as GpuStageOptions::device
  int node = -1;                   ///< as GpuStageOptions::node; device memory is taken on every node
  std::vector<int> nodes{};        ///< if not empty: the nodes, each of which runs a segment of its own
  /// Bytes for all queues and saved cursors of all replicas (sizing.hpp). queue_bytes is never exceeded: less than they
  /// need is refused (ConfigError). queue_target_bytes is shared out by the law alone, and what queues need beyond
  /// their shares comes on top. If both are 0, each queue has 8 slots per lane, or the least that it needs if that is
  /// more.
  std::size_t queue_bytes = 0;
  std::size_t queue_target_bytes = 0;
  std::size_t shared_bytes = 0;  ///< shared memory of a block, which holds queues as long as they fit
  /// Signals that a queue holds, in a segment with signals; 0: two for each lane.
  unsigned signal_slots = 0;
  Context context = Context::automatic;  ///< of nodes in regions that do not set their own (region.hpp)
  /// Parents that an arena holds; 0: as many as all queues inside have slots for marks, and one for each lane.
  unsigned region_slots = 0;
  unsigned least_claim = 0;  ///< least items of a range that a replica claims at once; 0: one for each lane
  unsigned most_claim = 0;   ///< most items that a replica claims at once
  /// When a range has ended, replicas without work take some from others that have worked for so long. In shorter runs
  /// this costs more than it saves: it takes letters, and ensembles are less full.
  std::chrono::nanoseconds lend_after = std::chrono::milliseconds(1);
  /// For tests: bytes before and behind each queue and each node's cursors, which nothing may write. With them, all
  /// queues and cursors lie in device memory, and the bytes are checked at the end of each run. *Errors*: Error, which
  /// names the node.
  unsigned guard_bytes = 0;
  /// yielding: it leaves between two firings (docs/guest.md). automatic: resident.
  Residency residency = Residency::automatic;
};

/// Options of one node of the tree.
struct NodeOptions {
  /// Whether an expander may be left between two outputs. If not, its child's queue has room for all that an ensemble
  /// may give: max_gain items for each lane.
  bool interruptible = true;
  double gain = 1;  ///< average number of items that one item gives; used to size queues and to choose contexts
  /// Slots of its input queue; 0: by SegmentConfig::queue_bytes. *Errors*: fewer than the least.
  std::uint32_t queue_slots = 0;
  /// Of a node in a region: how its lanes know their parents. If its kind does not support the context, it is sparse.
  /// Expanders do not support lane, and support dense only if all nodes after them in the region do. Collectives, tiles
  /// and filters of several items a lane are always sparse.
  Context context = Context::automatic;
  unsigned region_slots = 0;  ///< of an enumerate: parents that its arena holds; 0: by SegmentConfig::region_slots
};

}  // namespace hiway::segment
