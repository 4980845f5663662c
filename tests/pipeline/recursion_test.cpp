// A recursive stage finishes, however small its rings: 1,398,101 tasks.
#include "tests/pipeline/tree.hpp"

namespace {

using namespace hiway;
using namespace hiway_tests;

constexpr std::int32_t depth = 10;

// What is spilled is got in the order it came, so nearly all of a depth lies there at once: a pool of 2^18 items was too
// small.
void expect_grown(GrownBy by, GpuStageOptions lanes = {}) {
  Tree tree(by, depth, 0, lanes);
  RunReport const report = tree.pipe.run();
  constexpr auto last = std::int64_t{1} << (2 * depth);
  EXPECT_EQ(tree.grown_once(), last);
  EXPECT_EQ(std::int64_t(report.tunnels[1].items), (4 * last - 4) / 3);
}

TEST(Recursion, FanOut4AndDepth10FinishThroughRingsOf8OnCpuThreads) {
  HIWAY_NEEDS_DEVICE();
  expect_grown(GrownBy::cpu_threads);
}
TEST(Recursion, FanOut4AndDepth10FinishThroughRingsOf8OnTheDevice) {
  HIWAY_NEEDS_DEVICE();
#if defined(HIWAY_TEST_ON_GPU)
  expect_grown(GrownBy::device, {.blocks = 32, .threads_per_block = 256});
#else
  expect_grown(GrownBy::device, {.blocks = 2, .threads_per_block = 32});
#endif
}

}  // namespace
