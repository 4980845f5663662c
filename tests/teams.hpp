// The calls of a whole warp or block, by either, and ways to put several items by them. For tests of scopes in teams.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "hiway/hiway.hpp"

namespace hiway_tests {

using hiway::anywhere;
using hiway::Inlet;

enum class By { warp, block };

/// The caller's team: its lanes, their room, and its calls.
template <By by>
struct Team {
  static constexpr std::size_t most = 16;  ///< items in the team's room
  unsigned rank = 0;
  unsigned size = 1;
  unsigned number = 0;  ///< in its block

  HIWAY_DEVICE static Team here() {
    return anywhere([](auto m) {
      if constexpr (by == By::warp) return Team{m.lane(), m.count(m.lanes()), m.thread_in_block() / 32};
      return Team{m.thread_in_block(), m.block_threads(), 0};
    });
  }
  HIWAY_DEVICE void sync() const {
    anywhere([](auto m) {
      if constexpr (by == By::warp) {
        m.sync_warp(m.lanes());
      } else {
        m.sync_block();
      }
    });
  }
  /// What the first lane says; lanes may see a stage's end at different times.
  HIWAY_DEVICE bool agree(bool said) const {
    return anywhere([=](auto m) {
      if constexpr (by == By::warp) return hiway::WarpTeam<decltype(m)>{m}.share(said ? 1 : 0) != 0;
      return hiway::BlockTeam<decltype(m)>{m}.share(said ? 1 : 0) != 0;
    });
  }
  /// In shared memory, which a CPU thread has not.
  template <class T>
  HIWAY_DEVICE T* room(T* own) const {
    std::byte* const shared = hiway::shared_memory();
    return shared == nullptr ? own : reinterpret_cast<T*>(shared) + number * most;
  }
  template <class In, class Body>
  HIWAY_DEVICE static void for_each(In const& in, Body&& body) {
    if constexpr (by == By::warp) {
      in.for_each_warp(body);
    } else {
      in.for_each_block(body);
    }
  }
  template <class In, class T>
  HIWAY_DEVICE static bool next(In const& in, T&& item) {
    if constexpr (by == By::warp) return in.next_warp(item);
    return in.next_block(item);
  }
  template <class In, class T>
  HIWAY_DEVICE static bool get(In const& in, T&& item) {
    if constexpr (by == By::warp) return in.get_warp(item);
    return in.get_block(item);
  }
  template <class In>
  HIWAY_DEVICE static void end_task(In const& in, std::size_t tasks = 1) {
    if constexpr (by == By::warp) {
      in.end_task_warp(tasks);
    } else {
      in.end_task_block(tasks);
    }
  }
  template <class Out, class T>
  HIWAY_DEVICE static void put(Out const& out, T const& item) {
    if constexpr (by == By::warp) {
      out.put_warp(item);
    } else {
      out.put_block(item);
    }
  }
  template <class Out, class Fill>
  HIWAY_DEVICE static void put_in_place(Out const& out, Fill&& fill) {
    if constexpr (by == By::warp) {
      out.put_in_place_warp(fill);
    } else {
      out.put_in_place_block(fill);
    }
  }
};

/// How a team puts several items.
enum class Puts : std::uint32_t { first_lane, all_lanes, together, span, in_place, last };
inline constexpr std::uint32_t ways_to_put = 6;

/// Puts `n` items, item(i), at most Team::most.
template <class T, By by, class Item>
HIWAY_DEVICE void put_by(Team<by> team, Inlet<T> out, Puts puts, unsigned n, Item&& item) {
  T own[Team<by>::most];
  T* const room = team.room(own);
  switch (puts) {
    case Puts::first_lane:
      for (unsigned i = 0; i < n && team.rank == 0; ++i) out.put(item(i));
      break;
    case Puts::all_lanes:
      for (unsigned i = 0; i < n; ++i) {
        if ((3 * i + 5) % team.size == team.rank) out.put(item(i));
      }
      break;
    case Puts::together:
      for (unsigned i = 0; i < n; ++i) team.put(out, item(i));
      break;
    case Puts::span:
      for (unsigned i = team.rank; i < n; i += team.size) room[i] = item(i);
      team.sync();
      team.put(out, std::span<T const>(room, n));
      team.sync();
      break;
    case Puts::in_place:
      for (unsigned i = 0; i < n; ++i) {
        team.put_in_place(out, [&](T& slot) {
          if (team.rank == team.size - 1) slot = item(i);
        });
      }
      break;
    default:  // the last lane's last put takes its part of the task along
      for (unsigned i = 0; i + 1 < n && team.rank == 0; ++i) out.put(item(i));
      if (n != 0 && team.rank == team.size - 1) out.put_last(item(n - 1));
  }
}

}  // namespace hiway_tests
