// Counting: a replica's counters of its nodes, if Shape::counters is set. If not, the kernel has no code for them.
#pragma once
#include <cstddef>
#include <cstdint>

#include "hiway/machine/machine.hpp"
#include "hiway/segment/queue.hpp"

namespace hiway::segment {

/// The counters of one replica. All lanes call each function, except item(), kept() and keep(): a lane calls these for
/// its own item.
template <class Lanes, bool on>
class Counting {
 public:
  /// `of_nodes`: the node counters of all replicas. `made`: one word for each of them and each lane. The replica's own
  /// begin at number `first`.
  HIWAY_DEVICE Counting(NodeCounters* of_nodes, std::uint32_t* made, std::size_t first, unsigned lanes)
      : of_nodes_(of_nodes + first), made_(made + first * lanes) {}

  HIWAY_DEVICE std::uint32_t now(Lanes& lanes) const { return lanes.machine().cycles(); }
  /// A firing of the node ends; now() was `began` when it began.
  HIWAY_DEVICE void firing(Lanes& lanes, unsigned node, std::uint32_t began) const {
    if (lanes.rank() != 0) return;
    ++of_nodes_[node].firings;
    of_nodes_[node].cycles += lanes.machine().cycles() - began;
  }
  /// The lanes have put together, once.
  HIWAY_DEVICE void step(Lanes& lanes, unsigned node) const {
    if (lanes.rank() == 0) ++of_nodes_[node].steps;
  }
  /// The node leaves an ensemble of `k` items, finished or not. `put`: items that the lane has put since the ensemble
  /// was begun or `resumed`.
  HIWAY_DEVICE void ensemble(Lanes& lanes, unsigned node, std::uint32_t k, bool full, bool resumed, bool finished,
                             std::uint32_t put, bool shared) const {
    std::uint32_t all = 0;
    (void)lanes.sum_before(put, all);
    if (lanes.rank() != 0) return;
    NodeCounters& c = of_nodes_[node];
    if (!resumed) {
      ++c.ensembles;
      c.full += full ? 1 : 0;
      c.items += k;
      c.shared += shared ? 1 : 0;
    }
    c.suspensions += finished ? 0 : 1;
    c.outputs += all;
  }
  /// A signal was heard; the lane has put `put` items for it.
  HIWAY_DEVICE void signal(Lanes& lanes, unsigned node, std::uint32_t put) const {
    if (lanes.rank() != 0) return;  // only the first lane puts at a signal
    ++of_nodes_[node].signals_heard;
    of_nodes_[node].outputs += put;
  }
  /// `all` full ensembles were done; they have put nothing yet.
  HIWAY_DEVICE void full_ensembles(Lanes& lanes, unsigned node, std::uint32_t all) const {
    if (lanes.rank() != 0) return;
    NodeCounters& c = of_nodes_[node];
    c.ensembles += all;
    c.full += all;
    c.items += std::uint64_t{all} * lanes.size();
  }
  /// `all` marks were passed on.
  HIWAY_DEVICE void passed_on(Lanes& lanes, unsigned node, std::uint32_t all) const {
    if (lanes.rank() == 0) of_nodes_[node].signals_heard += all;
  }
  /// `all` marks were heard. `put`: whether the lane has put an item for its mark.
  HIWAY_DEVICE void closed(Lanes& lanes, unsigned node, std::uint32_t all, bool put) const {
    std::uint32_t const outputs = lanes.tally(put).all;
    if (lanes.rank() != 0) return;
    of_nodes_[node].signals_heard += all;
    of_nodes_[node].outputs += outputs;
  }
  /// The lane is done with an item, which gave `made` items.
  HIWAY_DEVICE void item(Lanes& lanes, unsigned node, std::uint32_t made) const {
    auto const m = lanes.machine();
    Word<std::uint32_t>& most = of_nodes_[node].most_outputs;
    std::uint32_t seen = m.load(most, MemoryOrder::relaxed);
    while (made > seen && !m.compare_exchange(most, seen, made, MemoryOrder::relaxed)) {
    }
  }
  /// How many items the suspended item of the node's `at`-th lane has given so far.
  [[nodiscard]] HIWAY_DEVICE std::uint32_t kept(Lanes& lanes, unsigned node, std::uint32_t at) const {
    return made_[node * lanes.size() + at];
  }
  HIWAY_DEVICE void keep(Lanes& lanes, unsigned node, std::uint32_t at, std::uint32_t made) const {
    made_[node * lanes.size() + at] = made;
  }

 private:
  NodeCounters* of_nodes_;
  std::uint32_t* made_;
};

template <class Lanes>
class Counting<Lanes, false> {
 public:
  HIWAY_DEVICE Counting(NodeCounters*, std::uint32_t*, std::size_t, unsigned) {}
  HIWAY_DEVICE std::uint32_t now(Lanes&) const { return 0; }
  HIWAY_DEVICE void firing(Lanes&, unsigned, std::uint32_t) const {}
  HIWAY_DEVICE void step(Lanes&, unsigned) const {}
  HIWAY_DEVICE void ensemble(Lanes&, unsigned, std::uint32_t, bool, bool, bool, std::uint32_t, bool) const {}
  HIWAY_DEVICE void signal(Lanes&, unsigned, std::uint32_t) const {}
  HIWAY_DEVICE void full_ensembles(Lanes&, unsigned, std::uint32_t) const {}
  HIWAY_DEVICE void passed_on(Lanes&, unsigned, std::uint32_t) const {}
  HIWAY_DEVICE void closed(Lanes&, unsigned, std::uint32_t, bool) const {}
  HIWAY_DEVICE void item(Lanes&, unsigned, std::uint32_t) const {}
  [[nodiscard]] HIWAY_DEVICE std::uint32_t kept(Lanes&, unsigned, std::uint32_t) const { return 0; }
  HIWAY_DEVICE void keep(Lanes&, unsigned, std::uint32_t, std::uint32_t) const {}
};

}  // namespace hiway::segment
