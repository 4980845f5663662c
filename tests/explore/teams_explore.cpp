// Teams under every schedule: one item for all lanes of a warp or a block, filled and worked on in its slot; and what
// becomes of it when the run aborts in the middle.
#include "tests/explore/search.hpp"
#include "tests/explore/tunnels.hpp"

namespace {

using namespace hiway;
using namespace hiway::explore;

/// A team's first lane writes the value, its second the complement.
template <class Team>
struct FillHalves {
  Team team;
  std::uint32_t value;
  void operator()(std::byte* slot) const {
    std::uint32_t const complement = ~value;
    team.m.point();
    std::memcpy(slot + team.rank() * sizeof value, team.rank() == 0 ? &value : &complement, sizeof value);
    team.m.point();
  }
};

template <template <class> class TeamOf, std::uint32_t Capacity, unsigned Producers, unsigned Consumers, unsigned Each>
struct Teams : CheckedTunnel {
  static constexpr auto warps = [] {
    std::array<unsigned, Producers + 1 + Consumers> lanes{};
    lanes.fill(2);
    lanes[Producers] = 1;
    return lanes;
  }();
  using Team = TeamOf<ExploreMachine>;

  Teams() : CheckedTunnel({.capacity = Capacity, .writers = Producers}) {}
  void run(unsigned warp, ExploreMachine m) {
    Team const team{m};
    if (warp < Producers) {
      for (unsigned i = 0; i < Each; ++i)
        detail::put_by_team(team, t.inlet(warp), FillHalves<Team>{team, ledger.item(warp, i)});
      t.close(m, warp);
    } else if (warp == Producers) {
      check_to_the_end(m);
    } else {
      read(team, t.outlet(warp - Producers - 1));
    }
  }
  void read(Team team, OutletView const& v) {
    std::array<std::uint32_t, Producers> last{};
    auto const work = [&](std::byte const* slot) {
      std::uint32_t x = 0;
      ReadTorn{team.m, x}(slot);
      require(t.end.ended.bits == 0, "an end before the last task was ended");
      ++lanes_on[x];
      if (team.rank() == 0) ledger.got(x, last);
      std::uint32_t still = 0;
      ReadTorn{team.m, still}(slot);
      require(still == x, "a slot that a team works on was written");
    };
    while (detail::await_together(team, v, work)) {
      team.m.point();  // the task goes on behind its slot
      require(t.end.ended.bits == 0, "an end before the last task was ended");
      if (team.rank() == 0) ++t.tasks_ended;
      detail::end_task_together(team, v);
    }
  }
  void check() const {
    ledger.check();
    require_end(ledger.total);
    for (unsigned const lanes : lanes_on) require(lanes == 2, "an item was not for all lanes of one team");
  }
  Ledger<Producers, Each> ledger;
  std::array<unsigned, Producers * Each> lanes_on{};
};
TEST(ExploreTeams, AWarpHandsOneSlotToTwoWarps) { expect_no_failure<Teams<WarpTeam, 1, 1, 2, 2>>(); }
TEST(ExploreTeams, TwoWarpsHandTwoSlotsToOne) { expect_no_failure<Teams<WarpTeam, 2, 2, 1, 1>>(); }
TEST(ExploreTeams, TwoBlocksHandOneSlotToOne) { expect_no_failure<Teams<BlockTeam, 1, 2, 1, 1>>(); }
TEST(ExploreTeams, ABlockHandsTwoSlotsToTwoBlocks) { expect_no_failure<Teams<BlockTeam, 2, 1, 2, 2>>(); }

/// Gets of an item that each lane copies, or that all lanes copy to one place, a part each: get_warp, get_block.
struct Copies : CheckedTunnel {
  static constexpr std::array warps = {1u, 1u, 2u};
  struct Large {
    std::array<std::uint32_t, 8> words;
  };
  Copies() : CheckedTunnel({.capacity = 1}) {
    t.ring.ring.items = t.writing.ring.items = t.reading.ring.items = reinterpret_cast<std::byte*>(slots.data());
    t.ring.ring.item_bytes = t.writing.ring.item_bytes = t.reading.ring.item_bytes = sizeof(Large);
  }
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 0) {
      for (std::uint32_t i = 0; i < 2; ++i)
        detail::put(m.at(putting), t.inlet(0), [&](std::byte* slot) { item_in<Large>(slot).words.fill(i + 1); });
      t.close(m, 0);
    } else if (warp == 1) {
      check_to_the_end(m);
    } else {
      WarpTeam<ExploreMachine> const team{m};
      for (std::uint32_t i = 1; i <= 2; ++i) {
        Large own{};
        Large& to = i == 1 ? own : shared;
        auto const copy = [&](std::byte const* slot) {
          m.point();
          detail::copy_together(team, to, item_in<Large>(slot));
        };
        require(detail::await_together(team, t.outlet(0), copy), "an item was lost");
        for (std::uint32_t const word : to.words) require(word == i, "a lane sees another item");
        detail::end_task_together(team, t.outlet(0));
      }
    }
  }
  void check() const {
    require(control.aborted.bits == 0 && result == CheckResult::ended, "no end");
    t.ring.check_rest(1, 2);
  }
  std::array<Large, 1> slots{};
  Large shared{};
};
TEST(ExploreTeams, AWarpCopiesToEachLaneOrToOnePlace) { expect_no_failure<Copies>(); }

// ---- aborts

/// Lanes of a team that may leave one by one: who has left still comes to every meeting, as on a GPU, where an exited
/// lane keeps nobody waiting, until all have left. What it gives there is undefined: what it gave last. Every meeting orders
/// memory, as sync_warp does; worlds of the plain machine show where that is needed.
struct LeavingMachine : ExploreMachine {
  using Given = std::array<std::uint64_t, 2>;

  LeavingMachine(ExploreMachine m, Given& by_lanes) : ExploreMachine(m), given(&by_lanes) {}
  Given* given;

  template <class T>
  T shuffle(std::uint32_t, T value, unsigned source) const {
    (void)ExploreMachine::ballot(lanes(), true);
    (*given)[lane()] = value;
    auto const got = static_cast<T>(ExploreMachine::shuffle(lanes(), std::uint64_t{value}, source));
    ExploreMachine::sync_warp(lanes());
    return got;
  }
  void sync_warp(std::uint32_t mask) const { (void)shuffle(mask, (*given)[lane()], 0); }
  void sync_block() const { sync_warp(lanes()); }
  [[nodiscard]] std::uint64_t share_in_block(std::uint64_t value) const { return shuffle(lanes(), value, 0); }
  [[noreturn]] void leave() const {
    leave_the_team();
    throw_unwind();
  }
  [[noreturn]] void leave_run(Control&, std::uint32_t) const { leave(); }
  void leave_the_team() const {
    while (ExploreMachine::ballot(lanes(), false) != 0) {
      (void)ExploreMachine::shuffle(lanes(), (*given)[lane()], 0);
      ExploreMachine::sync_warp(lanes());
    }
  }
};

/// Somebody faults at any time: every lane leaves, and nobody is handed an item of which a lane that has left owes its
/// half. The reader is a team, or single lanes of a warp, which look at the abort less often.
template <template <class> class TeamOf, unsigned ReaderLanes>
struct Abort : CheckedTunnel {
  static constexpr std::array warps = {2u, 1u, ReaderLanes};
  static constexpr bool team_reads = ReaderLanes > 1;
  using Team = TeamOf<LeavingMachine>;

  Abort() : CheckedTunnel({.capacity = 1}) {}
  void run(unsigned warp, ExploreMachine m) {
    Team const team{{m, given[warp / 2]}};
    if (warp == 0) {
      for (std::uint32_t i = 0; i < 2; ++i) detail::put_by_team(team, t.inlet(0), FillHalves<Team>{team, 100 + i});
      team.m.leave_the_team();
    } else if (warp == 1) {
      record_fault(m, control, FaultKind::failed, 7, no_id, 0);
    } else if (team_reads) {
      auto const work = [&](std::byte const* slot) {
        std::uint32_t x = 0;
        ReadTorn{m, x}(slot);
        require(x - 100 < 2, "an item that nobody put");
      };
      while (detail::await_together(team, t.outlet(0), work)) detail::end_task_together(team, t.outlet(0));
      throw Failure{"an end that nobody announced"};
    } else {
      t.read(m, 0, [&](std::uint32_t x) { require(x - 100 < 2, "an item that nobody put"); });
      throw Failure{"an end that nobody announced"};
    }
  }
  void check() const { require(control.record.kind == FaultKind::failed && control.ready.bits == 1, "another fault"); }
  std::array<LeavingMachine::Given, 2> given{};
};
TEST(ExploreTeams, AnAbortEndsTeamsOfWarps) { expect_no_failure<Abort<WarpTeam, 2>>(); }
TEST(ExploreTeams, AnAbortEndsTeamsOfBlocks) { expect_no_failure<Abort<BlockTeam, 2>>(); }
TEST(ExploreTeams, AnAbortHandsNoHalfFilledItemToALane) { expect_no_failure<Abort<WarpTeam, 1>>(); }
TEST(ExploreTeams, AnAbortHandsNoHalfFilledItemOfABlockToALane) { expect_no_failure<Abort<BlockTeam, 1>>(); }

/// The same with spans. A lane of a whole ring hands over its own slots, so of what it owes nobody is told; of what a team
/// got, all lanes see all, or none returns.
template <template <class> class TeamOf, RingPart Part>
struct AbortSpan {
  static constexpr std::array warps = {2u, 1u, 2u};
  using Team = TeamOf<LeavingMachine>;
  static constexpr std::uint32_t first = 100;

  void run(unsigned warp, ExploreMachine m) {
    Team const team{{m, given[warp / 2]}};
    if (warp == 0) {
      detail::put_span_by_team(team, t.inlet(0), 3, [&](Several const& some) {
        for (unsigned k = 0; k < some.count; ++k)
          WriteTorn{m, first + static_cast<std::uint32_t>(some.item(k))}(some.slot(k));
      });
      team.m.leave_the_team();
    } else if (warp == 1) {
      record_fault(m, control, FaultKind::failed, 7, no_id, 0);
    } else {
      for (;;) {
        seen[0] = seen[1] = 0;
        m.point();
        auto const claimed = detail::get_span_by_team(team, t.outlet(0), 2, [&](Several const& some) {
          for (unsigned k = 0; k < some.count; ++k) ReadTorn{m, seen.at(some.item(k))}(some.slot(k));
        });
        for (unsigned i = 0; i < claimed.run.count; ++i) require(seen.at(i) - first < 3, "an item that nobody got");
        detail::end_task_together(team, t.outlet(0), claimed.run.count);
        team.m.relax(1);
      }
    }
  }
  void check() const { require(control.record.kind == FaultKind::failed && control.ready.bits == 1, "another fault"); }
  Control control;
  LocalTunnel t{control, 2, 0, Part};
  std::array<LeavingMachine::Given, 2> given{};
  std::array<std::uint32_t, 2> seen{};
};
TEST(ExploreTeams, AnAbortEndsSpansOfWarps) { expect_no_failure<AbortSpan<WarpTeam, RingPart::whole>>(); }
TEST(ExploreTeams, AnAbortEndsSpansOfBlocks) { expect_no_failure<AbortSpan<BlockTeam, RingPart::whole>>(); }
TEST(ExploreTeams, AnAbortEndsSpansThatLeaveARingInOrder) {
  expect_no_failure<AbortSpan<WarpTeam, RingPart::in_order>>();
}

/// One of the lanes that share a claim is refused and leaves, in a half-ring: nobody is told of what it has not written.
struct RefusedLane {
  static constexpr std::array warps = {2u};
  void run(unsigned, ExploreMachine plain) {
    LeavingMachine const m{plain, given};
    Run const run = claim_put_runs(m, outbox.ring, m.lanes(), 2, Credits::likely, &control);
    require(run.count == 2, "another grant");
    if (m.lane() == 1) raise(m, control, FaultKind::put_after_close, 0, 0, run.first);
    copy_granted(m, outbox.ring, run, 0, ClaimKind::put, control, [](Several const&) {});
    m.leave_the_team();
  }
  void check() const {
    for (std::size_t i = 2; i < outbox.done.size(); ++i) require(outbox.done[i].bits == 0, "a refused put is visible");
  }
  Control control;
  SmallRing outbox{4, RingPart::outbox};
  LeavingMachine::Given given{};
};
TEST(ExploreTeams, ALaneThatIsRefusedTellsNobodyOfItsSpan) { expect_no_failure<RefusedLane>(); }

/// A team's span leaves across the bus while somebody faults: its first lane, which counts for all, tells nobody of what a
/// lane that has left owes.
struct LeftTeam {
  static constexpr std::array warps = {2u, 1u};
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 1) return record_fault(m, control, FaultKind::failed, 7, no_id, 0);
    WarpTeam<LeavingMachine> const team{{m, given}};
    detail::put_span_by_team(team, t.inlet(0), 2, [&](Several const& some) {
      for (unsigned k = 0; k < some.count; ++k) written.at(some.item(k)) = true;
    });
    team.m.leave_the_team();
  }
  void check() const {
    for (std::size_t i = 0; i < written.size(); ++i)
      require(t.outbox.done[i].bits == 0 || written[i], "an item that nobody wrote is told of");
  }
  Control control;
  CrossingTunnel t{control, control, 4};
  LeavingMachine::Given given{};
  std::array<bool, 2> written{};
};
TEST(ExploreTeams, ATeamThatALaneHasLeftTellsNobodyOfItsSpan) { expect_no_failure<LeftTeam>(); }

}  // namespace
