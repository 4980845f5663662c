// RegionArena: the arenas in which a replica keeps the parents of its open regions, and the values of those that an
// aggregate closes (region.hpp has the table of who writes which word).
#pragma once
#include <cstddef>
#include <cstdint>

#include "hiway/segment/lanes.hpp"
#include "hiway/segment/node.hpp"
#include "hiway/segment/queue.hpp"
#include "hiway/segment/region.hpp"
#include "hiway/segment/replica_state.hpp"

namespace hiway::segment {

template <class State>
class RegionArena {
 public:
  HIWAY_DEVICE explicit RegionArena(State& replica) : r_(replica) {}

  [[nodiscard]] HIWAY_DEVICE RegionHead* heads(NodeRow const& opener) const {
    return reinterpret_cast<RegionHead*>(r_.rooms.of(opener.arena_is_far) + opener.arena_at);
  }
  template <class Parent>
  [[nodiscard]] HIWAY_DEVICE Parent* parents(NodeRow const& opener) const {
    return reinterpret_cast<Parent*>(r_.rooms.of(opener.arena_is_far) + opener.parents_at);
  }
  template <class Value>
  [[nodiscard]] HIWAY_DEVICE Value* values(NodeRow const& closer) const {
    return reinterpret_cast<Value*>(r_.rooms.of(closer.arena_is_far) + closer.values_at);
  }
  [[nodiscard]] HIWAY_DEVICE detail::ArenaState& ring(unsigned opener) const {
    return *reinterpret_cast<detail::ArenaState*>(r_.rooms.near_room + r_.rows[opener].state_at);
  }
  /// The tag of the `k`-th item of a dense node: its region.
  [[nodiscard]] HIWAY_DEVICE std::uint16_t tag(unsigned node, QueueState const& s, std::uint32_t k) const {
    NodeRow const& row = r_.rows[node];
    auto const* const tags = reinterpret_cast<std::uint16_t const*>(r_.rooms.of(row.queue_is_far) + row.tags_at);
    return tags[detail::wrap(s.head + k, row.queue_slots)];
  }
  /// The function bound to the parents of the lane's item.
  template <class F>
  [[nodiscard]] HIWAY_DEVICE auto bind(F const& f, unsigned node, std::uint32_t region) const {
    using Parents = typename Function<F>::Parents;
    return detail::Bound<F, Parents>{f, list_of(static_cast<Parents*>(nullptr), r_.rows[node].opener, region)};
  }

  /// The region that the lane's mark closes has ended on one channel. When it has ended on all, its place is free.
  HIWAY_DEVICE void release(Boundary const& b, bool ends) {
    auto const m = r_.lanes.machine();
    bool freed = false;
    if (ends) {
      NodeRow const& row = r_.rows[b.opener];
      freed = --heads(row)[b.closes].ends == 0;
      if (freed && row.poisons) {
        std::uint32_t const bytes = row.item_bytes;
        std::byte* const parent = r_.rooms.of(row.arena_is_far) + row.parents_at + std::size_t{b.closes} * bytes;
        for (std::uint32_t i = 0; i != bytes; ++i) parent[i] = std::byte{0xa5};
      }
    }
    for (std::uint32_t left = r_.program.openers; left != 0; left &= left - 1) {
      unsigned const node = m.lowest(left);
      std::uint32_t const all = r_.lanes.tally(freed && b.opener == node).all;
      if (r_.lanes.rank() == 0) ring(node).live -= all;
    }
    r_.lanes.sync();
  }

 private:
  [[nodiscard]] HIWAY_DEVICE detail::ParentList<detail::Types<>> list_of(detail::Types<>*, unsigned,
                                                                         std::uint32_t) const {
    return {};
  }
  template <class P, class... Rest>
  [[nodiscard]] HIWAY_DEVICE detail::ParentList<detail::Types<P, Rest...>> list_of(detail::Types<P, Rest...>*,
                                                                                   unsigned opener,
                                                                                   std::uint32_t region) const {
    if (region == Boundary::none) return {};
    NodeRow const& row = r_.rows[opener];
    std::uint32_t outer = Boundary::none;
    if constexpr (sizeof...(Rest) != 0) outer = heads(row)[region].outer;
    return {parents<P>(row) + region, list_of(static_cast<detail::Types<Rest...>*>(nullptr), row.opener, outer)};
  }

  State& r_;
};

}  // namespace hiway::segment
