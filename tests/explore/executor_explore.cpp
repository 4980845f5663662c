// Whole executors: what the library itself does around a stage's function, what a drain counts, and single rounds of the
// end check.
#include "hiway/persistent.hpp"
#include "monitors/relay.hpp"
#include "tests/explore/pipes.hpp"
#include "tests/explore/search.hpp"

namespace {

using namespace hiway;
using namespace hiway::explore;

// ---- a stage given by a function of values: its results are put before its tasks end (T1)

struct Same {
  std::uint64_t operator()(std::uint64_t const& value) const { return value; }
};

template <unsigned Lanes>
struct ValueStage {
  static constexpr std::array warps = {1u, 1u, Lanes, 1u};
  static constexpr unsigned total = 2;
  ValueStage() {
    check_of.add(0, a, 1);
    check_of.add(1, b, 0);
  }
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 1) {
      result = check_of.to_the_end(m, control);
    } else if (warp == 0) {
      for (unsigned i = 0; i < total; ++i) a.put(m, control, 0, i);
      detail::close(m, a.inlet(control, 0));
    } else if (warp == 2) {
      OutletView const from = a.outlet(control, 0);
      InletView const into = b.inlet(control, 0);
      StageRunner<Same, From<std::uint64_t>, Into<std::uint64_t>>{{}}(m, &from, &into);
    } else {
      b.read(m, control, [&](std::uint64_t value) { seen.at(value) = true; });
    }
  }
  void check() const {
    require(control.aborted.bits == 0, "a fault that nobody made");
    require(result == CheckResult::ended, "no end");
    for (bool const s : seen) require(s, "an item was lost");
  }
  Control control;
  Pipe a{2};
  Pipe b{2};
  Check<2> check_of;
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

// ---- a warp that works on one item together (E2)

/// A warp puts items together; a warp gets them together, and each of its lanes puts one for each.
struct Teams {
  static constexpr std::array warps = {2u, 1u, 2u, 1u};
  static constexpr unsigned total = 2;
  using Warp = WarpTeam<ExploreMachine>;
  Teams() {
    check_of.add(0, a, 1);
    check_of.add(1, b, 0);
  }
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 1) {
      result = check_of.to_the_end(m, control);
    } else if (warp == 0) {
      for (std::uint32_t i = 0; i < total; ++i) {
        detail::put_by_team(Warp{m}, a.inlet(control, 0), [&](std::byte* slot) {  // each lane its half
          m.point();
          std::uint32_t const half = m.lane() == 0 ? i : ~i;
          std::memcpy(slot + m.lane() * sizeof half, &half, sizeof half);
          m.point();
        });
      }
      detail::close(m, a.inlet(control, 0));
    } else if (warp == 2) {
      OutletView const from = a.outlet(control, 0);
      for (;;) {
        std::uint32_t x = 0;
        if (!detail::await_together(Warp{m}, from, ReadTorn{m, x})) return;
        b.put(m.at(m.lane()), control, 0, 2 * x + m.lane());
        detail::end_task_together(Warp{m}, from);
      }
    } else {
      b.read(m, control, [&](std::uint64_t value) { seen.at(value) = true; });
    }
  }
  void check() const {
    require(control.aborted.bits == 0, "a fault that nobody made");
    require(result == CheckResult::ended, "no end");
    for (bool const s : seen) require(s, "an item was lost");
  }
  Control control;
  Pipe a{1};
  Pipe b{2};
  Check<2> check_of;
  CheckResult result = CheckResult::open;
  std::array<bool, 2 * total> seen{};
};
TEST(ExploreExecutor, AWarpWorksOnOneItemTogether) { expect_no_failure<Teams>(); }

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
      detail::put(m.at(1), inlets[0], WriteItem<std::uint64_t>{2 * block + m.lane()});
      if (block == 0) detail::close(m, inlets[0]);
    }
  };
  Blocks() { check_of.add(0, a, 2); }
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 2) {
      result = check_of.to_the_end(m, control);
    } else if (warp == 3) {
      a.read(m, control, [&](std::uint64_t value) { seen.at(value) = true; });
    } else {
      Source source{warp};
      run_persistent(m, source, Ends<Source>{{}, {a.inlet(control, warp)}, {&words}, &control});
    }
  }
  void check() const {
    require(control.aborted.bits == 0, "a fault that nobody made");
    require(result == CheckResult::ended, "no end");
    require(a.closed.bits == 2 && words.started.bits == 2 && words.returned.bits == 2, "a block was not counted once");
    for (bool const s : seen) require(s, "an item was lost");
  }
  Control control;
  Pipe a{4};
  Check<1> check_of;
  StageWords words;
  CheckResult result = CheckResult::open;
  std::array<bool, 4> seen{};
};
TEST(ExploreExecutor, BlocksCloseBehindTheirLastLane) { expect_no_failure<Blocks>(); }

// ---- a drain: what it moves is created in the outbox before it is finished in the pool

/// One slot and a pool of two; the reader gets from the outbox as from a whole ring.
struct SpillEnds {
  static constexpr std::array warps = {1u, 1u, 2u, 1u};
  static constexpr unsigned total = 3;
  SpillEnds() {
    check_of.add(0, a, 1);
    check_of.finished[1] = {&drained, 1, 8, false};
    check_of.created[1] = {&pool.words.claimed, 1, 8, false};
    ++check_of.units[0].finished.end;
    ++check_of.units[0].created.end;
  }
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 1) {
      result = check_of.to_the_end(m, control);
    } else if (warp == 0) {
      InletView v = a.inlet(control, 0);
      v.spill = &pool.ring;
      for (std::uint64_t i = 0; i < total; ++i) detail::put(m, v, WriteItem<std::uint64_t>{i});
      detail::close(m, v);
    } else if (warp == 2) {
      for (unsigned misses = 0; m.ballot(m.lanes(), m.load(a.end.ended, Order::acquire) != 0) == 0;) {
        if (step(m, drain, control)) {
          misses = 0;
        } else {
          m.relax(misses++);
        }
      }
    } else {
      a.read(m, control, [&](std::uint64_t value) { seen.at(value) = true; });
    }
  }
  void check() const {
    require(control.aborted.bits == 0, "a fault that nobody made");
    require(result == CheckResult::ended, "no end");
    for (bool const s : seen) require(s, "an item was lost");
  }
  Control control;
  Pipe a{1};
  SmallRing pool{4};
  Word<std::uint64_t> drained{0};
  Drain drain{.pool = pool.ring, .outbox = a.r.ring, .drained = &drained};
  Check<1> check_of;
  CheckResult result = CheckResult::open;
  std::array<bool, total> seen{};
};
TEST(ExploreExecutor, ATunnelThatSpillsEndsBehindItsDrain) { expect_no_failure<SpillEnds>(); }

// ---- one round of the check, word by word

/// A task is ended, and so is everything, but for the fault that was recorded before.
TEST(ExploreEnd, ARoundBehindAFaultAnnouncesNothing) {
  Control control;
  Pipe a(2);
  Check<1> check;
  check.add(0, a, 0);
  control.aborted.bits = 1;
  EXPECT_EQ(check.round(ThreadMachine{}, control), CheckResult::faulted);
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

/// A stage that reads two tunnels leaves when both have ended.
TEST(ExploreEnd, AStageOfTwoTunnelsIsToldBehindTheSecond) {
  Control control;
  Pipe a(2);
  Pipe b(2);
  Check<2> check;
  check.add(0, a, 0);
  check.add(1, b, 1);
  EXPECT_EQ(check.round(ThreadMachine{}, control), CheckResult::open);
  EXPECT_EQ(a.end.ended.bits, 1u);
  EXPECT_EQ(a.stage_ended.bits, 1u);
  EXPECT_EQ(b.stage_ended.bits, 0u);
  b.closed.bits = 1;
  EXPECT_EQ(check.round(ThreadMachine{}, control), CheckResult::ended);
  EXPECT_EQ(b.stage_ended.bits, 1u);
}

}  // namespace
