// Gets of spans. Converged lanes share a claim, also for different numbers. A CPU thread copies in pieces.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "hiway/fault.hpp"
#include "hiway/item.hpp"
#include "hiway/machine/stage_thread.hpp"
#include "hiway/outlet/get.hpp"
#include "hiway/outlet/hand.hpp"
#include "hiway/outlet/pieces.hpp"
#include "hiway/outlet/view.hpp"
#include "hiway/ring.hpp"

namespace hiway::detail {

/// Tries once to get up to `wanted` items for each lane of `group`, all lanes together: `copy(Several)` in those that
/// got any. Returns how many the lane got; `done`: how many it had got before. `control` as in get_from.
template <class Machine, class Copy>
HIWAY_DEVICE inline std::uint32_t get_some(Machine m, OutletView const& v, Ring const& ring, std::uint32_t group,
                                           std::uint32_t wanted, std::uint32_t done, Credits credits, Control* control,
                                           Copy&& copy) {
  Run const run = claim_get_runs(m, ring, group, wanted, &port_of(m, v).got, credits, control);
  if (run.count != 0) copy_granted(m, ring, run, done, ClaimKind::get, *v.control, copy);
  return run.count;
}

/// One try for up to `n` items of the calling lane, with whichever lanes are converged; returns how many it got.
template <class Machine, class Copy>
HIWAY_DEVICE inline std::uint32_t get_span(Machine m, OutletView const& v, std::size_t n, Credits credits,
                                           Copy&& copy) {
  std::uint32_t const group = together(m, v);
  std::uint32_t const wanted = at_most(n, most_of_lane);
  std::uint32_t got = get_some(m, v, home_ring(m, v), group, wanted, 0, credits, v.control, copy);
  constexpr Credits doubtful = Credits::doubtful;
  if (v.ring.shards > 1 && m.ballot(group, got != 0) == 0) {
    Ring const other = shard(v.ring, find_shard(m, v.ring, group, home_of(m, v)));
    got = get_some(m, v, other, group, wanted, 0, doubtful, nullptr, copy);
  }
  if (has_spill(v.spill)) got += get_some(m, v, *v.spill, group, wanted - got, got, doubtful, v.control, copy);
  return got;
}

HIWAY_ITEMS_MAY_LOOK_UNSET
/// Reads items of a span from their slots. Loads of small items are all under way before the first has come: a slot may
/// lie across the bus.
template <class T>
struct ReadItems {
  static constexpr std::size_t bytes = sizeof(T);
  T* items;
  HIWAY_DEVICE void operator()(Several const& some) const {
    constexpr unsigned at_once = sizeof(T) <= 16 ? most_at_once : 1;
    for (unsigned k = 0; k < some.count; k += at_once) {
      ItemRoom<T> room[at_once];
      for (unsigned i = 0; i < at_once; ++i) {
        if (k + i < some.count) room[i].item() = item_in<T>(static_cast<std::byte const*>(some.slot(k + i)));
      }
      for (unsigned i = 0; i < at_once; ++i) {
        if (k + i < some.count) items[some.item(k + i)] = room[i].item();
      }
    }
  }
};
HIWAY_ITEMS_END

/// One try of the calling thread for as many items as there are, at most `wanted`, in order; returns how many.
HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline std::size_t get_pieces(Machine m, OutletView const& all, std::byte* items, std::size_t wanted,
                                           std::size_t item_bytes) {
  OutletView const& v = fullest(m, all);
  refuse_if_over(m, v);
  auto const copy = [&](std::byte const* first, std::uint32_t i, std::uint32_t count) {
    std::memcpy(items + i * item_bytes, first, count * item_bytes);
  };
  std::uint32_t const most = at_most(wanted, most_of_lane);
  std::size_t n = 0;
  if (Hand* const hand = hand_of(m, v); hand != nullptr) {
    Hand::Items const some = hand->next(m, most);
    if (some.count != 0) copy(some.first, 0, some.count);
    n = some.count;
  }
  if (n != wanted) n += take_pieces(m, v, items + n * item_bytes, wanted - n, item_bytes);
  return n != 0 ? n : take_from_hands(m, v, most, copy);
}

template <class T>
constexpr void refuse_gets_of_large_spans() {
  static_assert(!stays_in_slot<T>,
                "hiway: Outlet<T>: no spans of items above 256 bytes on a device: work on each in its slot with "
                "for_each_d, for_each_warp_d or for_each_block_d, or get one by one");
}

/// One try as the machine's role is: in pieces of the ring, or item by item, lanes side by side. `misses`: where the
/// machine keeps no count.
HIWAY_NO_SPACE_CHECK template <class T, class Machine>
HIWAY_DEVICE inline std::size_t get_items(Machine m, OutletView const& v, std::span<T> items,
                                          [[maybe_unused]] unsigned& misses) {
  if constexpr (RoleOf<Machine>::copies_pieces) {
    return get_pieces(m, v, reinterpret_cast<std::byte*>(items.data()), items.size(), sizeof(T));
  } else {
    refuse_gets_of_large_spans<T>();
    return get_span(m, v, items.size(), after_misses(m.misses(misses)), ReadItems<T>{items.data()});
  }
}

}  // namespace hiway::detail
