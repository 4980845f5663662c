// Gets of a CPU thread that copies many items at once, in one piece for each lap of the ring.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hiway/machine/machine.hpp"
#include "hiway/machine/stage_thread.hpp"
#include "hiway/outlet/staged.hpp"
#include "hiway/outlet/view.hpp"
#include "hiway/relay.hpp"
#include "hiway/ring.hpp"

namespace hiway::detail {

/// A CPU thread that finds nothing does the monitors' steps here; true when items have come.
HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline bool help_to_come(Machine m, OutletView const& v) {
  if constexpr (RoleOf<Machine>::helps_monitors) {
    if (v.relays == nullptr) return false;
    tell_if_free(m, v.relays->tells);
    return hear_if_free(m, v.relays->hears);
  } else {
    return false;
  }
}

/// Gets up to `n` items for the calling thread, in order, one after another into `items`; returns how many.
HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline std::size_t get_run(Machine m, OutletView const& v, Ring const& ring, std::byte* items,
                                        std::size_t n, std::size_t item_bytes) {
  constexpr std::size_t most = std::size_t{1} << 20;
  Run const run =
      claim_get_run(m, ring, static_cast<std::uint32_t>(n < most ? n : most), &port_of(m, v).got, Credit::early);
  finish_get_run(m, ring, run, *v.control, [&](std::byte const* slot, std::uint32_t i, std::uint32_t count) {
    std::memcpy(items + i * item_bytes, slot, count * item_bytes);
  });
  return run.count;
}

/// One try of the calling thread for as many items as there are, at most `n`, wherever they lie; returns how many.
HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline std::size_t take_pieces(Machine m, OutletView const& v, std::byte* items, std::size_t most,
                                            std::size_t item_bytes) {
  auto const take = [&](Ring const& ring) { return get_run(m, v, ring, items, most, item_bytes); };
  std::size_t n = take_staged(m, v, at_most(most, most_of_lane),
                              [&](std::byte const* staged, std::uint32_t i, std::uint32_t count) {
                                std::memcpy(items + i * item_bytes, staged, count * item_bytes);
                              });
  if (n != 0) return n;
  n = take(home_ring(m, v));
  if (n == 0 && help_to_come(m, v)) n = take(v.ring);
  if (n == 0 && v.ring.shards > 1) n = take(shard(v.ring, find_shard(m, v.ring, 1u << m.lane(), home_of(m, v))));
  if (has_spill(v.spill)) n += get_run(m, v, *v.spill, items + n * item_bytes, most - n, item_bytes);
  return n;
}

}  // namespace hiway::detail
