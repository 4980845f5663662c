// Indexed expanders: an item gives any number of items, each by its number. The outputs of an ensemble are numbered
// consecutively, and each lane makes every lanes-th.
#pragma once
#include <cstdint>

#include "hiway/segment/ensemble.hpp"
#include "hiway/segment/firing/ensembles.hpp"
#include "hiway/segment/firing/firing.hpp"
#include "hiway/segment/lanes.hpp"
#include "hiway/segment/node.hpp"
#include "hiway/segment/region_arena.hpp"
#include "hiway/segment/replica_state.hpp"

namespace hiway::segment {

template <>
struct Firing<Kind::indexed> : FiresEnsembles {
  static constexpr bool shares_lanes = false;

  template <unsigned M, class Ensemble>
  HIWAY_DEVICE static Worked ensemble(Ensemble& e, QueueState& s, std::uint32_t k) {
    using Fn = typename Ensemble::Fn;
    using In = typename Fn::In;
    auto& r = e.r;
    std::uint32_t const rank = r.lanes.rank();
    std::uint32_t const all = sum_up<M>(e, s, k);
    std::uint32_t put = 0;
    std::uint32_t rounds = 0;
    for (; s.done < all; s.done += r.lanes.size()) {
      r.look_for_abort(rounds);
      if (e.must_suspend()) return {false, put};
      Maybe<typename Fn::template Out<0>> out;
      std::uint32_t const t = s.done + rank;
      if (t < all) {
        std::uint32_t const at = lane_of(r.sums, k, t);
        if constexpr (Ensemble::has_regions) {
          if (r.rows[e.node].is_dense) e.along.region = RegionArena(r).tag(e.node, s, at);
        }
        out = detail::as_maybe(
            e.function().at(r.template read<M, In>(e.node, s, at), t - (at == 0 ? 0 : r.sums[at - 1])));
      }
      e.template put<0>(out.value, out.ok, false);
      put += out.ok ? 1 : 0;
    }
    s.done = 0;
    r.lanes.sync();  // all lanes have read the sums
    return {true, put};
  }

 private:
  /// Writes, for each lane, how many outputs the items up to its own give. Returns how many all of them give.
  template <unsigned M, class Ensemble>
  HIWAY_DEVICE static std::uint32_t sum_up(Ensemble& e, QueueState const& s, std::uint32_t k) {
    auto& r = e.r;
    std::uint32_t const rank = r.lanes.rank();
    std::uint32_t n = 0;
    if (rank < k) n = e.function().count(r.template read<M, typename Ensemble::Fn::In>(e.node, s, rank));
    r.counting.item(r.lanes, e.node, n);
    std::uint32_t all = 0;
    std::uint32_t const before = r.lanes.sum_before(n, all);
    r.sums[rank] = before + n;
    r.lanes.sync();
    return all;
  }
  /// The lane whose item gives output `t`: the first of `k` whose sum is above it.
  HIWAY_DEVICE static std::uint32_t lane_of(std::uint32_t const* sums, std::uint32_t k, std::uint32_t t) {
    std::uint32_t low = 0;
    for (std::uint32_t high = k - 1; low < high;) {
      std::uint32_t const middle = (low + high) / 2;
      if (sums[middle] > t) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
};

}  // namespace hiway::segment
