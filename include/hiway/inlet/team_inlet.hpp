// The calls of an Inlet that are not a single lane's puts: AnyInlet has those that do not depend on the items' type,
// TeamInlet those of a whole warp or block.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "hiway/fault.hpp"
#include "hiway/grouping/team.hpp"
#include "hiway/inlet/close.hpp"
#include "hiway/inlet/span.hpp"
#include "hiway/inlet/team.hpp"
#include "hiway/inlet/view.hpp"
#include "hiway/item.hpp"
#include "hiway/machine/on_this_device.hpp"
#include "hiway/scope/task.hpp"
#include "hiway/scope/team.hpp"
#include "hiway/scope/word.hpp"

namespace hiway {

/// Closes, and fails the run.
class AnyInlet {
 public:
  /// Says that this thread or lane puts no more into the tunnel before its stage returns. Calling it again does
  /// nothing. The inlet of a stage closes when every thread, or every lane of every block, has closed or returned.
  void close_h() const {
    on_this_thread([&](auto m) { close_with(m); });
  }
  HIWAY_DEVICE void close_d() const {
    on_this_device([&](auto m) { close_with(m); });
  }
  HIWAY_DEVICE void close() const {
    anywhere([&](auto m) { close_with(m); });
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
  HIWAY_DEVICE InletView const& view() const { return view_; }

 protected:
  AnyInlet() = default;
  HIWAY_DEVICE explicit AnyInlet(InletView const& view, bool scoped) : view_(view), scoped_(scoped) {}

  InletView view_{};
  bool scoped_ = false;  ///< known at compile time where stages get their ends

 private:
  template <class Machine>
  HIWAY_DEVICE void close_with(Machine m) const {
    detail::close(m, view_);
  }
  template <class Machine>
  HIWAY_DEVICE void fail_with(Machine m, char const* message) const {
    detail::fail_at(m, view_, message);
  }
};

/// Puts by a whole warp or block: all its lanes make the call together. A CPU thread is a warp and a block of one. With
/// scopes an item belongs to that of the first lane's task, which the other lanes have, too, if they got it together.
template <class T>
class TeamInlet : public AnyInlet {
 public:
  /// Puts one item, which is equal in all lanes; each lane writes a part of it. *Waits* like put.
  HIWAY_DEVICE void put_warp_d(T const& item) const {
    on_this_device([&](auto m) { put_together(WarpTeam<decltype(m)>{m}, item); });
  }
  HIWAY_DEVICE void put_warp(T const& item) const {
    anywhere([&](auto m) { put_together(WarpTeam<decltype(m)>{m}, item); });
  }
  HIWAY_DEVICE void put_block_d(T const& item) const {
    on_this_device([&](auto m) { put_together(BlockTeam<decltype(m)>{m}, item); });
  }
  HIWAY_DEVICE void put_block(T const& item) const {
    anywhere([&](auto m) { put_together(BlockTeam<decltype(m)>{m}, item); });
  }

  /// Puts every item of `items`, in order. All lanes pass the same span, in memory that all of them read, and copy it
  /// side by side. *Waits* like put. Not for items above 256 bytes.
  HIWAY_DEVICE void put_warp_d(std::span<T const> items) const {
    on_this_device([&](auto m) { put_all_together(WarpTeam<decltype(m)>{m}, items); });
  }
  HIWAY_DEVICE void put_warp(std::span<T const> items) const {
    anywhere([&](auto m) { put_all_together(WarpTeam<decltype(m)>{m}, items); });
  }
  HIWAY_DEVICE void put_block_d(std::span<T const> items) const {
    on_this_device([&](auto m) { put_all_together(BlockTeam<decltype(m)>{m}, items); });
  }
  HIWAY_DEVICE void put_block(std::span<T const> items) const {
    anywhere([&](auto m) { put_all_together(BlockTeam<decltype(m)>{m}, items); });
  }

  /// Puts one item: `fill(T& slot)`, called in all lanes, writes it directly into its slot, each lane its part.
  HIWAY_NO_SPACE_CHECK template <class Fill>
  HIWAY_DEVICE void put_in_place_warp_d(Fill&& fill) const {
    on_this_device([&](auto m) { fill_together(WarpTeam<decltype(m)>{m}, fill); });
  }
  HIWAY_NO_SPACE_CHECK template <class Fill>
  HIWAY_DEVICE void put_in_place_warp(Fill&& fill) const {
    anywhere([&](auto m) { fill_together(WarpTeam<decltype(m)>{m}, fill); });
  }
  HIWAY_NO_SPACE_CHECK template <class Fill>
  HIWAY_DEVICE void put_in_place_block_d(Fill&& fill) const {
    on_this_device([&](auto m) { fill_together(BlockTeam<decltype(m)>{m}, fill); });
  }
  HIWAY_NO_SPACE_CHECK template <class Fill>
  HIWAY_DEVICE void put_in_place_block(Fill&& fill) const {
    anywhere([&](auto m) { fill_together(BlockTeam<decltype(m)>{m}, fill); });
  }

 protected:
  TeamInlet() = default;
  HIWAY_DEVICE explicit TeamInlet(InletView const& view, bool scoped) : AnyInlet(view, scoped) {}

 private:
  template <class Team>
  HIWAY_DEVICE void put_together(Team team, T const& item) const {
    if (scoped_)
      return put_scoped_together(team, [&](T& to) { copy_bytes(&to, &item, sizeof(T), team.rank(), team.size()); });
    detail::put_by_team(team, view_,
                        [&](std::byte* slot) { copy_bytes(slot, &item, sizeof(T), team.rank(), team.size()); });
  }
  template <class Team>
  HIWAY_DEVICE void put_all_together(Team team, std::span<T const> items) const {
    detail::refuse_puts_of_large_spans<T>();
    if (scoped_) return put_all_scoped_together(team, items);
    detail::put_span_by_team(team, view_, items.size(), detail::WriteItems<T>{items.data()});
  }
  HIWAY_NO_SPACE_CHECK template <class Team, class Fill>
  HIWAY_DEVICE void fill_together(Team team, Fill&& fill) const {
    if (scoped_) return put_scoped_together(team, fill);
    detail::put_by_team(team, view_, [&](std::byte* slot) { fill(item_in<T>(slot)); });
  }
  /// `write(T&)` in all lanes. The item has a part of what the first lane has of the task (S7).
  HIWAY_NO_SPACE_CHECK template <class Team, class Write>
  HIWAY_DEVICE void put_scoped_together(Team team, Write&& write) const {
    std::uint64_t const word = team.rank() == 0 ? detail::share_scope(team.m, view_) : 0;
    detail::put_by_team(team, view_, [&](std::byte* slot) {
      write(item_in<Scoped<T>>(slot).item);
      if (team.rank() == 0) item_in<Scoped<T>>(slot).scope = word;
    });
  }
  template <class Team>
  HIWAY_DEVICE void put_all_scoped_together(Team team, std::span<T const> items) const {
    if constexpr (RoleOf<decltype(team.m)>::counts_scopes) {
      for (T const& item : items) put_together(team, item);
    } else if (!items.empty()) {
      std::uint64_t const word = detail::share_scope_with_each(team, view_, items.size());
      detail::put_span_by_team(team, view_, items.size(), detail::WriteScopedItems<T>{items.data(), word});
    }
  }
};

}  // namespace hiway
