// Deadlines of scopes, and of a service's requests, which are scopes, too.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "hiway/pipeline.hpp"
#include "hiway/service.hpp"
#include "tests/device.hpp"

namespace {

using namespace hiway;
using hiway_tests::bounded;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// Puts what is not 0 again and again.
struct Again {
  HIWAY_DEVICE void operator()(int const& x, Inlet<int> again, Inlet<int> out) const {
    if (x != 0) {
      again.put(x);
    } else {
      out.put(1);
    }
  }
};

/// open inlet -> GPU stage with a cycle -> `replies`.
struct Cycle {
  explicit Cycle(std::size_t most_open)
      : pipe(config()),
        jobs(pipe.create_scopes("jobs", {.most_open = most_open})),
        roots(pipe.create_tunnel<int>("roots", Direction::cpu_to_gpu, {.capacity_items = 64, .scopes = &jobs})),
        replies(pipe.create_tunnel<int>("replies", Direction::gpu_to_cpu, {.capacity_items = 64, .scopes = &jobs})) {
    auto& again = pipe.create_tunnel<int>("again", Direction::gpu_to_gpu, {.capacity_items = 64, .scopes = &jobs});
    pipe.add_gpu_stage("again", Again{}, from(roots, again), into(again, replies),
                       {.blocks = 2, .threads_per_block = 64});
  }
  static PipelineConfig config() {
    PipelineConfig c = bounded();
    c.warn_of_cycles = false;
    return c;
  }
  Pipeline pipe;
  Scopes& jobs;
  Tunnel<Scoped<int>>& roots;
  Tunnel<Scoped<int>>& replies;
};

/// The same, with a CPU stage that counts replies.
struct Counted : Cycle {
  explicit Counted(std::size_t most_open) : Cycle(most_open), in(roots.open_inlet()) {
    pipe.add_cpu_stage(
        "count", [this](int const&) { ++came; }, from(replies));
    pipe.start();
  }
  /// A scope with one item, closed.
  Scope send(int x) {
    Scope job = jobs.open_h();
    in.put_h(x, job);
    job.close_h();
    return job;
  }
  void end() {
    in.close_h();
    pipe.wait();
  }
  Inlet<int> in;
  std::atomic<int> came{0};
};

TEST(ScopeDeadlines, EndWhatWouldNotEnd) {
  HIWAY_NEEDS_DEVICE();
  Counted p(1);
  for (int i = 0; i < 20; ++i) {
    Scope const endless = p.send(1);
    auto const begin = Clock::now();
    Scope(endless).set_deadline(5ms);
    ASSERT_TRUE(endless.wait_for(10s)) << i;
    EXPECT_GE(Clock::now() - begin, 5ms);
    EXPECT_THROW(endless.wait(), DeadlineExceeded);
    EXPECT_NO_THROW(p.send(0).wait()) << "at the same place, " << i;
  }
  EXPECT_EQ(p.came, 20);
  p.end();
}

TEST(ScopeDeadlines, ThatHavePassedEndAtOnce) {
  HIWAY_NEEDS_DEVICE();
  Counted p(2);
  Scope endless = p.send(1);
  endless.set_deadline(Clock::now() - 1h);
  EXPECT_THROW(endless.wait(), DeadlineExceeded);
  p.end();
}

TEST(ScopeDeadlines, AreTheScopesAndNotItsPlaces) {
  HIWAY_NEEDS_DEVICE();
  Counted p(1);
  Scope first = p.jobs.open_h();
  first.set_deadline(30ms);
  first.close_h();
  EXPECT_NO_THROW(first.wait());
  Scope next = p.jobs.open_h();
  first.set_deadline(1ms);  // it has ended
  EXPECT_FALSE(next.wait_for(60ms));
  p.in.put_h(0, next);
  next.close_h();
  EXPECT_NO_THROW(next.wait());
  EXPECT_EQ(p.came, 1);
  p.end();
}

TEST(ScopeDeadlines, AreReplacedByLaterOnes) {
  HIWAY_NEEDS_DEVICE();
  Counted p(2);
  Scope later = p.jobs.open_h();
  Scope without = p.jobs.open_h();
  for (Scope* const job : {&later, &without}) job->set_deadline(10ms);
  later.set_deadline(1h);
  without.set_deadline({});
  EXPECT_FALSE(later.wait_for(50ms));
  for (Scope* const job : {&later, &without}) {
    p.in.put_h(0, *job);
    job->close_h();
    EXPECT_NO_THROW(job->wait());
  }
  EXPECT_EQ(p.came, 2);
  p.end();
}

/// Other threads open, set, and let scopes end, while some of their deadlines come.
TEST(ScopeDeadlines, MayComeAtAnyTime) {
  HIWAY_NEEDS_DEVICE();
  Counted p(8);
  std::atomic<int> well{0};
  std::atomic<int> late{0};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 300; ++i) {
        Scope job = p.jobs.open_h();
        bool const is_endless = i % 10 == 1;
        if (i % 3 != 0 || is_endless) job.set_deadline(std::chrono::microseconds((i * 7 + t) % 200));
        job.then([&](std::exception_ptr const& error) { ++(error ? late : well); });
        for (int k = 0; k < 3; ++k) p.in.put_h(is_endless ? 1 : 0, job);
        if (i % 5 == 0) job.set_deadline(std::chrono::microseconds(i % 100));
        job.close_h();
      }
    });
  threads.clear();
  p.end();
  EXPECT_EQ(well + late, 900);
  EXPECT_GE(late, 90) << "those that do not end by themselves";
  EXPECT_GE(well, 90) << "those without a deadline";
  EXPECT_GE(p.came, 3 * well);
}

TEST(ScopeDeadlines, OfRunsThatAreOverComeToNothing) {
  HIWAY_NEEDS_DEVICE();
  Counted p(1);
  for (int run = 0; run < 3; ++run) {
    if (run != 0) p.pipe.start();
    Scope job = p.send(0);
    job.set_deadline(run == 0 ? Deadline(20ms) : Deadline(1h));
    EXPECT_NO_THROW(job.wait());
    if (run == 2) {  // the first run's deadline comes now
      Scope open = p.jobs.open_h();
      EXPECT_FALSE(open.wait_for(40ms));
    }
    p.end();
  }
}

/// A request that does not end by itself leaves its place to the next one.
TEST(ScopeDeadlines, OfRequestsCancelThem) {
  HIWAY_NEEDS_DEVICE();
  Cycle cycle(1);
  Service<int, int> service(cycle.pipe, cycle.roots, cycle.replies);
  cycle.pipe.start();
  for (int i = 0; i < 10; ++i) {
    EXPECT_THROW((void)service.submit(1, Deadline(2ms)).get(), DeadlineExceeded);
    EXPECT_EQ(service.submit(0, Deadline(10s)).get(), 1) << i;
  }
  service.stop();
  cycle.pipe.wait();
}

}  // namespace
