// Puts of spans. Converged lanes share a claim, also for spans of different lengths. A CPU thread copies in pieces.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "hiway/fault.hpp"
#include "hiway/inlet/put.hpp"
#include "hiway/inlet/view.hpp"
#include "hiway/item.hpp"
#include "hiway/machine/stage_thread.hpp"
#include "hiway/ring.hpp"
#include "hiway/scope/word.hpp"

namespace hiway::detail {

/// Tries once to put up to `wanted` items of each lane of `group`, all lanes together: `copy(Several)` in those that
/// found room. Returns how many of the lane's items it put; `done`: how many of its span were put before.
template <class Machine, class Copy>
HIWAY_DEVICE inline std::uint32_t put_some(Machine m, InletView const& v, Ring const& ring, std::uint32_t group,
                                           std::uint32_t wanted, std::size_t done, Credits credits, Copy&& copy) {
  Run const run = claim_put_runs(m, ring, group, wanted, credits, v.control);
  if (run.count == 0) return 0;
  refuse_late_put(m, v, run.first);
  copy_granted(m, ring, run, done, ClaimKind::put, *v.control, copy);
  return run.count;
}

/// Puts `n` items of the calling lane, with whichever lanes are converged; waits for room.
template <class Machine, class Copy>
HIWAY_DEVICE inline void put_span(Machine m, InletView const& v, std::size_t n, Copy&& copy) {
  std::size_t done = 0;
  for (unsigned misses = 0; done != n;) {
    std::uint32_t const group = together(m, v);
    std::uint32_t const wanted = at_most(n - done, most_of_lane);
    std::uint32_t some =
        put_some(m, v, home_ring(m, v), group, is_throttled(m, v) ? 0 : wanted, done, after_misses(misses), copy);
    if (has_spill(v.spill))
      some += put_some(m, v, *v.spill, group, wanted - some, done + some, Credits::doubtful, copy);
    done += some;
    if (some != 0) {
      note_room(m, v, misses);
      misses = 0;
    } else {
      leave_if_aborted(m, *v.control, v.tunnel);
      if (!wait_for_room(m, v, misses++, n - done)) return;
    }
  }
}

/// Writes items of a span into their slots.
template <class T>
struct WriteItems {
  static constexpr std::size_t bytes = sizeof(T);
  T const* items;
  HIWAY_DEVICE void operator()(Several const& some) const {
    for (unsigned k = 0; k < some.count; ++k) item_in<T>(some.slot(k)) = items[some.item(k)];
  }
};

/// The same of items of a scope, which have one word.
template <class T>
struct WriteScopedItems {
  static constexpr std::size_t bytes = sizeof(Scoped<T>);
  T const* items;
  std::uint64_t scope;
  HIWAY_DEVICE void operator()(Several const& some) const {
    for (unsigned k = 0; k < some.count; ++k) WriteScoped<T>{items[some.item(k)], scope}(some.slot(k));
  }
};

/// Puts up to `n` items of the calling thread, in order; returns how many found room.
template <class Machine>
inline std::size_t put_run(Machine m, InletView const& v, Ring const& ring, std::byte const* items, std::size_t n,
                           std::size_t item_bytes) {
  constexpr std::size_t most = std::size_t{1} << 20;
  Run const run = claim_put_run(m, ring, static_cast<std::uint32_t>(n < most ? n : most));
  if (run.count != 0) refuse_late_put(m, v, run.first);
  commit_put_run(m, ring, run, *v.control, [&](std::byte* slot, std::uint32_t i, std::uint32_t count) {
    if (v.past_caches) {
      copy_past_caches(slot, items + i * item_bytes, count * item_bytes);
    } else {
      std::memcpy(slot, items + i * item_bytes, count * item_bytes);
    }
  });
  if (run.count == 0) return 0;
  note_put(m, v);
  help_to_leave(m, v, Sent::span);
  return run.count;
}

/// One try of the calling thread to put up to `n` items, in order; returns how many found room.
template <class Machine>
inline std::size_t give_pieces(Machine m, InletView const& v, std::byte const* items, std::size_t n,
                               std::size_t item_bytes) {
  refuse_if_over(m, v);
  std::size_t put = 0;
  if (!is_throttled(m, v)) put = put_run(m, v, home_ring(m, v), items, n, item_bytes);
  if (put == 0 && has_spill(v.spill)) put = put_run(m, v, *v.spill, items, n, item_bytes);
  return put;
}

/// Puts `n` items, in order, by the calling thread; waits for room.
template <class Machine>
inline void put_pieces(Machine m, InletView const& all, std::byte const* items, std::size_t n, std::size_t item_bytes) {
  put_past_staging(m, all);
  for (unsigned misses = 0; n != 0;) {
    InletView const& v = roomiest(m, all);
    std::size_t const some = give_pieces(m, v, items, n, item_bytes);
    items += some * item_bytes;
    n -= some;
    if (some != 0) {
      note_room(m, all, misses);
      misses = 0;
    } else {
      leave_if_aborted(m, *all.control, all.tunnel);
      if (!wait_for_room(m, all, misses++, n)) return;
    }
  }
}

template <class T>
constexpr void refuse_puts_of_large_spans() {
  static_assert(!stays_in_slot<T>,
                "hiway: Inlet<T>: no spans of items above 256 bytes on a device: put each with put_in_place_d, "
                "put_in_place_warp_d or put_in_place_block_d");
}

/// Puts every item of `items` as the machine's role is: in pieces of the ring, or item by item, lanes side by side.
HIWAY_NO_SPACE_CHECK template <class T, class Machine>
HIWAY_DEVICE inline void put_items(Machine m, InletView const& v, std::span<T const> items) {
  if constexpr (RoleOf<Machine>::copies_pieces) {
    FromOutside<Machine> const under_way(m, v);
    put_pieces(m, v, reinterpret_cast<std::byte const*>(items.data()), items.size(), sizeof(T));
  } else {
    refuse_puts_of_large_spans<T>();
    put_span(m, v, items.size(), WriteItems<T>{items.data()});
  }
}

}  // namespace hiway::detail
