// More items than 32 bits count go through one tunnel: tickets, turns, counts of chunks, batches and every counter pass
// 2^32.
#define HIWAY_TEST_ON_GPU 1
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "hiway/cpus.hpp"
#include "tests/device.hpp"

namespace {

using namespace hiway;
using testing::HasSubstr;

constexpr std::uint64_t five_billion = 5'000'000'000;
constexpr std::uint64_t their_sum = five_billion / 2 * (five_billion - 1);  // of 0 and what follows; below 2^64

/// What stages got, of all threads together.
struct Got {
  Word<std::uint64_t> items{0};
  Word<std::uint64_t> sum{0};
};

/// Puts 0 to five_billion - 1, each lane its share.
struct Count {
  HIWAY_DEVICE void operator()(Inlet<std::uint64_t> out) const {
    for (std::uint64_t i = thread_index(); i < five_billion; i += thread_count()) out.put_d(i);
  }
};
struct Sum {
  View<Got> got;
  HIWAY_DEVICE void operator()(Outlet<std::uint64_t> in) const {
    std::uint64_t items = 0;
    std::uint64_t sum = 0;
    in.for_each_d([&](std::uint64_t const& x) {
      ++items;
      sum += x;
    });
    anywhere([&](auto m) {
      m.fetch_add(got[0].items, items, MemoryOrder::relaxed);
      m.fetch_add(got[0].sum, sum, MemoryOrder::relaxed);
    });
  }
};
/// The same two on CPU threads, by spans.
struct CountSpans {
  void operator()(Inlet<std::uint64_t> out) const {
    std::vector<std::uint64_t> some(4096);
    for (std::uint64_t i = thread_index() * some.size(); i < five_billion; i += thread_count() * some.size()) {
      std::uint64_t const n = std::min<std::uint64_t>(some.size(), five_billion - i);
      for (std::uint64_t k = 0; k < n; ++k) some[k] = i + k;
      out.put_h(std::span<std::uint64_t const>(some).first(n));
    }
  }
};
struct SumSpans {
  std::atomic<std::uint64_t>* items;
  std::atomic<std::uint64_t>* sum;
  void operator()(Outlet<std::uint64_t> in) const {
    std::vector<std::uint64_t> some(4096);
    while (std::size_t const n = in.next_h(std::span<std::uint64_t>(some))) {
      std::uint64_t together = 0;
      for (std::size_t i = 0; i < n; ++i) together += some[i];
      *items += n;
      *sum += together;
      in.end_task_h(n);
    }
  }
};

void expect_five_billion(Direction direction, Movement movement) {
  Pipeline pipe(hiway_tests::bounded(std::chrono::minutes(4)));
  auto& numbers = pipe.create_tunnel<std::uint64_t>("numbers", direction,
                                                    {.capacity_items = std::size_t{1} << 18, .movement = movement});
  auto& got = pipe.create_buffer<Got>(1);
  got.copy_in(std::vector<Got>(1));
  std::atomic<std::uint64_t> items{0};
  std::atomic<std::uint64_t> sum{0};
  CpuStageOptions const threads{.threads = std::clamp(hiway::available_cpus() / 2, 1u, 8u)};
  if (direction == Direction::cpu_to_gpu) {
    pipe.add_cpu_stage("count", CountSpans{}, into(numbers), threads);
  } else {
    pipe.add_gpu_stage("count", Count{}, into(numbers));
  }
  if (direction == Direction::gpu_to_cpu) {
    pipe.add_cpu_stage("sum", SumSpans{&items, &sum}, from(numbers), threads);
  } else {
    pipe.add_gpu_stage("sum", Sum{got.view()}, from(numbers));
  }
  RunReport const report = pipe.run();
  std::vector<Got> all(1);
  got.copy_out(all);
  EXPECT_EQ(all[0].items.bits + items, five_billion);
  EXPECT_EQ(all[0].sum.bits + sum, their_sum);
  EXPECT_EQ(report.items, five_billion);
  EXPECT_EQ(report.tunnels[0].items, five_billion);
  EXPECT_EQ(report.tunnels[0].finished, five_billion);
  auto const summing = std::ranges::find(report.stages, "sum", &StageReport::name);
  ASSERT_NE(summing, report.stages.end());
  EXPECT_EQ(summing->items, five_billion);
  EXPECT_THAT(to_json(report),
              HasSubstr("\"items\":5000000000,\"finished\":5000000000,\"holds\":0,\"bytes\":40000000000"));
  EXPECT_THAT(to_prometheus(report), HasSubstr("hiway_tunnel_items_total{tunnel=\"numbers\"} 5000000000\n"));
  std::cout << report.tunnels[0].direction << " " << report.tunnels[0].movement << ": " << report.seconds << " s"
            << std::endl;
}

TEST(Counts, FiveBillionItemsGoThroughOneTunnelOnTheDevice) {
  HIWAY_NEEDS_DEVICE();
  expect_five_billion(Direction::gpu_to_gpu, Movement::automatic);
}
TEST(Counts, FiveBillionItemsCrossTheBusByStores) {
  HIWAY_NEEDS_DEVICE();
  expect_five_billion(Direction::cpu_to_gpu, Movement::direct);
}
TEST(Counts, FiveBillionItemsCrossTheBusByCopies) {
  HIWAY_NEEDS_DEVICE();
  expect_five_billion(Direction::cpu_to_gpu, Movement::dma);
}
TEST(Counts, FiveBillionItemsComeBackAcrossTheBusByCopies) {
  HIWAY_NEEDS_DEVICE();
  expect_five_billion(Direction::gpu_to_cpu, Movement::dma);
}

}  // namespace
