// Lanes of the emulated device wait for CPUs as all threads do, on a busy machine for seconds.
#include <gtest/gtest.h>

#include <chrono>
#include <hiway/hiway.hpp>
#include <thread>

namespace {

using namespace hiway;
using Clock = std::chrono::steady_clock;

/// Holds the emulated device's threads up until then.
struct HoldsUp {
  Clock::time_point until;
  void operator()(Outlet<int> in, Inlet<int> out) const {
    std::this_thread::sleep_until(until);
    in.for_each_d([&](int x) { out.put_d(x); });
  }
};

// A run ended with "has not started on the device after 10 s", which is for profilers of a GPU, while other programs
// had the CPUs.
TEST(LateStart, OfTheEmulatedDeviceIsWaitedFor) {
  int sum = 0;
  Pipeline pipe({.device = "simt"});
  auto& in = pipe.create_tunnel<int>("in", Direction::cpu_to_gpu);
  auto& between = pipe.create_tunnel<int>("between", Direction::gpu_to_gpu);
  auto& out = pipe.create_tunnel<int>("out", Direction::gpu_to_cpu);
  pipe.add_cpu_stage(
      "feed",
      [](Inlet<int> to) {
        for (int i = 1; i <= 100; ++i) to.put_h(i);
      },
      into(in));
  GpuStageOptions const blocks{.blocks = 8, .threads_per_block = 32};
  pipe.add_gpu_stage("first", HoldsUp{Clock::now() + std::chrono::seconds(11)}, from(in), into(between), blocks);
  pipe.add_gpu_stage("second", HoldsUp{}, from(between), into(out), blocks);
  pipe.add_cpu_stage(
      "sum", [&](int x) { sum += x; }, from(out));
  pipe.run();
  EXPECT_EQ(sum, 5050);
}

}  // namespace
