// What comes from outside is stopped, for good or for a while: Pipeline::drain, pause and resume.
#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "hiway/pipeline.hpp"
#include "tests/device.hpp"

namespace {

using namespace hiway;
using hiway_tests::bounded;
using hiway_tests::text_of_error;
using namespace std::chrono_literals;
using ::testing::HasSubstr;

struct Twice {
  HIWAY_DEVICE long operator()(int const& x) const { return 2L * x; }
};

/// Open inlet -> GPU stage -> CPU stage that sums.
struct Sums {
  explicit Sums(std::size_t capacity = 64) : pipe(bounded()) {
    auto& there = pipe.create_tunnel<int>("there", Direction::cpu_to_gpu, {.capacity_items = capacity});
    auto& back = pipe.create_tunnel<long>("back", Direction::gpu_to_cpu, {.capacity_items = 64});
    in = there.open_inlet();
    pipe.add_gpu_stage("twice", Twice{}, from(there), into(back), {.blocks = 1, .threads_per_block = 64});
    pipe.add_cpu_stage(
        "sum", [this](long const& x) { sum += x; }, from(back));
  }
  /// Puts one in some way; how many items that are.
  int put(int way) const {
    std::array const three{1, 1, 1};
    switch (way % 5) {
      case 0: in.put_h(1); return 1;
      case 1: in.put_h(three); return 3;
      case 2: in.put_in_place_h([](int& slot) { slot = 1; }); return 1;
      case 3: in.put_warp(1); return 1;
      default: return in.try_put_h(1) ? 1 : 0;
    }
  }
  Pipeline pipe;
  Inlet<int> in;
  std::atomic<long> sum{0};
};

TEST(Drain, FinishesWhatIsThereAndRefusesTheRest) {
  HIWAY_NEEDS_DEVICE();
  Sums run;
  for (int i = 0; i < 3; ++i) {
    run.sum = 0;
    run.pipe.drain();  // no run is under way
    run.pipe.start();
    for (int k = 0; k < 50; ++k) run.in.put_h(1);
    run.pipe.drain();
    run.pipe.drain();
    for (int way = 0; way < 5; ++way) EXPECT_THAT(text_of_error<Drained>([&] { run.put(way); }), HasSubstr("drain"));
    EXPECT_EQ(run.in.offer_h(1, 1h), Put::closed);
    run.in.close_h();
    run.pipe.wait();
    EXPECT_EQ(run.sum, 100);
    EXPECT_THROW(run.in.put_h(1), Drained);  // until the next start
  }
}

/// Each item is worked on, or its put was refused, and the run ends well.
TEST(Drain, WhileClientsPutInAllWays) {
  HIWAY_NEEDS_DEVICE();
  for (std::size_t const capacity : {2, 64, 1024}) {
    Sums run(capacity);
    for (int round = 0; round < 30; ++round) {
      run.sum = 0;
      run.pipe.start();
      std::atomic<long> put{0};
      std::vector<std::thread> clients;
      for (int c = 0; c < 3; ++c) {
        clients.emplace_back([&, c] {
          try {
            for (int way = c;; ++way) put += run.put(way);
          } catch (Drained const&) {
          }
        });
      }
      while (put < 10 * round) std::this_thread::yield();
      run.pipe.drain();
      run.pipe.wait();
      for (std::thread& c : clients) c.join();
      ASSERT_EQ(run.sum, 2 * put);
    }
  }
}

TEST(Drain, LeavesAPutAfterTheOwnCloseAMisuse) {
  HIWAY_NEEDS_DEVICE();
  Sums run;
  run.pipe.start();
  Inlet<int> const in = run.in;
  in.close_h();
  EXPECT_THROW(in.put_h(1), Error);
  EXPECT_THAT(text_of_error<Error>([&] { run.pipe.wait(); }), HasSubstr("put "));
}

TEST(Pause, HoldsWhatComesFromOutsideUntilResume) {
  HIWAY_NEEDS_DEVICE();
  Sums run;
  run.pipe.pause();  // no run is under way
  run.pipe.start();
  for (int i = 0; i < 3; ++i) {
    run.sum = 0;
    run.in.put_h(1);
    run.pipe.pause();
    run.pipe.pause();
    EXPECT_EQ(run.in.offer_h(1, 20ms), Put::full);
    EXPECT_FALSE(run.in.try_put_h(1));
    std::atomic<int> put{0};
    std::vector<std::thread> clients;
    for (int way = 0; way < 4; ++way) clients.emplace_back([&, way] { put += run.put(way); });
    clients.emplace_back([&] { put += run.in.offer_h(1, 1h) == Put::done ? 1 : 0; });
    std::this_thread::sleep_for(50ms);
    EXPECT_EQ(put, 0);
    EXPECT_EQ(run.sum, 2);  // what was there has gone on
    run.pipe.resume();
    run.pipe.resume();
    for (std::thread& c : clients) c.join();
    EXPECT_EQ(put, 7);
    for (auto const until = std::chrono::steady_clock::now() + 30s;
         run.sum < 16 && std::chrono::steady_clock::now() < until;)
      std::this_thread::yield();
    EXPECT_EQ(run.sum, 16);
  }
  run.pipe.pause();
  run.in.close_h();
  run.pipe.wait();
  run.pipe.start();  // a run begins without a pause
  run.in.put_h(1);
  run.in.close_h();
  run.pipe.wait();
}

TEST(Pause, EndsForPutsThatWaitByADrainOrAnAbort) {
  HIWAY_NEEDS_DEVICE();
  for (bool const drains : {false, true}) {
    Sums run;
    run.pipe.start();
    run.pipe.pause();
    std::vector<std::thread> clients;
    for (int way = 0; way < 4; ++way) {
      clients.emplace_back([&, way] {
        if (drains) {
          EXPECT_THROW(run.put(way), Drained);
        } else {
          EXPECT_THROW(run.put(way), Aborted);
        }
      });
    }
    std::this_thread::sleep_for(20ms);
    drains ? run.pipe.drain() : run.pipe.abort();
    for (std::thread& c : clients) c.join();
    if (drains) {
      run.pipe.wait();
    } else {
      EXPECT_THROW(run.pipe.wait(), Aborted);
    }
  }
}

}  // namespace
