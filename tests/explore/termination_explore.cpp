// The end check under every schedule: never a premature end, and the end always comes. Stages use the library's own
// put, get, end_tasks and close on views made by hand.
#include "hiway/grouping/team.hpp"
#include "hiway/inlet.hpp"
#include "hiway/outlet.hpp"
#include "hiway/termination.hpp"
#include "tests/explore/search.hpp"
#include "tests/explore/worlds.hpp"

namespace {

using namespace hiway;
using namespace hiway::explore;

/// Lanes converge within one of these only.
enum Site : unsigned { putting, getting, ending };

/// A tunnel of a ring, its ports and its end words.
struct SmallTunnel {
  SmallTunnel(std::uint32_t capacity, Control& shared) : r(capacity), control(shared) {}

  [[nodiscard]] InletView inlet(unsigned writer) {
    InletView v;
    v.ring = r.ring;
    v.control = &control;
    v.end = &end;
    v.ports = &inlets.at(writer);
    v.closed_executors = &closed;
    return v;
  }
  [[nodiscard]] OutletView outlet(unsigned reader) {
    OutletView v;
    v.ring = r.ring;
    v.control = &control;
    v.end = &end;
    v.ports = &outlets.at(reader);
    v.stage_ended = &stage_ended;
    return v;
  }
  void put(ExploreMachine m, unsigned writer, std::uint32_t value) {
    require(end.ended.bits == 0, "a put after the end");
    detail::put(m.at(putting), inlet(writer), WriteTorn{m, value});
  }
  void close(ExploreMachine m, unsigned writer) { detail::close(m, inlet(writer)); }

  /// Calls `work(value)` for each item until the tunnel has ended: a stage written by hand.
  template <class Work>
  void read(ExploreMachine m, unsigned reader, Work&& work) {
    OutletView const v = outlet(reader);
    for (unsigned misses = 0;;) {
      std::uint32_t x = 0;
      ExploreMachine const g = m.at(getting);
      if (detail::get_once(g, v, detail::together(g, v), true, Credit::early, ReadTorn{m, x})) {
        require(end.ended.bits == 0, "an end before the last task has begun");
        work(x);
        require(end.ended.bits == 0, "an end before the last task was ended");
        ExploreMachine const e = m.at(ending);
        ++tasks_ended;
        detail::end_tasks(e, v, detail::together(e, v), true);
        misses = 0;
      } else if (detail::tunnel_ended(m, v)) {
        return;
      } else {
        m.relax(misses++);
      }
    }
  }

  SmallRing r;
  Control& control;
  EndWords end;
  std::array<OutletPort, 2> outlets{};
  std::array<InletPort, 2> inlets{};
  Word<std::uint32_t> closed{0};
  Word<std::uint32_t> stage_ended{0};
  unsigned tasks_ended = 0;
};

/// Where the checker stands. Across it loads every count: only there an old one would show, because a read-modify-write
/// reads the newest.
enum class Checker : std::uint8_t { at_home, across };

/// The checker's table for at most two tunnels.
struct SmallTable {
  explicit SmallTable(Checker checker) : across(checker == Checker::across) { table.host_across = across; }

  /// A unit of the tunnels [first, last] that is open until `gates` of its writers have closed the first of them.
  void add_unit(unsigned first, unsigned last, std::uint32_t needed, Range upstream = {}) {
    UnitRecord& unit = units[table.unit_count++];
    for (unsigned t = first; t <= last; ++t) {
      terms[t] = {&tunnels[t]->outlets[0].finished, 2, sizeof(OutletPort), across};
      terms[2 + t] = {&tunnels[t]->r.words.claimed, 1, 0, across};
      ends[t] = {&tunnels[t]->end, nullptr, nullptr};
    }
    gates[first] = {&tunnels[first]->closed, needed, across};
    unit.finished = {first, last + 1};
    unit.created = {2 + first, 2 + last + 1};
    unit.gates = {first, needed != 0 ? first + 1 : first};
    unit.upstream = upstream;
    unit.tunnels = {first, last + 1};
    table.units = units.data();
    table.terms = terms.data();
    table.gates = gates.data();
    table.tunnels = ends.data();
    table.unit_list = unit_list.data();
  }
  /// A stage that reads the units [0, units).
  void add_stage(SmallTunnel& tunnel, std::uint32_t units_read) {
    stage = {&tunnel.stage_ended, {0, units_read}, across};
    table.stages = &stage;
    table.stage_count = 1;
  }
  bool across;
  std::array<SmallTunnel*, 2> tunnels{};
  std::array<UnitRecord, 2> units{};
  std::array<SumTerm, 4> terms{};
  std::array<CountGate, 2> gates{};
  std::array<TunnelEnds, 2> ends{};
  std::array<std::uint32_t, 2> unit_list{0, 1};
  StageRecordWords stage;
  TerminationTable table;
};

/// Rounds of the check until it has ended or found a fault; like the monitors, it also leaves when somebody else did.
/// In the worlds it comes behind the writers in turn: it looks while the readers are still at work, without a delay.
inline CheckResult check_to_the_end(ExploreMachine m, TerminationTable& table, Control& control) {
  for (unsigned misses = 0;; m.relax(misses++)) {
    if (CheckResult const result = check_round(m, table, control); result != CheckResult::open) return result;
    if (m.ballot(m.lanes(), is_aborted(m, control)) != 0) return CheckResult::faulted;
  }
}

/// What the worlds share: the control block and one or two tunnels.
template <std::uint32_t Capacity, unsigned Tunnels = 1, Checker At = Checker::at_home>
struct Pipes {
  Pipes() {
    table.tunnels[0] = &a;
    table.tunnels[1] = &b;
  }
  void require_end(unsigned tasks_of_a, unsigned tasks_of_b = 0) const {
    require(control.aborted.bits == 0, "a fault that nobody made");
    require(result == CheckResult::ended, "no end");
    require(a.tasks_ended == tasks_of_a && b.tasks_ended == tasks_of_b, "a task was lost");
    require(a.r.words.claimed.bits == tasks_of_a && b.r.words.claimed.bits == tasks_of_b, "a ticket too many");
  }
  Control control;
  SmallTunnel a{Capacity, control};
  SmallTunnel b{Tunnels == 2 ? Capacity : 1, control};
  SmallTable table{At};
  CheckResult result = CheckResult::open;
};

/// Two writers, `Readers` readers, one tunnel, and somebody who waits for the stage's end; the checker is a warp of
/// `CheckerLanes`.
template <std::uint32_t Capacity, unsigned Readers, unsigned Each, unsigned CheckerLanes, Checker At = Checker::at_home>
struct OneTunnel : Pipes<Capacity, 1, At> {
  static constexpr unsigned waits = 3 + Readers;
  static constexpr auto warps = [] {
    std::array<unsigned, 4 + Readers> lanes{};
    lanes.fill(1);
    lanes[2] = CheckerLanes;
    return lanes;
  }();
  OneTunnel() {
    this->table.add_unit(0, 0, 2);
    this->table.add_stage(this->a, 1);
  }
  void run(unsigned warp, ExploreMachine m) {
    if (warp < 2) {
      for (unsigned i = 0; i < Each; ++i) this->a.put(m, warp, i);
      traces.leave(m, warp);
      this->a.close(m, warp);
    } else if (warp == 2) {
      this->result = check_to_the_end(m, this->table.table, this->control);
    } else if (warp == waits) {
      OutletView const v = this->a.outlet(0);
      for (unsigned misses = 0; !detail::stage_ended(m, v); ++misses) m.relax(misses);
      traces.see_all(m);
    } else {
      this->a.read(m, warp - 3, [&](std::uint32_t) { traces.leave(m, warp - 1); });
      traces.see_all(m);
    }
  }
  void check() const {
    this->require_end(2 * Each);
    require(this->a.stage_ended.bits == 1, "the stage was not told");
  }
  Traces<2 + Readers> traces;
};
TEST(ExploreEnd, OneTunnelOfTwoWritersEnds) { expect_no_failure<OneTunnel<2, 1, 2, 1>>(); }
TEST(ExploreEnd, OneTunnelIsCheckedFromAcross) { expect_no_failure<OneTunnel<2, 1, 2, 1, Checker::across>>(); }
TEST(ExploreEnd, OneSlotOfTwoWritersAndTwoReadersEnds) { expect_no_failure<OneTunnel<1, 2, 1, 1>>(); }
TEST(ExploreEnd, AWarpChecksOneTunnel) { expect_no_failure<OneTunnel<2, 1, 1, 2>>(); }
TEST(ExploreEnd, AWarpChecksOneTunnelFromAcross) { expect_no_failure<OneTunnel<2, 1, 1, 2, Checker::across>>(); }

TEST(ExplorePlanted, AnEndWithoutReleasesIsFound) { expect_found<Weakened<OneTunnel<2, 1, 2, 1>, Weaken::releases>>(); }
TEST(ExplorePlanted, AnEndWithoutAcquiresIsFound) { expect_found<Weakened<OneTunnel<2, 1, 2, 1>, Weaken::acquires>>(); }

/// How the planted variants of a self-fed stage go wrong.
enum class Plant : std::uint8_t { none, reads_created_first, ends_task_before_its_puts };

/// The check as it must not be: it reads created before finished, and does not look again.
CheckResult broken_round(ExploreMachine m, TerminationTable& table) {
  UnitRecord& unit = table.units[0];
  if (!detail::gates_open(m, table, unit.gates)) return CheckResult::open;
  std::uint64_t const created = detail::sum_terms(m, table, unit.created, detail::Sum::created);
  std::uint64_t const finished = detail::sum_terms(m, table, unit.finished, detail::Sum::finished);
  if (finished != created) return CheckResult::open;
  detail::set_everywhere(m, table, unit, &EndWords::ended);
  return CheckResult::ended;
}

/// A stage of two threads that feeds itself: an item of value n makes one of n - 1.
template <Plant Bug, Checker At = Checker::at_home, unsigned CheckerLanes = 1>
struct SelfFed : Pipes<4, 1, At> {
  static constexpr std::array warps = {1u, CheckerLanes, 1u, 1u};
  SelfFed() { this->table.add_unit(0, 0, 1); }
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 1) {
      if constexpr (Bug == Plant::reads_created_first) {
        for (unsigned misses = 0; (this->result = broken_round(m, this->table.table)) == CheckResult::open;)
          m.relax(misses++);
      } else {
        this->result = check_to_the_end(m, this->table.table, this->control);
      }
    } else if (warp == 0) {
      this->a.put(m, 0, 2);
      this->a.put(m, 0, 0);
      this->a.close(m, 0);
    } else {
      this->a.read(m, warp - 2, [&](std::uint32_t n) {
        if (n == 0) return;
        if constexpr (Bug == Plant::ends_task_before_its_puts)
          m.fetch_add(this->a.outlets[warp - 2].finished, std::uint64_t{1}, MemoryOrder::acq_rel);
        this->a.put(m, 1, n - 1);
        if constexpr (Bug == Plant::ends_task_before_its_puts)
          m.fetch_add(this->a.outlets[warp - 2].finished, ~std::uint64_t{0}, MemoryOrder::acq_rel);
      });
    }
  }
  void check() const { this->require_end(4); }
};
TEST(ExploreEnd, AStageThatFeedsItselfEnds) { expect_no_failure<SelfFed<Plant::none>>(); }
TEST(ExploreEnd, AStageThatFeedsItselfIsCheckedFromAcross) {
  expect_no_failure<SelfFed<Plant::none, Checker::across>>();
}
// One lane of the check reads what the second reader finished, another what was created.
TEST(ExploreEnd, AStageThatFeedsItselfIsCheckedByAWarpFromAcross) {
  expect_no_failure<SelfFed<Plant::none, Checker::across, 2>>();
}
TEST(ExplorePlanted, ACheckThatReadsCreatedBeforeFinishedIsFound) {
  expect_found<SelfFed<Plant::reads_created_first>>();
}
TEST(ExplorePlanted, ATaskEndedBeforeItsPutsIsFound) { expect_found<SelfFed<Plant::ends_task_before_its_puts>>(); }

/// Two tunnels that feed each other end together. An item of a makes two of b for the first item, none for others.
struct Cycle : Pipes<4, 2> {
  static constexpr std::array warps = {1u, 1u, 1u, 1u};
  Cycle() { table.add_unit(0, 1, 1); }
  void run(unsigned warp, ExploreMachine m) {
    switch (warp) {
      case 1: result = check_to_the_end(m, table.table, control); break;
      case 0:
        a.put(m, 0, 3);
        a.close(m, 0);
        break;
      case 2:
        a.read(m, 0, [&](std::uint32_t n) {
          if (n == 3) b.put(m, 0, 1);
          if (n != 0) b.put(m, 0, n - 1);
        });
        break;
      default:
        b.read(m, 0, [&](std::uint32_t n) {
          if (n == 2) a.put(m, 1, 0);
        });
    }
  }
  void check() const { require_end(2, 2); }
};
TEST(ExploreEnd, TwoTunnelsInACycleEndTogether) { expect_no_failure<Cycle>(); }

/// A per-item stage between two tunnels: the second waits for the end of the first.
struct Chain : Pipes<2, 2> {
  static constexpr std::array warps = {1u, 1u, 1u, 1u};
  Chain() {
    table.add_unit(0, 0, 1);
    table.add_unit(1, 1, 0, {0, 1});
  }
  void run(unsigned warp, ExploreMachine m) {
    switch (warp) {
      case 1: result = check_to_the_end(m, table.table, control); break;
      case 0:
        a.put(m, 0, 1);
        a.put(m, 0, 2);
        a.close(m, 0);
        break;
      case 2: a.read(m, 0, [&](std::uint32_t n) { b.put(m, 0, n); }); break;
      default: b.read(m, 0, [](std::uint32_t) {});
    }
  }
  void check() const { require_end(2, 2); }
};
TEST(ExploreEnd, ATunnelBehindAnotherEndsAfterIt) { expect_no_failure<Chain>(); }

/// Somebody inside puts for no task while the check runs: the item is worked on, or it is a fault; never lost (T5).
template <Checker At, Atomics Puts>
struct PutForNoTask : Pipes<4, 1, At> {
  static constexpr std::array warps = {1u, 1u, 1u, 1u};
  PutForNoTask() { this->table.add_unit(0, 0, 1); }
  void run(unsigned warp, ExploreMachine m) {
    switch (warp) {
      case 1: this->result = check_to_the_end(m, this->table.table, this->control); break;
      case 0:
        this->a.put(m, 0, 0);
        this->a.close(m, 0);
        break;
      case 2: this->a.read(m, 0, [](std::uint32_t) {}); break;
      default: detail::put(m.with(Puts).at(putting), this->a.inlet(1), WriteTorn{m, 0});
    }
  }
  void check() const {
    if (this->control.aborted.bits == 0) return this->require_end(2);
    FaultKind const kind = this->control.record.kind;
    require(kind == FaultKind::put_without_task || kind == FaultKind::put_after_end, "another fault");
  }
};
TEST(ExploreEnd, APutForNoTaskIsWorkedOnOrRefused) {
  expect_no_failure<PutForNoTask<Checker::at_home, Atomics::of_gpu>>();
}
// No read-modify-write crosses the bus: there the put's side of T5 is a fence (docs/termination.md).
TEST(ExploreEnd, ACpusPutForNoTaskIsWorkedOnOrRefusedFromAcross) {
  expect_no_failure<PutForNoTask<Checker::across, Atomics::of_cpu>>();
}
TEST(ExploreEnd, AnX86PutForNoTaskIsWorkedOnOrRefusedFromAcross) {
  expect_no_failure<PutForNoTask<Checker::across, Atomics::of_x86>>();
}
TEST(ExplorePlanted, ATicketWithoutItsFenceIsLostToACheckFromAcross) {
  expect_found<PutForNoTask<Checker::across, Atomics::of_gpu>>();
}
TEST(ExplorePlanted, ACheckFromAcrossWithoutItsFenceIsFound) {
  expect_found<Weakened<PutForNoTask<Checker::across, Atomics::of_x86>, Weaken::fences>>();
}

/// One end_task too many is a fault in every schedule.
struct EndsTooMany : Pipes<2> {
  static constexpr std::array warps = {1u, 1u, 1u};
  EndsTooMany() { table.add_unit(0, 0, 1); }
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 1) {
      result = check_to_the_end(m, table.table, control);
    } else if (warp == 0) {
      a.put(m, 0, 0);
      a.put(m, 0, 1);
      a.close(m, 0);
    } else {
      OutletView const v = a.outlet(0);
      std::uint32_t x = 0;
      for (unsigned misses = 0; !detail::get_once(m, v, 1, true, Credit::early, ReadTorn{m, x});) m.relax(misses++);
      detail::end_tasks(m, v, 1, true);
      detail::end_tasks(m, v, 1, true);
      throw Failure{"an end_task too many returned"};
    }
  }
  void check() const {
    require(control.aborted.bits == 1 && control.ready.bits == 1, "no fault");
    require(control.record.kind == FaultKind::end_task_too_many, "another fault");
  }
};
TEST(ExploreEnd, OneEndTaskTooManyIsAFault) { expect_no_failure<EndsTooMany>(); }

/// Somebody faults at any time: nobody waits for ever, and the first fault is the one that is kept.
template <unsigned Readers>
struct Abort : Pipes<1> {
  static constexpr auto warps = [] {
    std::array<unsigned, 4 + Readers> lanes{};
    lanes.fill(1);
    return lanes;
  }();
  Abort() { table.add_unit(0, 0, 2); }
  void run(unsigned warp, ExploreMachine m) {
    if (warp < 2) {
      for (unsigned i = 0; i < 2; ++i) a.put(m, warp, i);
      a.close(m, warp);
    } else if (warp == 2) {
      result = check_to_the_end(m, table.table, control);
    } else if (warp == 3) {
      m.point();
      record_fault(m, control, FaultKind::failed, 7, no_id, 0);
    } else {
      a.read(m, warp - 4, [](std::uint32_t) {});
    }
  }
  void check() const {
    require(control.aborted.bits == 1 && control.ready.bits == 1, "the fault was lost");
    require(control.record.kind == FaultKind::failed && control.record.stage == 7, "another fault");
    require(result == CheckResult::faulted || a.tasks_ended == 4, "an end without the tasks");
  }
};
TEST(ExploreEnd, AnAbortEndsEveryWait) { expect_no_failure<Abort<1>>(); }
TEST(ExploreEnd, AnAbortEndsPutsThatNobodyGets) { expect_no_failure<Abort<0>>(); }

// ---- lanes of a warp that converge by chance: one claim for several, grants in part

/// A warp puts and closes lane by lane; a warp gets. Groups are whichever subsets chance makes.
template <std::uint32_t Capacity, unsigned Putting, unsigned Getting, unsigned Each, Checker At = Checker::at_home>
struct Warps : Pipes<Capacity, 1, At> {
  static constexpr std::array warps = {Putting, 1u, Getting};
  Warps() { this->table.add_unit(0, 0, 1); }
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 1) {
      this->result = check_to_the_end(m, this->table.table, this->control);
    } else if (warp == 0) {
      for (unsigned i = 0; i < Each; ++i) this->a.put(m, 0, ledger.item(m.lane(), i));
      traces.leave(m, m.lane());
      this->a.close(m, 0);
    } else {
      std::array<std::uint32_t, Putting> last{};
      this->a.read(m, 0, [&](std::uint32_t x) {
        ledger.got(x, last);
        traces.leave(m, Putting + m.lane());
      });
      traces.see_all(m);
    }
  }
  void check() const {
    ledger.check();
    this->require_end(ledger.total);
    this->a.r.check_rest(Capacity, ledger.total);
  }
  Ledger<Putting, Each> ledger;
  Traces<Putting + Getting> traces;
};
TEST(ExploreGrouping, AWarpOfThreePutsIntoTwoSlots) { expect_no_failure<Warps<2, 3, 1, 1>>(); }
TEST(ExploreGrouping, AWarpOfTwoPutsAndOneOfTwoGets) { expect_no_failure<Warps<2, 2, 2, 1>>(); }
TEST(ExploreGrouping, WarpsAreCheckedFromAcross) { expect_no_failure<Warps<2, 2, 2, 1, Checker::across>>(); }
TEST(ExploreGrouping, ALaneThatHasClosedLeavesTheOtherToPut) { expect_no_failure<Warps<1, 2, 1, 2>>(); }

// ---- teams: lanes that work on one item together, each on its part

template <class Team, std::uint32_t Capacity, unsigned Each, Checker At = Checker::at_home>
struct Teams : Pipes<Capacity, 1, At> {
  static constexpr std::array warps = {2u, 1u, 2u};
  Teams() { this->table.add_unit(0, 0, 1); }
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 1) {
      this->result = check_to_the_end(m, this->table.table, this->control);
      return;
    }
    Team const team{m};
    if (warp == 0) {
      for (std::uint32_t i = 0; i < Each; ++i) {
        detail::put_by_team(team, this->a.inlet(0), [&](std::byte* slot) {
          std::uint32_t const part = m.lane() == 0 ? i : ~i;
          m.point();
          m.writes(slot + m.lane() * sizeof part);
          std::memcpy(slot + m.lane() * sizeof part, &part, sizeof part);
        });
      }
      traces.leave(m, m.lane());
      this->a.close(m, 0);
      for (unsigned misses = 0; !detail::tunnel_ended(m, this->a.outlet(0)); ++misses) m.relax(misses);
      traces.see_all(m);
    } else {
      OutletView const v = this->a.outlet(0);
      while (detail::await_together(team, v, [&](std::byte const* slot) {
        Torn item;
        for (unsigned part = 0; part < 2; ++part) m.reads(slot + part * sizeof item.value);
        std::memcpy(&item, slot, sizeof item);
        require(item.complement == ~item.value, "an item is torn");
        m.point();
      })) {
        traces.leave(m, 2 + m.lane());
        if (m.lane() == 0) ++this->a.tasks_ended;
        detail::end_task_together(team, v);
      }
      traces.see_all(m);
    }
  }
  void check() const {
    this->require_end(Each);
    this->a.r.check_rest(Capacity, Each);
  }
  Traces<4> traces;
};
using Warp = WarpTeam<ExploreMachine>;
using Block = BlockTeam<ExploreMachine>;
TEST(ExploreTeams, TwoWarpsHandItemsOverInOneSlot) { expect_no_failure<Teams<Warp, 1, 2>>(); }
TEST(ExploreTeams, TwoBlocksHandItemsOverInTwoSlots) { expect_no_failure<Teams<Block, 2, 3>>(); }
TEST(ExplorePlanted, ATeamWithoutSyncWarpIsFound) { expect_found<Weakened<Teams<Warp, 1, 2>, Weaken::warp_syncs>>(); }

/// The library's loop of a warp, which ends a task behind its body.
template <std::uint32_t Capacity>
struct Loop : Pipes<Capacity> {
  static constexpr std::array warps = {1u, 1u, 2u};
  static constexpr unsigned total = 3;
  Loop() { this->table.add_unit(0, 0, 1); }
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 1) {
      this->result = check_to_the_end(m, this->table.table, this->control);
    } else if (warp == 0) {
      for (unsigned i = 0; i < total; ++i) this->a.put(m, 0, i);
      traces.leave(m, 0);
      this->a.close(m, 0);
    } else {
      detail::for_each<Torn>(m, this->a.outlet(0), m.lanes(), [&](Torn const& item) {
        require(item.complement == ~item.value && item.value < total && !seen[item.value], "a wrong item");
        seen[item.value] = true;
        m.point();
        traces.leave(m, 1 + m.lane());
        ++this->a.tasks_ended;
      });
      traces.see_all(m);
    }
  }
  void check() const {
    this->require_end(total);
    this->a.r.check_rest(Capacity, total);
  }
  std::array<bool, total> seen{};
  Traces<3> traces;
};
TEST(ExploreGrouping, AWarpsLoopWorksOnEveryItemBeforeTheEnd) { expect_no_failure<Loop<2>>(); }
TEST(ExplorePlanted, ALoopWithoutSyncWarpIsFound) { expect_found<Weakened<Loop<2>, Weaken::warp_syncs>>(); }

}  // namespace
