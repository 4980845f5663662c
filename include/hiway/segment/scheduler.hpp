// Scheduler: which node of a replica fires next, and when a node stops being active. It is MERCATOR's AFIE (active,
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
//       if their children have room (same-module firing, firing/several.hpp). Each lane then has a node of its own.
//   S5  Loops: a loop's node puts at most one item into the loop for each item it takes. Items enter the loop only
//       while they leave as many slots of the head's queue free as there are lanes. So the loop's queues together
//       always have a free slot, and some node of the loop can fire. It fires with the items there are, as far as its
//       successor in the loop has room.
//
// All lanes hold the same scheduling state in registers, so they make the same decisions.
#pragma once
#include <cstdint>

#include "hiway/segment/queue.hpp"
#include "hiway/segment/replica_state.hpp"

namespace hiway::segment {

template <class State>
class Scheduler {
 public:
  HIWAY_DEVICE explicit Scheduler(State& replica) : r_(replica) {}

  /// The node to fire in place of the active `node`: another one of its loop, or itself. most_nodes: none can fire; the
  /// nodes have settled.
  HIWAY_DEVICE unsigned choose(unsigned node) {
    std::uint32_t const loop = r_.rows[node].loop;
    if (loop != 0) {
      unsigned const best = busiest(loop);
      if (best == most_nodes) settle_loop(loop);
      return best;
    }
    if (r_.states[node].count + r_.states[node].suspended == 0 && !r_.marks.wait_at(node)) {
      settle(node, 0);
      return most_nodes;
    }
    return node;
  }
  /// Called when a node has fired. The node becomes inactive if it has no full ensemble left, or, if it flushes, no
  /// item; it then passes the flush on.
  HIWAY_DEVICE void settle(unsigned node, std::uint32_t left) {
    std::uint32_t const bit = 1u << node;
    NodeRow const& row = r_.rows[node];
    bool const flushes = r_.activity.is_flushed(node);
    if (r_.marks.wait_at(node) && (flushes || row.stops_at_marks || presses(node))) return;
    if (left >= row.width || (left != 0 && (flushes || (State::Source::is_range && node == r_.root)))) return;
    r_.activity.remove(bit);
    if (r_.activity.flushes(bit)) r_.activity.pass_flush(bit, row.children);
    r_.activity.pass_drain(bit, row.children);
  }

 private:
  /// The node's marks leave no room for those of a push.
  [[nodiscard]] HIWAY_DEVICE bool presses(unsigned node) const {
    if constexpr (State::has_regions) {
      return State::MarksOf::press(r_.rows[node], r_.marks.read(node));
    } else {
      return false;
    }
  }

  /// The node of a loop that can fire the most lanes, or most_nodes if none can.
  HIWAY_DEVICE unsigned busiest(std::uint32_t loop) {
    auto const m = r_.lanes.machine();
    std::uint32_t const size = r_.lanes.size();
    unsigned best = most_nodes;
    std::uint32_t most = r_.activity.flushes(loop) ? 0 : size - 1;
    bool any_full = false;
    for (std::uint32_t left = loop; left != 0; left &= left - 1) {
      unsigned const node = m.lowest(left);
      std::uint32_t const count = r_.states[node].count;
      any_full = any_full || count >= size;
      std::uint32_t lanes = count < size ? count : size;
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
      std::uint32_t const count = r_.states[node].count;
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
      std::uint8_t const to = r_.rows[node].to[c];
      if (to >= first_sink || (loop >> to & 1u) == 0) continue;
      std::uint32_t const f = r_.rows[to].queue_slots - r_.states[to].count;
      free = f < free ? f : free;
    }
    return free;
  }
  HIWAY_DEVICE void settle_loop(std::uint32_t loop) {
    auto const m = r_.lanes.machine();
    bool const flushes = r_.activity.flushes(loop);
    r_.activity.remove(loop);
    if (!flushes) return;
    std::uint32_t out = 0;
    for (std::uint32_t left = loop; left != 0; left &= left - 1) out |= r_.rows[m.lowest(left)].children;
    r_.activity.pass_flush(loop, out);
  }

  State& r_;
};

}  // namespace hiway::segment
