// Puts with a key: items of one key go to one thread of the stage that reads the tunnel, in the order in which each
// thread puts them.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "hiway/hiway.hpp"
#include "tests/device.hpp"

namespace {

using namespace hiway;
using namespace std::chrono_literals;
using hiway_tests::bounded;
using hiway_tests::text_of_error;
using testing::HasSubstr;

struct Job {
  std::uint32_t writer;
  std::uint32_t key;
  std::uint32_t number;  ///< of the writer's items of this key
};

constexpr std::uint32_t keys = 23;

/// What each thread of a stage got.
using Got = std::vector<std::vector<Job>>;

/// Each key is of one thread, and of each writer its items are there once, in order.
void expect_by_key(Got const& got, std::uint32_t writers, std::uint32_t each) {
  for (std::uint32_t key = 0; key < keys; ++key) {
    std::set<std::size_t> threads;
    std::vector<std::uint32_t> next(writers);
    for (std::size_t t = 0; t < got.size(); ++t) {
      for (Job const& job : got[t]) {
        if (job.key != key) continue;
        threads.insert(t);
        EXPECT_EQ(job.number, next[job.writer]++) << "key " << key << " of writer " << job.writer;
      }
    }
    EXPECT_EQ(threads.size(), 1U) << "key " << key;
    EXPECT_EQ(next, std::vector<std::uint32_t>(writers, each)) << "key " << key;
  }
}

void put_all(Inlet<Job> out, std::uint32_t writer, std::uint32_t each) {
  for (std::uint32_t n = 0; n < each; ++n) {
    for (std::uint32_t key = 0; key < keys; ++key) out.put_h({writer, key, n}, {.key = key});
  }
}

enum class Form : std::uint8_t { loop, item, value };

class ByKey : public testing::TestWithParam<std::tuple<Form, unsigned, std::size_t>> {};

TEST_P(ByKey, EachKeyGoesToOneThreadInOrder) {
  HIWAY_NEEDS_DEVICE();
  auto const [form, threads, capacity] = GetParam();
  constexpr std::uint32_t each = 300;
  Pipeline pipe(bounded());
  auto& jobs = pipe.create_tunnel<Job>("jobs", Direction::cpu_to_cpu, {.capacity_items = capacity, .keyed = true});
  auto& told = pipe.create_tunnel<int>("told", Direction::cpu_to_cpu);
  Inlet<Job> const client = jobs.open_inlet();
  Got got(threads);
  auto const note = [&got](Job const& job) {
    if (thread_index() == 0 && job.number % 64 == 0)
      std::this_thread::sleep_for(1ms);  // others would help, if they could
    got[thread_index()].push_back(job);
  };
  pipe.add_cpu_stage("put", [&](Inlet<Job> out) { put_all(out, thread_index(), each); }, into(jobs), {.threads = 2});
  CpuStageOptions const options{.threads = threads};
  if (form == Form::loop) {
    pipe.add_cpu_stage(
        "read", [&](Outlet<Job> in, Inlet<int>) { in.for_each_h(note); }, from(jobs), into(told), options);
  } else if (form == Form::item) {
    pipe.add_cpu_stage(
        "read", [&](Job const& job, Inlet<int>) { note(job); }, from(jobs), into(told), options);
  } else {
    auto const one = [&](Job const& job) {
      note(job);
      return 1;
    };
    pipe.add_cpu_stage("read", one, from(jobs), into(told), options);
  }
  pipe.add_cpu_stage(
      "hear", [](int const&) {}, from(told));
  for (int run = 0; run < 2; ++run) {
    for (auto& thread : got) thread.clear();
    pipe.start();
    put_all(client, 2, each);
    client.close_h();
    RunReport const report = pipe.wait();
    expect_by_key(got, 3, each);
    EXPECT_EQ(report.tunnels.front().items, 3 * each * keys);
  }
}
INSTANTIATE_TEST_SUITE_P(Keys, ByKey,
                         testing::Combine(testing::Values(Form::loop, Form::item, Form::value),
                                          testing::Values(1U, 3U, 4U),
                                          testing::Values(std::size_t{1}, std::size_t{1024})));

struct LargeJob {
  Job job;
  char rest[3000];
};

TEST(Keys, LargeItemsHaveThem) {
  HIWAY_NEEDS_DEVICE();
  constexpr std::uint32_t each = 50;
  Pipeline pipe(bounded());
  auto& jobs = pipe.create_tunnel<LargeJob>("jobs", Direction::cpu_to_cpu, {.capacity_items = 16, .keyed = true});
  Got got(2);
  auto const put = [](Inlet<LargeJob> out) {
    for (std::uint32_t n = 0; n < each; ++n) {
      for (std::uint32_t key = 0; key < keys; ++key) out.put_h({{0, key, n}, {}}, {.key = key});
    }
  };
  pipe.add_cpu_stage("put", put, into(jobs));
  pipe.add_cpu_stage("read", [&](LargeJob const& large) { got[thread_index()].push_back(large.job); }, from(jobs),
                     {.threads = 2});
  pipe.run();
  expect_by_key(got, 1, each);
}

TEST(Keys, SpreadOverAllThreadsAtAnyDistance) {
  constexpr std::uint32_t count = 4096;
  for (std::uint32_t const threads : {2U, 3U, 8U, 12U}) {
    for (std::uint64_t const distance :
         {std::uint64_t{1}, std::uint64_t{threads}, std::uint64_t{64}, std::uint64_t{2760}, std::uint64_t{1} << 32,
          std::uint64_t{0x9e3779b97f4a7c15}}) {
      std::vector<std::uint32_t> of(threads);
      for (std::uint64_t i = 0; i < count; ++i) ++of[detail::thread_of_key(i * distance, threads)];
      for (std::uint32_t const n : of) {
        EXPECT_GT(n, count / threads * 3 / 4) << threads << " threads, distance " << distance;
        EXPECT_LT(n, count / threads * 5 / 4) << threads << " threads, distance " << distance;
      }
    }
  }
}

/// Two keys of different threads, of two.
std::pair<std::uint64_t, std::uint64_t> keys_apart() {
  std::uint64_t other = 1;
  while (detail::thread_of_key(other, 2) == detail::thread_of_key(0, 2)) ++other;
  return {0, other};
}

/// A pipeline whose thread of key 0 works on its first item until it is let go.
struct Stuck {
  explicit Stuck(TunnelConfig config) {
    config.capacity_items = 64;
    config.keyed = true;
    auto& numbers = pipe.create_tunnel<std::uint64_t>("numbers", Direction::cpu_to_cpu, config);
    inlet = numbers.open_inlet();
    pipe.add_cpu_stage("read",
                       [this](std::uint64_t const& key) {
                         ++got;
                         if (key == 0 && !began.exchange(true)) go.wait(false);
                       },
                       from(numbers), {.threads = 2});
    pipe.start();
    inlet.put_h(0, {.key = 0});
    while (!began) std::this_thread::yield();
  }
  ~Stuck() { let_go(); }
  void let_go() {
    go = true;
    go.notify_all();
  }

  Pipeline pipe{bounded()};
  Inlet<std::uint64_t> inlet;
  std::atomic<bool> began{false};
  std::atomic<bool> go{false};
  std::atomic<int> got{0};
};

TEST(Keys, AThreadThatStandsHoldsUpItsOwnKeysAlone) {
  HIWAY_NEEDS_DEVICE();
  Stuck stuck({});
  auto const [key, other] = keys_apart();
  int fit = 0;
  while (stuck.inlet.try_put_h(key, {.key = key})) ++fit;
  EXPECT_EQ(fit, 32) << "its half of the capacity";
  EXPECT_EQ(stuck.inlet.offer_h(key, 1ms, {.key = key}), Put::full);
  for (int i = 0; i < 1000; ++i) stuck.inlet.put_h(other, {.key = other});
  for (int i = 0; i < 1000; ++i) stuck.inlet.put_h(other);  // to whichever thread is free
  while (stuck.got < 2001) std::this_thread::yield();
  stuck.let_go();
  EXPECT_EQ(stuck.inlet.offer_h(key, 10s, {.key = key}), Put::done);
  stuck.inlet.close_h();
  EXPECT_EQ(stuck.inlet.offer_h(key, 0s, {.key = key}), Put::closed);
  stuck.pipe.wait();
  EXPECT_EQ(stuck.got, 2001 + fit + 1);
}

TEST(Keys, AFullRingOfAKeyDropsWhatIsToBeDropped) {
  HIWAY_NEEDS_DEVICE();
  Stuck stuck({.when_full = WhenFull::drop_newest});
  for (int i = 0; i < 100; ++i) stuck.inlet.put_h(0, {.key = 0});
  stuck.let_go();
  stuck.inlet.close_h();
  RunReport const report = stuck.pipe.wait();
  EXPECT_EQ(report.tunnels.front().dropped, 68U);
  EXPECT_EQ(report.tunnels.front().items, 33U);
  EXPECT_EQ(stuck.got, 33);
}

/// Whether all of a stage's threads that nap are awake after one put with a key.
bool are_all_woken() {
  Bell bell;
  InletPort port;
  port.bell = &bell;
  InletView view;
  view.ports = &port;
  std::atomic<unsigned> awake{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      bell.nap(30s);
      ++awake;
    });
  }
  std::this_thread::sleep_for(100ms);  // they lie down
  { detail::WakesReaders const after_a_put(view); }
  for (int i = 0; i < 1000 && awake < 4; ++i) std::this_thread::sleep_for(1ms);
  bool const all = awake == 4;
  while (awake < 4) bell.ring(~0U);
  return all;
}

TEST(Keys, APutWithAKeyWakesAllThreadsAsOneOfThemHasIt) {
  bool woken = false;
  for (int i = 0; i < 10 && !woken; ++i) woken = are_all_woken();  // one may have lain down late
  EXPECT_TRUE(woken);
}

TEST(Keys, WithoutAKeyAnOnlyThreadSeesTheOrderOfEachWriter) {
  HIWAY_NEEDS_DEVICE();
  constexpr std::uint32_t each = 20000;
  Pipeline pipe(bounded());
  auto& jobs = pipe.create_tunnel<Job>("jobs", Direction::cpu_to_cpu, {.keyed = true});
  std::vector<std::uint32_t> next(2);
  auto const put = [](Inlet<Job> out) {
    for (std::uint32_t n = 0; n < each; ++n) out.put_h({thread_index(), 0, n});
  };
  pipe.add_cpu_stage("put", put, into(jobs), {.threads = 2});
  pipe.add_cpu_stage(
      "read", [&](Job const& job) { EXPECT_EQ(job.number, next[job.writer]++); }, from(jobs));
  pipe.run();
  EXPECT_EQ(next, std::vector<std::uint32_t>(2, each));
}

TEST(Keys, ItemsOfAScopeMayHaveKeys) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& scopes = pipe.create_scopes("scopes");
  auto& first = pipe.create_tunnel<int>("first", Direction::cpu_to_cpu, {.keyed = true, .scopes = &scopes});
  auto& second = pipe.create_tunnel<int>("second", Direction::cpu_to_cpu, {.keyed = true, .scopes = &scopes});
  Inlet<int> const client = first.open_inlet();
  std::atomic<int> got{0};
  pipe.add_cpu_stage("between",
                     [](int const& x, Inlet<int> out) {
                       for (unsigned k = 0; k < 3; ++k) out.put_h(x, {.key = k});
                     },
                     from(first), into(second), {.threads = 2});
  pipe.add_cpu_stage("read", [&](int const&) { ++got; }, from(second), {.threads = 3});
  pipe.start();
  for (unsigned i = 0; i < 50; ++i) {
    int const before = got;
    Scope job = scopes.open_h();
    client.put_h(1, job, {.key = i});
    job.close_h();
    job.wait();
    EXPECT_EQ(got, before + 3);
  }
  client.close_h();
  pipe.wait();
}

struct Halve {
  HIWAY_DEVICE int operator()(int const& x) const { return x / 2; }
};

TEST(Keys, ItemsComeFromADeviceByAStageThatPutsThemWithKeys) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_gpu);
  auto& halves = pipe.create_tunnel<int>("halves", Direction::gpu_to_cpu);
  auto& by_key = pipe.create_tunnel<int>("by_key", Direction::cpu_to_cpu, {.keyed = true});
  std::vector<std::multiset<int>> got(3);
  pipe.add_cpu_stage(
      "feed",
      [](Inlet<int> out) {
        for (int i = 0; i < 2000; ++i) out.put_h(i);
      },
      into(numbers));
  pipe.add_gpu_stage("halve", Halve{}, from(numbers), into(halves));
  pipe.add_cpu_stage(
      "sort", [](int const& x, Inlet<int> out) { out.put_h(x, {.key = static_cast<unsigned>(x)}); }, from(halves),
      into(by_key));
  pipe.add_cpu_stage("read", [&](int const& x) { got[thread_index()].insert(x); }, from(by_key), {.threads = 3});
  pipe.run();
  for (int x = 0; x < 1000; ++x) {
    EXPECT_EQ(got[detail::thread_of_key(static_cast<unsigned>(x), 3)].count(x), 2U);
  }
}

// ---- what is refused

TEST(Keys, APutWithAKeyNeedsATunnelWithKeys) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& plain = pipe.create_tunnel<int>("plain", Direction::cpu_to_cpu);
  Inlet<int> const client = plain.open_inlet();
  EXPECT_THROW(client.put_h(1, {.key = 1}), Aborted) << "no run is under way";
  pipe.add_cpu_stage(
      "put", [](Inlet<int> out) { out.put_h(1, {.key = 1}); }, into(plain));
  pipe.add_cpu_stage(
      "read", [](int const&) {}, from(plain));
  EXPECT_THAT(text_of_error<MisuseError>([&] { pipe.run(); }),
              HasSubstr("a put with a key into a tunnel without TunnelConfig::keyed"));
}

std::string refused_tunnel(Direction direction, TunnelConfig config) {
  config.keyed = true;
  Pipeline pipe(bounded());
  return text_of_error<ConfigError>([&] { pipe.create_tunnel<int>("t", direction, config); });
}

TEST(Keys, AreForPlainTunnelsBetweenCpuStages) {
  HIWAY_NEEDS_DEVICE();
  EXPECT_EQ(refused_tunnel(Direction::gpu_to_cpu, {}), "tunnel 't': keyed is for tunnels from CPU to CPU");
  EXPECT_EQ(refused_tunnel(Direction::cpu_to_gpu, {}), "tunnel 't': keyed is for tunnels from CPU to CPU");
  for (TunnelConfig const& config :
       {TunnelConfig{.shards = 2}, TunnelConfig{.planned = true}, TunnelConfig{.grow_to_items = 2048}})
    EXPECT_EQ(refused_tunnel(Direction::cpu_to_cpu, config),
              "tunnel 't': keyed goes without shards, planned and grow_to_items");
  for (WhenFull const when_full : {WhenFull::spill, WhenFull::drop_oldest})
    EXPECT_THAT(refused_tunnel(Direction::cpu_to_cpu, {.when_full = when_full}),
                HasSubstr("none spills or drops its oldest item"));
}

TEST(Keys, BelongToTheThreadsOfOneStage) {
  HIWAY_NEEDS_DEVICE();
  for (bool const is_open : {false, true}) {
    Pipeline pipe(bounded());
    auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_cpu, {.keyed = true});
    pipe.add_cpu_stage(
        "put", [](Inlet<int>) {}, into(t));
    pipe.add_cpu_stage(
        "read", [](int const&) {}, from(t));
    if (is_open) {
      (void)t.open_outlet();
    } else {
      pipe.add_cpu_stage(
          "too", [](int const&) {}, from(t));
    }
    EXPECT_THAT(text_of_error<ConfigError>([&] { pipe.prepare(); }), HasSubstr("it has no other reader"));
  }
}

TEST(Keys, AreNotForCycles) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_cpu, {.keyed = true});
  pipe.add_cpu_stage(
      "put", [](Inlet<int> out) { out.put_h(3); }, into(t));
  pipe.add_cpu_stage(
      "again",
      [](int const& x, Inlet<int> out) {
        if (x > 0) out.put_h(x - 1);
      },
      from(t), into(t));
  EXPECT_THAT(text_of_error<ConfigError>([&] { pipe.prepare(); }),
              HasSubstr("tunnel 't' has keys, and is inside a cycle"));
}

}  // namespace
