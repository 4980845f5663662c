// A throttle beside the end check, under every schedule: a stage that feeds itself reads its outside tunnel to the end
// before it reads its own. It waits for a writer that the throttle makes wait for it, until the throttle gives up.
#include "hiway/inlet.hpp"
#include "hiway/outlet.hpp"
#include "monitors/throttle.hpp"
#include "tests/explore/search.hpp"
#include "tests/explore/worlds.hpp"

namespace {

using namespace hiway;
using namespace hiway::explore;

enum class Patience : std::uint8_t { limited, endless };

/// One writer, the stage, the checker. The tunnel `in` has one slot, `own` has one slot and a pool of `PoolItems`.
template <Patience Kind, unsigned PoolItems, unsigned CheckerLanes>
struct OutsideFirst {
  static constexpr std::array warps = {1u, 1u, CheckerLanes};
  static constexpr unsigned total = PoolItems + 1;  // one lies in the slot

  OutsideFirst() {
    terms = {{{&in_outlet.finished, 1, 0, false},
              {&own_outlet.finished, 1, 0, false},
              {&in.words.claimed, 1, 0, false},
              {&own.words.claimed, 1, 0, false},
              {&pool.words.claimed, 1, 0, false}}};
    gates[0] = {&in_closed, 1, false};
    gates[1] = {&own_closed, 1, false};
    ends = {{{&in_end, nullptr, nullptr}, {&own_end, nullptr, nullptr}}};
    UnitRecord& in_unit = units[0];
    in_unit.finished = {0, 1};
    in_unit.created = {2, 3};
    in_unit.gates = {0, 1};
    in_unit.tunnels = {0, 1};
    UnitRecord& own_unit = units[1];
    own_unit.finished = {1, 2};
    own_unit.created = {3, 5};
    own_unit.upstream = {0, 1};
    own_unit.tunnels = {1, 2};
    table.units = units.data();
    table.unit_count = 2;
    table.terms = terms.data();
    table.gates = gates.data();
    table.tunnels = ends.data();
    table.unit_list = unit_list.data();
    pools = {&pool.words, PoolItems, false};
    entry = {&in_end.throttled, false};
    cycle.pools = {0, 1};
    cycle.entries = {0, 1};
    throttles.cycles = &cycle;
    throttles.cycle_count = 1;
    throttles.pools = &pools;
    throttles.entries = &entry;
  }
  InletView inlet(SmallRing& ring, EndWords& end, InletPort& port, Word<std::uint32_t>& closed) {
    InletView v;
    v.ring = ring.ring;
    v.control = &control;
    v.end = &end;
    v.ports = &port;
    v.closed_executors = &closed;
    return v;
  }
  OutletView outlet(SmallRing& ring, EndWords& end, OutletPort& port) {
    OutletView v;
    v.ring = ring.ring;
    v.control = &control;
    v.end = &end;
    v.ports = &port;
    return v;
  }
  template <class Work>
  static void read(ExploreMachine m, OutletView const& v, Work&& work) {
    for (unsigned misses = 0;;) {
      std::uint32_t x = 0;
      if (detail::get_once(m, v, 1, true, Credit::early, ReadTorn{m, x})) {
        require(v.end->ended.bits == 0, "an end before the last task has begun");
        work(x);
        detail::end_tasks(m, v, 1, true);
        misses = 0;
      } else if (detail::tunnel_ended(m, v)) {
        return;
      } else {
        m.relax(misses++);
      }
    }
  }

  void run(unsigned warp, ExploreMachine m) {
    if (warp == 0) {
      InletView v = inlet(in, in_end, in_inlet, in_closed);
      v.throttled = &in_end.throttled;
      for (unsigned i = 0; i < total; ++i) detail::put(m, v, WriteTorn{m, i});
      detail::close(m, v);
    } else if (warp == 1) {
      InletView v = inlet(own, own_end, own_inlet, own_closed);
      v.spill = &pool.ring;
      OutletView from_own = outlet(own, own_end, own_outlet);
      from_own.spill = &pool.ring;
      read(m, outlet(in, in_end, in_outlet), [&](std::uint32_t x) { detail::put(m, v, WriteTorn{m, x}); });
      read(m, from_own, [&](std::uint32_t x) {
        require(x < total && !seen[x], "an item came twice, or nobody put it");
        seen[x] = true;
      });
    } else {
      check(m);
    }
  }
  /// The clock ticks while it throttles; a checker that only waits sleeps like everybody (explorer.hpp S2).
  void check(ExploreMachine m) {
    for (unsigned misses = 0;; m.relax(misses++)) {
      step(m, throttles, m.load(clock_ns, MemoryOrder::relaxed));
      bool const ticks = Kind == Patience::limited && cycle.state.throttle == Throttle::throttled;
      by_one_lane(m, [&] {
        if (ticks) m.fetch_add(clock_ns, throttle_patience_ns / 2, MemoryOrder::relaxed);
      });
      result = check_round(m, table, control);
      if (result != CheckResult::open) return;
    }
  }
  void check() const {
    require(control.aborted.bits == 0, "a fault that nobody made");
    require(result == CheckResult::ended, "no end");
    for (bool const s : seen) require(s, "an item was lost");
  }

  SmallRing in{1};
  SmallRing own{1};
  SmallRing pool{PoolItems};
  Control control;
  EndWords in_end, own_end;
  OutletPort in_outlet, own_outlet;
  InletPort in_inlet, own_inlet;
  Word<std::uint32_t> in_closed{0}, own_closed{0};
  Word<std::uint64_t> clock_ns{1};
  std::array<UnitRecord, 2> units{};
  std::array<SumTerm, 5> terms{};
  std::array<CountGate, 2> gates{};
  std::array<TunnelEnds, 2> ends{};
  std::array<std::uint32_t, 2> unit_list{0, 1};
  TerminationTable table;
  PoolWords pools;
  ThrottledEntry entry;
  CycleRecord cycle;
  ThrottleTable throttles;
  CheckResult result = CheckResult::open;
  std::array<bool, total> seen{};
};
// With one item in the slot of `own` and two of three in its pool it throttles, and the writer has a fourth.
TEST(ExploreThrottle, AStageThatReadsOutsideFirstIsNotStopped) {
  expect_no_failure<OutsideFirst<Patience::limited, 3, 1>>();
}
TEST(ExploreThrottle, AWarpThrottlesAndGivesUp) { expect_no_failure<OutsideFirst<Patience::limited, 3, 2>>(); }
TEST(ExplorePlanted, AThrottleThatNeverGivesUpIsFound) { expect_found<OutsideFirst<Patience::endless, 3, 1>>(); }

}  // namespace
