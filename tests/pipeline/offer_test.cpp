// Puts and gets that give up after a time, and end no run: Inlet::offer_h, Outlet::next_for_h.
#include <gmock/gmock.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include "hiway/pipeline.hpp"
#include "tests/device.hpp"

namespace {

using namespace hiway;
using hiway_tests::bounded;
using hiway_tests::soon;
using hiway_tests::text_of_error;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

struct Twice {
  HIWAY_DEVICE long operator()(int const& x) const { return 2L * x; }
};

/// Open inlet -> a tunnel of two items -> open outlet, and nothing in between.
struct Pipe {
  explicit Pipe(TunnelConfig config = {.capacity_items = 2}) : pipe(bounded()) {
    auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_cpu, config);
    in = t.open_inlet();
    out = t.open_outlet();
  }
  /// Offers until the tunnel is full; returns how many it took.
  int fill() const {
    int n = 0;
    while (in.offer_h(n, 0ns) == Put::done) ++n;
    return n;
  }
  /// The sum of what is there, until the end.
  long drain() const {
    long sum = 0;
    out.for_each_h([&](int x) { sum += x; });
    return sum;
  }
  Pipeline pipe;
  Inlet<int> in;
  Outlet<int> out;
};

/// Open inlet -> GPU stage -> open outlet.
struct Across {
  explicit Across(bool low_latency) : pipe(bounded()) {
    auto& there =
        pipe.create_tunnel<int>("there", Direction::cpu_to_gpu, {.capacity_items = 64, .low_latency = low_latency});
    auto& back = pipe.create_tunnel<long>("back", Direction::gpu_to_cpu, {.capacity_items = 64});
    in = there.open_inlet();
    out = back.open_outlet();
    pipe.add_gpu_stage("twice", Twice{}, from(there), into(back), {.blocks = 1, .threads_per_block = 32});
  }
  Pipeline pipe;
  Inlet<int> in;
  Outlet<long> out;
};

TEST(Offers, OfAFullTunnelGiveUpInTimeAndAreDoneOnceThereIsRoom) {
  HIWAY_NEEDS_DEVICE();
  Pipe run;
  run.pipe.start();
  int const held = run.fill();
  EXPECT_EQ(held, 2);
  for (auto const time : {0ms, 1ms, 50ms}) {
    auto const began = Clock::now();
    EXPECT_EQ(run.in.offer_h(100, time), Put::full);
    EXPECT_GE(Clock::now() - began, time);
    EXPECT_LT(Clock::now() - began, time + 10 * soon);
  }
  std::thread reader([&] {
    std::this_thread::sleep_for(50ms);
    int x = -1;
    EXPECT_EQ(run.out.next_for_h(x, 0s), Get::done);
    EXPECT_EQ(x, 0);
    run.out.end_task_h();
  });
  EXPECT_EQ(run.in.offer_h(10, std::chrono::hours::max()), Put::done);
  reader.join();
  run.in.close_h();
  EXPECT_EQ(run.drain(), 11);
  run.pipe.wait();
}

TEST(Offers, AfterTheCloseAreClosedAndTheRunEndsWell) {
  HIWAY_NEEDS_DEVICE();
  Pipe run;
  for (int i = 0; i < 3; ++i) {
    run.pipe.start();
    EXPECT_EQ(run.in.offer_h(1, 1s), Put::done);
    run.in.close_h();
    run.in.close_h();
    EXPECT_EQ(run.in.offer_h(2, 1h), Put::closed);
    EXPECT_EQ(run.drain(), 1);
    EXPECT_EQ(run.in.offer_h(3, 0s), Put::closed);
    run.pipe.wait();
    EXPECT_EQ(run.in.offer_h(4, 1s), Put::closed);
  }
}

TEST(Offers, AndGetsAreAbortedBeforeTheStartAndAfterAnAbort) {
  HIWAY_NEEDS_DEVICE();
  Pipe full;
  Pipe empty;
  int x = 0;
  auto const are_aborted = [&] {
    EXPECT_EQ(full.in.offer_h(1, 1h), Put::aborted);
    EXPECT_EQ(empty.out.next_for_h(x, 1h), Get::aborted);
  };
  are_aborted();
  for (int i = 0; i < 2; ++i) {
    full.pipe.start();
    empty.pipe.start();
    full.fill();
    std::thread aborter([&] {
      std::this_thread::sleep_for(20ms);
      full.pipe.abort();
      empty.pipe.abort();
    });
    are_aborted();
    aborter.join();
    are_aborted();
    EXPECT_EQ(text_of_error<Aborted>([&] { full.pipe.wait(); }), "the pipeline was aborted");
    EXPECT_EQ(text_of_error<Aborted>([&] { empty.pipe.wait(); }), "the pipeline was aborted");
    are_aborted();
  }
}

TEST(Offers, InADestructorDoNotEndTheProgram) {
  HIWAY_NEEDS_DEVICE();
  Pipe run;
  struct AtTheEnd {
    Pipe& run;
    ~AtTheEnd() { EXPECT_EQ(run.in.offer_h(1, 1s), Put::aborted); }
  };
  auto const use = [&] {
    AtTheEnd const offer{run};
    run.in.put_h(1);  // before the start
  };
  EXPECT_THROW(use(), Aborted);
}

// Without the words of an offer the inlet closed between its look and its ticket: "put after close" ended the run.
TEST(Offers, WhileTheirInletIsClosedAreDoneOrClosed) {
  HIWAY_NEEDS_DEVICE();
  constexpr int clients = 3;
  Pipe run({.capacity_items = 64});
  for (int round = 0; round < 300; ++round) {
    run.pipe.start();
    std::atomic<int> ready = 0;
    std::atomic<long> done = 0;
    std::vector<std::thread> threads;
    for (int c = 0; c < clients; ++c) {
      threads.emplace_back([&] {
        ++ready;
        Put last = Put::full;
        while ((last = run.in.offer_h(1, 1us)) == Put::done || last == Put::full) done += last == Put::done ? 1 : 0;
        EXPECT_EQ(last, Put::closed);
      });
    }
    std::thread closer([&] {
      while (ready < clients) std::this_thread::yield();
      hiway_tests::spin_for(std::chrono::microseconds(round % 50));
      run.in.close_h();
    });
    long const got = run.drain();
    closer.join();
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(got, done);
    ASSERT_NO_THROW(run.pipe.wait());
  }
}

TEST(NextFor, IsEmptyInTimeThenHasAnItemThenTheEnd) {
  HIWAY_NEEDS_DEVICE();
  Pipe run;
  run.pipe.start();
  int x = -1;
  for (auto const time : {0ms, 1ms, 700ms, 1ms}) {  // after 500 ms naps take 10 ms
    auto const began = Clock::now();
    EXPECT_EQ(run.out.next_for_h(x, time), Get::empty);
    EXPECT_GE(Clock::now() - began, time);
    EXPECT_LT(Clock::now() - began, time + 10 * soon);
  }
  EXPECT_EQ(x, -1);
  std::thread writer([&] {
    std::this_thread::sleep_for(20ms);
    run.in.put_h(7);
    run.in.close_h();
  });
  EXPECT_EQ(run.out.next_for_h(x, 1h), Get::done);
  EXPECT_EQ(x, 7);
  writer.join();
  EXPECT_EQ(run.out.next_for_h(x, 1ms), Get::empty);  // its task has not ended
  run.out.end_task_h();
  EXPECT_EQ(run.out.next_for_h(x, 1h), Get::ended);
  run.pipe.wait();
  EXPECT_EQ(run.out.next_for_h(x, 1h), Get::ended);
}

// A call that may not wait long does not sleep as a thread that has got nothing for long does.
TEST(NextFor, WaitsNoLongerThanItMayAfterALongWait) {
  HIWAY_NEEDS_DEVICE();
  Pipe run;
  run.pipe.start();
  int x = 0;
  EXPECT_EQ(run.out.next_for_h(x, 700ms), Get::empty);
  auto const began = Clock::now();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(run.out.next_for_h(x, 100us), Get::empty);
  EXPECT_LT(Clock::now() - began, 600ms);  // a second, if each slept for 10 ms
  run.in.close_h();
  run.pipe.wait();
}

/// Two threads offer, and two get, with tiny time-outs: each number once. The pipeline makes `scale` times as much of
/// it.
template <class T>
void expect_each_once(Pipeline& pipe, Inlet<int> in, Outlet<T> out, T scale) {
  constexpr int writers = 2;
  constexpr int readers = 2;
  constexpr int each = 5000;
  pipe.start();
  std::vector<std::atomic<int>> seen(writers * each);
  std::atomic<int> writing = writers;
  std::vector<std::thread> threads;
  for (int w = 0; w < writers; ++w) {
    threads.emplace_back([&, w] {
      for (int i = 0; i < each; ++i) {
        Put put = Put::full;
        while ((put = in.offer_h(w * each + i, std::chrono::microseconds(i % 3))) == Put::full) {
        }
        if (put != Put::done) return ADD_FAILURE() << "neither full nor done";
      }
      if (--writing == 0) in.close_h();
    });
  }
  for (int r = 0; r < readers; ++r) {
    threads.emplace_back([&] {
      T x = 0;
      for (int i = 0;; ++i) {
        Get const got = out.next_for_h(x, std::chrono::microseconds(i % 3));
        if (got == Get::empty) continue;
        if (got == Get::ended) return;
        if (got != Get::done) return ADD_FAILURE() << "neither empty nor done";
        ++seen[static_cast<std::size_t>(x / scale)];
        out.end_task_h();
      }
    });
  }
  for (std::thread& t : threads) t.join();
  pipe.wait();
  for (auto const& n : seen) ASSERT_EQ(n, 1);
}

TEST(Offers, AndGetsWithTinyTimeOutsLoseNothing) {
  HIWAY_NEEDS_DEVICE();
  for (std::size_t const capacity : {2, 64}) {
    Pipe run({.capacity_items = capacity});
    expect_each_once(run.pipe, run.in, run.out, 1);
  }
}
TEST(Offers, AndGetsWithTinyTimeOutsLoseNothingAcrossTheBus) {
  HIWAY_NEEDS_DEVICE();
  for (bool const low_latency : {false, true}) {
    Across run(low_latency);
    expect_each_once(run.pipe, run.in, run.out, 2L);
  }
}

TEST(Offers, OfAStageStayInOrderWithItsPuts) {
  HIWAY_NEEDS_DEVICE();
  constexpr int count = 20000;
  Pipeline pipe(bounded());
  auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_cpu, {.capacity_items = 64});
  pipe.add_cpu_stage(
      "feed",
      [](Inlet<int> out) {
        for (int i = 0; i < count;) {
          if (i % 7 != 0) {
            out.put_h(i++);
          } else if (out.offer_h(i, 10us) == Put::done) {
            ++i;
          }
        }
        out.close_h();
        EXPECT_EQ(out.offer_h(0, 1h), Put::closed);
      },
      into(t));
  int next = 0;
  pipe.add_cpu_stage(
      "read",
      [&](Outlet<int> in) {
        Get got = Get::empty;
        for (int x = 0; (got = in.next_for_h(x, 10us)) != Get::ended;) {
          if (got == Get::empty) continue;
          ASSERT_EQ(got, Get::done);
          ASSERT_EQ(x, next++);
          in.end_task_h();
        }
      },
      from(t));
  pipe.run();
  EXPECT_EQ(next, count);
}

TEST(Offers, OfAStageAreAbortedWhenTheRunIs) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_cpu, {.capacity_items = 2});
  auto& never = pipe.create_tunnel<int>("never", Direction::cpu_to_cpu);
  Inlet<int> const open = never.open_inlet();
  std::atomic<int> left = 0;
  pipe.add_cpu_stage(
      "feed",
      [&](Inlet<int> out) {
        Put put = Put::done;
        while (put == Put::done) put = out.offer_h(1, 1h);
        EXPECT_EQ(put, Put::aborted);
        ++left;
      },
      into(t));
  pipe.add_cpu_stage(
      "read",
      [&](Outlet<int> in, Outlet<int> nothing) {
        int x = 0;
        EXPECT_EQ(in.next_for_h(x, 1h), Get::done);
        EXPECT_EQ(nothing.next_for_h(x, 1h), Get::aborted);
        ++left;
      },
      from(t, never));
  pipe.start();
  std::this_thread::sleep_for(20ms);
  pipe.abort();
  EXPECT_EQ(text_of_error<Aborted>([&] { pipe.wait(); }), "the pipeline was aborted");
  EXPECT_EQ(left, 2);
  open.close_h();
}

}  // namespace
