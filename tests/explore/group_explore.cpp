// Groups under every schedule: two stages in one kernel, whose executors take the stage with most work.
#include "hiway/group.hpp"
#include "hiway/persistent.hpp"
#include "tests/explore/search.hpp"
#include "tests/explore/tunnels.hpp"

namespace {

using namespace hiway;
using namespace hiway::explore;

struct Increment {
  Torn operator()(Torn const& item) const {
    require(item.complement == ~item.value, "an item is torn");
    return {item.value + 1, ~(item.value + 1)};
  }
};

template <unsigned Total>
struct Collect {
  std::array<bool, Total>* seen;
  void operator()(Torn const& item) const {
    require(item.complement == ~item.value, "an item is torn");
    require(item.value - 1 < Total && !(*seen)[item.value - 1], "an item came twice, or nobody put it");
    (*seen)[item.value - 1] = true;
  }
};

/// `Blocks` executors of `Lanes` lanes run both stages. What lies between them spills: one slot, and a pool of two. The
/// writer from outside puts a last item between them when the first stage may have ended.
template <unsigned Blocks, unsigned Lanes>
struct Group {
  static constexpr unsigned total = 3;
  static constexpr auto warps = [] {
    std::array<unsigned, 2 + Blocks> lanes{};
    lanes.fill(Lanes);
    lanes[0] = lanes[1] = 1;
    return lanes;
  }();
  using Runner =
      GroupRunner<StageRunner<Increment, From<Torn>, Into<Torn>>, StageRunner<Collect<total>, From<Torn>, Into<>>>;

  Group() {
    table.add({.finished = {a.finished()}, .created = {a.created()}, .gates = {a.closed_by(1)}, .tunnels = {a.ends()}});
    table.add({.finished = {b.finished()},
               .created = {b.created(), b.spilled()},
               .gates = {{&last_closed, 1, false}},
               .tunnels = {b.ends()},
               .upstream = {0}});
    table.add_stage(a.reading_stage(), {0});
    table.add_stage(b.reading_stage(), {1});
  }
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 0) {
      for (unsigned i = 0; i + 1 < total; ++i) a.put(m, 0, i);
      a.close(m, 0);
      InletView last = b.inlet(2);
      last.spill = nullptr;
      last.closed_executors = &last_closed;
      detail::put(m.at(putting), last, WriteTorn{m, total});
      detail::close(m, last);
    } else if (warp == 1) {
      result = check_to_the_end(m, table.table, control);
    } else {
      unsigned const block = warp - 2;
      Runner runner{{Increment{}}, {{Collect<total>{&seen}}, {}}};
      Ends<Runner> const ends{.outlets = {a.outlet(block), b.outlet(block)},
                              .inlets = {b.inlet(block)},
                              .stages = {&first, &second},
                              .control = &control};
      run_persistent(m, runner, ends);
    }
  }
  void check() const {
    require(control.aborted.bits == 0 && result == CheckResult::ended, "no end");
    for (bool const s : seen) require(s, "an item was lost");
    require(a.tickets() + 1 == total && b.tickets() == total, "a ticket too many");
    require(first.returned.bits == Blocks && second.returned.bits == Blocks, "an executor has not returned");
    a.check_rest();
    b.check_rest();
  }
  Control control;
  LocalTunnel a{control, 2};
  LocalTunnel b{control, 1, 2};
  Word<std::uint32_t> last_closed{0};  ///< the outside writer's
  StageWords first;
  StageWords second;
  CheckTable table;
  CheckResult result = CheckResult::open;
  std::array<bool, total> seen{};
};
TEST(ExploreGroup, OneExecutorRunsBothStagesToTheEnd) { expect_no_failure<Group<1, 1>>(); }
TEST(ExploreGroup, TwoExecutorsShareBothStages) { expect_no_failure<Group<2, 1>>(); }
TEST(ExploreGroup, AWarpStaysTogetherInEachStage) { expect_no_failure<Group<1, 2>>(); }

}  // namespace
