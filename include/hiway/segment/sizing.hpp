// Sizing: how many slots the queues of a segment's nodes get. Pure functions of declared or measured numbers, for the
// queues of one replica.
//
// A node fires `lanes` lanes (v below) at once; each lane puts at most max_gain (a) items for its own item. Every node
// has one input queue, except a root whose source is a range.
//
//   safe     A parent fires when the queue can take its worst case, a*v items. Up to v-1 items, too few for a full
//            vector, may be in the queue already. So it needs a*v + v-1 slots. An interruptible parent suspends between
//            outputs, one per lane, so 2v-1 are enough. If ensembles have another width w than v, a parent puts a*w
//            items, and w-1 may be in the queue. In a loop nodes fire on occupancy, which needs at least 2v slots. A
//            loop's head needs v more: its tree edge may not take these, they are for what comes back.
//   law      A node is activated in proportion to G/q: for each item of the root, G items come to its queue of q slots.
//            With z bytes an item and a given budget, the sum of G/q is least at q = c*sqrt(G/z).
//   bloat    What a safe minimum takes beyond the law's share.
//
// The law is continuous; slots are whole. First the greatest c that fits is taken, then the slots that gain the most
// per byte, then moves of one slot between queues that gain. If all items have one size, the result is optimal.
// Otherwise it is no worse than the optimum of a budget that is smaller by one largest item less one byte.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "hiway/error.hpp"

namespace hiway::segment {

enum class LoopPlace { outside, head, body };

/// A node, its input queue, and the channel to that queue. `interruptible` belongs to the node, not to the channels to
/// its children, which could differ.
struct SizedNode {
  std::string name{};
  std::int32_t parent = -1;       ///< -1: the root, which is the first node. Parents come before their children.
  std::int64_t item_bytes = 1;    ///< of its queue
  double gain = 1;                ///< average outputs on the channel to it, per item of its parent; root: 1
  std::int64_t max_gain = 1;      ///< the most of these outputs; counts as 1 if the parent is interruptible
  std::int64_t width = 0;         ///< items of its ensembles; 0: one for each lane
  bool interruptible = false;     ///< it suspends between outputs
  bool may_suspend = true;        ///< its kind can be made interruptible
  std::int64_t cursor_bytes = 0;  ///< saved for each lane if it is interruptible
  double service_ns = 0;          ///< measured, per item of full vectors; 0: unknown
  LoopPlace loop = LoopPlace::outside;
  double loop_gain = 0;   ///< of a loop's head: items that come back, per item that it takes
  bool has_queue = true;  ///< false for a root whose source is a range
};
/// All results list nodes in this order.
using SizedNodes = std::vector<SizedNode>;

/// Items that come to each node, per item of the root. Items that a loop brings back count. *Throws* ConfigError.
[[nodiscard]] std::vector<double> cumulative_gains(SizedNodes const& nodes);

/// The least capacities with which no node can get stuck. Larger values are given as 2^50. *Throws* ConfigError.
[[nodiscard]] std::vector<std::int64_t> safe_slots(SizedNodes const& nodes, std::int64_t lanes);

/// Bytes of these slots and of the cursors. Larger values are given as 2^50. *Throws* ConfigError.
[[nodiscard]] std::int64_t minimum_bytes(SizedNodes const& nodes, std::int64_t lanes);

enum class Budget {
  hard,   ///< never exceeded; refused if it is below the minimum
  target  ///< shared by the law alone; safe minima beyond their shares come on top, as bloat
};

struct Sizes {
  std::vector<std::int64_t> queue_slots;  ///< 0 for a node without a queue
  std::vector<std::int64_t> safe_slots;   ///< likewise
  std::vector<std::int64_t> bloat_bytes;  ///< of the safe minimum, beyond the law's share, which knows no minima
  std::int64_t cursor_bytes = 0;          ///< part of the budget, hard or target
  std::int64_t bytes = 0;                 ///< of all slots and cursors

  [[nodiscard]] std::int64_t all_bloat_bytes() const;
};

/// Shares out one replica's budget. *Throws* ConfigError. If a hard budget is too small, the error names the bytes that
/// are needed, and the nodes that would lower them if they were interruptible.
[[nodiscard]] Sizes distribute(SizedNodes const& nodes, std::int64_t lanes, std::int64_t budget_bytes,
                               Budget budget = Budget::hard);

/// The tree with `child` run inside its parent's firings: the child's queue is gone, and the gains on the channels to
/// its children are multiplied by its own. The merged node suspends if both did. *Throws* ConfigError for the root, and
/// in a loop, whose edges must stay.
///
/// Time per item of the parent, where s is a node's service time, g and a are the channel's gain and max_gain, and
/// `queue_ns` is the cost of one item in a queue:
///   apart    s_parent + g * (s_child + queue_ns)   vectors are full
///   merged   s_parent + r * s_child                the child runs r times a firing, with g/r of the lanes at work
/// r is the most outputs that any of the v lanes has. On average it is at most a, and at most the sum over all lanes,
/// v*g. r = min(a, v*g) therefore never overstates the gain of a merge, whatever the distribution of outputs.
[[nodiscard]] SizedNodes merged(SizedNodes const& nodes, std::size_t child, std::int64_t lanes);

struct InterruptProposal {
  std::size_t node = 0;
  std::int64_t freed_bytes = 0;  ///< bloat, less the cursors
};
struct MergeProposal {
  std::size_t child = 0;           ///< to be merged into its parent
  double saved_ns = 0;             ///< saved at least, per item of the root
  std::int64_t minimum_bytes = 0;  ///< of the whole tree after the merge
};
struct Advice {
  /// Nodes whose queue is mostly bloat because max_gain is at least 4 times the gain, or at least 4 if the gain is
  /// below 1.
  std::vector<std::size_t> pessimistic;
  /// Nodes to make interruptible, one after the other: always the one that frees the most, until the law is met or
  /// nothing more is freed.
  std::vector<InterruptProposal> interrupt;
  std::int64_t left_bytes = 0;  ///< bloat that is left after all of these
  /// Single merges whose minimum fits the budget; the one that saves the most comes first. Children without measured
  /// times are left out.
  std::vector<MergeProposal> merge;
};

/// Proposes what brings the queues nearer to the law, and what saves time. *Throws* ConfigError.
[[nodiscard]] Advice advise(SizedNodes const& nodes, std::int64_t lanes, std::int64_t budget_bytes, double queue_ns);

}  // namespace hiway::segment
