// What a machine must supply is checked by the compiler, and what a thread does at the ends of tunnels is its role's.
#include <gtest/gtest.h>

#include "hiway/machine/fiber_machine.hpp"
#include "hiway/machine/stage_thread.hpp"
#include "hiway/machine/tuning.hpp"

namespace {

using namespace hiway;

static_assert(Machine<ThreadMachine> && Machine<StageThread> && Machine<FiberMachine>);

// Each lacks one thing.
struct WithoutAVote : ThreadMachine {
  bool ballot(std::uint32_t, bool) const = delete;
};
struct WithoutTheOtherSide : ThreadMachine {
  template <class T>
  T load_across(Word<T>&, MemoryOrder) const = delete;
};
struct WithoutAClock : ThreadMachine {
  std::uint64_t now_ns() const = delete;
};
struct WithBlocksThatItDoesNotShare : ThreadMachine {
  static constexpr bool shares_blocks = true;
};
static_assert(!Machine<WithoutAVote> && !Machine<WithoutTheOtherSide> && !Machine<WithoutAClock> &&
              !Machine<WithBlocksThatItDoesNotShare>);

struct Quick : ThreadMachine {
  struct Tuning : ThreadTuning {
    static constexpr unsigned counts_at_once = 3;
  };
};
struct WithoutTuning {};

TEST(Machine, OnlyAStageThreadHasARoleAtTheEnds) {
  EXPECT_TRUE(RoleOf<StageThread>::helps_monitors && RoleOf<StageThread>::has_branches &&
              RoleOf<StageThread>::keeps_trace && RoleOf<StageThread>::copies_pieces &&
              RoleOf<StageThread>::outlives_runs);
  EXPECT_FALSE(RoleOf<ThreadMachine>::helps_monitors || RoleOf<FiberMachine>::helps_monitors);
  EXPECT_FALSE(RoleOf<ThreadMachine>::has_branches || RoleOf<FiberMachine>::has_branches);
}

TEST(Machine, HasItsOwnTuningOrAThreads) {
  EXPECT_EQ(TuningOf<Quick>::counts_at_once, 3U);
  EXPECT_EQ(TuningOf<Quick>::looks_for_a_late_put, ThreadTuning::looks_for_a_late_put);
  EXPECT_EQ(TuningOf<WithoutTuning>::counts_at_once, ThreadTuning::counts_at_once);
  EXPECT_EQ(TuningOf<FiberMachine>::counts_at_once, EmulatedTuning::counts_at_once);
}

}  // namespace
