// Teams with a scope (scope/word.hpp S7) under every schedule: two lanes have one task, put, and end it together, while
// tasks of what they have put end.
#include <array>
#include <cstdint>

#include "hiway/grouping/team.hpp"
#include "hiway/scope/team.hpp"
#include "tests/explore/one_scope.hpp"
#include "tests/explore/search.hpp"

namespace {

using namespace hiway;
using namespace hiway::explore;

/// A team of two lanes, a lane that works on what they put there, a host thread that does so at the host, and the
/// mail's reader. The team's item has `Value`, or else a count of a pot that has `InPot`.
template <template <class> class TeamOf, std::uint64_t Value, std::uint64_t InPot>
struct TeamOfTwo : OneScope<4, 2, 2> {
  static constexpr std::array warps = {2u, 1u, 1u, 1u};
  TeamOfTwo() : OneScope(Value + InPot, InPot, InPot == 0 ? 0 : 1) {}
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 2) return read_mail(m, 0);
    if (warp == 3) return work_at_host(m, 1, 3, to_host);
    if (warp == 1) {
      work_on(m, 2, child);
      return leave(m);
    }
    TeamOf<ExploreMachine> const team{m};
    std::uint64_t const word = Value == 0 ? detail::counted_word(place, 1) : detail::scope_word(place, Value);
    require(detail::begin_team_task(team, at_device(ScopeRoad::here), word), "the scope has not been cancelled");
    if (team.rank() == 0) {
      put_on(m, ScopeRoad::to_host, to_host);
    } else {
      put_on(m, ScopeRoad::here, child);
    }
    traces.leave(m, team.rank());
    detail::end_team_scope(m, at_device(ScopeRoad::here));
    require(m.scope().word == 0, "a lane has the scope of a task that has ended");
    if (team.rank() == 0) leave(m);
  }
  Word<std::uint64_t> child{0};
  Word<std::uint64_t> to_host{0};
};
TEST(ExploreScopeTeam, AnItemWithASmallValueIsCountedForAllLanes) {
  expect_no_failure<TeamOfTwo<WarpTeam, 3, 0>>();
  expect_no_failure<TeamOfTwo<BlockTeam, 3, 0>>();
}
TEST(ExploreScopeTeam, ACountedItemIsLentACountForEachLane) {
  expect_no_failure<TeamOfTwo<WarpTeam, 0, 3>>();
  expect_no_failure<TeamOfTwo<BlockTeam, 0, 3>>();
}
TEST(ExploreScopeTeam, AValueIsSharedOut) {
  expect_no_failure<TeamOfTwo<WarpTeam, detail::least_value_of_a_warp, 0>>();
}

/// A warp puts a span to the host, each item with a part of the first lane's value, or of the pot's if that is small.
template <std::uint64_t Value>
struct SpanToTheHost : OneScope<4, 1, 3> {
  static constexpr std::array warps = {2u, 1u, 1u, 1u};
  SpanToTheHost() : OneScope(Value, 0, 0) {}
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 1) return read_mail(m, 0);
    if (warp != 0) return work_at_host(m, warp - 1, warp, items[warp - 2]);
    WarpTeam<ExploreMachine> const team{m};
    std::uint64_t const word = detail::scope_word(place, Value);
    require(detail::begin_team_task(team, at_device(ScopeRoad::here), word), "the scope has not been cancelled");
    std::uint64_t const each = detail::share_scope_with_each(team, at_device(ScopeRoad::to_host), 2);
    put(m, items[team.rank()], each);
    traces.leave(m, team.rank());
    detail::end_team_scope(m, at_device(ScopeRoad::here));
    if (team.rank() == 0) leave(m);
  }
  void check() const {
    OneScope::check();
    require(device.mail.tickets.bits == 1, "a letter too many");
  }
  std::array<Word<std::uint64_t>, 2> items{};
};
TEST(ExploreScopeTeam, AWarpGivesBackByOneLetter) { expect_no_failure<SpanToTheHost<detail::value_to_device>>(); }
TEST(ExploreScopeTeam, ASpanHasItsValueFromThePot) { expect_no_failure<SpanToTheHost<3>>(); }

/// A span stays at the device, and its items end before the team: each has a count of its own.
struct SpanHere : OneScope<4, 3, 1> {
  static constexpr std::array warps = {2u, 1u, 1u, 1u};
  SpanHere() : OneScope(3, 0, 0) {}
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 3) return read_mail(m, 0);
    if (warp != 0) {
      work_on(m, 1 + warp, items[warp - 1]);
      return leave(m);
    }
    WarpTeam<ExploreMachine> const team{m};
    require(detail::begin_team_task(team, at_device(ScopeRoad::here), detail::scope_word(place, 3)), "cancelled");
    put(m, items[team.rank()], detail::share_scope_with_each(team, at_device(ScopeRoad::here), 2));
    traces.leave(m, team.rank());
    detail::end_team_scope(m, at_device(ScopeRoad::here));
    if (team.rank() == 0) leave(m);
  }
  std::array<Word<std::uint64_t>, 2> items{};
};
TEST(ExploreScopeTeam, EachItemOfASpanHasACount) { expect_no_failure<SpanHere>(); }

/// The scope is cancelled while the team begins: all lanes are told the same.
struct CancelledMeanwhile : OneScope<2, 1, 2> {
  static constexpr std::array warps = {2u, 1u, 1u};
  CancelledMeanwhile() : OneScope(3, 0, 0) {}
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 1) return read_mail(m, 0);
    if (warp == 2) return m.store(pots[place].cancelled, std::uint64_t{1}, MemoryOrder::relaxed);
    WarpTeam<ExploreMachine> const team{m};
    bool const goes_on = detail::begin_team_task(team, at_device(ScopeRoad::here), detail::scope_word(place, 3));
    std::uint32_t const going = m.ballot(m.lanes(), goes_on);
    require(going == 0 || going == m.lanes(), "lanes disagree whether the scope has been cancelled");
    require(goes_on || team.rank() == 0 || m.scope().word == 0, "a lane has a part of a task that is dropped");
    traces.leave(m, team.rank());
    detail::end_team_scope(m, at_device(ScopeRoad::here));
    if (team.rank() == 0) leave(m);
  }
};
TEST(ExploreScopeTeam, LanesAgreeWhetherTheScopeHasBeenCancelled) { expect_no_failure<CancelledMeanwhile>(); }

}  // namespace
