// What a CPU thread makes known of its puts: to its stage's trace, and to the tunnel's other end.
#pragma once
#include <cstdint>

#include "hiway/inlet/view.hpp"
#include "hiway/machine/bell.hpp"
#include "hiway/machine/stage_thread.hpp"
#include "hiway/relay.hpp"
#include "hiway/trace.hpp"

namespace hiway::detail {

// How a CPU thread of a stage spends its time (trace.hpp). Called after a put, before a wait for room, and after it.
HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline void note_put(Machine, [[maybe_unused]] InletView const& v) {
  if constexpr (RoleOf<Machine>::keeps_trace) {
    if (is_own(*v.ports)) v.ports->trace->put(v.tunnel);
  }
}
HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline void note_full(Machine, [[maybe_unused]] InletView const& v) {
  if constexpr (RoleOf<Machine>::keeps_trace) {
    if (is_own(*v.ports)) v.ports->trace->begin_put(v.tunnel);
  }
}
HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline void note_room(Machine, [[maybe_unused]] InletView const& v, [[maybe_unused]] unsigned misses) {
  if constexpr (RoleOf<Machine>::keeps_trace) {
    if (misses != 0 && is_own(*v.ports)) v.ports->trace->end_put(v.tunnel);
  }
}

/// What has been put.
enum class Sent : std::uint8_t { item, span };

/// What a CPU thread does after a put, so that the other side hears of it. A reader that naps is woken, and across
/// the bus the monitors, for the answer, too. There it does the monitors' step: it tells the other side of a span at
/// once, and of a single item if nothing is under way. Other items are told together with later ones: each telling
/// takes the word's cache line from the other side, which polls it.
HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline void help_to_leave(Machine m, InletView const& v, Sent sent) {
  if constexpr (RoleOf<Machine>::helps_monitors) {
    Relays* const r = v.relays;
    bool const crosses = r != nullptr;
    if (crosses && !v.ring.tagged && (sent == Sent::span || is_answered(m, *r))) tell_if_free(m, r->tells);
    if (Bell* const bell = v.ports->bell; bell != nullptr) bell->ring(crosses || sent == Sent::span ? ~0U : 1);
  }
}

}  // namespace hiway::detail
