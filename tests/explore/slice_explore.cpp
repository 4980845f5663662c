// A kernel that leaves after each task and comes back when it is called, under every schedule: the stage's life
// (persistent.hpp), what it holds, whom the monitor calls (monitors/recall.hpp), and the end check.
#include <type_traits>

#include "hiway/persistent.hpp"
#include "hiway/stage_by_ticket.hpp"
#include "monitors/recall.hpp"
#include "tests/explore/search.hpp"
#include "tests/explore/tunnels.hpp"

namespace {

using namespace hiway;
using namespace hiway::explore;

/// Its time goes on by 1 with each look, so that a slice of 1 ns is over after one task.
struct TickingMachine : ExploreMachine {
  TickingMachine(ExploreMachine m, std::uint64_t& ticks) : ExploreMachine(m), ticks_(&ticks) {}
  [[nodiscard]] std::uint64_t now_ns() const { return ++*ticks_; }

 private:
  std::uint64_t* ticks_;
};

struct Same {
  std::uint64_t operator()(std::uint64_t const& value) const { return value; }
};

/// source -> a -> the kernel -> b -> consumer; the second tunnel has room for one, so results are held. The kernel's
/// warp stands for the watcher, too: it begins a launch as soon as that may start. `Out`: what b is for the stage.
template <unsigned Lanes, class Out = std::uint64_t>
struct YieldingStage {
  static constexpr std::array warps = {1u, 1u, Lanes, 1u};
  static constexpr unsigned total = 2;
  static constexpr bool restores = detail::is_restored<Out>;
  using Runner = StageRunner<Same, From<std::uint64_t>, Into<Out>>;
  using HeldOne = Held<std::conditional_t<restores, AtTicket<std::uint64_t>, std::uint64_t>>;

  YieldingStage() {
    table.add({.finished = {a.finished()}, .created = {a.created()}, .gates = {a.closed_by(1)}, .tunnels = {a.ends()}});
    table.add_stage(StageRecordWords{.ended = &stage.ended, .units = {}}, {0});
    table.add(
        {.finished = {b.finished()}, .created = {b.created()}, .gates = {}, .tunnels = {b.ends()}, .upstream = {0}});
    table.add_stage(b.reading_stage(), {0, 1});
    if (restores) b.restore_order();
    ends.outlets[0] = a.outlet(0);
    ends.outlets[0].stage_ended = &stage.ended;
    ends.inlets[0] = b.inlet(0);
    ends.stages[0] = &stage;
    ends.control = &control;
    ends.slice = {.ns = 1,
                  .news = &news,
                  .words = &words,
                  .returned = &returned,
                  .held = reinterpret_cast<std::byte*>(held.data())};
    watched[0].ring = ends.outlets[0].ring;
    watched[1].ring = ends.inlets[0].ring;
    kernel = {.news = &news, .words = &words, .blocks = 1, .stages = {0, 1}, .outlets = {0, 1}, .inlets = {1, 2}};
    recall = {.kernels = &kernel, .stages = stages.data(), .ends = watched.data(), .kernel_count = 1};
  }
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 0) {
      for (unsigned i = 0; i < total; ++i) a.put(m, 0, i);
      a.close(m, 0);
    } else if (warp == 1) {
      monitor(m);
    } else if (warp == 2) {
      launch_again_and_again(m);
    } else {
      b.read(m, 0, [&](std::uint32_t value) {
        require(value < total && !seen[value], "an item came twice, or nobody put it");
        require(!restores || value == 0 || seen[value - 1], "a result is not at the place of its item");
        seen[value] = true;
      });
    }
  }
  void monitor(ExploreMachine m) {
    for (unsigned misses = 0;; m.relax(misses++)) {
      if (result == CheckResult::open) result = check_round(m, table.table, control);
      if (may_call(m)) recall_round(m, recall);  // afterwards: a thread that waits here waits for others
      if (result != CheckResult::open && m.load(news.over, MemoryOrder::acquire) != 0) return;
    }
  }
  /// A get gives its credit before it leaves the slot. A kernel that has to put there would be called, and leave, for
  /// as long as the reader is not run.
  bool may_call(ExploreMachine m) {
    return !restores ||
           m.load(b.ring.words.taken, MemoryOrder::relaxed) == m.load(b.outlets[0].finished, MemoryOrder::relaxed);
  }
  void launch_again_and_again(ExploreMachine m) {
    std::uint64_t ticks = 0;
    for (std::uint32_t launch = 1; launch == 1 || may_start(m, launch); ++launch) {
      Runner runner{{}};
      run_persistent(TickingMachine(m, ticks), runner, ends);
    }
  }
  /// All lanes together; false once the stage has returned and no launch is due.
  bool may_start(ExploreMachine m, std::uint32_t launch) {
    for (unsigned misses = 0;; m.relax(misses++)) {
      bool const is_over = m.ballot(m.lanes(), m.load(news.over, MemoryOrder::acquire) != 0) != 0;
      if (m.ballot(m.lanes(), m.load(news.next, MemoryOrder::acquire) >= launch) != 0) return true;
      if (is_over) return false;
    }
  }
  void check() const {
    require(control.aborted.bits == 0, "a fault that nobody made");
    require(result == CheckResult::ended, "no end");
    require(stage.returned.bits == 1 && news.over.bits == 1, "the block has not returned once");
    require(words.held_count.bits == 0, "a result is held");
    for (bool const s : seen) require(s, "an item was lost");
  }

  Control control;
  LocalTunnel a{control, 2};
  LocalTunnel b{control, 1};
  CheckTable table;
  StageWords stage;
  SliceNews news;
  SliceWords words;
  Word<std::uint32_t> returned{0};
  std::array<HeldOne, Lanes> held{};
  Ends<Runner> ends{};
  std::array<StageWords*, 1> stages{&stage};
  std::array<WatchedEnd, 2> watched{};
  YieldingKernel kernel;
  RecallTable recall;
  CheckResult result = CheckResult::open;
  std::array<bool, total> seen{};
};

TEST(ExploreSlice, AStageThatLeavesAfterEachTaskLosesNothing) { expect_no_failure<YieldingStage<1>>(); }
TEST(ExploreSlice, ItsLanesLeaveTogether) { expect_no_failure<YieldingStage<2>>(); }
TEST(ExploreSlice, WhatAStageHoldsIsPutAtItsTicket) { expect_no_failure<YieldingStage<2, Restored<std::uint64_t>>>(); }

}  // namespace
