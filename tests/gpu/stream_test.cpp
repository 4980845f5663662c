// Runs that wait for streams of the user's, and streams that wait for runs.
#define HIWAY_TEST_ON_GPU 1
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "hiway/hiway.hpp"
#include "tests/device.hpp"
#include "tests/pipeline/squares.hpp"
#include "tests/spend.hpp"

namespace {

using namespace hiway;
using hiway_tests::bounded;
using hiway_tests::numbers;

constexpr int count = 1000;

/// Writes 1 to `count` after 50 ms.
__global__ void write_late(int* data) {
  hiway_tests::spend(50'000'000);
  for (int i = 0; i < count; ++i) data[i] = i + 1;
}

struct Double {
  int const* from;
  int* to;
  HIWAY_DEVICE int operator()(int const& x) const {
    to[x - 1] = 2 * from[x - 1];
    return x;
  }
};
struct DoubleAll {
  int const* in;
  std::size_t items;
  int const* from;
  int* to;
  HIWAY_DEVICE void operator()() const {
    for (std::size_t i = thread_index(); i < items; i += thread_count()) to[in[i] - 1] = 2 * from[in[i] - 1];
  }
};

/// Pipelines are on the first GPU; the stream is on the one that is named. Both reach pinned memory.
class Streams : public testing::Test {
 protected:
  void SetUp() override {
    HIWAY_NEEDS_DEVICE();
    open_on(0);
  }
  void TearDown() override {
    if (stream_ == nullptr) return;
    cudaFreeHost(from_);
    cudaFreeHost(to_);
    cudaStreamDestroy(stream_);
    cudaSetDevice(0);
  }
  void open_on(int device) {
    TearDown();
    ASSERT_EQ(cudaSetDevice(device), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaMallocHost(&from_, count * sizeof(int)), cudaSuccess);
    ASSERT_EQ(cudaMallocHost(&to_, count * sizeof(int)), cudaSuccess);
  }
  /// What `pipe` makes of what the stream writes, as the stream sees it after the run. No call waits for the run.
  void expect_order(Pipeline& pipe) {
    for (int run = 0; run < 3; ++run) {
      std::vector<int> seen(count, -1);
      ASSERT_EQ(cudaMemsetAsync(from_, 0, count * sizeof(int), stream_), cudaSuccess);
      write_late<<<1, 1, 0, stream_>>>(from_);
      pipe.start(stream_);
      pipe.finished_on(stream_);
      ASSERT_EQ(cudaMemcpyAsync(seen.data(), to_, count * sizeof(int), cudaMemcpyDeviceToHost, stream_), cudaSuccess);
      ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
      for (int i = 0; i < count; ++i) ASSERT_EQ(seen[static_cast<std::size_t>(i)], 2 * (i + 1));
      pipe.wait();
    }
  }

  void expect_kernels_between(Residency residency) {
    Pipeline pipe(bounded());
    auto& in = pipe.create_tunnel<int>("in", Direction::cpu_to_gpu);
    auto& out = pipe.create_tunnel<int>("out", Direction::gpu_to_cpu);
    pipe.add_cpu_stage("feed", numbers(count), into(in));
    pipe.add_gpu_stage("double", Double{from_, to_}, from(in), into(out), {.residency = residency});
    pipe.add_cpu_stage(
        "sink", [](int const&) {}, from(out));
    expect_order(pipe);
  }
  void expect_batches_between() {
    Pipeline pipe(bounded());
    auto& in = pipe.create_tunnel<int>("in", Direction::cpu_to_gpu);
    pipe.add_cpu_stage("feed", numbers(count), into(in));
    pipe.add_batch_stage("double",
                         [&](Batch<int const> batch, Stream stream) {
                           stream.launch(DoubleAll{batch.data(), batch.size(), from_, to_}, 1, 64);
                         },
                         from(in), {.device = 0});
    expect_order(pipe);
  }

  cudaStream_t stream_ = nullptr;
  int* from_ = nullptr;
  int* to_ = nullptr;
};

TEST_F(Streams, KernelsStandBetweenThem) {
  for (Residency const residency : {Residency::resident, Residency::yielding}) expect_kernels_between(residency);
}
TEST_F(Streams, BatchesStandBetweenThem) { expect_batches_between(); }

TEST_F(Streams, OfAnotherGpu) {
  if (std::string const why = hiway_tests::missing_devices(2); !why.empty()) GTEST_SKIP() << why;
  open_on(1);
  expect_kernels_between(Residency::yielding);
  expect_batches_between();
}

TEST_F(Streams, GoOnBehindARunThatFails) {
  Pipeline pipe(bounded());
  auto& in = pipe.create_tunnel<int>("in", Direction::cpu_to_gpu);
  pipe.add_cpu_stage(
      "feed", [](Inlet<int>) { fail_h("no items today"); }, into(in));
  pipe.add_batch_stage("take", [](Batch<int const>, Stream) {}, from(in), {.device = 0});
  pipe.start();
  pipe.finished_on(stream_);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_THROW(pipe.wait(), StageError);
  pipe.finished_on(stream_);  // no run is under way
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
}

}  // namespace
