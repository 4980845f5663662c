// Whole executors: what the library itself does around a stage's function, and single rounds of the end check.
#include "hiway/persistent.hpp"
#include "tests/explore/search.hpp"
#include "tests/explore/tunnels.hpp"

namespace {

using namespace hiway;
using namespace hiway::explore;

/// The tunnel's unit, behind the units `upstream`, and the stage that reads it.
void add_unit(CheckTable& table, LocalTunnel& t, std::initializer_list<CountGate> gates,
              std::initializer_list<std::uint32_t> upstream = {}) {
  auto const number = static_cast<std::uint32_t>(table.units.size());
  table.add({.finished = {t.finished()},
             .created = {t.created()},
             .gates = gates,
             .tunnels = {t.ends()},
             .upstream = upstream});
  if (number == 0) {
    table.add_stage(t.reading_stage(), {0});
  } else {
    table.add_stage(t.reading_stage(), {0, 1});
  }
}

// ---- a stage given by a function of values: its results are put before its tasks end (T1)

struct Same {
  std::uint64_t operator()(std::uint64_t const& value) const { return value; }
};

template <unsigned Lanes>
struct ValueStage {
  static constexpr std::array warps = {1u, 1u, Lanes, 1u};
  static constexpr unsigned total = 2;
  ValueStage() {
    add_unit(table, a, {a.closed_by(1)});
    add_unit(table, b, {}, {0});
  }
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 1) {
      result = check_to_the_end(m, table.table, control);
    } else if (warp == 0) {
      for (unsigned i = 0; i < total; ++i) a.put(m, 0, i);
      a.close(m, 0);
    } else if (warp == 2) {
      OutletView const from = a.outlet(0);
      InletView const into = b.inlet(0);
      StageRunner<Same, From<std::uint64_t>, Into<std::uint64_t>>{{}}(m, &from, &into);
    } else {
      b.read(m, 0, [&](std::uint32_t value) { seen.at(value) = true; });
    }
  }
  void check() const {
    require(control.aborted.bits == 0, "a fault that nobody made");
    require(result == CheckResult::ended, "no end");
    for (bool const s : seen) require(s, "an item was lost");
  }
  Control control;
  LocalTunnel a{control, 2};
  LocalTunnel b{control, 2};
  CheckTable table;
  CheckResult result = CheckResult::open;
  std::array<bool, total> seen{};
};
TEST(ExploreExecutor, AStageOfValuesEndsBehindItsResults) { expect_no_failure<ValueStage<1>>(); }
TEST(ExploreExecutor, AWarpOfAStageOfValuesEndsBehindItsResults) { expect_no_failure<ValueStage<2>>(); }

/// Somebody faults while the stage is at work: it leaves.
struct ValueStageAborts : ValueStage<1> {
  static constexpr std::array warps = {1u, 1u, 1u, 1u, 1u};
  void run(unsigned warp, ExploreMachine m) {
    if (warp < 4) return ValueStage<1>::run(warp, m);
    m.point();
    record_fault(m, control, FaultKind::failed, 7, no_id, 0);
  }
  void check() const { require(control.record.stage == 7, "the fault was lost"); }
};
TEST(ExploreExecutor, AnAbortEndsAStageOfValues) { expect_no_failure<ValueStageAborts>(); }

// ---- blocks: what one has left open is closed behind its last lane, and counted once

/// A block closes by itself, the other leaves it to the library.
struct Blocks {
  static constexpr std::array warps = {2u, 2u, 1u, 1u};
  struct Source {
    static constexpr unsigned outlet_count = 0;
    static constexpr unsigned inlet_count = 1;
    static constexpr unsigned stage_count = 1;
    unsigned block;
    void operator()(ExploreMachine m, OutletView const*, InletView const* inlets) const {
      detail::put(m.at(putting), inlets[0], WriteTorn{m, 2 * block + m.lane()});
      if (block == 0) detail::close(m, inlets[0]);
    }
  };
  Blocks() { add_unit(table, a, {a.closed_by(2)}); }
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 2) {
      result = check_to_the_end(m, table.table, control);
    } else if (warp == 3) {
      a.read(m, 0, [&](std::uint32_t value) { seen.at(value) = true; });
    } else {
      Source source{warp};
      run_persistent(m, source, Ends<Source>{{}, {a.inlet(warp)}, {&words}, no_id, &control});
    }
  }
  void check() const {
    require(control.aborted.bits == 0, "a fault that nobody made");
    require(result == CheckResult::ended, "no end");
    require(a.closed.bits == 2 && words.started.bits == 2 && words.returned.bits == 2, "a block was not counted once");
    for (bool const s : seen) require(s, "an item was lost");
  }
  Control control;
  LocalTunnel a{control, 4};
  CheckTable table;
  StageWords words;
  CheckResult result = CheckResult::open;
  std::array<bool, 4> seen{};
};
TEST(ExploreExecutor, BlocksCloseBehindTheirLastLane) { expect_no_failure<Blocks>(); }

// ---- one round of the check, word by word

/// A task is ended, and so is everything, but for the fault that was recorded before.
TEST(ExploreEnd, ARoundBehindAFaultAnnouncesNothing) {
  Control control;
  LocalTunnel a(control, 2);
  CheckTable check;
  add_unit(check, a, {});
  control.aborted.bits = 1;
  EXPECT_EQ(check_round(ThreadMachine{}, check.table, control), CheckResult::faulted);
  EXPECT_EQ(a.end.closed.bits + a.end.ended.bits + a.stage_ended.bits, 0u);
}

/// Lanes that read side by side sum what all of them read.
struct WarpSums {
  static constexpr std::array warps = {2u};
  void run(unsigned, ExploreMachine m) {
    for (detail::Sum const kind : {detail::Sum::finished, detail::Sum::created})
      require(detail::sum_terms(m, table, {0, 2}, kind) == 31, "a word is not in the sum");
  }
  void check() const {}
  std::array<Word<std::uint64_t>, 3> first{{{1}, {2}, {4}}};
  std::array<Word<std::uint64_t>, 2> second{{{8}, {16}}};
  std::array<SumTerm, 2> terms{{{first.data(), 3, 8, false}, {second.data(), 2, 8, true}}};
  TerminationTable table{.terms = terms.data()};
};
TEST(ExploreEnd, AWarpsSumHasEveryWord) { expect_no_failure<WarpSums>(); }

/// A clock that the test sets.
struct Timed : ThreadMachine {
  std::uint64_t const* now;
  [[nodiscard]] std::uint64_t now_ns() const { return *now; }
};
/// With a time-out a closed tunnel is looked at when nothing has moved in it for that time, and not before.
TEST(ExploreEnd, WithATimeOutAMoveStartsTheTimeAgain) {
  std::uint64_t now = 1000;
  Timed const m{{}, &now};
  Control control;
  LocalTunnel a(control, 2);
  CheckTable check;
  add_unit(check, a, {a.closed_by(1)});
  check.table.time_out_ns = 100;
  auto const round_at = [&](std::uint64_t time) {
    now = time;
    return check_round(m, check.table, control);
  };
  Word<std::uint64_t>& created = a.ring.words.claimed;
  Word<std::uint64_t>& finished = a.outlets[0].finished;
  EXPECT_EQ(round_at(5000), CheckResult::open);  // the gate is not open
  created.bits = 2;
  a.closed.bits = 1;
  EXPECT_EQ(round_at(9000), CheckResult::open);
  EXPECT_EQ(round_at(9099), CheckResult::open);
  finished.bits = 1;
  EXPECT_EQ(round_at(9100), CheckResult::open);
  created.bits = 3;  // the task has put another
  EXPECT_EQ(round_at(9199), CheckResult::open);
  finished.bits = 3;
  EXPECT_EQ(round_at(9298), CheckResult::open);
  EXPECT_EQ(round_at(9397), CheckResult::open);
  EXPECT_EQ(a.end.closed.bits + a.end.ended.bits, 0u);
  EXPECT_EQ(round_at(9398), CheckResult::ended);
  EXPECT_EQ(a.end.closed.bits, 1u);
  EXPECT_EQ(a.end.ended.bits, 1u);
  EXPECT_EQ(control.aborted.bits, 0u);
}

/// The time runs before the gate opens: that of a line's tunnels passes at once.
TEST(ExploreEnd, WithATimeOutTheTimeOfAClosedGateCounts) {
  std::uint64_t now = 1000;
  Timed const m{{}, &now};
  Control control;
  LocalTunnel a(control, 1);
  CheckTable check;
  add_unit(check, a, {a.closed_by(1)});
  check.table.time_out_ns = 100;
  a.ring.words.claimed.bits = 2;
  a.outlets[0].finished.bits = 2;
  EXPECT_EQ(check_round(m, check.table, control), CheckResult::open);
  now = 1100;
  EXPECT_EQ(check_round(m, check.table, control), CheckResult::open);
  a.closed.bits = 1;
  EXPECT_EQ(check_round(m, check.table, control), CheckResult::ended);
}

/// It is one time for all: a tunnel that stands still has not ended while items move in another.
TEST(ExploreEnd, WithATimeOutAMoveElsewhereStartsTheTimeAgain) {
  std::uint64_t now = 1000;
  Timed const m{{}, &now};
  Control control;
  LocalTunnel a(control, 1);
  LocalTunnel b(control, 1);
  CheckTable check;
  add_unit(check, a, {});
  add_unit(check, b, {});
  check.table.time_out_ns = 100;
  b.ring.words.claimed.bits = 2;
  EXPECT_EQ(check_round(m, check.table, control), CheckResult::open);
  now = 1080;
  b.outlets[0].finished.bits = 1;
  EXPECT_EQ(check_round(m, check.table, control), CheckResult::open);
  now = 1100;
  EXPECT_EQ(check_round(m, check.table, control), CheckResult::open);
  EXPECT_EQ(a.end.ended.bits, 0u);
  b.outlets[0].finished.bits = 2;
  EXPECT_EQ(check_round(m, check.table, control), CheckResult::open);
  now = 1200;
  EXPECT_EQ(check_round(m, check.table, control), CheckResult::ended);
  EXPECT_EQ(a.end.ended.bits, 1u);
}

/// What waited for a gate, or for another tunnel's end, is not too slow at once.
TEST(ExploreEnd, WithATimeOutTasksGetTheirTimeWhenAGateOpensOrATunnelEnds) {
  std::uint64_t now = 1000;
  Timed const m{{}, &now};
  Control control;
  LocalTunnel a(control, 1);
  LocalTunnel b(control, 1);
  CheckTable check;
  add_unit(check, a, {a.closed_by(1)});
  add_unit(check, b, {});
  check.table.time_out_ns = 100;
  b.ring.words.claimed.bits = 1;  // its task waits for the end of a
  EXPECT_EQ(check_round(m, check.table, control), CheckResult::open);
  now = 1090;
  a.closed.bits = 1;
  EXPECT_EQ(check_round(m, check.table, control), CheckResult::open);  // opens the gate
  now = 1120;
  EXPECT_EQ(check_round(m, check.table, control), CheckResult::open);
  EXPECT_EQ(a.end.ended.bits, 1u);
  now = 1210;
  EXPECT_EQ(check_round(m, check.table, control), CheckResult::open);
  now = 1220;
  EXPECT_EQ(check_round(m, check.table, control), CheckResult::faulted);
  EXPECT_EQ(control.record.kind, FaultKind::time_out_too_short);
}

/// A warp goes by one lane's clock: lanes that go by their own part over whether the time is up.
struct WarpWithClocks {
  static constexpr std::array warps = {2u};
  struct Clocks : ExploreMachine {
    std::uint64_t now;
    [[nodiscard]] std::uint64_t now_ns() const { return now + 60 * lane(); }
  };
  WarpWithClocks() {
    add_unit(table, a, {});
    table.table.time_out_ns = 100;
  }
  void run(unsigned, ExploreMachine m) {
    for (std::uint64_t const now : {1000u, 1050u})
      require(check_round(Clocks{m, now}, table.table, control) == CheckResult::open, "an end before the time");
    require(check_round(Clocks{m, 1100}, table.table, control) == CheckResult::ended, "no end");
  }
  void check() const { require(control.aborted.bits == 0, "a fault that nobody made"); }
  Control control;
  LocalTunnel a{control, 2};
  CheckTable table;
};
TEST(ExploreEnd, WithATimeOutAWarpGoesByOneClock) { expect_no_failure<WarpWithClocks>(); }

/// Nothing has moved for the time, and tasks are left: no end, for it would lose them.
TEST(ExploreEnd, WithATimeOutTasksThatAreLeftAreAFault) {
  std::uint64_t now = 1000;
  Timed const m{{}, &now};
  Control control;
  LocalTunnel a(control, 4);
  CheckTable check;
  add_unit(check, a, {});
  check.units[0].reader_stage = 7;
  check.units[0].tunnel = 5;
  check.table.time_out_ns = 100;
  a.ring.words.claimed.bits = 4;
  a.outlets[1].finished.bits = 1;
  EXPECT_EQ(check_round(m, check.table, control), CheckResult::open);
  now += 100;
  EXPECT_EQ(check_round(m, check.table, control), CheckResult::faulted);
  EXPECT_EQ(a.end.closed.bits + a.end.ended.bits, 0u);
  EXPECT_EQ(control.record.kind, FaultKind::time_out_too_short);
  EXPECT_EQ(control.record.stage, 7u);
  EXPECT_EQ(control.record.tunnel, 5u);
  EXPECT_EQ(control.record.item, 3u);
}

/// A stage that reads two tunnels leaves when both have ended.
TEST(ExploreEnd, AStageOfTwoTunnelsIsToldBehindTheSecond) {
  Control control;
  LocalTunnel a(control, 2);
  LocalTunnel b(control, 2);
  CheckTable check;
  add_unit(check, a, {});
  add_unit(check, b, {b.closed_by(1)});
  EXPECT_EQ(check_round(ThreadMachine{}, check.table, control), CheckResult::open);
  EXPECT_EQ(a.end.ended.bits, 1u);
  EXPECT_EQ(a.stage_ended.bits, 1u);
  EXPECT_EQ(b.stage_ended.bits, 0u);
  b.closed.bits = 1;
  EXPECT_EQ(check_round(ThreadMachine{}, check.table, control), CheckResult::ended);
  EXPECT_EQ(b.stage_ended.bits, 1u);
}

}  // namespace
