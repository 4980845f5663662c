// Sizing: how many slots the queues of a segment's nodes get. Pure functions of numbers that were declared or measured;
// one replica's queues.
//
// A node fires `lanes` lanes (v below) at once; each lane puts at most max_gain (a) items for its own. Every node but a
// range source has one input queue.
//
//   safe     A parent fires when the queue can take its worst case, a*v items; up to v-1 items, too few for a full
//            vector, may lie there: a*v + v-1 slots. An interruptible parent suspends between outputs, one a lane:
//            2v-1. Where an ensemble has another width w than v, a parent puts a*w, and w-1 may lie there. In a loop nodes fire on occupancy: at least 2v. A loop's head keeps v slots that its tree edge
//            may not take, for what comes back: v more.
//   law      A node is activated in proportion to G/q: G items come to its queue of q slots for each item of the
//            root. The sum of G/q under z bytes an item and a budget is least at q = c*sqrt(G/z).
//   bloat    What a safe minimum takes beyond the law's share.
//
// The law is the continuous one, in whole slots: the greatest c that fits, then the slots that gain most a byte, then
// the moves of one slot from queue to queue that gain. Where all items have one size this is the best there is; else no
// worse than the best of a budget that is one largest item, less one byte, smaller.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "hiway/error.hpp"

namespace hiway::segment {

enum class LoopPlace { outside, head, body };

/// A node, the queue into it, and the channel to that queue. Interruptible is the node itself, not each of its
/// children's channels, which could differ. Whether a node is in a loop and at its head is one question.
struct SizedNode {
  std::string name{};
  std::int32_t parent = -1;       ///< -1: the root, the first of all. Parents stand before their children.
  std::int64_t item_bytes = 1;    ///< of its queue
  double gain = 1;                ///< average outputs on the channel to it, per item of its parent; root: 1
  std::int64_t max_gain = 1;      ///< the most of them. Of an interruptible parent 1 counts.
  std::int64_t width = 0;         ///< items of an ensemble of it; 0: one for each lane
  bool interruptible = false;     ///< it suspends between outputs
  bool may_suspend = true;        ///< its kind can be made interruptible
  std::int64_t cursor_bytes = 0;  ///< saved for each lane where it is interruptible
  double service_ns = 0;          ///< measured, per item of full vectors; 0: unknown
  LoopPlace loop = LoopPlace::outside;
  double loop_gain = 0;   ///< a loop's head: items that come back, per item that it takes
  bool has_queue = true;  ///< false: the root is a range source, which keeps none
};
/// In the order in which every result lists them.
using SizedNodes = std::vector<SizedNode>;

/// Items that come to each node, per item of the root; what a loop brings back counts. *Throws* ConfigError.
[[nodiscard]] std::vector<double> cumulative_gains(SizedNodes const& nodes);

/// The least capacities in which nothing can get stuck. 2^50 stands for all above. *Throws* ConfigError.
[[nodiscard]] std::vector<std::int64_t> safe_slots(SizedNodes const& nodes, std::int64_t lanes);

/// Bytes of these, and of the cursors. 2^50 stands for all above. *Throws* ConfigError.
[[nodiscard]] std::int64_t minimum_bytes(SizedNodes const& nodes, std::int64_t lanes);

enum class Budget {
  hard,   ///< never exceeded: refused where it is below the minimum
  target  ///< shared by the law alone; safe minima beyond their shares come on top, as bloat
};

struct Sizes {
  std::vector<std::int64_t> queue_slots;  ///< 0 where there is no queue
  std::vector<std::int64_t> safe_slots;   ///< likewise
  std::vector<std::int64_t> bloat_bytes;  ///< of the safe minimum, beyond the share of the law that knows no minima
  std::int64_t cursor_bytes = 0;          ///< part of the budget, with both
  std::int64_t bytes = 0;                 ///< of all slots and cursors

  [[nodiscard]] std::int64_t all_bloat_bytes() const;
};

/// Shares out one replica's budget. *Throws* ConfigError, with the bytes that are needed and the nodes that would lower
/// them if they were interruptible, where a hard budget is too small.
[[nodiscard]] Sizes distribute(SizedNodes const& nodes, std::int64_t lanes, std::int64_t budget_bytes,
                               Budget budget = Budget::hard);

/// The tree with `child` run inside its parent's firings: its queue is gone, gains on its children's channels are
/// multiplied. The two suspend if both did. *Throws* ConfigError for the root, and in a loop, whose edges must stay.
///
/// Time per item of the parent, s a node's service time, g and a the channel's gain and most, `queue_ns` what one item
/// costs in a queue:
///   apart    s_parent + g * (s_child + queue_ns)   vectors are full
///   merged   s_parent + r * s_child                the child runs r times a firing, with g/r of the lanes at work
/// r is the most outputs that any of the v lanes has: on average at most a, and at most the sum of all, v*g. With
/// r = min(a, v*g) a merge is never praised too much, whatever the distribution.
[[nodiscard]] SizedNodes merged(SizedNodes const& nodes, std::size_t child, std::int64_t lanes);

struct InterruptProposal {
  std::size_t node = 0;
  std::int64_t freed_bytes = 0;  ///< bloat, less the cursors
};
struct MergeProposal {
  std::size_t child = 0;           ///< into its parent
  double saved_ns = 0;             ///< at least, per item of the root
  std::int64_t minimum_bytes = 0;  ///< of the whole tree then
};
struct Advice {
  /// Whose queue is mostly bloat because max_gain is at least 4 times the gain, or 4 where the gain is below 1.
  std::vector<std::size_t> pessimistic;
  /// One after the other, each the one that frees most, until the law is met or nothing more is freed.
  std::vector<InterruptProposal> interrupt;
  std::int64_t left_bytes = 0;  ///< bloat after all of these
  /// Each for itself, whose minimum the budget holds; the one that saves most first. Unmeasured children are left out.
  std::vector<MergeProposal> merge;
};

/// What would bring the queues nearer to the law, and what would save time. *Throws* ConfigError.
[[nodiscard]] Advice advise(SizedNodes const& nodes, std::int64_t lanes, std::int64_t budget_bytes, double queue_ns);

}  // namespace hiway::segment
