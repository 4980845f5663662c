// Gets of a CPU thread from what writers at the same home have staged (inlet/staging.hpp).
#pragma once
#include <cstdint>
#include <utility>

#include "hiway/inlet/staging.hpp"
#include "hiway/machine/machine.hpp"
#include "hiway/machine/stage_thread.hpp"
#include "hiway/outlet/view.hpp"
#include "hiway/ring.hpp"
#include "hiway/trace.hpp"

namespace hiway {

/// What a CPU thread of a stage keeps for one of its outlets. *Threads*: its end's (detail::is_own); others may read
/// `writes`.
struct StagedEnd {
  Staging* writes = nullptr;      ///< the first of those into which the thread puts; does not change in a run
  Staging* last = nullptr;        ///< where it took from last
  std::uint32_t in_a_row = 0;     ///< items from there
  std::uint32_t passed_over = 0;  ///< tries that went to the ring instead
  std::uint32_t since_look = 0;   ///< items taken there since `put` was read
  std::uint32_t misses = 0;       ///< tries in a row that found nothing there
  bool rests = false;             ///< few came then

  /// Before a run, while no thread of it is there.
  void reset() { *this = {.writes = writes}; }
};

namespace detail {

/// Moves into the ring what writers at the same home have staged; true if there was anything.
HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline bool move_all_staged(Machine m, OutletView const& v) {
  bool moved = false;
  if constexpr (RoleOf<Machine>::takes_staged) {
    for (Staging* s = v.end->staged; s != nullptr; s = s->next_of_tunnel) moved = move_staged(m, *s) || moved;
  }
  return moved;
}

/// After `count` items were taken from `staging`. Where they come one by one, the next look at the writer's line waits
/// a little: each look takes the line from it, and so makes the next item late.
template <class Machine>
void rest_if_few(Machine m, StagedEnd& end, Staging& staging, std::uint32_t count) {
  constexpr std::uint32_t few = 16;
  end.since_look += count;
  if (!staging.must_look(m)) return;
  end.rests = end.since_look < few;
  end.since_look = 0;
}

/// Takes up to `n` items from one writer's staging. The thread goes on to the other writers' when it has found nothing
/// for some tries, since looks there take lines from them; and after some hundred items, so that no writer is
/// forgotten. `read` as in Staging::take_if_free.
template <class Machine, class Read>
std::uint32_t take_from_one(Machine m, OutletView const& v, StagedEnd& end, std::uint32_t n, Read&& read) {
  constexpr std::uint32_t most_in_a_row = 512;
  constexpr std::uint32_t patience = 4;
  constexpr unsigned pauses = 8;  // some 0.3 us
  Staging* const first = v.end->staged;
  auto const next = [&](Staging* s) { return s->next_of_tunnel != nullptr ? s->next_of_tunnel : first; };
  if (end.last == nullptr) end.last = Staging::nth(first, v.home);
  if (end.in_a_row >= most_in_a_row) {
    end.last = next(end.last);
    end.in_a_row = 0;
  }
  if (std::exchange(end.rests, false)) pause_thread(pauses);
  Staging* at = end.last;
  do {
    if (std::uint32_t const count = at->take_if_free(m, v.ring, n, read); count != 0) {
      if (at != end.last) end.in_a_row = end.since_look = 0;
      rest_if_few(m, end, *at, count);
      end.in_a_row += count;
      end.last = at;
      end.misses = 0;
      return count;
    }
    if (at == end.last && ++end.misses % patience != 0) return 0;
    at = next(at);
  } while (at != end.last);
  return 0;
}

/// Takes up to `n` items that writers at the same home have staged; returns how many. Where the ring has older ones, it
/// takes none. Now and then it moves them into the ring then, which might never run empty; seldom, so that it does when
/// writers only stage.
HIWAY_NO_SPACE_CHECK template <class Machine, class Read>
HIWAY_DEVICE inline std::uint32_t take_staged(Machine m, OutletView const& v, [[maybe_unused]] std::uint32_t n,
                                              [[maybe_unused]] Read&& read) {
  if constexpr (RoleOf<Machine>::takes_staged) {
    constexpr std::uint32_t patience = 2048;
    if (v.end->staged == nullptr) return 0;
    OutletPort& port = port_of(m, v);
    if (!is_own(port)) {
      (void)move_all_staged(m, v);
      return 0;
    }
    if (std::uint32_t const count = take_from_one(m, v, *port.staged, n, read); count != 0) {
      m.fetch_add(port.got, std::uint64_t{count}, MemoryOrder::relaxed);
      port.staged->passed_over = 0;
      return count;
    }
    if (++port.staged->passed_over % patience == 0) (void)move_all_staged(m, v);
  }
  return 0;
}

}  // namespace detail
}  // namespace hiway
