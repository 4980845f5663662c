// More persistent kernels than the driver has hardware queues by default (8). The emulated device has no such queues, and
// too few processors.
#define HIWAY_TEST_ON_GPU 1
#include <string>

#include "tests/device.hpp"

namespace {

using namespace hiway;
using hiway_tests::bounded;

struct AddOne {
  HIWAY_DEVICE int operator()(int const& x) const { return x + 1; }
};

TEST(ManyKernels, RunAtOnce) {
  HIWAY_NEEDS_DEVICE();
  constexpr int stages = 40;
  Pipeline pipe(bounded(std::chrono::seconds(20)));
  auto* before = &pipe.create_tunnel<int>("first", Direction::cpu_to_gpu, {.capacity_items = 64});
  pipe.add_cpu_stage(
      "feed",
      [](Inlet<int> out) {
        for (int i = 0; i < 1000; ++i) out.put_h(i);
      },
      into(*before));
  for (int s = 0; s < stages; ++s) {
    Direction const direction = s + 1 == stages ? Direction::gpu_to_cpu : Direction::gpu_to_gpu;
    auto& after = pipe.create_tunnel<int>("after " + std::to_string(s), direction, {.capacity_items = 64});
    pipe.add_gpu_stage("add " + std::to_string(s), AddOne{}, from(*before), into(after),
                       {.blocks = 1, .threads_per_block = 64});
    before = &after;
  }
  long sum = 0;
  pipe.add_cpu_stage(
      "sum", [&](int const& x) { sum += x; }, from(*before));
  for (int run = 0; run < 3; ++run) {
    sum = 0;
    pipe.run();
    EXPECT_EQ(sum, 999L * 1000 / 2 + 1000L * stages);
  }
}

}  // namespace
