// Whoever puts wakes a reader that naps.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <hiway/hiway.hpp>
#include <span>
#include <thread>
#include <vector>

#include "hiway/machine/bell.hpp"

namespace {

using namespace hiway;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// So long that only a bell ends it within a test.
constexpr std::chrono::microseconds long_nap = 30s;

/// Threads that nap by one bell; each counts when it is awake again.
struct Nappers {
  explicit Nappers(unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      threads.emplace_back([this] {
        bell.nap(long_nap);
        ++awake;
      });
    }
  }
  ~Nappers() {
    bell.ring(~0U);
    for (std::thread& thread : threads) thread.join();
  }
  /// Rings until as many are awake; a thread may not have lain down yet.
  [[nodiscard]] bool wake(unsigned ring_for, unsigned until) {
    auto const latest = Clock::now() + 10s;
    while (awake < until && Clock::now() < latest) {
      bell.ring(ring_for);
      std::this_thread::sleep_for(1ms);
    }
    return awake >= until;
  }

  Bell bell;
  std::atomic<unsigned> awake{0};
  std::vector<std::thread> threads;
};

TEST(Bell, EndsANap) {
  Nappers one(1);
  EXPECT_TRUE(one.wake(1, 1));
}

TEST(Bell, WakesAllThatAreAskedFor) {
  Nappers four(4);
  EXPECT_TRUE(four.wake(~0U, 4));
}

TEST(Bell, WakesNoMoreThanAreAskedFor) {
  Nappers four(4);
  std::this_thread::sleep_for(200ms);  // all lie down
  four.bell.ring(1);
  std::this_thread::sleep_for(200ms);
  EXPECT_LE(four.awake, 1u);
  EXPECT_TRUE(four.wake(~0U, 4));
}

TEST(Bell, ANapEndsByItself) {
  Bell bell;
  bell.nap(1ms);
  bell.ring(1);  // wakes nobody, and no later nap
  auto const begin = Clock::now();
  bell.nap(20ms);
  EXPECT_GE(Clock::now() - begin, 15ms);
}

TEST(Bell, NobodyRingsForANapThatDoesNotHeedIt) {
  Bell bell;
  std::atomic<bool> over = false;
  std::atomic<bool> naps = false;
  std::thread napper([&] {
    naps = true;
    EXPECT_TRUE(bell.nap_unless(over, long_nap, false));
  });
  while (!naps) std::this_thread::yield();
  std::this_thread::sleep_for(50ms);
  EXPECT_FALSE(bell.has_nappers());
  over = true;
  bell.wake_all();
  napper.join();
}

/// The bells at the ends of a tunnel between CPU stages, as their threads see them.
struct Seen {
  Bell* put = nullptr;
  Bell* got = nullptr;
  Bell* napped = nullptr;  ///< that of the reader's thread after a get that found nothing
};
Seen look(bool open_reader) {
  Seen seen;
  Pipeline pipe({.device = "simt"});
  auto& t = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu);
  std::atomic<bool> looked{false};
  pipe.add_cpu_stage(
      "source",
      [&](Inlet<int> out) {
        seen.put = out.view().ports->bell;
        while (!looked) std::this_thread::yield();
        out.put_h(1);
      },
      into(t));
  pipe.add_cpu_stage(
      "reader",
      [&](Outlet<int> in) {
        int item = 0;
        EXPECT_FALSE(in.get_h(item));
        seen.got = in.view().ports->bell;
        seen.napped = this_thread_context().bell;
        looked = true;
        in.for_each_h([](int) {});
      },
      from(t));
  Outlet<int> open;
  if (open_reader) open = t.open_outlet();
  pipe.run();
  return seen;
}

TEST(Bell, HangsAtBothEndsOfATunnelThatOneStageReads) {
  Seen const seen = look(false);
  EXPECT_NE(seen.got, nullptr);
  EXPECT_EQ(seen.put, seen.got);
  EXPECT_EQ(seen.napped, seen.got);
}

/// How long a reader naps whose writer calls `put` again and again until it is awake.
template <class Put>
Clock::duration nap_until_put(Put put) {
  Clock::duration slept{};
  std::atomic<bool> awake{false};
  Pipeline pipe({.device = "simt"});
  auto& t = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu, {.capacity_items = 1 << 20});
  pipe.add_cpu_stage(
      "source",
      [&](Inlet<int> out) {
        while (!awake) {
          put(out);
          std::this_thread::sleep_for(1ms);
        }
      },
      into(t));
  pipe.add_cpu_stage(
      "reader",
      [&](Outlet<int> in) {
        auto const begin = Clock::now();
        in.view().ports->bell->nap(long_nap);
        slept = Clock::now() - begin;
        awake = true;
        in.for_each_h([](int) {});
      },
      from(t));
  pipe.run();
  return slept;
}

TEST(Bell, IsRungByPutsOfItemsAndOfSpans) {
  EXPECT_LT(nap_until_put([](Inlet<int> const& out) { out.put_h(1); }), 10s);
  EXPECT_LT(nap_until_put([](Inlet<int> const& out) {
              std::vector<int> const some(3);
              out.put_h(std::span<int const>(some));
            }),
            10s);
}

TEST(Bell, IsNotRungWhereOthersReadToo) {
  Seen const seen = look(true);
  EXPECT_NE(seen.got, nullptr);
  EXPECT_EQ(seen.put, nullptr);
}

}  // namespace
