// Lambdas as what runs in kernels: a stage, a stage of a group, a launch, a launch on a batch stage's stream. nvcc
// wants functions around them that are not members.
#include <gmock/gmock.h>

#include <numeric>
#include <vector>

#include "hiway/hiway.hpp"
#include "tests/device.hpp"

namespace {

using hiway::Direction;

constexpr int many = 1000;

void feed(hiway::Inlet<int> out) {
  for (int i = 1; i <= many; ++i) out.put_h(i);
}

/// factor * i + summand of each number; the summand is put there by a launch.
long sum_of_scaled(int factor, int summand) {
  hiway::Pipeline pipe(hiway_tests::bounded());
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_gpu);
  auto& scaled = pipe.create_tunnel<long>("scaled", Direction::gpu_to_cpu);
  auto& one = pipe.create_buffer<int>(1);
  int* const there = one.view().data;
  long sum = 0;
  pipe.launch("set", [=] HIWAY_DEVICE() { *there = summand; }, {.blocks = 1, .threads_per_block = 1});
  pipe.synchronize();
  pipe.add_cpu_stage("feed", feed, hiway::into(numbers));
  pipe.add_gpu_stage("scale", [=] HIWAY_DEVICE(int const& i) -> long { return long{factor} * i + *there; },
                     hiway::from(numbers), hiway::into(scaled), {.blocks = 2, .threads_per_block = 64});
  pipe.add_cpu_stage(
      "sum", [&](long i) { sum += i; }, hiway::from(scaled));
  pipe.run();
  return sum;
}

TEST(Lambdas, AreStagesAndLaunches) {
  HIWAY_NEEDS_DEVICE();
  EXPECT_EQ(sum_of_scaled(3, 7), 3L * many * (many + 1) / 2 + 7 * many);
}

long sum_of_a_group(int factor) {
  hiway::Pipeline pipe(hiway_tests::bounded());
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_gpu);
  auto& odd = pipe.create_tunnel<int>("odd", Direction::gpu_to_gpu);
  auto& scaled = pipe.create_tunnel<long>("scaled", Direction::gpu_to_cpu);
  long sum = 0;
  pipe.add_cpu_stage("feed", feed, hiway::into(numbers));
  pipe.add_gpu_group("all", {.blocks = 1, .threads_per_block = 64},
                     hiway::stage(
                         "keep",
                         [] HIWAY_DEVICE(int const& i, hiway::Inlet<int> out) {
                           if (i % 2 != 0) out.put_d(i);
                         },
                         hiway::from(numbers), hiway::into(odd)),
                     hiway::stage(
                         "scale", [=] HIWAY_DEVICE(int const& i) -> long { return long{factor} * i; }, hiway::from(odd),
                         hiway::into(scaled)));
  pipe.add_cpu_stage(
      "sum", [&](long i) { sum += i; }, hiway::from(scaled));
  pipe.run();
  return sum;
}

TEST(Lambdas, AreStagesOfAGroup) {
  HIWAY_NEEDS_DEVICE();
  EXPECT_EQ(sum_of_a_group(5), 5L * many * many / 4);
}

long sum_of_batches(int factor) {
  hiway::Pipeline pipe(hiway_tests::bounded());
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_gpu);
  auto& scaled = pipe.create_tunnel<long>("scaled", Direction::gpu_to_cpu);
  long sum = 0;
  pipe.add_cpu_stage("feed", feed, hiway::into(numbers));
  pipe.add_batch_stage(
      "scale",
      [factor](hiway::Batch<int const> in, hiway::Batch<long> out, hiway::Stream stream) {
        out.resize(in.size());
        int const* const from = in.data();
        long* const to = out.data();
        std::size_t const items = in.size();
        stream.launch(
            [=] HIWAY_DEVICE() {
              for (std::size_t i = 0; i < items; ++i) to[i] = long{factor} * from[i];
            },
            1, 1);
      },
      hiway::from(numbers), hiway::into(scaled), {.device = 0});
  pipe.add_cpu_stage(
      "sum", [&](long i) { sum += i; }, hiway::from(scaled));
  pipe.run();
  return sum;
}

TEST(Lambdas, RunOnABatchStagesStream) {
  HIWAY_NEEDS_DEVICE();
  EXPECT_EQ(sum_of_batches(2), 1L * many * (many + 1));
}

}  // namespace
