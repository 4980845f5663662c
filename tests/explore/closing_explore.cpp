// Who closes, and when, under every schedule: executors that return, close early or unwind; last results behind a loop;
// puts that race the close and the end.
#include "tests/explore/search.hpp"
#include "tests/explore/tunnels.hpp"

namespace {

using namespace hiway;
using namespace hiway::explore;

/// Two executors write. One has two lanes, of which one closes twice and the other only returns; the other one closes.
struct Writers : CheckedTunnel {
  static constexpr std::array warps = {2u, 1u, 1u, 1u};
  Writers() : CheckedTunnel({.capacity = 2, .writers = 2}) {}
  void run(unsigned warp, ExploreMachine m) {
    switch (warp) {
      case 0:
        run_executor(m, t, 0, words, [&] {
          t.put(m, 0, m.lane());
          for (unsigned i = 0; i < 2 && m.lane() == 0; ++i) t.close(m, 0);
        });
        break;
      case 1:
        run_executor(m, t, 1, words, [&] {
          t.put(m, 1, 2);
          t.close(m, 1);
        });
        break;
      case 2: check_to_the_end(m); break;
      default: t.read(m, 0, [](std::uint32_t) {});
    }
  }
  void check() const {
    require_end(3);
    require(t.closed.bits == 2, "an executor is not counted once as closed");
    require(words.started.bits == 2 && words.returned.bits == 2, "an executor is not counted once as returned");
  }
  StageWords words;
};
TEST(ExploreClosing, ExecutorsThatCloseOrReturnAreCountedOnce) { expect_no_failure<Writers>(); }

/// A stage of two executors reads a, and puts its last results into b behind its loop; one of them closes b itself.
struct LastResults {
  static constexpr std::array warps = {1u, 1u, 1u, 1u, 1u};
  LastResults() {
    table.add({.finished = {a.finished()}, .created = {a.created()}, .gates = {a.closed_by(1)}, .tunnels = {a.ends()}});
    table.add({.finished = {b.finished()}, .created = {b.created()}, .gates = {b.closed_by(2)}, .tunnels = {b.ends()}});
    table.add_stage(a.reading_stage(), {0});
    table.add_stage(b.reading_stage(), {1});
  }
  void run(unsigned warp, ExploreMachine m) {
    switch (warp) {
      case 0:
        a.put(m, 0, 1);
        a.close(m, 0);
        break;
      case 1: result = check_to_the_end(m, table.table, control); break;
      case 4: b.read(m, 0, [&](std::uint32_t n) { sum += n; }); break;
      default: {
        unsigned const number = warp - 2;
        run_executor(m, b, number, words, [&] {
          std::uint32_t mine = 10;
          a.read(m, number, [&](std::uint32_t n) { mine += n; });
          b.put(m, number, mine);
          if (number == 1) b.close(m, 1);
        });
      }
    }
  }
  void check() const {
    require(control.aborted.bits == 0 && result == CheckResult::ended, "no end");
    require(sum == 21 && b.tasks_ended == 2, "a last result was lost");
    require(b.closed.bits == 2 && words.returned.bits == 2, "an executor is not counted once");
    require(b.stage_ended.bits == 1, "the stage was not told");
  }
  Control control;
  LocalTunnel a{control, 1};
  LocalTunnel b{control, 2};
  StageWords words;
  CheckTable table;
  CheckResult result = CheckResult::open;
  std::uint32_t sum = 0;
};
TEST(ExploreClosing, LastResultsBehindALoopArriveBeforeTheEnd) { expect_no_failure<LastResults>(); }

/// One executor faults at any time, the other returns: who unwinds closes nothing, so there is no end.
struct Unwinds : CheckedTunnel {
  static constexpr std::array warps = {1u, 1u, 1u, 1u};
  Unwinds() : CheckedTunnel({.capacity = 2, .writers = 2}) {}
  void run(unsigned warp, ExploreMachine m) {
    switch (warp) {
      case 0:
        run_executor(m, t, 0, words, [&] {
          t.put(m, 0, 0);
          detail::fail_at(m, t.inlet(0), "it fails");
        });
        throw Failure{"a fault returned"};
      case 1: run_executor(m, t, 1, words, [&] { t.put(m, 1, 1); }); break;
      case 2: check_to_the_end(m); break;
      default: t.read(m, 0, [](std::uint32_t) {});
    }
  }
  void check() const {
    require(control.record.kind == FaultKind::failed && control.ready.bits == 1, "another fault");
    require(result == CheckResult::faulted && t.end.ended.bits == 0, "an end in spite of a fault");
    require(t.closed.bits <= 1 && words.returned.bits <= 1, "who unwinds closes");
    require(t.closed.bits >= words.returned.bits, "an executor returned without closing");
  }
  StageWords words;
};
TEST(ExploreClosing, AnExecutorThatUnwindsClosesNothing) { expect_no_failure<Unwinds>(); }

/// Two executors read and return early, each after one item: when the last has returned, what is left is a fault.
struct ReadersWords {  // there before the table that names them
  StageWords words;
};
template <unsigned Items>
struct ReturnEarly : ReadersWords, CheckedTunnel {
  static constexpr std::array warps = {1u, 1u, 1u, 1u};
  ReturnEarly() : CheckedTunnel({.capacity = 1, .readers = {{&words.returned, 2, false}}}) {}
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 0) {
      for (unsigned i = 0; i < Items; ++i) t.put(m, 0, i);
      t.close(m, 0);
    } else if (warp == 1) {
      check_to_the_end(m);
    } else {
      run_executor(m, results, warp - 2, words, [&] {
        for (unsigned misses = 0;; m.relax(misses++)) {
          std::uint32_t x = 0;
          if (t.try_get(m, warp - 2, x)) return t.end_task(m, warp - 2);
          if (detail::tunnel_ended(m, t.outlet(warp - 2))) return;
        }
      });
    }
  }
  void check() const {
    require(t.tasks_ended == 2, "a reader got nothing");
    if (Items == 2) return require_end(2);
    require(control.record.kind == FaultKind::items_left && control.ready.bits == 1, "another fault");
    require(result == CheckResult::faulted && t.end.ended.bits == 0, "an end with items left");
  }
  LocalTunnel results{control, 1};
};
TEST(ExploreClosing, TheLastReaderThatReturnsWithItemsLeftIsAFault) { expect_no_failure<ReturnEarly<3>>(); }
TEST(ExploreClosing, ReadersThatReturnEarlyWithNothingLeftAreNone) { expect_no_failure<ReturnEarly<2>>(); }

// ---- puts from outside that race the close and the end (T5)

/// What a put that came too late may come to.
inline void require_too_late(Control const& control) {
  FaultKind const kind = control.record.kind;
  require(control.ready.bits == 1, "no record of the fault");
  require(kind == FaultKind::put_after_close || kind == FaultKind::put_after_end || kind == FaultKind::put_without_task,
          "another fault");
}

/// Threads of the user's own share an open inlet: one puts and closes it, the others put at any time.
template <std::uint32_t Capacity, unsigned Late>
struct OpenInlet : CheckedTunnel {
  static constexpr auto warps = [] {
    std::array<unsigned, 3 + Late> lanes{};
    lanes.fill(1);
    return lanes;
  }();
  OpenInlet() : CheckedTunnel({.capacity = Capacity}) { t.writing.open = true; }
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 0) {
      t.put(m, 0, 0);
      t.close(m, 0);
    } else if (warp == 1) {
      check_to_the_end(m);
    } else if (warp == 2) {
      t.read(m, 0, [](std::uint32_t) {});
    } else {
      t.put(m, 0, warp);
      ++accepted;
    }
  }
  void check() const {
    if (control.aborted.bits != 0) return require_too_late(control);
    require_end(1 + Late);
    require(accepted == Late, "a put did not return");
  }
  unsigned accepted = 0;
};
TEST(ExploreClosing, APutThatRacesItsInletsCloseIsDeliveredOrNamed) { expect_no_failure<OpenInlet<2, 1>>(); }
TEST(ExploreClosing, PutsThatRaceForTheOnlySlotAreDeliveredOrNamed) { expect_no_failure<OpenInlet<1, 2>>(); }

/// A writer inside, whose own inlet has not closed, puts behind its last task.
struct BehindTheLastTask : CheckedTunnel {
  static constexpr std::array warps = {1u, 1u, 1u};
  BehindTheLastTask() : CheckedTunnel({.capacity = 1}) {}
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 0) {
      t.put(m, 0, 0);
      t.close(m, 0);
    } else if (warp == 1) {
      check_to_the_end(m);
    } else {
      bool more = true;
      for (unsigned misses = 0; !detail::tunnel_ended(m, t.outlet(0));) {
        std::uint32_t x = 0;
        if (!t.try_get(m, 0, x)) {
          m.relax(misses++);
          continue;
        }
        t.end_task(m, 0);
        if (more) t.put(m, 1, 1);
        more = false;
        misses = 0;
      }
    }
  }
  void check() const {
    if (control.aborted.bits != 0) return require_too_late(control);
    require_end(2);
  }
};
TEST(ExploreClosing, APutBehindTheLastTaskIsWorkedOnOrNamed) { expect_no_failure<BehindTheLastTask>(); }

}  // namespace
