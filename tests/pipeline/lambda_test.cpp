// Lambdas as what runs in kernels: a stage, a stage of a group, a launch, a launch on a batch stage's stream. nvcc
// wants functions around them that are not members.
#include <gtest/gtest.h>

#include "hiway/hiway.hpp"
#include "tests/device.hpp"
#include "tests/pipeline/squares.hpp"

namespace {

using hiway::Direction;

constexpr int many = 1000;

/// Numbers from 1 on go to the device; the sum of what comes back.
struct Sum {
  hiway::Pipeline pipe{hiway_tests::bounded()};
  hiway::Tunnel<int>& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_gpu);
  hiway::Tunnel<long>& scaled = pipe.create_tunnel<long>("scaled", Direction::gpu_to_cpu);

  long run() {
    long sum = 0;
    pipe.add_cpu_stage("feed", hiway_tests::numbers(many), hiway::into(numbers));
    pipe.add_cpu_stage(
        "sum", [&](long i) { sum += i; }, hiway::from(scaled));
    pipe.run();
    return sum;
  }
};

/// factor * i + summand of each number; the summand is put there by a launch.
long sum_of_scaled(int factor, int summand) {
  Sum sum;
  auto& one = sum.pipe.create_buffer<int>(1);
  int* const there = one.view().data;
  sum.pipe.launch("set", [=] HIWAY_DEVICE() { *there = summand; }, {.blocks = 1, .threads_per_block = 1});
  sum.pipe.synchronize();
  sum.pipe.add_gpu_stage("scale", [=] HIWAY_DEVICE(int const& i) -> long { return long{factor} * i + *there; },
                         hiway::from(sum.numbers), hiway::into(sum.scaled), {.blocks = 2, .threads_per_block = 64});
  return sum.run();
}

TEST(Lambdas, AreStagesAndLaunches) {
  HIWAY_NEEDS_DEVICE();
  EXPECT_EQ(sum_of_scaled(3, 7), 3L * many * (many + 1) / 2 + 7 * many);
}

long sum_of_a_group(int factor) {
  Sum sum;
  auto& odd = sum.pipe.create_tunnel<int>("odd", Direction::gpu_to_gpu);
  sum.pipe.add_gpu_group("all", {.blocks = 1, .threads_per_block = 64},
                         hiway::stage(
                             "keep",
                             [] HIWAY_DEVICE(int const& i, hiway::Inlet<int> out) {
                               if (i % 2 != 0) out.put_d(i);
                             },
                             hiway::from(sum.numbers), hiway::into(odd)),
                         hiway::stage(
                             "scale", [=] HIWAY_DEVICE(int const& i) -> long { return long{factor} * i; },
                             hiway::from(odd), hiway::into(sum.scaled)));
  return sum.run();
}

TEST(Lambdas, AreStagesOfAGroup) {
  HIWAY_NEEDS_DEVICE();
  EXPECT_EQ(sum_of_a_group(5), 5L * many * many / 4);
}

long sum_of_batches(int factor) {
  Sum sum;
  sum.pipe.add_batch_stage("scale",
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
                           hiway::from(sum.numbers), hiway::into(sum.scaled), {.device = 0});
  return sum.run();
}

TEST(Lambdas, RunOnABatchStagesStream) {
  HIWAY_NEEDS_DEVICE();
  EXPECT_EQ(sum_of_batches(2), 1L * many * (many + 1));
}

}  // namespace
