// Puts of single items at open inlets of CPU threads, which are staged (inlet/stripe.hpp): each item comes once, those
// of a thread in order, whichever calls it mixes, and also while no thread calls anything.
#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "hiway/pipeline.hpp"
#include "tests/device.hpp"

namespace {

using namespace hiway;
using hiway_tests::bounded;
using namespace std::chrono_literals;

constexpr std::size_t capacity = 1024;
/// More than an inlet has stripes, so that some put through the same.
constexpr std::uint32_t clients = 20;

/// The number `i` of a client.
struct Numbered {
  std::uint32_t client;
  std::uint32_t i;
};

struct PassOn {
  HIWAY_DEVICE Numbered operator()(Numbered const& item) const { return item; }
};

/// Open inlet -> GPU stage of one thread -> CPU stage of one thread: items of each client come in order.
struct Line {
  Line() : pipe(bounded()) {
    auto& there = pipe.create_tunnel<Numbered>("there", Direction::cpu_to_gpu, {.capacity_items = capacity});
    auto& back = pipe.create_tunnel<Numbered>("back", Direction::gpu_to_cpu, {.capacity_items = capacity});
    in = there.open_inlet();
    pipe.add_gpu_stage("pass on", PassOn{}, from(there), into(back), {.blocks = 1, .threads_per_block = 1});
    pipe.add_cpu_stage(
        "see", [this](Numbered const& item) { see(item); }, from(back));
  }
  void see(Numbered const& item) {
    while (holds) std::this_thread::yield();
    if (item.client >= clients || item.i != next.at(item.client)++) out_of_order = true;
    ++got;
  }
  /// Lets `number` of clients work at once, each on `work(client)`.
  template <class Work>
  static void at_once(std::uint32_t number, Work&& work) {
    std::vector<std::jthread> threads;
    for (std::uint32_t c = 0; c < number; ++c) threads.emplace_back([&work, c] { work(c); });
  }
  [[nodiscard]] bool has_got(std::uint64_t items) const {
    for (auto const late = std::chrono::steady_clock::now() + 20s; std::chrono::steady_clock::now() < late;) {
      if (got == items) return true;
      std::this_thread::yield();
    }
    return false;
  }

  Pipeline pipe;
  Inlet<Numbered> in;
  std::array<std::uint32_t, clients> next{};
  std::atomic<std::uint64_t> got{0};
  std::atomic<bool> out_of_order{false};
  std::atomic<bool> holds{false};
};

TEST(Stripes, KeepTheOrderOfEachThreadInAllFormsOfPut) {
  HIWAY_NEEDS_DEVICE();
  constexpr std::uint32_t rounds = 300;
  Line line;
  line.pipe.start();
  std::atomic<std::uint64_t> put{0};
  Line::at_once(clients, [&](std::uint32_t c) {
    std::uint32_t i = 0;
    auto const next = [&] { return Numbered{c, i++}; };
    for (std::uint32_t r = 0; r < rounds; ++r) {
      for (std::uint32_t k = 0; k < (r + c) % 9; ++k) line.in.put_h(next());
      std::array const some{next(), next(), next()};
      if (r % 3 == 0) line.in.put_h(std::span<Numbered const>(some));
      for (Numbered const& item : some) {
        while (r % 3 == 1 && !line.in.try_put_h(item)) std::this_thread::yield();
        ASSERT_TRUE(r % 3 != 2 || line.in.offer_h(item, 20s) == Put::done);
      }
      line.in.put_in_place_h([&](Numbered& slot) { slot = next(); });
    }
    put += i;
  });
  line.in.close_h();
  RunReport const report = line.pipe.wait();
  EXPECT_FALSE(line.out_of_order);
  EXPECT_EQ(line.got, put);
  EXPECT_EQ(report.tunnels.front().items, put);
}

/// What is staged lies beside the tunnel's own room: an eighth of it, and a stripe's own again.
TEST(Stripes, HoldAnEighthMoreThanTheTunnel) {
  HIWAY_NEEDS_DEVICE();
  Line line;
  line.holds = true;
  line.pipe.start();
  std::atomic<std::uint64_t> put{0};
  Line::at_once(16, [&](std::uint32_t c) {
    for (std::uint32_t i = 0; line.in.offer_h({c, i}, 200ms) == Put::done; ++i) ++put;
  });
  EXPECT_GT(put, 2 * capacity + 2);  // both tunnels are full; at the stages lie a few
  EXPECT_LE(put, 2 * capacity + capacity / 8 + 64);
  line.holds = false;
  line.in.close_h();
  line.pipe.wait();
  EXPECT_EQ(line.got, put);
  EXPECT_FALSE(line.out_of_order);
}

TEST(Stripes, LeaveNothingBehindWhileNoThreadPuts) {
  HIWAY_NEEDS_DEVICE();
  Line line;
  line.pipe.start();
  std::uint64_t put = 0;
  for (std::uint32_t round = 0; round < 50; ++round) {
    Line::at_once(4, [&](std::uint32_t c) {
      for (std::uint32_t k = 0; k < 3; ++k) line.in.put_h({c, 3 * round + k});
    });
    put += 12;
    ASSERT_TRUE(line.has_got(put)) << "in round " << round << " " << line.got << " of " << put;
  }
  line.in.close_h();
  line.pipe.wait();
}

TEST(Stripes, GiveWhatIsStagedAtTheCloseOrTheDrain) {
  HIWAY_NEEDS_DEVICE();
  Line line;
  for (std::uint32_t run = 0; run < 40; ++run) {
    line.got = 0;
    line.next = {};
    line.pipe.start();
    line.holds = true;
    std::atomic<std::uint64_t> put{0};
    Line::at_once(8, [&](std::uint32_t c) {
      for (std::uint32_t i = 0; i < 280 && line.in.offer_h({c, i}, 1ms) == Put::done; ++i) ++put;
    });
    run % 2 == 0 ? line.in.close_h() : line.pipe.drain();
    EXPECT_EQ(line.in.offer_h({0, 0}, 0s), Put::closed);
    line.holds = false;
    line.pipe.wait();
    ASSERT_EQ(line.got, put);
  }
  EXPECT_FALSE(line.out_of_order);
}

TEST(Stripes, AreEmptyAfterAnAbortedRun) {
  HIWAY_NEEDS_DEVICE();
  Line line;
  for (int run = 0; run < 5; ++run) {
    line.next = {};
    line.holds = true;
    line.pipe.start();
    std::vector<std::thread> threads;
    for (std::uint32_t c = 0; c < 4; ++c) {
      threads.emplace_back([&, c] {
        for (std::uint32_t i = 0; line.in.offer_h({c, i}, 20s) == Put::done; ++i) {
        }
      });
    }
    std::this_thread::sleep_for(20ms);
    line.pipe.abort();
    for (std::thread& t : threads) t.join();
    line.holds = false;
    EXPECT_THROW(line.pipe.wait(), Aborted);
    line.got = 0;
    line.next = {};
    line.pipe.start();
    for (std::uint32_t i = 0; i < 10; ++i) line.in.put_h({0, i});
    line.in.close_h();
    line.pipe.wait();
    EXPECT_EQ(line.got, 10u);
    EXPECT_FALSE(line.out_of_order);
  }
}

}  // namespace
