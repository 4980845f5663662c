// Items that a CPU thread takes several at once: it gets them one by one, whichever call it uses, and in order.
#include <gmock/gmock.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <hiway/hiway.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "hiway/outlet/hand.hpp"

namespace {

using namespace hiway;
using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::uint64_t many = 200'000;
constexpr std::size_t capacity = 1024;

/// Grows the hand of the calling thread to its longest; false when this machine is too busy for that.
bool grow(Hand& hand, std::uint32_t longest) {
  for (int i = 0; i < 100'000 && hand.length() < longest; ++i) hand.claimed(hand.length());
  return hand.length() == longest;
}

TEST(Hand, IsLittleBesideTheTunnelAndTheStack) {
  EXPECT_EQ(Hand::longest_run(16, 65'536), 512u);
  EXPECT_EQ(Hand::longest_run(256, 65'536), 64u);
  EXPECT_EQ(Hand::longest_run(16, 512), 32u);
  EXPECT_EQ(Hand::longest_run(16, 31), 1u);
  EXPECT_EQ(Hand::longest_run(16, 1), 0u);
}

TEST(Hand, TakesMoreWhileItIsUsedUpQuicklyAndOneAfterAPause) {
  Hand hand(8, 64);
  hand.reset();
  EXPECT_EQ(hand.length(), 1u);
  ASSERT_TRUE(grow(hand, 64));
  std::this_thread::sleep_for(1ms);
  hand.claimed(64);
  EXPECT_EQ(hand.length(), 1u);
}

TEST(Hand, TakesNoMoreAfterAClaimThatBroughtLess) {
  Hand hand(8, 64);
  hand.reset();
  ASSERT_TRUE(grow(hand, 16));
  hand.claimed(15);  // the claim before was whole
  std::uint32_t const length = hand.length();
  hand.claimed(length);
  EXPECT_LE(hand.length(), length);
}

TEST(Hand, AWaitForItemsIsNoWork) {
  Hand hand(8, 64);
  hand.reset();
  ASSERT_TRUE(grow(hand, 64));
  hand.missed();
  std::this_thread::sleep_for(1ms);
  hand.claimed(64);
  EXPECT_EQ(hand.length(), 64u);
}

/// 0 to many - 1 from a source through one tunnel to `read`.
template <class Read>
RunReport run(Read read, std::uint64_t n = many, unsigned readers = 1) {
  Pipeline pipe({.device = "simt"});
  auto& t = pipe.create_tunnel<std::uint64_t>("numbers", Direction::cpu_to_cpu, {.capacity_items = capacity});
  pipe.add_cpu_stage(
      "source",
      [n](Inlet<std::uint64_t> out) {
        for (std::uint64_t i = 0; i < n; ++i) out.put_h(i);
      },
      into(t));
  pipe.add_cpu_stage("reader", std::move(read), from(t), {.threads = readers});
  return pipe.run();
}

TEST(Hand, EachItemComesOnceAndInOrder) {
  std::uint64_t next = 0;
  RunReport const report =
      run([&](Outlet<std::uint64_t> in) { in.for_each_h([&](std::uint64_t i) { ASSERT_EQ(i, next++); }); });
  EXPECT_EQ(next, many);
  EXPECT_EQ(report.tunnels.front().items, many);
  EXPECT_EQ(report.tunnels.front().finished, many);
}

TEST(Hand, ABodyThatGetsFindsTheNextItem) {
  std::uint64_t pairs = 0;
  run([&](Outlet<std::uint64_t> in) {
    in.for_each_h([&](std::uint64_t first) {
      std::uint64_t second = 0;
      ASSERT_TRUE(in.next_h(second));
      ASSERT_EQ(second, first + 1);
      in.end_task_h();
      ++pairs;
    });
  });
  EXPECT_EQ(pairs, many / 2);
}

TEST(Hand, EveryCallGoesOnWhereTheLastOneStopped) {
  std::uint64_t next = 0;
  run([&](Outlet<std::uint64_t> in) {
    std::uint64_t item = 0;
    std::vector<std::uint64_t> some(5);
    auto const take = [&](std::size_t n) {
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(some[i], next++);
      in.end_task_h(n);
    };
    auto const one = [&](bool got) {
      if (!got) return;
      ASSERT_EQ(item, next++);
      in.end_task_h();
    };
    while (next < many && !testing::Test::HasFatalFailure()) {
      for (int i = 0; i < 20; ++i) one(in.get_h(item));
      take(in.get_h(std::span(some)));
      one(in.get_warp(item));
      take(in.get_block(std::span(some)));
      if (next < many) one(in.next_h(item));
    }
    EXPECT_FALSE(in.next_h(item));
  });
  EXPECT_EQ(next, many);
}

TEST(Hand, TasksMayEndLongAfterTheirItemsWereGot) {
  std::uint64_t got = 0;
  RunReport const report = run([&](Outlet<std::uint64_t> in) {
    for (std::uint64_t item = 0; got < many;) {
      if (in.get_h(item)) ++got;
    }
    in.end_task_h(many);
  });
  EXPECT_EQ(report.tunnels.front().finished, many);
}

TEST(Hand, EndingMoreTasksThanWereGotIsAnError) {
  try {
    run([](Outlet<std::uint64_t> in) {
      for (std::uint64_t item = 0; in.next_h(item);) in.end_task_h(2);
    });
    ADD_FAILURE() << "no error";
  } catch (Error const& e) {
    EXPECT_THAT(e.what(), HasSubstr("'reader'"));
  }
}

TEST(Hand, AnExceptionAmongItsItemsEndsTheRun) {
  try {
    run([](Outlet<std::uint64_t> in) {
      in.for_each_h([](std::uint64_t i) {
        if (i == many / 2) throw std::runtime_error("half of them");
      });
    });
    ADD_FAILURE() << "no error";
  } catch (std::exception const& e) {
    EXPECT_THAT(e.what(), HasSubstr("half of them"));
  }
}

TEST(Hand, AStageThatStopsHoldsLittleMoreThanItsItem) {
  std::atomic<std::uint64_t> put{0};
  std::atomic<bool> stands{false};
  std::atomic<bool> go{false};
  Pipeline pipe({.device = "simt"});
  auto& t = pipe.create_tunnel<std::uint64_t>("numbers", Direction::cpu_to_cpu, {.capacity_items = capacity});
  pipe.add_cpu_stage(
      "source",
      [&](Inlet<std::uint64_t> out) {
        for (std::uint64_t i = 0; i < many; ++i, ++put) out.put_h(i);
      },
      into(t));
  pipe.add_cpu_stage(
      "reader",
      [&](Outlet<std::uint64_t> in) {
        in.for_each_h([&](std::uint64_t i) {
          if (i != many / 2) return;
          stands = true;
          while (!go) std::this_thread::sleep_for(1ms);
        });
      },
      from(t));
  std::thread looks([&] {
    while (!stands) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(50ms);
    EXPECT_LE(put - many / 2, capacity + capacity / 8 + capacity / 16 + 1);  // the tunnel, the staging, the hand
    go = true;
  });
  pipe.run();
  looks.join();
}

// What lies in the hand of one reader others can get.
TEST(Hand, ReadersThatWaitForEachOtherEachGetAnItem) {
  constexpr unsigned readers = 4;
  std::barrier meet{readers};
  std::atomic<std::uint64_t> met{0};
  run(
      [&](Outlet<std::uint64_t> in) {
        in.for_each_h([&](std::uint64_t i) {
          if (i + readers < many) return;
          meet.arrive_and_wait();
          ++met;
        });
      },
      many, readers);
  EXPECT_EQ(met, readers);
}

/// How the other reader gets its items.
enum class Calls : std::uint8_t { for_each, gets, spans, warp, warp_spans, by_another_thread };

template <class Work>
void read_by(Calls calls, Outlet<std::uint64_t> in, Work&& work) {
  std::uint64_t item = 0;
  std::vector<std::uint64_t> some(7);
  auto const take = [&](std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) work(some[i]);
    in.end_task_h(n);
    return n != 0;
  };
  auto const one = [&](bool got) {
    if (got) work(item);
    if (got) in.end_task_h();
    return got;
  };
  switch (calls) {
    case Calls::for_each: return in.for_each_h(work);
    case Calls::gets:
      while (one(in.next_h(item))) continue;
      return;
    case Calls::spans:
      while (take(in.next_h(std::span(some)))) continue;
      return;
    case Calls::warp:
      while (one(in.next_warp(item))) continue;
      return;
    case Calls::warp_spans:
      while (take(in.next_warp(std::span(some)))) continue;
      return;
    case Calls::by_another_thread: return std::jthread([&] { in.for_each_h(work); }).join();
  }
}

// The body of one item waits for all others; some of them lie in its own thread's hand.
TEST(Hand, ABodyMayWaitForWhatLiesInItsThreadsHand) {
  for (Calls const calls :
       {Calls::for_each, Calls::gets, Calls::spans, Calls::warp, Calls::warp_spans, Calls::by_another_thread}) {
    std::atomic<std::uint64_t> done{0};
    std::atomic<std::uint64_t> sum{0};
    bool late = false;
    RunReport const report = run(
        [&](Outlet<std::uint64_t> in) {
          if (this_thread_context().thread != 0) {
            return read_by(calls, in, [&](std::uint64_t i) {
              sum += i;
              ++done;
            });
          }
          bool stood = false;
          in.for_each_h([&](std::uint64_t i) {
            sum += i;
            auto const deadline = std::chrono::steady_clock::now() + 10s;
            while (i >= many / 2 && !stood && done != many - 1 && !late) {
              late = std::chrono::steady_clock::now() > deadline;
              std::this_thread::yield();
            }
            stood = i >= many / 2;
            ++done;
          });
        },
        many, 2);
    EXPECT_FALSE(late) << "calls " << static_cast<int>(calls);
    EXPECT_EQ(sum, many * (many - 1) / 2);
    EXPECT_EQ(report.tunnels.front().finished, many);
  }
}

TEST(Hand, AStageOfSeveralReadersEndsItsTasksAfterItsPuts) {
  std::uint64_t sum = 0;
  Pipeline pipe({.device = "simt"});
  auto& a = pipe.create_tunnel<std::uint64_t>("a", Direction::cpu_to_cpu, {.capacity_items = capacity});
  auto& b = pipe.create_tunnel<std::uint64_t>("b", Direction::cpu_to_cpu, {.capacity_items = capacity});
  pipe.add_cpu_stage(
      "source",
      [](Inlet<std::uint64_t> out) {
        for (std::uint64_t i = 0; i < many; ++i) out.put_h(i);
      },
      into(a));
  pipe.add_cpu_stage("between", [](std::uint64_t i) { return i; }, from(a), into(b), {.threads = 3});
  pipe.add_cpu_stage(
      "sink", [&](std::uint64_t i) { sum += i; }, from(b));
  RunReport const report = pipe.run();
  EXPECT_EQ(sum, many * (many - 1) / 2);
  EXPECT_EQ(report.tunnels[1].finished, many);
}

TEST(Hand, AReaderThatLeavesLeavesItsItemsToOthers) {
  std::atomic<std::uint64_t> got{0};
  std::atomic<bool> has_left{false};
  RunReport const report = run(
      [&](Outlet<std::uint64_t> in) {
        bool const leaves = this_thread_context().thread == 0;
        if (!leaves) has_left.wait(false);  // or it may take all, and the one that leaves has nothing in its hand
        std::uint64_t item = 0;
        for (std::uint64_t n = 0; (!leaves || n < many / 8) && in.next_h(item); ++n, ++got) in.end_task_h();
        if (!leaves) return;
        has_left = true;
        has_left.notify_all();
      },
      many, 2);
  EXPECT_EQ(got, many);
  EXPECT_EQ(report.tunnels.front().finished, many);
}

TEST(Hand, OfSeveralReadersOneMayNotEndMoreTasksThanItGot) {
  try {
    run(
        [](Outlet<std::uint64_t> in) {
          for (std::uint64_t item = 0; in.next_h(item);) in.end_task_h(2);
        },
        many, 3);
    ADD_FAILURE() << "no error";
  } catch (Error const& e) {
    EXPECT_THAT(e.what(), HasSubstr("'reader'"));
  }
}

TEST(Hand, AnExceptionOfOneReaderEndsTheOthers) {
  try {
    run(
        [](Outlet<std::uint64_t> in) {
          in.for_each_h([](std::uint64_t i) {
            if (i == many / 2) throw std::runtime_error("half of them");
          });
        },
        many, 3);
    ADD_FAILURE() << "no error";
  } catch (std::exception const& e) {
    EXPECT_THAT(e.what(), HasSubstr("half of them"));
  }
}

}  // namespace
