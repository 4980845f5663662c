// Scopes in calls of a whole warp or block: one task, of which each lane has a part.
#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "hiway/hiway.hpp"
#include "tests/device.hpp"
#include "tests/teams.hpp"

namespace {

using namespace hiway;
using hiway_tests::bounded;
using hiway_tests::By;
using hiway_tests::put_by;
using hiway_tests::Puts;
using hiway_tests::Team;
using hiway_tests::text_of_error;
using hiway_tests::ways_to_put;
using namespace std::chrono_literals;
using ::testing::HasSubstr;

GpuStageOptions const grid{.blocks = 2, .threads_per_block = 64, .shared_bytes = 4096};

/// open inlet -> a stage of teams on the device, or on CPU threads -> a CPU stage that sums for each place.
template <class T = long>
struct ThereAndBack {
  template <class Work>
  explicit ThereAndBack(Work work, bool on_gpu = true, std::size_t capacity = 64)
      : ThereAndBack(on_gpu, capacity, [&](Tunnel<Scoped<T>>& there, Tunnel<Scoped<T>>& back) {
          if (on_gpu) {
            pipe.add_gpu_stage("work", work, from(there), into(back), grid);
          } else {
            pipe.add_cpu_stage("work", work, from(there), into(back), {.threads = 2});
          }
        }) {}
  /// `add(there, back)` adds the stage.
  template <class Add>
  ThereAndBack(bool on_gpu, std::size_t capacity, Add add) : pipe(bounded()), sums(4) {
    scopes = &pipe.create_scopes("jobs", {.most_open = 4});
    auto const there_by = on_gpu ? Direction::cpu_to_gpu : Direction::cpu_to_cpu;
    auto const back_by = on_gpu ? Direction::gpu_to_cpu : Direction::cpu_to_cpu;
    auto& there = pipe.create_tunnel<T>("there", there_by, {.capacity_items = capacity, .scopes = scopes});
    auto& back = pipe.create_tunnel<T>("back", back_by, {.capacity_items = capacity, .scopes = scopes});
    in = there.open_inlet();
    add(there, back);
    pipe.add_cpu_stage("sum", [this](T const& x) { sums[scope_index()] += static_cast<long>(x); }, from(back),
                       {.threads = 2});
  }
  long take_sum(Scope const& scope) { return sums[scope.index()].exchange(0); }

  /// Scopes of 0 to 4 items, one after another; each item comes back `times`, as it was.
  void expect_sums(long times, int scopes_in_all = 30) {
    pipe.start();
    for (int i = 1; i <= scopes_in_all; ++i) {
      Scope job = scopes->open_h();
      for (int k = 0; k < i % 5; ++k) in.put_h(T{i}, job);
      job.close_h();
      job.wait();
      ASSERT_EQ(take_sum(job), times * i * (i % 5)) << i;
    }
    in.close_h();
    pipe.wait();
  }

  Pipeline pipe;
  Scopes* scopes = nullptr;
  Inlet<T> in;
  std::vector<std::atomic<long>> sums;
};

/// Each item `times` times, in a loop of for_each.
template <By by>
struct Repeats {
  unsigned times;
  Puts puts;
  HIWAY_DEVICE void operator()(Outlet<long> in, Inlet<long> out) const {
    auto const team = Team<by>::here();
    team.for_each(in, [&](long const& x) { put_by(team, out, puts, times, [&](unsigned) { return x; }); });
  }
};
/// In a loop of gets, each into a lane's own room.
template <By by>
struct Gets {
  bool waits;
  HIWAY_DEVICE void operator()(Outlet<long> in, Inlet<long> out) const {
    auto const team = Team<by>::here();
    for (long x = 0;;) {
      bool const got = waits ? team.next(in, x) : team.get(in, x);
      if (got) {
        put_by(team, out, Puts::all_lanes, 4, [&](unsigned) { return x; });
        team.end_task(in);
      } else if (team.agree(in.is_terminate())) {
        return;
      }
    }
  }
};

template <By by>
void expect_sums_of_teams() {
  for (bool const on_gpu : {true, false}) {
    for (std::uint32_t way = 0; way != ways_to_put; ++way) {
      SCOPED_TRACE(way);
      for (unsigned const times : {1, 7})
        ThereAndBack<>(Repeats<by>{times, static_cast<Puts>(way)}, on_gpu, times == 1 ? 2 : 64).expect_sums(times);
    }
    for (bool const waits : {true, false}) ThereAndBack<>(Gets<by>{waits}, on_gpu).expect_sums(4);
  }
}
TEST(ScopesInTeam, EndWithTheLastTaskOfAWarp) {
  HIWAY_NEEDS_DEVICE();
  expect_sums_of_teams<By::warp>();
}
TEST(ScopesInTeam, EndWithTheLastTaskOfABlock) {
  HIWAY_NEEDS_DEVICE();
  expect_sums_of_teams<By::block>();
}

/// Of a span of gets one item comes.
template <By by>
struct GetsSpans {
  HIWAY_DEVICE void operator()(Outlet<long> in, Inlet<long> out) const {
    auto const team = Team<by>::here();
    long own[Team<by>::most];
    std::span<long> const room(team.room(own), 4);
    while (team.next(in, room)) {
      long const x = room[0];
      team.sync();
      if (team.rank == 0) out.put(x);
      team.end_task(in);
    }
    (void)team.get(in, std::span<long>());
  }
};
TEST(ScopesInTeam, SpansOfGetsBringOneItem) {
  HIWAY_NEEDS_DEVICE();
  for (bool const on_gpu : {true, false}) {
    ThereAndBack<>(GetsSpans<By::warp>{}, on_gpu).expect_sums(1);
    ThereAndBack<>(GetsSpans<By::block>{}, on_gpu).expect_sums(1);
  }
}

struct Wide {
  int number;
  std::array<int, 99> rest;
  explicit operator long() const { return number == rest[98] ? number : -1; }
};
/// A large item is worked on, and made, in its slot.
template <By by>
struct CopiesInPlace {
  HIWAY_DEVICE void operator()(Outlet<Wide> in, Inlet<Wide> out) const {
    auto const team = Team<by>::here();
    team.for_each(in, [&](Wide const& w) {
      team.put_in_place(out, [&](Wide& slot) {
        if (team.rank == 0) slot.number = w.number;
        for (unsigned i = team.rank; i < 99; i += team.size) slot.rest[i] = w.number;
      });
      team.put(out, w);
    });
  }
};
TEST(ScopesInTeam, OfLargeItems) {
  HIWAY_NEEDS_DEVICE();
  for (bool const on_gpu : {true, false}) {
    for (bool const block : {true, false}) {
      std::unique_ptr<ThereAndBack<Wide>> const p =
          block ? std::make_unique<ThereAndBack<Wide>>(CopiesInPlace<By::block>{}, on_gpu)
                : std::make_unique<ThereAndBack<Wide>>(CopiesInPlace<By::warp>{}, on_gpu);
      p->pipe.start();
      for (int i = 1; i <= 10; ++i) {
        Scope job = p->scopes->open_h();
        Wide w{i, {}};
        w.rest[98] = i;
        p->in.put_h(w, job);
        job.close_h();
        job.wait();
        EXPECT_EQ(p->take_sum(job), 2 * i);
      }
      p->in.close_h();
      p->pipe.wait();
    }
  }
}

/// Puts the numbers below its own, until 0, by all of its lanes: 2^n tasks.
template <By by>
struct Halves {
  Puts puts;
  HIWAY_DEVICE void operator()(Outlet<long> roots, Outlet<long> below, Inlet<long> again, Inlet<long> out) const {
    auto const team = Team<by>::here();
    auto const work = [&](long const& n) {
      team.put(out, 1L);
      put_by(team, again, puts, static_cast<unsigned>(n), [](unsigned i) { return static_cast<long>(i); });
    };
    for (long n = 0;;) {
      bool any = false;
      for (Outlet<long> const& in : {below, roots}) {
        if (!team.get(in, n)) continue;
        any = true;
        work(n);
        team.end_task(in);
      }
      if (!any && team.agree(roots.is_terminate())) return;
    }
  }
};

template <By by>
void expect_trees_end(Puts puts) {
  Pipeline pipe(bounded());
  Scopes& jobs = pipe.create_scopes("trees", {.most_open = 8});
  auto& roots = pipe.create_tunnel<long>("roots", Direction::cpu_to_gpu, {.capacity_items = 64, .scopes = &jobs});
  auto& again = pipe.create_tunnel<long>("again", Direction::gpu_to_gpu,
                                         {.capacity_items = 64, .spill_items = 1 << 16, .scopes = &jobs});
  auto& back = pipe.create_tunnel<long>("back", Direction::gpu_to_cpu, {.capacity_items = 64, .scopes = &jobs});
  std::array<std::atomic<long>, 8> sums{};
  pipe.add_gpu_stage("halves", Halves<by>{puts}, from(roots, again), into(again, back), grid);
  pipe.add_cpu_stage(
      "sum", [&](long const& x) { sums[scope_index()] += x; }, from(back));
  Inlet<long> const in = roots.open_inlet();
  std::atomic<int> ended{0};
  std::atomic<int> wrong{0};
  pipe.start();
  for (int i = 0; i < 40; ++i) {
    Scope job = jobs.open_h();
    int const n = i % 8;
    in.put_h(n, job);
    job.then([&, at = job.index(), n] {
      if (sums[at].exchange(0) != 1L << n) ++wrong;
      ++ended;
    });
  }
  in.close_h();
  pipe.wait();
  EXPECT_EQ(ended, 40);
  EXPECT_EQ(wrong, 0);
}
TEST(ScopesInTeam, EndAfterARecursionOfTeams) {
  HIWAY_NEEDS_DEVICE();
  for (std::uint32_t way = 0; way != ways_to_put; ++way) {
    SCOPED_TRACE(way);
    expect_trees_end<By::warp>(static_cast<Puts>(way));
    expect_trees_end<By::block>(static_cast<Puts>(way));
  }
}

/// Puts what is not 0 again and again; all lanes of the team meet for each item.
template <By by>
struct Again {
  HIWAY_DEVICE void operator()(Outlet<long> roots, Outlet<long> below, Inlet<long> again, Inlet<long> out) const {
    auto const team = Team<by>::here();
    for (long x = 0;;) {
      bool any = false;
      for (Outlet<long> const& in : {below, roots}) {
        if (!team.get(in, x)) continue;
        any = true;
        team.put(x > 0 ? again : out, x);
        team.end_task(in);
      }
      if (!any && team.agree(roots.is_terminate())) return;
    }
  }
};
template <By by>
void expect_cancelled_on_the_device() {
  Pipeline pipe(bounded());
  Scopes& jobs = pipe.create_scopes("jobs", {.most_open = 2});
  auto& roots = pipe.create_tunnel<long>("roots", Direction::cpu_to_gpu, {.capacity_items = 64, .scopes = &jobs});
  auto& again = pipe.create_tunnel<long>("again", Direction::gpu_to_gpu, {.capacity_items = 64, .scopes = &jobs});
  auto& back = pipe.create_tunnel<long>("back", Direction::gpu_to_cpu, {.capacity_items = 64, .scopes = &jobs});
  std::atomic<int> came{0};
  pipe.add_gpu_stage("again", Again<by>{}, from(roots, again), into(again, back), grid);
  pipe.add_cpu_stage(
      "count", [&](long const&) { ++came; }, from(back));
  Inlet<long> const in = roots.open_inlet();
  pipe.start();
  for (int i = 0; i < 10; ++i) {
    Scope endless = jobs.open_h();
    for (int k = 0; k < 8; ++k) in.put_h(1, endless);
    endless.close_h();
    EXPECT_FALSE(endless.wait_for(1ms));
    endless.cancel();
    ASSERT_TRUE(endless.wait_for(20s));
    EXPECT_THROW(endless.wait(), ScopeCancelled);
    Scope good = jobs.open_h();
    Scope another = jobs.open_h();  // at the place of the cancelled one
    for (Scope* const job : {&good, &another}) {
      in.put_h(0, *job);
      job->close_h();
      EXPECT_NO_THROW(job->wait());
    }
    EXPECT_EQ(came.exchange(0), 2) << i;
  }
  in.close_h();
  pipe.wait();
}
TEST(ScopesInTeam, AreCancelledOnTheDevice) {
  HIWAY_NEEDS_DEVICE();
  expect_cancelled_on_the_device<By::warp>();
  expect_cancelled_on_the_device<By::block>();
}

/// A CPU thread drops the items of a cancelled scope: `work(in, f)` calls f(item) for the others.
template <class Work>
void expect_cancelled_on_the_cpu(Work work) {
  std::promise<void> go;
  std::shared_future<void> const gate = go.get_future().share();
  std::atomic<int> worked{0};
  ThereAndBack<> p(false, 64, [&](auto& there, auto& back) {
    p.pipe.add_cpu_stage(
        "work",
        [=, &worked](Outlet<long> in, Inlet<long> out) {
          gate.wait();
          work(in, [&](long x) {
            ++worked;
            out.put_warp(x);
          });
        },
        from(there), into(back));
  });
  p.pipe.start();
  Scope bad = p.scopes->open_h();
  Scope good = p.scopes->open_h();
  for (int k = 0; k < 5; ++k) {
    p.in.put_h(1, bad);
    p.in.put_h(1, good);
  }
  bad.cancel();
  bad.close_h();
  good.close_h();
  go.set_value();
  ASSERT_TRUE(bad.wait_for(10s));
  EXPECT_THROW(bad.wait(), ScopeCancelled);
  good.wait();
  p.in.close_h();
  p.pipe.wait();
  EXPECT_EQ(worked, 5);
  EXPECT_EQ(p.take_sum(good), 5);
}
TEST(ScopesInTeam, AreCancelledOnTheCpu) {
  HIWAY_NEEDS_DEVICE();
  expect_cancelled_on_the_cpu([](Outlet<long> in, auto f) { in.for_each_warp(f); });
  expect_cancelled_on_the_cpu([](Outlet<long> in, auto f) {
    for (long x = 0; in.next_warp(x); in.end_task_warp()) f(x);
  });
}

/// The last lane fails the scopes of threes; fail_task says the same of its task.
struct FailsSome {
  bool task;
  HIWAY_DEVICE void operator()(Outlet<long> in, Inlet<long> out) const {
    auto const team = Team<By::block>::here();
    team.for_each(in, [&](long const& x) {
      if (x % 3 == 0 && team.rank == team.size - 1) task ? fail_task("no threes") : fail_scope("no threes");
      if (scope_index() < 4) team.put(out, x);
    });
  }
};
TEST(ScopesInTeam, FailAlone) {
  HIWAY_NEEDS_DEVICE();
  for (bool const on_gpu : {true, false}) {
    ThereAndBack<> p(FailsSome{on_gpu}, on_gpu);
    p.pipe.start();
    for (int i = 1; i < 20; ++i) {
      Scope job = p.scopes->open_h();
      p.in.put_h(i, job);
      job.close_h();
      if (i % 3 == 0) {
        EXPECT_EQ(text_of_error<ScopeFailed>([&] { job.wait(); }), "no threes");
      } else {
        EXPECT_NO_THROW(job.wait()) << i;
      }
      EXPECT_EQ(p.take_sum(job), i);
    }
    p.in.close_h();
    p.pipe.wait();
  }
}

/// Works until its scope's run has ended.
template <By by>
void expect_to_leave_an_aborted_run() {
  for (int round = 0; round < 5; ++round) {
    ThereAndBack<> p(Repeats<by>{7, static_cast<Puts>(round)});
    p.pipe.start();
    Scope job = p.scopes->open_h();
    std::thread aborts([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(2 * round));
      p.pipe.abort();
    });
    EXPECT_THROW(for (;;) p.in.put_h(1, job), Error);
    aborts.join();
    EXPECT_THAT(text_of_error<Error>([&] { job.wait(); }), HasSubstr("the scope's run has failed"));
    EXPECT_THAT(text_of_error<Error>([&] { p.pipe.wait(); }), HasSubstr("abort"));
  }
}
TEST(ScopesInTeam, LeaveAnAbortedRun) {
  HIWAY_NEEDS_DEVICE();
  expect_to_leave_an_aborted_run<By::warp>();
  expect_to_leave_an_aborted_run<By::block>();
}

/// A warp answers requests; of one below 0 it fails the run.
struct Answers {
  HIWAY_DEVICE void operator()(Outlet<long> in, Inlet<long> out) const {
    in.for_each_warp([&](long const& x) {
      if (x < 0) fail("a request below 0");
      if (x == 0) return fail_scope("0");
      for (unsigned misses = 0; misses < static_cast<unsigned>(x % 1000); ++misses)
        anywhere([](auto m) { m.relax(600); });
      out.put_warp(2 * x);
    });
  }
};
TEST(ScopesInTeam, AnswerRequestsOfAService) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  Scopes& jobs = pipe.create_scopes("jobs", {.most_open = 16});
  auto& requests = pipe.create_tunnel<long>("requests", Direction::cpu_to_gpu, {.scopes = &jobs});
  auto& replies = pipe.create_tunnel<long>("replies", Direction::gpu_to_cpu, {.scopes = &jobs});
  pipe.add_gpu_stage("answers", Answers{}, from(requests), into(replies), grid);
  Service<long, long> service(pipe, requests, replies);
  pipe.start();
  auto late = service.submit(999, 1ms);
  for (long i = 1; i < 50; ++i) EXPECT_EQ(service.call(1000 * i), 2000 * i);
  EXPECT_EQ(text_of_error<ScopeFailed>([&] { (void)service.call(0); }), "0");
  EXPECT_THROW((void)late.get(), DeadlineExceeded);
  EXPECT_THAT(text_of_error<Error>([&] { (void)service.call(-1); }), HasSubstr("a request below 0"));
  EXPECT_THROW(pipe.wait(), Error);
}

struct NeverEndsATask {
  HIWAY_DEVICE void operator()(Outlet<long> in, Inlet<long>) const {
    for (long x = 0; in.next_warp(x);) continue;
  }
};
/// A task that the team has got is not one lane's to end: the others still have their parts.
struct EndsByOneLane {
  HIWAY_DEVICE void operator()(Outlet<long> in, Inlet<long>) const {
    for (long x = 0; in.next_warp(x);) {
      if (Team<By::warp>::here().rank == 0) in.end_task();
    }
  }
};
template <class Work>
void expect_an_open_task(Work work) {
  ThereAndBack<> p(work);
  p.pipe.start();
  Scope job = p.scopes->open_h();
  for (int i = 0; i < 100; ++i) {
    if (p.in.offer_h(1, job, 1s) == Put::aborted) break;
  }
  EXPECT_THAT(text_of_error<Error>([&] { p.pipe.wait(); }), HasSubstr("before the last task's end_task"));
}
TEST(ScopesInTeam, TeamsWorkOnOneItemAtATime) {
  HIWAY_NEEDS_DEVICE();
  expect_an_open_task(NeverEndsATask{});
  expect_an_open_task(EndsByOneLane{});
}

/// Each lane gets an item of its own, and the warp ends the tasks of all.
struct GetsAlone {
  HIWAY_DEVICE void operator()(Outlet<long> in, Inlet<long> out) const {
    auto const team = Team<By::warp>::here();
    for (;;) {
      long x = 0;
      bool const got = in.get(x);
      if (got) out.put(x);
      unsigned const tasks = anywhere([&](auto m) {
        m.sync_warp(m.lanes());
        return m.count(m.ballot(m.lanes(), got));
      });
      in.end_task_warp(tasks);
      if (team.agree(in.is_terminate())) return;
    }
  }
};
TEST(ScopesInTeam, OfItemsThatLanesGotOneByOneEndEach) {
  HIWAY_NEEDS_DEVICE();
  ThereAndBack<> p(GetsAlone{});
  p.pipe.start();
  for (int i = 0; i < 60; ++i) {
    std::vector<Scope> open;
    for (int k = 0; k < 1 + i % 4; ++k) open.push_back(p.scopes->open_h());
    for (int n = 0; n < 8; ++n)
      for (Scope& job : open) p.in.put_h(n, job);
    for (Scope& job : open) {
      job.close_h();
      ASSERT_TRUE(job.wait_for(10s));
      EXPECT_EQ(p.take_sum(job), 28);
    }
  }
  p.in.close_h();
  p.pipe.wait();
}

/// The host -> device 0 -> 1 -> 2 -> the host, by teams that put `n` each: values get small on the way.
template <By by>
void expect_results_over_devices(unsigned n, Puts puts) {
  Pipeline pipe(bounded());
  Scopes& jobs = pipe.create_scopes("jobs");
  auto const tunnel = [&](char const* name, Direction direction) -> auto& {
    return pipe.create_tunnel<long>(name, direction, {.capacity_items = 64, .scopes = &jobs});
  };
  auto& in = tunnel("in", Direction::cpu_to_gpu);
  auto& a = tunnel("a", Direction::gpu_to_gpu);
  auto& b = tunnel("b", Direction::gpu_to_gpu);
  auto& out = tunnel("out", Direction::gpu_to_cpu);
  auto const on = [](int device) {
    return GpuStageOptions{.blocks = 1, .threads_per_block = 64, .shared_bytes = 4096, .device = device};
  };
  pipe.add_gpu_stage("first", Repeats<by>{n, puts}, from(in), into(a), on(0));
  pipe.add_gpu_stage("second", Repeats<by>{n, puts}, from(a), into(b), on(1));
  pipe.add_gpu_stage("third", Repeats<by>{n, puts}, from(b), into(out), on(2));
  std::atomic<long> got{0};
  pipe.add_cpu_stage(
      "count", [&](long const&) { ++got; }, from(out));
  Inlet<long> const host = in.open_inlet();
  pipe.start();
  for (int i = 0; i < 3; ++i) {
    Scope job = jobs.open_h();
    host.put_h(1, job);
    job.close_h();
    ASSERT_NO_THROW(job.wait());
    EXPECT_EQ(got.exchange(0), static_cast<long>(n) * n * n);
  }
  host.close_h();
  pipe.wait();
}
TEST(ScopesInTeam, GoFromDeviceToDevice) {
  HIWAY_NEEDS_DEVICES(3);
  for (Puts const puts : {Puts::all_lanes, Puts::together, Puts::span, Puts::last}) {
    expect_results_over_devices<By::warp>(6, puts);
    expect_results_over_devices<By::block>(6, puts);
  }
}

}  // namespace
