// Counting: what a replica counts of its nodes, where Shape::counters says so. Otherwise there is nothing of it in the kernel.
#pragma once
#include <cstddef>
#include <cstdint>

#include "hiway/machine/machine.hpp"
#include "hiway/segment/queue.hpp"

namespace hiway::segment {

/// Of one replica. All lanes call everything but kept().
template <class Lanes, bool on>
class Counting {
 public:
  /// `of_nodes`: the counters of all replicas, `made`: for each of them and each lane. The replica's begin at number `first`.
  HIWAY_DEVICE Counting(NodeCounters* of_nodes, std::uint32_t* made, std::size_t first, unsigned lanes)
      : of_nodes_(of_nodes + first), made_(made + first * lanes) {}

  HIWAY_DEVICE std::uint32_t now(Lanes& lanes) const { return lanes.machine().cycles(); }
  /// The scheduler chose the node `began` cycles ago.
  HIWAY_DEVICE void firing(Lanes& lanes, unsigned node, std::uint32_t began) const {
    if (lanes.rank() != 0) return;
    ++of_nodes_[node].firings;
    of_nodes_[node].cycles += lanes.machine().cycles() - began;
  }
  /// The lanes put together.
  HIWAY_DEVICE void step(Lanes& lanes, unsigned node) const {
    if (lanes.rank() == 0) ++of_nodes_[node].steps;
  }
  /// An ensemble of `k` items was left, finished or not; `put`: by the lane, since it was begun or `resumed`.
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
  /// A signal was heard, for which the lane has put `put`.
  HIWAY_DEVICE void signal(Lanes& lanes, unsigned node, std::uint32_t put) const {
    if (lanes.rank() != 0) return;  // which alone puts
    ++of_nodes_[node].signals_heard;
    of_nodes_[node].outputs += put;
  }
  /// So many full ensembles were done, of which nothing has come yet.
  HIWAY_DEVICE void full_ensembles(Lanes& lanes, unsigned node, std::uint32_t all) const {
    if (lanes.rank() != 0) return;
    NodeCounters& c = of_nodes_[node];
    c.ensembles += all;
    c.full += all;
    c.items += std::uint64_t{all} * lanes.size();
  }
  /// So many marks were passed on.
  HIWAY_DEVICE void passed_on(Lanes& lanes, unsigned node, std::uint32_t all) const {
    if (lanes.rank() == 0) of_nodes_[node].signals_heard += all;
  }
  /// So many marks were heard, for which the lane has put one or not.
  HIWAY_DEVICE void closed(Lanes& lanes, unsigned node, std::uint32_t all, bool put) const {
    std::uint32_t const outputs = lanes.tally(put).all;
    if (lanes.rank() != 0) return;
    of_nodes_[node].signals_heard += all;
    of_nodes_[node].outputs += outputs;
  }
  /// An item of the lane's is done, of which `made` have come.
  HIWAY_DEVICE void item(Lanes& lanes, unsigned node, std::uint32_t made) const {
    auto const m = lanes.machine();
    Word<std::uint32_t>& most = of_nodes_[node].most_outputs;
    std::uint32_t seen = m.load(most, Order::relaxed);
    while (made > seen && !m.compare_exchange(most, seen, made, Order::relaxed)) {
    }
  }
  /// How many have come of the item of the node's `at`-th lane, which is left.
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
