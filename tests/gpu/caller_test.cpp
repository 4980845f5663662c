// A caller's current device, or context, is the same after every call of the library (ADR 0036). With one GPU that shows by its
// contexts: none, or one that the caller made.
#define HIWAY_TEST_ON_GPU 1
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <thread>

#include "lib/pipeline_access.hpp"
#include "tests/device.hpp"

namespace {

using namespace hiway;

template <class Function>
Function driver(char const* name, unsigned version) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult found{};
  EXPECT_EQ(cudaGetDriverEntryPointByVersion(name, &address, version, cudaEnableDefault, &found), cudaSuccess);
  EXPECT_EQ(found, cudaDriverEntryPointSuccess) << name;
  return reinterpret_cast<Function>(address);
}

CUcontext current() {
  CUcontext context = nullptr;
  EXPECT_EQ(driver<PFN_cuCtxGetCurrent_v4000>("cuCtxGetCurrent", 4000)(&context), CUDA_SUCCESS);
  return context;
}

struct Twice {
  HIWAY_DEVICE int operator()(int const& x) const { return 2 * x; }
};

/// Every kind of call, each behind the other; after each `same` is current.
void use_everything(CUcontext same) {
  auto const stays = [&](char const* what) { EXPECT_EQ(current(), same) << what; };
  static_cast<void>(devices());
  stays("devices");
  long sum = 0;
  {
    Pipeline pipe(hiway_tests::bounded());
    stays("Pipeline");
    auto& in = pipe.create_tunnel<int>("in", Direction::cpu_to_gpu, {.movement = Movement::dma});
    auto& out = pipe.create_tunnel<int>("out", Direction::gpu_to_cpu, {.movement = Movement::direct});
    auto& numbers = pipe.create_buffer<int>(4);
    std::vector<int> values{1, 2, 3, 4};
    numbers.copy_in(values);
    numbers.copy_out(values);
    stays("buffers");
    pipe.add_cpu_stage(
        "feed",
        [&](Inlet<int> to) {
          for (int i = 1; i <= 1000; ++i) to.put_h(i);
          EXPECT_EQ(current(), nullptr) << "a thread of a stage";
        },
        into(in));
    pipe.add_gpu_stage("twice", Twice{}, from(in), into(out));
    pipe.add_cpu_stage(
        "sum", [&](int const& x) { sum += x; }, from(out));
    pipe.prepare();
    stays("prepare");
    pipe.start();
    stays("start");
    pipe.wait();
    stays("wait");
    static_cast<void>(pipe.stats());
    PipelineAccess::set_device_table(pipe, nullptr);
    stays("set_device_table");
  }
  stays("~Pipeline");
  EXPECT_EQ(sum, 1001000);
}

TEST(Caller, HasNoContextThenEither) {
  HIWAY_NEEDS_DEVICE();
  std::thread([] { use_everything(nullptr); }).join();
}

TEST(Caller, KeepsAContextOfItsOwn) {
  HIWAY_NEEDS_DEVICE();
  std::thread([] {
    CUcontext own = nullptr;
    ASSERT_EQ(driver<PFN_cuCtxCreate_v3020>("cuCtxCreate", 3020)(&own, 0, 0), CUDA_SUCCESS);
    use_everything(own);
    EXPECT_EQ(driver<PFN_cuCtxDestroy_v4000>("cuCtxDestroy", 4000)(own), CUDA_SUCCESS);
  }).join();
}

}  // namespace
