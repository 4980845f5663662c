// CUDA calls beside a pipeline whose kernel yields. Beside a resident one most of these never return: they wait until
// the device is idle, or for a lock that is held meanwhile.
#define HIWAY_TEST_ON_GPU 1
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "bench/guest_kernels.cuh"
#include "hiway/hiway.hpp"
#include "tests/device.hpp"

namespace {

using hiway::Direction;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

struct Square {
  HIWAY_DEVICE long operator()(int const& x) const { return static_cast<long>(x) * x; }
};

/// Works on one item for each of `calls`, by default in slices of 1 ms; how long that took.
milliseconds run_with(std::function<void()> const& call, int calls = 50) {
  hiway::PipelineConfig config = hiway_tests::bounded(std::chrono::seconds(8));
  config.slice = milliseconds(1);
  hiway::Pipeline pipe(config);
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_gpu);
  auto& squares = pipe.create_tunnel<long>("squares", Direction::gpu_to_cpu);
  long sum = 0;
  auto const feed = [=](hiway::Inlet<int> out) {
    for (int i = 1; i <= calls; ++i) out.put_h(i);
  };
  auto const use = [&](long square) {
    call();
    sum += square;
  };
  pipe.add_cpu_stage("feed", feed, hiway::into(numbers));
  pipe.add_gpu_stage("square", Square{}, hiway::from(numbers), hiway::into(squares),
                     {.residency = hiway::Residency::yielding});
  pipe.add_cpu_stage("use", use, hiway::from(squares));
  auto const began = steady_clock::now();
  pipe.run();
  auto const took = std::chrono::duration_cast<milliseconds>(steady_clock::now() - began);
  EXPECT_EQ(sum, static_cast<long>(calls) * (calls + 1) * (2 * calls + 1) / 6);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  return took;
}

/// For calls of the tests: a stream and some memory, made before the pipeline.
class Guest : public testing::Test {
 protected:
  void SetUp() override {
    HIWAY_NEEDS_DEVICE();
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaMalloc(&memory_, 4096), cudaSuccess);
    run_with([] {}, 1);  // what the first run of a process loads is not timed
  }
  void TearDown() override {
    if (stream_ == nullptr) return;
    cudaStreamDestroy(stream_);
    cudaFree(memory_);
  }
  cudaStream_t stream_ = nullptr;
  float* memory_ = nullptr;
};

TEST_F(Guest, MayFreeMemory) {
  EXPECT_LT(run_with([] {
              void* memory = nullptr;
              cudaMalloc(&memory, 1 << 20);
              cudaFree(memory);
            }),
            milliseconds(500));
}
TEST_F(Guest, MayFreePinnedMemory) {
  EXPECT_LT(run_with([] {
              void* memory = nullptr;
              cudaMallocHost(&memory, 1 << 20);
              cudaFreeHost(memory);
            }),
            milliseconds(1000));
}
TEST_F(Guest, MaySynchronizeTheDevice) {
  EXPECT_LT(run_with([] { cudaDeviceSynchronize(); }), milliseconds(1000));
}
TEST_F(Guest, MayLaunchAKernelThatNeedsLocalMemory) {
  EXPECT_LT(run_with([this] {
              bench::uses_local_memory<<<1, 32, 0, stream_>>>(memory_);
              cudaStreamSynchronize(stream_);
            }),
            milliseconds(1000));
}
TEST_F(Guest, MayLaunchOnTheNullStream) {
  EXPECT_LT(run_with([this] {
              bench::adds_one<<<1, 32>>>(memory_);
              cudaStreamSynchronize(nullptr);
            }),
            milliseconds(1000));
}
TEST_F(Guest, MayAllocateInAStream) {
  EXPECT_LT(run_with([this] {
              void* memory = nullptr;
              cudaMallocAsync(&memory, 1 << 20, stream_);
              cudaFreeAsync(memory, stream_);
              cudaStreamSynchronize(stream_);
            }),
            milliseconds(1000));
}

// The consumer calls, while the producer's results find no room: what they hold lets their kernel go.
TEST_F(Guest, MayCallWhileTheKernelWaitsForIt) {
  hiway::PipelineConfig config = hiway_tests::bounded(std::chrono::seconds(8));
  config.slice = milliseconds(1);
  hiway::Pipeline pipe(config);
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_gpu);
  auto& squares = pipe.create_tunnel<long>("squares", Direction::gpu_to_cpu, {.capacity_items = 4});
  long items = 0;
  auto const feed = [](hiway::Inlet<int> out) {
    for (int i = 1; i <= 2000; ++i) out.put_h(i);
  };
  auto const use = [&](long) {
    if (items++ % 100 == 0) cudaDeviceSynchronize();
  };
  pipe.add_cpu_stage("feed", feed, hiway::into(numbers));
  pipe.add_gpu_stage("square", Square{}, hiway::from(numbers), hiway::into(squares),
                     {.residency = hiway::Residency::yielding});
  pipe.add_cpu_stage("use", use, hiway::from(squares));
  pipe.run();
  EXPECT_EQ(items, 2000);
}

}  // namespace
