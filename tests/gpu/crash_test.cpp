// A kernel that the GPU stops takes its context with it, so these run in a process of their own.
#define HIWAY_TEST_ON_GPU 1
#include <gmock/gmock.h>

#include "tests/device.hpp"
#include "tests/pipeline/squares.hpp"

namespace {

using namespace hiway;

struct Crash {
  View<int> nothing;
  HIWAY_DEVICE int operator()(int const& x) const {
    if (x == 500) nothing[0] = x;
    return x;
  }
};

TEST(Crash, AnIllegalAccessEndsTheRunAndNamesTheStage) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(hiway_tests::bounded());
  auto& in = pipe.create_tunnel<int>("in", Direction::cpu_to_gpu, {.capacity_items = 4});
  auto& out = pipe.create_tunnel<int>("out", Direction::gpu_to_cpu, {.capacity_items = 4});
  pipe.add_cpu_stage(
      "feed",
      [](Inlet<int> to) {
        for (int i = 0;; ++i) to.put_h(i);
      },
      into(in));
  pipe.add_gpu_stage("crash", Crash{}, from(in), into(out), {.blocks = 1, .threads_per_block = 64});
  pipe.add_cpu_stage(
      "sink", [](int const&) {}, from(out));
  std::string const text = hiway_tests::text_of_error<CudaError>([&] { pipe.run(); });
  EXPECT_THAT(text, testing::HasSubstr("stage 'crash'"));
  EXPECT_THAT(text, testing::HasSubstr("illegal memory access"));
  EXPECT_THAT(text, testing::HasSubstr("(lib/backend/cuda_"));
}

struct Write {
  int* nowhere;
  HIWAY_DEVICE void operator()() const { *nowhere = 1; }
};

// In the middle of a stream, with other batches under way.
TEST(CrashOfBatches, AnIllegalAccessEndsTheRunAndNamesTheStage) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(hiway_tests::bounded());
  auto& in = pipe.create_tunnel<int>("in", Direction::cpu_to_gpu);
  auto& out = pipe.create_tunnel<int>("out", Direction::gpu_to_cpu);
  int bodies = 0;
  pipe.add_cpu_stage("feed", hiway_tests::numbers(1'000'000), into(in));
  pipe.add_batch_stage("crash",
                       [&](Batch<int const> got, Batch<int> made, Stream stream) {
                         hiway_tests::SquareAll{}(got, made, stream);
                         if (++bodies == 10) stream.launch(Write{nullptr}, 1, 32);
                       },
                       from(in), into(out), {.max_items = 100, .in_flight = 3, .device = 0});
  pipe.add_cpu_stage(
      "sink", [](int const&) {}, from(out));
  std::string const text = hiway_tests::text_of_error<Error>([&] { pipe.run(); });
  EXPECT_THAT(text, testing::HasSubstr("stage 'crash'"));
  EXPECT_THAT(text, testing::HasSubstr("illegal memory access"));
}

}  // namespace
