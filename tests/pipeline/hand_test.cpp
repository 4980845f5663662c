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
  EXPECT_EQ(Hand::longest_run(16, 65'536), 64u);
  EXPECT_EQ(Hand::longest_run(256, 65'536), 16u);
  EXPECT_EQ(Hand::longest_run(16, 512), 32u);
  EXPECT_EQ(Hand::longest_run(16, 31), 1u);
  EXPECT_EQ(Hand::longest_run(16, 1), 0u);
}

TEST(Hand, TakesMoreWhileItIsUsedUpQuicklyAndOneAfterAPause) {
  Hand hand(8, 64);
  hand.begin();
  EXPECT_EQ(hand.length(), 1u);
  ASSERT_TRUE(grow(hand, 64));
  std::this_thread::sleep_for(1ms);
  hand.claimed(64);
  EXPECT_EQ(hand.length(), 1u);
}

TEST(Hand, TakesNoMoreAfterAClaimThatBroughtLess) {
  Hand hand(8, 64);
  hand.begin();
  ASSERT_TRUE(grow(hand, 16));
  hand.claimed(15);  // the claim before was whole
  std::uint32_t const length = hand.length();
  hand.claimed(length);
  EXPECT_LE(hand.length(), length);
}

TEST(Hand, AWaitForItemsIsNoWork) {
  Hand hand(8, 64);
  hand.begin();
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

// Of several readers none takes an item that another could get.
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

}  // namespace
