// Puts of single items by CPU threads, which are staged: each item comes once and in order, whichever calls the thread
// mixes, with any readers, and also while the thread calls nothing.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <hiway/hiway.hpp>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace hiway;
using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::size_t capacity = 1024;

/// The number `i` of writer `writer`.
struct Numbered {
  std::uint32_t writer;
  std::uint32_t i;
};

struct PassOn {
  HIWAY_DEVICE Numbered operator()(Numbered const& item) const { return item; }
};

/// What a tunnel's only reader gets: of each writer, in order.
class Reader {
 public:
  void got(Numbered const& item) {
    ASSERT_LT(item.writer, next_.size());
    ASSERT_GE(item.i, next_[item.writer]) << "of writer " << item.writer;
    next_[item.writer] = item.i + 1;
    ++count_;
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }

 private:
  std::array<std::uint32_t, 8> next_{};
  std::uint64_t count_ = 0;
};

/// The body of a source that puts `items` items, one by one.
auto writer_of(std::uint32_t items) {
  return [items](Inlet<Numbered> out) {
    for (std::uint32_t i = 0; i < items; ++i) out.put_h({0, i});
  };
}

struct Sizes {
  unsigned writers;
  unsigned readers;
  std::uint32_t each;
};

/// Each item comes once; to a single reader in order.
RunReport run_between_threads(Sizes sizes, std::size_t capacity_items = capacity) {
  std::atomic<std::uint64_t> all{0};
  std::vector<std::atomic<std::uint8_t>> came(std::size_t{sizes.writers} * sizes.each);
  Pipeline pipe({.device = "simt"});
  auto& t = pipe.create_tunnel<Numbered>("numbers", Direction::cpu_to_cpu, {.capacity_items = capacity_items});
  pipe.add_cpu_stage("writer",
                     [&](Inlet<Numbered> out) {
                       for (std::uint32_t i = 0; i < sizes.each; ++i) out.put_h({this_thread_context().thread, i});
                     },
                     into(t), {.threads = sizes.writers});
  pipe.add_cpu_stage("reader",
                     [&](Outlet<Numbered> in) {
                       Reader reader;
                       std::uint64_t got = 0;
                       in.for_each_h([&](Numbered const& item) {
                         ++got;
                         ++came.at(std::size_t{item.writer} * sizes.each + item.i);
                         if (sizes.readers == 1) reader.got(item);
                       });
                       all += got;
                     },
                     from(t), {.threads = sizes.readers});
  RunReport report = pipe.run();
  EXPECT_EQ(all, std::uint64_t{sizes.writers} * sizes.each);
  EXPECT_TRUE(std::ranges::all_of(came, [](auto const& times) { return times == 1; }));
  EXPECT_EQ(report.tunnels.front().items, all);
  EXPECT_EQ(report.tunnels.front().finished, all);
  return report;
}

TEST(Staging, OneWriterAndOneReader) { run_between_threads({1, 1, 200'000}); }
TEST(Staging, SeveralWriters) { run_between_threads({4, 1, 50'000}); }
TEST(Staging, SeveralReaders) { run_between_threads({1, 3, 100'000}); }
TEST(Staging, SeveralOfBoth) { run_between_threads({4, 4, 50'000}); }
TEST(Staging, MoreWritersThanTheTunnelHasRoomFor) { run_between_threads({8, 2, 2'000}, 64); }
TEST(Staging, ATunnelOfOneItemStagesNothing) { run_between_threads({2, 2, 500}, 1); }

TEST(Staging, IsLittleBesideTheTunnel) {
  EXPECT_EQ(Staging::slots_for(16, 65'536, 1, false), 256u);
  EXPECT_EQ(Staging::slots_for(16, 65'536, 1, true), 1024u);
  EXPECT_EQ(Staging::slots_for(16, 1024, 1, false), 128u);
  EXPECT_EQ(Staging::slots_for(16, 1024, 8, false), 16u);
  EXPECT_EQ(Staging::slots_for(256, 65'536, 1, false), 64u);
  EXPECT_EQ(Staging::slots_for(16, 31, 1, false), 0u);
  EXPECT_EQ(Staging::slots_for(16, 1, 1, false), 0u);
}

/// One alone, of a tunnel across the bus or between CPU threads.
struct Alone {
  explicit Alone(bool crosses) {
    view.relays = crosses ? &relays : nullptr;
    staging.reset(view);
  }
  std::uint64_t put() {
    EXPECT_FALSE(staging.is_full(m));
    return staging.publish(m);
  }
  StageThread m;
  Relays relays{};
  InletView view{};
  Word<std::uint64_t> taken{0};
  Staging staging{sizeof(Numbered), 256, &taken};
};

TEST(Staging, LooksAtTheOtherEndWhenTwiceAsManyHaveGathered) {
  Alone across(true);
  std::vector<int> looks;
  for (int i = 1; i <= 256; ++i) {
    if (!across.staging.owner().is_look_due(across.put())) continue;
    looks.push_back(i);
    across.staging.look_later(across.m);
  }
  EXPECT_THAT(looks, testing::ElementsAre(1, 2, 4, 8, 16, 32, 64, 128, 256));

  Alone between(false);
  for (int i = 1; i <= 256; ++i) {
    EXPECT_FALSE(between.staging.owner().is_look_due(between.put())) << i;
    between.staging.look_later(between.m);
  }
}

TEST(Staging, IsTheMonitorsWhenItsThreadPutsNoMoreOrNothingHasLeftForLong) {
  Alone a(true);
  EXPECT_FALSE(a.staging.is_left_alone(a.m)) << "nothing is staged";
  a.put();
  EXPECT_FALSE(a.staging.is_left_alone(a.m)) << "it was put since the last look";
  EXPECT_TRUE(a.staging.is_left_alone(a.m));
  a.put();
  EXPECT_FALSE(a.staging.is_left_alone(a.m)) << "its thread is at work";
  a.put();
  EXPECT_TRUE(a.staging.is_left_alone(a.m)) << "a thread that puts slowly would leave it until it is full";
}

TEST(Staging, EveryFormOfPutKeepsTheThreadsOrder) {
  constexpr std::uint32_t rounds = 2'000;
  Reader reader;
  Pipeline pipe({.device = "simt"});
  auto& t = pipe.create_tunnel<Numbered>("numbers", Direction::cpu_to_cpu, {.capacity_items = capacity});
  pipe.add_cpu_stage(
      "writer",
      [&](Inlet<Numbered> out) {
        std::uint32_t i = 0;
        auto const next = [&] { return Numbered{0, i++}; };
        for (std::uint32_t r = 0; r < rounds; ++r) {
          for (std::uint32_t k = 0; k < r % 7; ++k) out.put_h(next());
          std::array const some{next(), next(), next()};
          if (r % 2 != 0) out.put_h(std::span<Numbered const>(some));
          if (r % 2 == 0) {
            for (Numbered const& item : some) {
              while (!out.try_put_h(item)) std::this_thread::yield();
            }
          }
          out.put_h(next());
          out.put_in_place_h([&](Numbered& slot) { slot = next(); });
        }
      },
      into(t));
  pipe.add_cpu_stage(
      "reader", [&](Outlet<Numbered> in) { in.for_each_h([&](Numbered const& item) { reader.got(item); }); }, from(t));
  RunReport const report = pipe.run();
  EXPECT_EQ(reader.count(), report.tunnels.front().items);
}

TEST(Staging, ItemsGoThroughTheDeviceInOrderOfEachThread) {
  constexpr std::uint32_t each = 20'000;
  std::atomic<std::uint64_t> all{0};
  Pipeline pipe({.device = "simt"});
  auto& there = pipe.create_tunnel<Numbered>("there", Direction::cpu_to_gpu, {.capacity_items = capacity});
  auto& back = pipe.create_tunnel<Numbered>("back", Direction::gpu_to_cpu, {.capacity_items = capacity});
  pipe.add_cpu_stage("writer",
                     [&](Inlet<Numbered> out) {
                       for (std::uint32_t i = 0; i < each; ++i) out.put_h({this_thread_context().thread, i});
                     },
                     into(there), {.threads = 3});
  pipe.add_gpu_stage("pass on", PassOn{}, from(there), into(back), {.blocks = 1, .threads_per_block = 1});
  pipe.add_cpu_stage(
      "reader",
      [&](Outlet<Numbered> in) {
        Reader reader;
        in.for_each_h([&](Numbered const& item) { reader.got(item); });
        all += reader.count();
      },
      from(back));
  pipe.run();
  EXPECT_EQ(all, 3u * each);
}

/// A writer that puts one item at a time and waits, calling nothing, until that has been got.
void ask_and_wait(bool through_device) {
  constexpr std::uint32_t items = 50;
  std::atomic<std::uint32_t> got{0};
  auto const begin = std::chrono::steady_clock::now();
  Pipeline pipe({.device = "simt"});
  auto& t = pipe.create_tunnel<Numbered>("there", through_device ? Direction::cpu_to_gpu : Direction::cpu_to_cpu,
                                         {.capacity_items = capacity});
  Tunnel<Numbered>* last = &t;
  if (through_device) {
    last = &pipe.create_tunnel<Numbered>("back", Direction::gpu_to_cpu, {.capacity_items = capacity});
    pipe.add_gpu_stage("pass on", PassOn{}, from(t), into(*last), {.blocks = 1, .threads_per_block = 1});
  }
  pipe.add_cpu_stage(
      "writer",
      [&](Inlet<Numbered> out) {
        for (std::uint32_t i = 0; i < items; ++i) {
          for (std::uint32_t k = 0; k < 3; ++k) out.put_h({0, 3 * i + k});
          auto const late = std::chrono::steady_clock::now() + 10s;
          while (got < 3 * (i + 1) && std::chrono::steady_clock::now() < late) std::this_thread::yield();
        }
      },
      into(t));
  pipe.add_cpu_stage("reader", [&](Outlet<Numbered> in) { in.for_each_h([&](Numbered const&) { ++got; }); },
                     from(*last), {.threads = 2});
  pipe.run();
  EXPECT_EQ(got, 3 * items);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s) << "an item waited for its thread's next call";
}
TEST(Staging, AnItemComesWhileItsThreadCallsNothing) { ask_and_wait(false); }
TEST(Staging, AnItemReachesTheDeviceWhileItsThreadCallsNothing) { ask_and_wait(true); }

TEST(Staging, AStageBetweenEndsItsTasksAfterItsPuts) {
  constexpr std::uint32_t items = 50'000;
  Reader reader;
  Pipeline pipe({.device = "simt"});
  auto& a = pipe.create_tunnel<Numbered>("a", Direction::cpu_to_cpu, {.capacity_items = capacity});
  auto& b = pipe.create_tunnel<Numbered>("b", Direction::cpu_to_cpu, {.capacity_items = capacity});
  pipe.add_cpu_stage("source", writer_of(items), into(a));
  pipe.add_cpu_stage(
      "between", [](Numbered const& item) { return item; }, from(a), into(b));
  pipe.add_cpu_stage(
      "reader", [&](Outlet<Numbered> in) { in.for_each_h([&](Numbered const& item) { reader.got(item); }); }, from(b));
  pipe.run();
  EXPECT_EQ(reader.count(), items);
}

/// A reader that pauses after its first item, while no task of its own is open.
auto reader_that_pauses(std::uint32_t& got) {
  return [&got](Outlet<Numbered> in) {
    for (Numbered item; in.next_h(item);) {
      ++got;
      in.end_task_h();
      if (got == 1) std::this_thread::sleep_for(20ms);
    }
  };
}

/// Some runs, since a reader that is late finds the items while their tunnel is open.
void run_often(Pipeline& pipe, std::uint32_t& got, std::uint32_t items) {
  for (int run = 0; run < 20; ++run) {
    got = 0;
    pipe.run();
    ASSERT_EQ(got, items);
  }
}

TEST(Staging, WhatIsStagedAtTheCloseIsNotLostWhileTheReaderPauses) {
  constexpr std::uint32_t items = 50;
  std::uint32_t got = 0;
  Pipeline pipe({.device = "simt"});
  auto& t = pipe.create_tunnel<Numbered>("numbers", Direction::cpu_to_cpu, {.capacity_items = capacity});
  pipe.add_cpu_stage("writer", writer_of(items), into(t));
  pipe.add_cpu_stage("reader", reader_that_pauses(got), from(t));
  run_often(pipe, got, items);
}

// A stage in item or value form puts in its tasks only. So what it puts into ends with the tasks, before it closes.
TEST(Staging, WhatIsStagedAtTheEndOfATaskIsNotLostWhileTheReaderPauses) {
  constexpr std::uint32_t items = 50;
  std::uint32_t got = 0;
  Pipeline pipe({.device = "simt"});
  auto& a = pipe.create_tunnel<Numbered>("a", Direction::cpu_to_cpu, {.capacity_items = capacity});
  auto& b = pipe.create_tunnel<Numbered>("b", Direction::cpu_to_cpu, {.capacity_items = capacity});
  pipe.add_cpu_stage("source", writer_of(items), into(a));
  pipe.add_cpu_stage(
      "between", [](Numbered const& item) { return item; }, from(a), into(b));
  pipe.add_cpu_stage("reader", reader_that_pauses(got), from(b));
  run_often(pipe, got, items);
}

/// Stages of a cycle: `feed` puts two items below `n` for each item n. One round of it needs 2^12 items at once.
void run_cycle(unsigned threads, std::size_t capacity_items, std::size_t spill_items) {
  constexpr std::uint32_t depth = 12;
  std::atomic<std::uint64_t> got{0};
  Pipeline pipe({.device = "simt"});
  TunnelConfig const config{.capacity_items = capacity_items, .spill_items = spill_items};
  auto& there = pipe.create_tunnel<std::uint32_t>("there", Direction::cpu_to_cpu, config);
  auto& back = pipe.create_tunnel<std::uint32_t>("back", Direction::cpu_to_cpu, config);
  pipe.add_cpu_stage(
      "source", [](Inlet<std::uint32_t> out) { out.put_h(std::uint32_t{depth}); }, into(there));
  pipe.add_cpu_stage(
      "feed",
      [&](Outlet<std::uint32_t> in, Inlet<std::uint32_t> out) {
        in.for_each_h([&](std::uint32_t n) {
          ++got;
          for (int k = 0; n != 0 && k < 2; ++k) out.put_h(n - 1);
        });
      },
      from(there), into(back), {.threads = threads});
  pipe.add_cpu_stage(
      "pass",
      [](Outlet<std::uint32_t> in, Inlet<std::uint32_t> out) {
        in.for_each_h([&](std::uint32_t n) { out.put_h(n); });
      },
      from(back), into(there), {.threads = threads});
  for (int run = 0; run < 5; ++run) {
    got = 0;
    RunReport const report = pipe.run();
    EXPECT_EQ(got, (2u << depth) - 1);
    bool const has_room = capacity_items > 2u << depth;
    for (TunnelReport const& t : report.tunnels) EXPECT_TRUE(t.spilled == 0 || !has_room) << t.spilled << " of " << t.name;
  }
}
TEST(Staging, ACycleOfOneThreadEachEnds) { run_cycle(1, capacity, 8192); }
TEST(Staging, ACycleOfSeveralThreadsEnds) { run_cycle(3, capacity, 8192); }
TEST(Staging, ACycleWithRoomForAllSpillsNothing) { run_cycle(3, 16384, 8192); }
TEST(Staging, ACycleThatHasNoRoomSpillsAndEnds) { run_cycle(2, 64, 8192); }

/// A stage that feeds itself puts so many items in its first task; ring and pool hold 64 each.
void run_a_task_that_puts(std::uint32_t items, bool tries = false) {
  std::uint32_t got = 0;
  Pipeline pipe({.device = "simt"});
  auto& first = pipe.create_tunnel<std::uint32_t>("first", Direction::cpu_to_cpu);
  auto& t = pipe.create_tunnel<std::uint32_t>("t", Direction::cpu_to_cpu, {.capacity_items = 64, .spill_items = 64});
  pipe.add_cpu_stage(
      "source", [](Inlet<std::uint32_t> out) { out.put_h(1); }, into(first));
  pipe.add_cpu_stage(
      "feed",
      [&](Outlet<std::uint32_t> begin, Outlet<std::uint32_t> in, Inlet<std::uint32_t> out) {
        begin.for_each_h([&](std::uint32_t) {
          for (std::uint32_t k = 0; k < items; ++k) out.put_h(0);
          while (tries && !out.try_put_h(0)) {
          }
        });
        in.for_each_h([&](std::uint32_t) { ++got; });
      },
      from(first, t), into(t));
  pipe.run();
  EXPECT_EQ(got, items + (tries ? 1 : 0));
}
TEST(Staging, ATryInACycleDoesNotWaitForRoom) { run_a_task_that_puts(70, true); }
TEST(Staging, ATaskMayPutWhatRingAndPoolHold) { run_a_task_that_puts(128); }
TEST(Staging, WhatIsStagedAtTheEndOfATaskWhenAllIsFullIsAnError) {
  try {
    run_a_task_that_puts(131);
    FAIL() << "no error";
  } catch (std::exception const& e) {
    EXPECT_NE(std::string(e.what()).find("the spill pool is full"), std::string::npos) << e.what();
  }
}

TEST(Staging, AnotherThreadEndsTasksWhileTheirStagePuts) {
  constexpr std::uint32_t items = 2'000;
  std::atomic<std::uint64_t> all{0};
  Pipeline pipe({.device = "simt"});
  auto& a = pipe.create_tunnel<Numbered>("a", Direction::cpu_to_cpu, {.capacity_items = capacity});
  auto& b = pipe.create_tunnel<Numbered>("b", Direction::cpu_to_cpu, {.capacity_items = capacity});
  pipe.add_cpu_stage("source", writer_of(items), into(a));
  pipe.add_cpu_stage(
      "between",
      [&](Outlet<Numbered> in, Inlet<Numbered> out) {
        std::atomic<std::uint32_t> open{0};
        std::atomic<bool> over{false};
        std::jthread const ends([&] {
          while (!over || open != 0) {
            if (open == 0) continue;
            in.end_task_h();
            --open;
          }
        });
        for (std::uint32_t got = 0; got < items;) {
          Numbered item;
          if (!in.get_h(item)) continue;
          ++got;
          for (int k = 0; k < 20; ++k) out.put_h(item);
          ++open;
        }
        over = true;
      },
      from(a), into(b));
  pipe.add_cpu_stage(
      "reader", [&](Outlet<Numbered> in) { in.for_each_h([&](Numbered const&) { ++all; }); }, from(b));
  RunReport const report = pipe.run();
  EXPECT_EQ(all, 20u * items);
  EXPECT_EQ(report.tunnels.front().finished, items);
}

TEST(Staging, AWriterWhoseReaderStandsStillHoldsAnEighthMoreThanTheCapacityAtMost) {
  std::atomic<std::uint64_t> put{0};
  std::atomic<bool> over{false};
  Pipeline pipe({.device = "simt"});
  auto& t = pipe.create_tunnel<std::uint64_t>("numbers", Direction::cpu_to_cpu, {.capacity_items = capacity});
  pipe.add_cpu_stage(
      "writer",
      [&](Inlet<std::uint64_t> out) {
        for (std::uint64_t i = 0; i < 4 * capacity; ++i, ++put) out.put_h(i);
      },
      into(t));
  pipe.add_cpu_stage(
      "reader",
      [&](Outlet<std::uint64_t> in) {
        std::uint64_t seen = 0;
        for (int still = 0; still < 20;) {  // 200 ms without a put
          std::this_thread::sleep_for(10ms);
          still = put == seen ? still + 1 : 0;
          seen = put;
        }
        over = put > capacity + capacity / 8 || put < capacity;
        in.for_each_h([](std::uint64_t) {});
      },
      from(t));
  pipe.run();
  EXPECT_FALSE(over);
}

TEST(Staging, APutAfterTheCloseIsRefusedAtOnce) {
  Pipeline pipe({.device = "simt"});
  auto& t = pipe.create_tunnel<std::uint64_t>("numbers", Direction::cpu_to_cpu, {.capacity_items = capacity});
  std::atomic<bool> came_back{false};
  pipe.add_cpu_stage(
      "writer",
      [&](Inlet<std::uint64_t> out) {
        for (std::uint64_t i = 0; i < 10; ++i) out.put_h(i);
        out.close_h();
        out.put_h(10);
        came_back = true;
      },
      into(t));
  pipe.add_cpu_stage(
      "reader", [](Outlet<std::uint64_t> in) { in.for_each_h([](std::uint64_t) {}); }, from(t));
  try {
    pipe.run();
    ADD_FAILURE() << "no error";
  } catch (Error const& e) {
    EXPECT_THAT(e.what(), HasSubstr("'writer'"));
    EXPECT_THAT(e.what(), HasSubstr("'numbers'"));
  }
  EXPECT_FALSE(came_back);
}

TEST(Staging, IsOfTheThreadThatBeganIt) {
  StagingOwner owner;
  owner.reset(false);
  EXPECT_FALSE(owner.is_this_thread(StageThread{}));
  owner.begin(nullptr, false);
  EXPECT_TRUE(owner.is_this_thread(StageThread{}));
  std::jthread([&] { EXPECT_FALSE(owner.is_this_thread(StageThread{})); }).join();
  owner.end(StageThread{});
  EXPECT_FALSE(owner.is_this_thread(StageThread{}));
}

TEST(Staging, AnotherThreadMayPutByAStagesEnd) {
  constexpr std::uint64_t each = 20'000;
  std::atomic<std::uint64_t> sum{0};
  Pipeline pipe({.device = "simt"});
  auto& t = pipe.create_tunnel<std::uint64_t>("numbers", Direction::cpu_to_cpu, {.capacity_items = capacity});
  pipe.add_cpu_stage(
      "writer",
      [&](Inlet<std::uint64_t> out) {
        std::jthread const other([&] {
          for (std::uint64_t i = 0; i < each; ++i) out.put_h(1);
        });
        for (std::uint64_t i = 0; i < each; ++i) out.put_h(1);
      },
      into(t));
  pipe.add_cpu_stage(
      "reader", [&](Outlet<std::uint64_t> in) { in.for_each_h([&](std::uint64_t i) { sum += i; }); }, from(t));
  pipe.run();
  EXPECT_EQ(sum, 2 * each);
}

TEST(Staging, AnErrorOfTheReaderEndsAWriterThatWaitsForRoom) {
  for (int run = 0; run < 20; ++run) {
    Pipeline pipe({.device = "simt"});
    auto& t = pipe.create_tunnel<std::uint64_t>("numbers", Direction::cpu_to_cpu, {.capacity_items = capacity});
    pipe.add_cpu_stage("writer",
                       [](Inlet<std::uint64_t> out) {
                         for (std::uint64_t i = 0;; ++i) out.put_h(i);
                       },
                       into(t), {.threads = 2});
    pipe.add_cpu_stage(
        "reader",
        [](Outlet<std::uint64_t> in) {
          std::uint64_t left = 10'000;
          in.for_each_h([&](std::uint64_t) {
            if (--left == 0) throw std::runtime_error("enough");
          });
        },
        from(t));
    try {
      pipe.run();
      ADD_FAILURE() << "no error";
    } catch (std::exception const& e) {
      EXPECT_THAT(e.what(), HasSubstr("enough"));
    }
  }
}

// What is staged stays there while the tunnel is full.
TEST(Staging, ALoopOfTriesLeavesAnAbortedRunThoughItemsAreStaged) {
  Pipeline pipe({.device = "simt"});
  auto& items = pipe.create_tunnel<int>("items", Direction::cpu_to_cpu, {.capacity_items = 64});
  std::atomic<bool> tries{false};
  std::atomic<bool> leaves{false};
  pipe.add_cpu_stage(
      "feed",
      [&](Inlet<int> out) {
        struct Left {
          std::atomic<bool>& flag;
          ~Left() { flag = true; }
        } const left{leaves};
        for (int i = 0; i < 68; ++i) out.put_h(i);
        auto const until = std::chrono::steady_clock::now() + 5s;
        while (!out.try_put_h(68) && std::chrono::steady_clock::now() < until) tries = true;
        ADD_FAILURE() << "the loop went on";
      },
      into(items));
  pipe.add_cpu_stage(
      "stand",
      [&](Outlet<int>) {
        while (!leaves) std::this_thread::sleep_for(1ms);
      },
      from(items));
  pipe.start();
  while (!tries) std::this_thread::sleep_for(1ms);
  pipe.abort();
  EXPECT_THROW(pipe.wait(), Aborted);
}

TEST(Staging, ARunAfterAnAbortedOneBeginsEmpty) {
  std::atomic<bool> fails{true};
  std::atomic<std::uint64_t> got{0};
  Pipeline pipe({.device = "simt"});
  auto& t = pipe.create_tunnel<std::uint64_t>("numbers", Direction::cpu_to_cpu, {.capacity_items = capacity});
  pipe.add_cpu_stage(
      "writer",
      [&](Inlet<std::uint64_t> out) {
        for (std::uint64_t i = 0; i < 100; ++i) out.put_h(i);
        if (fails) throw std::runtime_error("on purpose");
      },
      into(t));
  pipe.add_cpu_stage(
      "reader", [&](Outlet<std::uint64_t> in) { in.for_each_h([&](std::uint64_t) { ++got; }); }, from(t));
  EXPECT_THROW(pipe.run(), std::exception);
  fails = false;
  got = 0;
  EXPECT_EQ(pipe.run().tunnels.front().items, 100u);
  EXPECT_EQ(got, 100u);
}

TEST(Staging, ASpanReaderAndATeamGetWhatIsStaged) {
  constexpr std::uint32_t items = 50'000;
  for (bool const by_team : {false, true}) {
    Reader reader;
    Pipeline pipe({.device = "simt"});
    auto& t = pipe.create_tunnel<Numbered>("numbers", Direction::cpu_to_cpu, {.capacity_items = capacity});
    pipe.add_cpu_stage("writer", writer_of(items), into(t));
    pipe.add_cpu_stage(
        "reader",
        [&](Outlet<Numbered> in) {
          std::vector<Numbered> some(37);
          for (;;) {
            std::size_t const n = by_team ? in.next_block(std::span(some)) : in.next_h(std::span(some));
            if (n == 0) break;
            for (std::size_t k = 0; k < n; ++k) reader.got(some[k]);
            in.end_task_h(n);
          }
        },
        from(t));
    pipe.run();
    EXPECT_EQ(reader.count(), items);
  }
}

TEST(Staging, AnOpenOutletGetsWhatIsStaged) {
  constexpr std::uint32_t items = 10'000;
  Reader reader;
  Pipeline pipe({.device = "simt"});
  auto& t = pipe.create_tunnel<Numbered>("numbers", Direction::cpu_to_cpu, {.capacity_items = capacity});
  pipe.add_cpu_stage("writer", writer_of(items), into(t));
  Outlet<Numbered> in = t.open_outlet();
  pipe.start();
  for (Numbered item; in.next_h(item);) {
    reader.got(item);
    in.end_task_h();
  }
  pipe.wait();
  EXPECT_EQ(reader.count(), items);
}

}  // namespace
