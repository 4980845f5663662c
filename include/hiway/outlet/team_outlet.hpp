// The calls of an Outlet that are not a single lane's gets: AnyOutlet has those that do not depend on the items' type,
// TeamOutlet those of a whole warp or block.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "hiway/fault.hpp"
#include "hiway/grouping/team.hpp"
#include "hiway/item.hpp"
#include "hiway/machine/on_this_device.hpp"
#include "hiway/outlet/get.hpp"
#include "hiway/outlet/span.hpp"
#include "hiway/outlet/tasks.hpp"
#include "hiway/outlet/team.hpp"
#include "hiway/outlet/view.hpp"
#include "hiway/scope/task.hpp"
#include "hiway/scope/team.hpp"
#include "hiway/scope/word.hpp"

namespace hiway {

/// Ends tasks, tells of the end, and fails the run.
class AnyOutlet {
 public:
  /// Ends the tasks of `tasks` items that were got. *Errors*: ending more than were got ends the run
  /// (end_task_too_many).
  void end_task_h(std::size_t tasks = 1) const {
    on_this_thread([&](auto m) {
      end_scope(m);
      detail::end_own_tasks(m, view_, tasks);
    });
  }
  HIWAY_DEVICE void end_task_d() const {
    on_this_device([&](auto m) { end_one(m); });
  }
  HIWAY_DEVICE void end_task() const {
    anywhere([&](auto m) { end_one(m); });
  }
  HIWAY_DEVICE void end_task_d(std::size_t tasks) const {
    on_this_device([&](auto m) { end_several(m, tasks); });
  }
  HIWAY_DEVICE void end_task(std::size_t tasks) const {
    anywhere([&](auto m) { end_several(m, tasks); });
  }

  /// True when this tunnel brings no more: its writers have closed and its tasks are ended.
  [[nodiscard]] bool has_ended_h() const {
    return on_this_thread([&](auto m) { return ended_with(m); }, true);
  }
  [[nodiscard]] HIWAY_DEVICE bool has_ended_d() const {
    return on_this_device([&](auto m) { return ended_with(m); }, true);
  }
  [[nodiscard]] HIWAY_DEVICE bool has_ended() const {
    return anywhere([&](auto m) { return ended_with(m); }, true);
  }

  /// True when no outlet of this stage brings more.
  [[nodiscard]] bool is_terminate_h() const {
    return on_this_thread([&](auto m) { return stage_ended_with(m); }, true);
  }
  [[nodiscard]] HIWAY_DEVICE bool is_terminate_d() const {
    return on_this_device([&](auto m) { return stage_ended_with(m); }, true);
  }
  [[nodiscard]] HIWAY_DEVICE bool is_terminate() const {
    return anywhere([&](auto m) { return stage_ended_with(m); }, true);
  }

  /// Ends the tasks of `tasks` items that all lanes got together. With scopes that is one: its task ends by this call,
  /// not by a single lane's.
  HIWAY_DEVICE void end_task_warp_d(std::size_t tasks = 1) const {
    on_this_device([&](auto m) { end_together(WarpTeam<decltype(m)>{m}, tasks); });
  }
  HIWAY_DEVICE void end_task_warp(std::size_t tasks = 1) const {
    anywhere([&](auto m) { end_together(WarpTeam<decltype(m)>{m}, tasks); });
  }
  HIWAY_DEVICE void end_task_block_d(std::size_t tasks = 1) const {
    on_this_device([&](auto m) { end_together(BlockTeam<decltype(m)>{m}, tasks); });
  }
  HIWAY_DEVICE void end_task_block(std::size_t tasks = 1) const {
    anywhere([&](auto m) { end_together(BlockTeam<decltype(m)>{m}, tasks); });
  }

  /// Ends the run with an error that says `message` and names the stage, or the tunnel of an open end. Does not return.
  /// For a user's own kernels, where the free fail_d does not know the run.
  void fail_h(char const* message) const {
    on_this_thread([&](auto m) { fail_with(m, message); });
  }
  HIWAY_DEVICE void fail_d(char const* message) const {
    on_this_device([&](auto m) { fail_with(m, message); });
  }

  /// For the library's own loops.
  HIWAY_DEVICE OutletView const& view() const { return view_; }

 protected:
  AnyOutlet() = default;
  HIWAY_DEVICE explicit AnyOutlet(OutletView const& view, bool scoped) : view_(view), scoped_(scoped) {}
  template <class Machine>
  HIWAY_DEVICE bool ended_with(Machine m) const {
    return detail::tunnel_ended(m, view_);
  }
  template <class Team>
  HIWAY_DEVICE void end_together(Team team, std::size_t tasks) const {
    if (scoped_ && tasks != 0) detail::end_team_scope(team.m, view_);
    detail::end_task_together(team, view_, tasks);
  }
  template <class Machine>
  HIWAY_DEVICE void pause_unless(Machine m, bool got) const {
    unsigned& misses = m.misses(misses_);
    if (got) {
      misses = 0;
    } else {
      m.relax(misses++);
    }
  }

  OutletView view_{};
  mutable unsigned misses_ = 0;     // where the machine keeps no count
  mutable std::uint32_t next_ = 0;  // TagReader::next
  bool scoped_ = false;             // known at compile time where stages get their ends

 private:
  /// Of the one task that a stage with scopes works on.
  template <class Machine>
  HIWAY_DEVICE void end_scope(Machine m) const {
    if (scoped_) detail::end_scope_task(m, view_);
  }
  HIWAY_NO_SPACE_CHECK template <class Machine>
  HIWAY_PART_OF_CALLER HIWAY_DEVICE void end_one(Machine m) const {
    end_scope(m);
    if constexpr (RoleOf<Machine>::keeps_hand) {
      detail::end_own_tasks(m, view_, 1);
    } else {
      detail::end_tasks(m, view_, detail::together(m, view_), true);
    }
  }
  template <class Machine>
  HIWAY_PART_OF_CALLER HIWAY_DEVICE void end_several(Machine m, std::size_t tasks) const {
    if (tasks != 0) end_scope(m);
    detail::end_several_tasks(m, view_, detail::together(m, view_), tasks);
  }
  template <class Machine>
  HIWAY_DEVICE bool stage_ended_with(Machine m) const {
    return detail::stage_ended(m, view_);
  }
  template <class Machine>
  HIWAY_DEVICE void fail_with(Machine m, char const* message) const {
    detail::fail_at(m, view_, message);
  }
};

/// Gets by a whole warp or block: all its lanes make the call together, and an item is one task. A CPU thread is a warp
/// and a block of one.
template <class T>
class TeamOutlet : public AnyOutlet {
 public:
  /// Calls `body(item)` in all lanes together for one item after another, and ends its task, until the tunnel has
  /// ended: the whole persistent loop. A large item stays in its slot, which all lanes read; each lane has a copy of a
  /// small one.
  HIWAY_NO_SPACE_CHECK template <class Body>
  HIWAY_DEVICE void for_each_warp_d(Body&& body) const {
    on_this_device([&](auto m) { for_each_together(WarpTeam<decltype(m)>{m}, body); });
  }
  HIWAY_NO_SPACE_CHECK template <class Body>
  HIWAY_DEVICE void for_each_warp(Body&& body) const {
    anywhere([&](auto m) { for_each_together(WarpTeam<decltype(m)>{m}, body); });
  }
  HIWAY_NO_SPACE_CHECK template <class Body>
  HIWAY_DEVICE void for_each_block_d(Body&& body) const {
    on_this_device([&](auto m) { for_each_together(BlockTeam<decltype(m)>{m}, body); });
  }
  HIWAY_NO_SPACE_CHECK template <class Body>
  HIWAY_DEVICE void for_each_block(Body&& body) const {
    anywhere([&](auto m) { for_each_together(BlockTeam<decltype(m)>{m}, body); });
  }

  /// Gets one item for all lanes, if there is one: into each lane's own `item`, or into one in shared or device memory
  /// that all lanes name. Every lane has the same result.
  [[nodiscard]] HIWAY_DEVICE bool get_warp_d(T& item) const {
    return on_this_device([&](auto m) { return get_together(WarpTeam<decltype(m)>{m}, item); });
  }
  [[nodiscard]] HIWAY_DEVICE bool get_warp(T& item) const {
    return anywhere([&](auto m) { return get_together(WarpTeam<decltype(m)>{m}, item); });
  }
  [[nodiscard]] HIWAY_DEVICE bool get_block_d(T& item) const {
    return on_this_device([&](auto m) { return get_together(BlockTeam<decltype(m)>{m}, item); });
  }
  [[nodiscard]] HIWAY_DEVICE bool get_block(T& item) const {
    return anywhere([&](auto m) { return get_together(BlockTeam<decltype(m)>{m}, item); });
  }

  /// The same, but *waits*; false when the tunnel has ended.
  [[nodiscard]] HIWAY_DEVICE bool next_warp_d(T& item) const {
    return on_this_device([&](auto m) { return next_together(WarpTeam<decltype(m)>{m}, item); });
  }
  [[nodiscard]] HIWAY_DEVICE bool next_warp(T& item) const {
    return anywhere([&](auto m) { return next_together(WarpTeam<decltype(m)>{m}, item); });
  }
  [[nodiscard]] HIWAY_DEVICE bool next_block_d(T& item) const {
    return on_this_device([&](auto m) { return next_together(BlockTeam<decltype(m)>{m}, item); });
  }
  [[nodiscard]] HIWAY_DEVICE bool next_block(T& item) const {
    return anywhere([&](auto m) { return next_together(BlockTeam<decltype(m)>{m}, item); });
  }

  /// Gets as many items as there are, at most items.size(), in order. All lanes pass the same span, in memory that all
  /// of them reach, and copy into it side by side. Every lane has the same result, the number got, and sees all items.
  /// Never waits, like get; at most 65,536 at once. Not for items above 256 bytes.
  [[nodiscard]] HIWAY_DEVICE std::size_t get_warp_d(std::span<T> items) const {
    return on_this_device([&](auto m) { return get_all_together(WarpTeam<decltype(m)>{m}, items); });
  }
  [[nodiscard]] HIWAY_DEVICE std::size_t get_warp(std::span<T> items) const {
    return anywhere([&](auto m) { return get_all_together(WarpTeam<decltype(m)>{m}, items); });
  }
  [[nodiscard]] HIWAY_DEVICE std::size_t get_block_d(std::span<T> items) const {
    return on_this_device([&](auto m) { return get_all_together(BlockTeam<decltype(m)>{m}, items); });
  }
  [[nodiscard]] HIWAY_DEVICE std::size_t get_block(std::span<T> items) const {
    return anywhere([&](auto m) { return get_all_together(BlockTeam<decltype(m)>{m}, items); });
  }
  /// The same, but *waits* until there is one; 0 when the tunnel has ended or `items` is empty.
  [[nodiscard]] HIWAY_DEVICE std::size_t next_warp_d(std::span<T> items) const {
    return on_this_device([&](auto m) { return next_all_together(WarpTeam<decltype(m)>{m}, items); });
  }
  [[nodiscard]] HIWAY_DEVICE std::size_t next_warp(std::span<T> items) const {
    return anywhere([&](auto m) { return next_all_together(WarpTeam<decltype(m)>{m}, items); });
  }
  [[nodiscard]] HIWAY_DEVICE std::size_t next_block_d(std::span<T> items) const {
    return on_this_device([&](auto m) { return next_all_together(BlockTeam<decltype(m)>{m}, items); });
  }
  [[nodiscard]] HIWAY_DEVICE std::size_t next_block(std::span<T> items) const {
    return anywhere([&](auto m) { return next_all_together(BlockTeam<decltype(m)>{m}, items); });
  }

 protected:
  TeamOutlet() = default;
  HIWAY_DEVICE explicit TeamOutlet(OutletView const& view, bool scoped) : AnyOutlet(view, scoped) {}

 private:
  HIWAY_NO_SPACE_CHECK template <class Team, class Body>
  HIWAY_DEVICE void for_each_together(Team team, Body&& body) const {
    if (!scoped_) return each_together<T>(team, body);
    each_together<Scoped<T>>(team, [&](Scoped<T> const& got) {
      if (detail::begin_team_task(team, view_, got.scope)) body(got.item);
      detail::end_team_scope(team.m, view_);
    });
  }
  // Item: T, or Scoped<T>.
  HIWAY_NO_SPACE_CHECK template <class Item, class Team, class Body>
  HIWAY_DEVICE void each_together(Team team, Body&& body) const {
    if constexpr (stays_in_slot<Item>) {
      auto const work = [&](std::byte const* slot) { body(item_in<Item>(slot)); };
      while (detail::await_together(team, view_, work)) detail::end_task_together(team, view_);
    } else {  // the slot is left before the body, which may put into the same ring (ring/turns.hpp I5)
      ItemRoom<Item> room;
      auto const read = [&](std::byte const* slot) { copy_item(room.item(), item_in<Item>(slot)); };
      while (detail::await_together(team, view_, read)) {
        body(static_cast<Item const&>(room.item()));
        detail::end_task_together(team, view_);
      }
    }
  }
  template <class Team>
  HIWAY_DEVICE bool get_together(Team team, T& item) const {
    auto const look = [&](auto&& read) { return detail::work_together(team, view_, read) == detail::Found::item; };
    bool const got = scoped_
                         ? take_scoped_together(team, item, look)
                         : look([&](std::byte const* slot) { detail::copy_together(team, item, item_in<T>(slot)); });
    pause_unless(team.m, got);
    return got;
  }
  template <class Team>
  HIWAY_DEVICE bool next_together(Team team, T& item) const {
    if (scoped_)
      return take_scoped_together(team, item, [&](auto&& read) { return detail::await_together(team, view_, read); });
    return detail::await_together(team, view_,
                                  [&](std::byte const* slot) { detail::copy_together(team, item, item_in<T>(slot)); });
  }
  /// `look(read)` is true if it has called `read(slot)` with an item.
  template <class Team, class Look>
  HIWAY_DEVICE bool take_scoped_together(Team team, T& item, Look&& look) const {
    if (detail::has_open_scope_task(team.m, view_))
      raise(team.m, *view_.control, FaultKind::scope_task_open, view_.stage, view_.tunnel, 0);
    std::uint64_t word = 0;
    auto const read = [&](std::byte const* slot) {
      auto const& got = item_in<Scoped<T>>(slot);
      detail::copy_together(team, item, got.item);
      word = got.scope;
    };
    while (look(read)) {
      if (detail::begin_team_task(team, view_, word)) return true;
      this->end_together(team, 1);
    }
    return false;
  }
  HIWAY_NO_SPACE_CHECK template <class Team>
  HIWAY_DEVICE detail::Claimed get_span_together(Team team, std::span<T> items) const {
    if constexpr (RoleOf<decltype(team.m)>::keeps_hand) {
      if (view_.ports->hand != nullptr) {
        detail::Claimed c{};
        auto* const to = reinterpret_cast<std::byte*>(items.data());
        c.run.count = static_cast<std::uint32_t>(detail::get_pieces(team.m, view_, to, items.size(), sizeof(T)));
        detail::note_result(team.m, view_, c.run.count != 0);
        c.ended = c.run.count == 0 && detail::tunnel_ended(team.m, view_);
        return c;
      }
    }
    return detail::get_span_by_team(team, view_, items.size(), detail::ReadItems<T>{items.data()});
  }
  template <class Team>
  HIWAY_DEVICE std::size_t get_all_together(Team team, std::span<T> items) const {
    detail::refuse_gets_of_large_spans<T>();
    if (scoped_) return !items.empty() && get_together(team, items[0]) ? 1 : 0;
    std::size_t const n = get_span_together(team, items).run.count;
    pause_unless(team.m, n != 0);
    return n;
  }
  template <class Team>
  HIWAY_DEVICE std::size_t next_all_together(Team team, std::span<T> items) const {
    detail::refuse_gets_of_large_spans<T>();
    if (items.empty()) return 0;
    if (scoped_) return next_together(team, items[0]) ? 1 : 0;
    for (unsigned misses = 0;; team.m.relax(misses++)) {
      auto const claimed = get_span_together(team, items);
      if (claimed.run.count != 0 || claimed.ended) return claimed.run.count;
    }
  }
};

}  // namespace hiway
