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
      if constexpr (Ensemble::has_scopes) take_outputs<In>(e, s, k, all);
      if (t < all) {
        std::uint32_t const at = lane_of(r.sums, k, t);
        if constexpr (Ensemble::has_regions) {
          if (r.rows[e.node].is_dense) e.along.region = RegionArena(r).tag(e.node, s, at);
        }
        out = detail::as_maybe(
            e.function().at(r.template read<M, In>(e.node, s, at), t - (at == 0 ? 0 : r.sums[at - 1])));
      }
      e.template put<0>(out.value, out.ok, false);
      detail::end_task(r);
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
    if (rank < k) n = count<M>(e, s, rank);
    r.counting.item(r.lanes, e.node, n);
    std::uint32_t all = 0;
    std::uint32_t const before = r.lanes.sum_before(n, all);
    r.sums[rank] = before + n;
    r.lanes.sync();
    return all;
  }
  /// How many outputs the `i`-th item gives.
  template <unsigned M, class Ensemble>
  HIWAY_DEVICE static std::uint32_t count(Ensemble& e, QueueState const& s, std::uint32_t i) {
    using In = typename Ensemble::Fn::In;
    auto& r = e.r;
    if constexpr (Ensemble::has_scopes) {
      auto& slot = r.template slot_of<In>(e.node, s, i);
      if (detail::is_ended(slot.scope)) return static_cast<std::uint32_t>(detail::scope_value(slot.scope));
      if (s.suspended != 0) {
        detail::set_task(r, slot.scope);
      } else if (!detail::takes_slot(r, slot)) {
        slot.scope = detail::ended_word();
        return 0;
      }
      std::uint32_t const n = e.function().count(slot.item);
      if (n == 0) detail::end_task(r);
      if (n > 1) detail::count_task(r);
      detail::keep_in_slot(r, slot);
      return n;
    } else {
      return e.function().count(r.template read<M, In>(e.node, s, i));
    }
  }
  /// Each lane that makes an output gets a task for it: the item's own for its last one, else one of the counts that
  /// the item's first lane has the pot lend (tasks.hpp G4).
  template <class In, class Ensemble>
  HIWAY_DEVICE static void take_outputs(Ensemble& e, QueueState const& s, std::uint32_t k, std::uint32_t all) {
    auto& r = e.r;
    std::uint32_t const t = s.done + r.lanes.rank();
    std::uint32_t const at = t < all ? lane_of(r.sums, k, t) : 0;
    std::uint32_t const begin = at == 0 ? 0 : r.sums[at - 1];
    std::uint32_t const end = r.sums[at];
    std::uint64_t const word = r.template slot_of<In>(e.node, s, at).scope;
    if (t < all && (t == begin || t == s.done)) {
      std::uint32_t const end_of_round = s.done + r.lanes.size();
      detail::lend_to_lanes(r, word, (end <= end_of_round ? end - 1 : end_of_round) - t);
    }
    r.lanes.sync();  // the counts are in the pot, and all lanes have read the word
    if (t >= all) return;
    bool const is_last = t + 1 == end;
    if (is_last) r.template slot_of<In>(e.node, s, at).scope = detail::ended_word(end - begin);
    detail::set_task(r, is_last ? word : detail::counted_word(detail::scope_place(word), 1));
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
