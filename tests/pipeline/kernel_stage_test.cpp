// A user's own kernels: as stages, and launched beside a run on open ends.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "tests/device.hpp"
#include "tests/spend.hpp"

namespace {

using namespace hiway;
using hiway_tests::bounded;
using testing::HasSubstr;

HIWAY_KERNEL void square_kernel(Outlet<int> numbers, Inlet<long> squares, long factor) {
  int x = 0;
  while (!numbers.is_terminate_d()) {  // the paper's loop
    if (numbers.get_d(x)) {
      squares.put_d(factor * x * x);
      numbers.end_task_d();
    }
  }
}
HIWAY_KERNEL void count_kernel(Inlet<int> out) {
  for (int i = 0; i < 10; ++i) out.put_d(static_cast<int>(thread_index()) * 10 + i);
  if (thread_index() % 2 == 0) out.close_d();  // half of the lanes; the others close by returning
}

TEST(KernelStage, RunsAUsersOwnKernel) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_gpu, {.capacity_items = 64});
  auto& squares = pipe.create_tunnel<long>("squares", Direction::gpu_to_cpu, {.capacity_items = 64});
  pipe.add_cpu_stage(
      "feed",
      [](Inlet<int> out) {
        for (int i = 1; i <= 1000; ++i) out.put_h(i);
      },
      into(numbers));
  pipe.add_kernel_stage("square", square_kernel, from(numbers), into(squares), 2, 64, 3);  // an int for a long
  long sum = 0;
  pipe.add_cpu_stage(
      "sum", [&](long const& x) { sum += x; }, from(squares));
  for (int run = 0; run < 3; ++run) {
    sum = 0;
    pipe.run();
    EXPECT_EQ(sum, 3L * 333833500);
  }
}

TEST(KernelStage, MayBeASource) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::gpu_to_cpu, {.capacity_items = 16});
  pipe.add_kernel_stage("count", count_kernel, into(numbers), 3, 33);
  long sum = 0;
  pipe.add_cpu_stage(
      "sum", [&](int const& x) { sum += x; }, from(numbers));
  pipe.run();
  EXPECT_EQ(sum, 990L * 989 / 2);
}

HIWAY_KERNEL void late_kernel(Inlet<int> out) {
  hiway_tests::spend(50'000'000);
  out.put_d(7);
}
TEST(KernelStage, IsNotClosedBeforeItHasLeft) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::gpu_to_cpu);
  pipe.add_kernel_stage("late", late_kernel, into(numbers), 1, 1);
  int seen = 0;
  pipe.add_cpu_stage(
      "see", [&](int const& x) { seen = x; }, from(numbers));
  pipe.run();
  EXPECT_EQ(seen, 7);
}

HIWAY_KERNEL void fail_kernel(Outlet<int> in) {
  int x = 0;
  while (in.next_d(x)) {
    if (x == 77) in.fail_d("seventy-seven");
    in.end_task_d();
  }
}
TEST(KernelStage, FailsByItsEnds) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_gpu, {.capacity_items = 16});
  pipe.add_cpu_stage(
      "feed",
      [](Inlet<int> out) {
        for (int i = 0; i < 1000; ++i) out.put_h(i);
      },
      into(numbers));
  pipe.add_kernel_stage("check", fail_kernel, from(numbers), 2, 32);
  EXPECT_THAT(hiway_tests::text_of_error<StageError>([&] { pipe.run(); }), HasSubstr("stage 'check': seventy-seven"));
}

/// As CUDA's, which a unit that nvcc does not compile has not.
struct Dim3 {
  unsigned x, y, z;
};

/// What count_kernel puts, in any order, as `lanes` lanes.
void expect_ten_of_each(Pipeline& pipe, Tunnel<int>& numbers, std::size_t lanes) {
  std::vector<int> all;
  pipe.add_cpu_stage(
      "keep", [&](int const& x) { all.push_back(x); }, from(numbers));
  pipe.run();
  std::ranges::sort(all);
  ASSERT_EQ(all.size(), 10 * lanes);
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<int>(i));
}

TEST(KernelStage, MayHaveThreeDimensions) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::gpu_to_cpu, {.capacity_items = 16});
  pipe.add_kernel_stage("count", count_kernel, into(numbers), Dim3{2, 1, 3}, Dim3{5, 4, 3});
  expect_ten_of_each(pipe, numbers, 6 * 60);
}

HIWAY_KERNEL void share_kernel(Inlet<int> out, unsigned room) {
  on_this_device([&](auto m) {
    auto* const of_threads =
        reinterpret_cast<unsigned*>(m.shared_memory()) + room / sizeof(unsigned) - m.block_threads();
    of_threads[m.thread_in_block()] = m.thread_in_block();
    m.sync_block();
    unsigned const other = of_threads[m.block_threads() - 1 - m.thread_in_block()];
    out.put_d(static_cast<int>(m.block_index() * m.block_threads() + other));
  });
}
TEST(KernelStage, MayHaveDynamicSharedMemory) {
  HIWAY_NEEDS_DEVICE();
  constexpr unsigned room = 60 * 1024;  // more than a kernel has by itself
  Pipeline pipe(bounded());
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::gpu_to_cpu);
  pipe.add_kernel_stage("share", share_kernel, into(numbers),
                        {.grid = 2, .block = Dim3{16, 4, 1}, .shared_bytes = room}, room);
  int seen = 0;
  long sum = 0;
  pipe.add_cpu_stage(
      "sum", [&](int const& x) { ++seen, sum += x; }, from(numbers));
  pipe.run();
  EXPECT_EQ(seen, 128);
  EXPECT_EQ(sum, 128L * 127 / 2);
}

TEST(KernelStage, RefusesAnExtentOfNothing) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::gpu_to_cpu);
  auto const error_of = [&](Dim3 grid, Dim3 block) {
    return hiway_tests::text_of_error<ConfigError>(
        [&] { pipe.add_kernel_stage("count", count_kernel, into(numbers), grid, block); });
  };
  EXPECT_EQ(error_of({1, 0, 1}, {32, 1, 1}), "stage 'count': extents of grid and block must be at least 1: 1 x 0 x 1");
  EXPECT_EQ(error_of({65536, 65536, 1}, {32, 32, 1}),
            "stage 'count': 65536 x 65536 x 1 blocks of 32 x 32 x 1 threads are more than thread_count() can say, "
            "2^32 - 1");
}

// ---- launches beside a run --------------------------------------------------------------------------------

struct PutSome {
  Inlet<int> out;
  int first;
  HIWAY_DEVICE void operator()() const { out.put_d(first + static_cast<int>(thread_index())); }
};
struct Close {
  Inlet<int> out;
  HIWAY_DEVICE void operator()() const { out.close_d(); }
};

TEST(KernelStage, LaunchesMayPutBesideARun) {
  HIWAY_NEEDS_DEVICE();
  for (Movement movement : {Movement::direct, Movement::dma}) {
    Pipeline pipe(bounded());
    auto& numbers =
        pipe.create_tunnel<int>("numbers", Direction::gpu_to_cpu, {.capacity_items = 100, .movement = movement});
    Inlet<int> const out = numbers.open_inlet();
    long sum = 0;
    pipe.add_cpu_stage(
        "sum", [&](int const& x) { sum += x; }, from(numbers));
    for (int run = 0; run < 2; ++run) {
      sum = 0;
      pipe.start();
      for (int i = 0; i < 10; ++i) pipe.launch("put", PutSome{out, i * 256}, {.blocks = 4, .threads_per_block = 64});
      pipe.launch("close", Close{out}, {.blocks = 1, .threads_per_block = 1});
      pipe.wait();
      EXPECT_EQ(sum, 2560L * 2559 / 2);
    }
  }
}

struct Fail {
  Inlet<int> out;
  HIWAY_DEVICE void operator()() const { out.fail_d("seventy-seven"); }
};

// The lanes' Unwind came out of the next launch, and hid the run's own error.
TEST(KernelStage, ALaunchThatARunsAbortEndsIsNoErrorOfItsOwn) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::gpu_to_cpu);
  Inlet<int> const out = numbers.open_inlet();
  pipe.add_cpu_stage(
      "sum", [](int const&) {}, from(numbers));
  pipe.start();
  for (int i = 0; i < 2; ++i) pipe.launch("fail", Fail{out}, {.blocks = 1, .threads_per_block = 64});
  pipe.synchronize();
  EXPECT_THAT(hiway_tests::text_of_error<StageError>([&] { pipe.wait(); }), HasSubstr("seventy-seven"));
}

// With no room left it waited for ever: nobody gives room after the end, and nobody aborts.
TEST(KernelStage, APutAfterTheEndDoesNotWaitForRoom) {
  HIWAY_NEEDS_DEVICE();
  for (int i = 0; i < 20; ++i) {  // the room is sometimes back before the end is found
    Pipeline pipe(bounded());
    auto& numbers = pipe.create_tunnel<int>("numbers", Direction::gpu_to_cpu, {.capacity_items = 64});
    Inlet<int> const out = numbers.open_inlet();
    long sum = 0;
    pipe.add_cpu_stage(
        "sum", [&](int const& x) { sum += x; }, from(numbers));
    pipe.start();
    pipe.launch("put", PutSome{out, 0}, {.blocks = 1, .threads_per_block = 64});
    pipe.launch("close", Close{out}, {.blocks = 1, .threads_per_block = 1});
    while (!pipe.wait_for(std::chrono::milliseconds(100))) {  // at most bounded()'s deadline
    }
    pipe.launch("put late", PutSome{out, 0}, {.blocks = 1, .threads_per_block = 64});
    pipe.synchronize();
    EXPECT_EQ(sum, 64L * 63 / 2);
  }
}

TEST(KernelStage, APutAfterTheWholeRunHasEndedIsNamed) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& there = pipe.create_tunnel<int>("there", Direction::gpu_to_cpu);
  auto& here = pipe.create_tunnel<int>("here", Direction::cpu_to_cpu);
  Inlet<int> const late[] = {there.open_inlet(), here.open_inlet()};
  pipe.add_cpu_stage(
      "sum", [](int const&) {}, from(there, here));
  auto const end = [&] {
    pipe.start();
    pipe.launch("close", Close{late[0]}, {.blocks = 1, .threads_per_block = 1});
    late[1].close_h();
    for (int i = 0; i < 100 && !pipe.wait_for(std::chrono::milliseconds(100)); ++i) {
    }
  };
  end();
  pipe.launch("put", PutSome{late[0], 1}, {.blocks = 1, .threads_per_block = 1});
  EXPECT_THAT(hiway_tests::text_of_error<MisuseError>([&] { pipe.wait(); }),
              HasSubstr("put after close: tunnel 'there'"));
  end();
  EXPECT_THROW(late[1].put_h(1), Aborted);
  EXPECT_THAT(hiway_tests::text_of_error<MisuseError>([&] { pipe.wait(); }),
              HasSubstr("put after close: tunnel 'here'"));
}

}  // namespace
