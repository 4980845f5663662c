// Readers::each: every reading stage of a tunnel, and every open outlet, gets every item.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "hiway/hiway.hpp"
#include "tests/device.hpp"

namespace {

using namespace hiway;
using hiway_tests::bounded;
using hiway_tests::text_of_error;
using testing::HasSubstr;

constexpr int count = 3000;

std::vector<int> all_numbers() {
  std::vector<int> all(count);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// What a stage got, of however many threads.
struct Seen {
  std::mutex mutex;
  std::vector<int> numbers;
  void add(int x) {
    std::scoped_lock const lock(mutex);
    numbers.push_back(x);
  }
  /// Each number is there once; `in_order`: and one after another.
  void expect_all(std::string const& reader, bool in_order = false) {
    if (!in_order) std::ranges::sort(numbers);
    EXPECT_EQ(numbers, all_numbers()) << reader;
    numbers.clear();
  }
};

struct Pass {
  HIWAY_DEVICE int operator()(int const& x) const { return x; }
};

bool from_gpu(Direction d) { return d == Direction::gpu_to_cpu || d == Direction::gpu_to_gpu; }

/// Puts all numbers into the tunnel, from the side where it is put.
template <class T>
void feed(Pipeline& pipe, Tunnel<T>& numbers) {
  auto const put = [](Inlet<int> out) {
    for (int i = 0; i < count; ++i) out.put_h(i);
  };
  if (!from_gpu(numbers.direction())) return pipe.add_cpu_stage("feed", put, into(numbers));
  auto& first = pipe.create_tunnel<int>("first", Direction::cpu_to_gpu);
  pipe.add_cpu_stage("feed", put, into(first));
  pipe.add_gpu_stage("pass", Pass{}, from(first), into(numbers));
}

class EachReader : public testing::TestWithParam<Direction> {};

TEST_P(EachReader, GetsEveryItem) {
  HIWAY_NEEDS_DEVICE();
  Direction const direction = GetParam();
  bool const to_gpu = direction == Direction::cpu_to_gpu || direction == Direction::gpu_to_gpu;
  Pipeline pipe(bounded());
  auto& numbers = pipe.create_tunnel<int>("numbers", direction, {.capacity_items = 64, .readers = Readers::each});
  auto& passed = pipe.create_tunnel<int>("passed", Direction::gpu_to_cpu);
  auto& value = pipe.create_tunnel<int>("value", Direction::cpu_to_cpu);
  Seen one, several, device, values, open;
  feed(pipe, numbers);
  pipe.add_cpu_stage(
      "one", [&](Outlet<int> in) { in.for_each_h([&](int x) { one.add(x); }); }, from(numbers));
  pipe.add_cpu_stage("several", [&](int const& x) { several.add(x); }, from(numbers), {.threads = 3});
  pipe.add_gpu_stage("device", Pass{}, from(numbers), into(passed));
  pipe.add_cpu_stage(
      "see", [&](int const& x) { device.add(x); }, from(passed));
  pipe.add_cpu_stage(
      "value", [](int const& x) { return x; }, from(numbers), into(value));
  pipe.add_cpu_stage(
      "see_value", [&](int const& x) { values.add(x); }, from(value));
  Outlet<int> outlet;
  if (!to_gpu) outlet = numbers.open_outlet();
  for (int run = 0; run < 2; ++run) {
    pipe.start();
    if (!to_gpu) outlet.for_each_h([&](int x) { open.add(x); });
    RunReport const report = pipe.wait();
    EXPECT_EQ(report.tunnels.front().items, static_cast<std::uint64_t>(count));
    one.expect_all("one", !from_gpu(direction));
    several.expect_all("several");
    device.expect_all("device");
    values.expect_all("value", !from_gpu(direction));
    if (!to_gpu) open.expect_all("the open outlet", !from_gpu(direction));
  }
}
INSTANTIATE_TEST_SUITE_P(Readers, EachReader,
                         testing::Values(Direction::cpu_to_cpu, Direction::cpu_to_gpu, Direction::gpu_to_cpu,
                                         Direction::gpu_to_gpu));

TEST(Readers, AStageOnSeveralDevicesIsOneOfThem) {
  HIWAY_NEEDS_DEVICE();
  HIWAY_NEEDS_DEVICES(2);
  Pipeline pipe(bounded());
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_gpu, {.readers = Readers::each});
  auto& passed = pipe.create_tunnel<int>("passed", Direction::gpu_to_cpu);
  Seen devices, host;
  feed(pipe, numbers);
  pipe.add_gpu_stage("devices", Pass{}, from(numbers), into(passed), {.devices = {0, 1}});
  pipe.add_cpu_stage(
      "see", [&](int const& x) { devices.add(x); }, from(passed));
  pipe.add_cpu_stage(
      "host", [&](int const& x) { host.add(x); }, from(numbers));
  pipe.run();
  devices.expect_all("devices");
  host.expect_all("host", true);
}

struct Large {
  int number;
  char bytes[5000];
};

TEST(Readers, LargeItemsComeToEach) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& items =
      pipe.create_tunnel<Large>("items", Direction::cpu_to_cpu, {.capacity_items = 8, .readers = Readers::each});
  auto const put = [](Inlet<Large> out) {
    for (int i = 0; i < count; ++i) {
      out.put_in_place_h([&](Large& item) {
        item.number = i;
        std::ranges::fill(item.bytes, static_cast<char>(i));
      });
    }
  };
  Seen seen[2];
  pipe.add_cpu_stage("feed", put, into(items));
  for (Seen& s : seen) {
    auto const see = [&s](Large const& item) {
      bool const whole = std::ranges::all_of(item.bytes, [&](char b) { return b == static_cast<char>(item.number); });
      s.add(whole ? item.number : -1);
    };
    pipe.add_cpu_stage("see " + std::to_string(&s - seen), see, from(items));
  }
  pipe.run();
  for (Seen& s : seen) s.expect_all("large", true);
}

TEST(Readers, EachDropsForItself) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& numbers =
      pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu,
                              {.capacity_items = 8, .when_full = WhenFull::drop_newest, .readers = Readers::each});
  Inlet<int> const client = numbers.open_inlet();
  std::atomic<int> quick{0};
  std::atomic<int> slow{0};
  std::atomic<bool> go{false};
  pipe.add_cpu_stage(
      "quick", [&](int const&) { ++quick; }, from(numbers));
  pipe.add_cpu_stage(
      "slow",
      [&](int const&) {
        while (!go) std::this_thread::yield();
        ++slow;
      },
      from(numbers));
  pipe.start();
  for (int i = 0; i < 100; ++i) {
    client.put_h(i);
    while (quick <= i) std::this_thread::yield();
  }
  go = true;
  client.close_h();
  RunReport const report = pipe.wait();
  EXPECT_EQ(quick, 100);
  EXPECT_EQ(slow + static_cast<int>(report.tunnels[2].dropped), 100);
  EXPECT_EQ(report.tunnels[2].name, "numbers of slow");
  EXPECT_LE(slow, 8 + 2);
}

TEST(Readers, AScopeEndsWhenAllCopiesHave) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& scopes = pipe.create_scopes("scopes");
  auto& jobs = pipe.create_tunnel<char>("jobs", Direction::cpu_to_cpu, {.readers = Readers::each, .scopes = &scopes});
  auto& next = pipe.create_tunnel<char>("next", Direction::cpu_to_cpu, {.scopes = &scopes});
  Inlet<char> const client = jobs.open_inlet();
  std::atomic<int> done{0};
  auto const work = [&](char const&) {
    std::this_thread::yield();
    ++done;
  };
  pipe.add_cpu_stage("one", work, from(jobs), {.threads = 2});
  pipe.add_cpu_stage("two", work, from(jobs));
  pipe.add_cpu_stage(
      "three", [](char const& x) { return x; }, from(jobs), into(next));
  pipe.add_cpu_stage("last", work, from(next));
  pipe.start();
  for (int i = 0; i < 300; ++i) {
    int const before = done;
    Scope job = scopes.open_h();
    for (int n = 0; n < 5; ++n) client.put_h('x', job);
    job.close_h();
    job.wait();
    EXPECT_EQ(done, before + 15);
  }
  client.close_h();
  pipe.wait();
}

TEST(Readers, OfACancelledScopeNothingIsCopied) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& scopes = pipe.create_scopes("scopes");
  auto& jobs = pipe.create_tunnel<int>("jobs", Direction::cpu_to_cpu, {.readers = Readers::each, .scopes = &scopes});
  Inlet<int> const client = jobs.open_inlet();
  pipe.add_cpu_stage(
      "one", [](int const&) {}, from(jobs));
  pipe.add_cpu_stage(
      "two", [](int const&) {}, from(jobs));
  pipe.start();
  Scope job = scopes.open_h();
  job.cancel();
  client.put_h(1, job);
  job.close_h();
  EXPECT_THROW(job.wait(), ScopeCancelled);
  client.close_h();
  RunReport const report = pipe.wait();
  EXPECT_EQ(report.tunnels[1].items + report.tunnels[2].items, 0U);
}

TEST(Readers, ACycleEndsThatLeadsThroughOneOfThem) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& numbers =
      pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu, {.capacity_items = 4, .readers = Readers::each});
  std::atomic<int> outside{0};
  auto const halve = [](int const& x, Inlet<int> again) {
    for (int half = 0; half < 2 && x > 1; ++half) again.put_h(x / 2);
  };
  pipe.add_cpu_stage(
      "feed", [](Inlet<int> out) { out.put_h(1024); }, into(numbers));
  pipe.add_cpu_stage("halve", halve, from(numbers), into(numbers), {.threads = 2});
  pipe.add_cpu_stage(
      "outside", [&](int const&) { ++outside; }, from(numbers));
  pipe.run();
  EXPECT_EQ(outside, 2 * 1024 - 1);
}

TEST(Readers, OnesErrorIsTheRuns) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu, {.readers = Readers::each});
  feed(pipe, numbers);
  pipe.add_cpu_stage(
      "one", [](int const&) {}, from(numbers));
  pipe.add_cpu_stage(
      "two",
      [](int const& x) {
        if (x == 1000) fail_h("enough");
      },
      from(numbers));
  EXPECT_THAT(text_of_error<StageError>([&] { pipe.run(); }), HasSubstr("stage 'two': enough"));
}

// ---- what is refused

TEST(Readers, EachGoesWithoutWhatOneRingMustHave) {
  HIWAY_NEEDS_DEVICE();
  for (TunnelConfig config :
       {TunnelConfig{.shards = 2}, TunnelConfig{.low_latency = true}, TunnelConfig{.planned = true},
        TunnelConfig{.grow_to_items = 2048}, TunnelConfig{.keyed = true}}) {
    config.readers = Readers::each;
    Direction const direction = config.low_latency ? Direction::cpu_to_gpu : Direction::cpu_to_cpu;
    Pipeline pipe(bounded());
    EXPECT_EQ(text_of_error<ConfigError>([&] { pipe.create_tunnel<int>("t", direction, config); }),
              "tunnel 't': Readers::each goes without keyed, shards, low_latency, planned and grow_to_items");
  }
}

TEST(Readers, OldestItemsAreDroppedWithinOneHomeOnly) {
  HIWAY_NEEDS_DEVICE();
  TunnelConfig const config{.when_full = WhenFull::drop_oldest, .readers = Readers::each};
  Pipeline pipe(bounded());
  EXPECT_THAT(text_of_error<ConfigError>([&] { pipe.create_tunnel<int>("t", Direction::gpu_to_gpu, config); }),
              HasSubstr("tunnel 't': WhenFull::drop_oldest is for tunnels within one home"));
}

TEST(Readers, ThereMustBeOne) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_cpu, {.readers = Readers::each});
  pipe.add_cpu_stage(
      "put", [](Inlet<int>) {}, into(t));
  EXPECT_THAT(text_of_error<ConfigError>([&] { pipe.prepare(); }), HasSubstr("tunnel 't' has no reader"));
}

}  // namespace
