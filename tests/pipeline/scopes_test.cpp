// Scopes: the end of a part of a run's work.
#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <future>
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

GpuStageOptions const small_grid{.blocks = 2, .threads_per_block = 64};

struct Twice {
  HIWAY_DEVICE long operator()(int const& x) const { return 2L * x; }
};
struct TwiceByPuts {
  HIWAY_DEVICE void operator()(int const& x, Inlet<long> out) const {
    out.put(x);
    out.put(x);
  }
};
struct TwiceInALoop {
  HIWAY_DEVICE void operator()(Outlet<int> in, Inlet<long> out) const {
    int x = 0;
    while (in.next(x)) {
      out.put(2L * x);
      in.end_task();
    }
  }
};
struct Pass {
  HIWAY_DEVICE void operator()(Outlet<int> in, Inlet<long> out) const {
    in.for_each([&](int const& x) {
      while (!out.try_put(2L * x)) {
      }
    });
  }
};

/// open inlet -> GPU stage -> CPU stage that sums, and counts tasks under way for each place.
template <class Work>
struct ThereAndBack {
  explicit ThereAndBack(Work work, ScopesConfig config = {}, std::size_t capacity = 64) : pipe(bounded()) {
    scopes = &pipe.create_scopes("jobs", config);
    auto& there =
        pipe.create_tunnel<int>("there", Direction::cpu_to_gpu, {.capacity_items = capacity, .scopes = scopes});
    auto& back =
        pipe.create_tunnel<long>("back", Direction::gpu_to_cpu, {.capacity_items = capacity, .scopes = scopes});
    in = there.open_inlet();
    sums = std::vector<std::atomic<long>>(config.most_open);
    pipe.add_gpu_stage("work", work, from(there), into(back), small_grid);
    pipe.add_cpu_stage("sum", [this](long const& x) { sums[scope_index()] += x; }, from(back), {.threads = 2});
  }
  long take_sum(Scope const& scope) { return sums[scope.index()].exchange(0); }

  Pipeline pipe;
  Scopes* scopes;
  Inlet<int> in;
  std::vector<std::atomic<long>> sums;
};

template <class Work>
void expect_sums(Work work, int n, ScopesConfig config = {}, std::size_t capacity = 64) {
  ThereAndBack<Work> p(work, config, capacity);
  p.pipe.start();
  for (int i = 1; i <= n; ++i) {
    Scope job = p.scopes->open_h();
    for (int k = 0; k < i % 5; ++k) p.in.put_h(i, job);
    job.close_h();
    job.wait();
    ASSERT_EQ(p.take_sum(job), 2L * i * (i % 5)) << i;
  }
  p.in.close_h();
  p.pipe.wait();
}

TEST(Scopes, EndWithTheLastTaskOfAValueStage) {
  HIWAY_NEEDS_DEVICE();
  expect_sums(Twice{}, 50);
}
TEST(Scopes, EndWithTheLastTaskOfAnItemStage) {
  HIWAY_NEEDS_DEVICE();
  expect_sums(TwiceByPuts{}, 50);
}
TEST(Scopes, EndWithTheLastTaskOfALoopStage) {
  HIWAY_NEEDS_DEVICE();
  expect_sums(TwiceInALoop{}, 50);
  expect_sums(Pass{}, 50, {}, 2);
}

TEST(Scopes, NoneIsOpenBeyondTheMost) {
  HIWAY_NEEDS_DEVICE();
  ThereAndBack<Twice> p(Twice{}, {.most_open = 2});
  p.pipe.start();
  Scope a = p.scopes->open_h();
  Scope b = p.scopes->open_h();
  EXPECT_FALSE(p.scopes->try_open_h().has_value());
  std::future<Scope> third = std::async(std::launch::async, [&] { return p.scopes->open_h(); });
  EXPECT_EQ(third.wait_for(50ms), std::future_status::timeout);
  a.close_h();
  a.wait();
  third.get().close_h();
  b.close_h();
  p.in.close_h();
  p.pipe.wait();
}

/// Puts the numbers below its own, until 0: 2^n tasks.
struct Halves {
  HIWAY_DEVICE void operator()(int const& n, Inlet<int> again, Inlet<long> out) const {
    out.put(1);
    for (int i = 0; i < n; ++i) again.put(i);
  }
};
/// The same; a task's last put takes its part of the scope along.
struct HalvesWithALast {
  HIWAY_DEVICE void operator()(int const& n, Inlet<int> again, Inlet<long> out) const {
    if (n == 0) return out.put_last(1);
    out.put(1);
    for (int i = 0; i < n - 1; ++i) again.put(i);
    again.put_last(n - 1);
  }
};
struct Tree {
  explicit Tree(std::size_t most_open, WhenFull when_full = WhenFull::automatic)
      : Tree(Halves{}, most_open, when_full) {}
  template <class Work>
  Tree(Work work, std::size_t most_open, WhenFull when_full = WhenFull::automatic) : pipe(bounded()) {
    scopes = &pipe.create_scopes("trees", {.most_open = most_open});
    auto& roots = pipe.create_tunnel<int>("roots", Direction::cpu_to_gpu, {.capacity_items = 64, .scopes = scopes});
    auto& again = pipe.create_tunnel<int>(
        "again", Direction::gpu_to_gpu,
        {.capacity_items = 256, .when_full = when_full, .spill_items = 1 << 20, .scopes = scopes});
    auto& back = pipe.create_tunnel<long>("back", Direction::gpu_to_cpu, {.capacity_items = 256, .scopes = scopes});
    in = roots.open_inlet();
    sums = std::vector<std::atomic<long>>(most_open);
    pipe.add_gpu_stage("halves", work, from(roots, again), into(again, back), small_grid);
    pipe.add_cpu_stage("sum", [this](long const& x) { sums[scope_index()] += x; }, from(back), {.threads = 2});
  }
  Pipeline pipe;
  Scopes* scopes;
  Inlet<int> in;
  std::vector<std::atomic<long>> sums;
};

void expect_trees_end(Tree& tree) {
  std::atomic<int> ended{0};
  std::atomic<int> wrong{0};
  tree.pipe.start();
  int const jobs = 200;
  for (int i = 0; i < jobs; ++i) {
    Scope job = tree.scopes->open_h();
    long expected = 0;
    for (int k = 0; k < 1 + i % 3; ++k) {
      int const n = (i + k) % 9;
      tree.in.put_h(n, job);
      expected += 1L << n;
    }
    std::uint32_t const at = job.index();
    job.then([&, at, expected] {
      if (tree.sums[at].exchange(0) != expected) ++wrong;
      ++ended;
    });
  }
  tree.in.close_h();
  tree.pipe.wait();
  EXPECT_EQ(ended, jobs);
  EXPECT_EQ(wrong, 0);
}

TEST(Scopes, EndAfterARecursionOnTheDevice) {
  HIWAY_NEEDS_DEVICE();
  Tree tree(8);
  expect_trees_end(tree);
}
TEST(Scopes, EndAfterARecursionWhoseTasksHandTheRestOn) {
  HIWAY_NEEDS_DEVICE();
  Tree tree(HalvesWithALast{}, 8);
  expect_trees_end(tree);
}

struct PutsAfterTheLast {
  HIWAY_DEVICE void operator()(int const& n, Inlet<long> out) const {
    out.put_last(n);
    out.put_last(n);
  }
};
TEST(Scopes, NothingIsPutAfterTheLast) {
  HIWAY_NEEDS_DEVICE();
  ThereAndBack<PutsAfterTheLast> p(PutsAfterTheLast{}, {});
  p.pipe.start();
  Scope job = p.scopes->open_h();
  p.in.put_h(1, job);
  job.close_h();
  try {
    p.pipe.wait();
    ADD_FAILURE() << "a second last put";
  } catch (Error const& e) {
    EXPECT_THAT(e.what(), ::testing::HasSubstr("scope"));
  }
}

struct Count {
  unsigned* seen;
  HIWAY_DEVICE void operator()(int const&) const {
#if defined(__CUDA_ARCH__)
    atomicAdd(seen + scope_index(), 1u);
#else
    std::atomic_ref<unsigned>(seen[scope_index()]).fetch_add(1);
#endif
  }
};

TEST(Scopes, EndAtTheDevice) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  Scopes& jobs = pipe.create_scopes("jobs", {.most_open = 4});
  auto& there = pipe.create_tunnel<int>("there", Direction::cpu_to_gpu, {.capacity_items = 64, .scopes = &jobs});
  std::vector<unsigned> const zeros(4);
  auto& seen = pipe.create_buffer<unsigned>(std::span<unsigned const>(zeros));
  pipe.add_gpu_stage("count", Count{seen.view().data}, from(there), small_grid);
  Inlet<int> in = there.open_inlet();
  pipe.start();
  std::vector<unsigned> expected(4);
  for (int i = 0; i < 3000; ++i) {
    Scope job = jobs.open_h();
    ++expected[job.index()];
    in.put_h(i, job);
  }
  in.close_h();
  pipe.wait();
  std::vector<unsigned> got(4);
  seen.copy_out(std::span<unsigned>(got));
  EXPECT_EQ(got, expected);
}

TEST(Scopes, EndBetweenCpuThreads) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  Scopes& jobs = pipe.create_scopes("jobs", {.most_open = 16});
  auto& first = pipe.create_tunnel<int>("first", Direction::cpu_to_cpu, {.capacity_items = 64, .scopes = &jobs});
  auto& second = pipe.create_tunnel<int>("second", Direction::cpu_to_cpu, {.capacity_items = 64, .scopes = &jobs});
  std::array<std::atomic<int>, 16> got{};
  std::atomic<int> wrong{0};
  pipe.add_cpu_stage(
      "source",
      [&](Inlet<int> out) {
        for (int i = 0; i < 2000; ++i) {
          Scope job = jobs.open_h();
          job.then([&, at = job.index(), expected = 3 * (i % 4)] {
            if (got[at].exchange(0) != expected) ++wrong;
          });
          for (int k = 0; k < i % 4; ++k) out.put_h(k, job);
        }
      },
      into(first));
  pipe.add_cpu_stage("thrice",
                     [](int const& x, Inlet<int> out) {
                       std::array const all{x, x, x};
                       out.put_h(all);
                     },
                     from(first), into(second), {.threads = 2});
  pipe.add_cpu_stage("count", [&](int const&) { ++got[scope_index()]; }, from(second), {.threads = 2});
  pipe.run();
  EXPECT_EQ(wrong, 0);
}

struct FailsSome {
  HIWAY_DEVICE long operator()(int const& x) const {
    if (x % 3 == 0) fail_scope("no threes");
    return x;
  }
};

TEST(Scopes, FailAlone) {
  HIWAY_NEEDS_DEVICE();
  ThereAndBack<FailsSome> p(FailsSome{});
  p.pipe.start();
  for (int i = 1; i < 30; ++i) {
    Scope job = p.scopes->open_h();
    p.in.put_h(i, job);
    job.close_h();
    if (i % 3 == 0) {
      EXPECT_EQ(text_of_error<ScopeFailed>([&] { job.wait(); }), "no threes");
    } else {
      EXPECT_NO_THROW(job.wait()) << i;
    }
  }
  p.in.close_h();
  p.pipe.wait();
}

TEST(Scopes, EndWithTheErrorOfTheirRun) {
  HIWAY_NEEDS_DEVICE();
  ThereAndBack<Twice> p(Twice{});
  for (int run = 0; run < 3; ++run) {
    p.pipe.start();
    Scope const empty = p.scopes->open_h();
    Scope job = p.scopes->open_h();
    p.in.put_h(1, job);
    p.pipe.abort();
    for (Scope const& s : {job, empty})
      EXPECT_THAT(text_of_error<Error>([&] { s.wait(); }), HasSubstr("the scope's run has failed"));
    EXPECT_THAT(text_of_error<Error>([&] { p.pipe.wait(); }), HasSubstr("abort"));
    EXPECT_THAT(text_of_error<Error>([&] { (void)p.scopes->open_h(); }), HasSubstr("no run is under way"));
    EXPECT_THAT(text_of_error<Aborted>([&] { p.in.put_h(1, job); }), HasSubstr("run"));
    EXPECT_EQ(p.in.offer_h(1, job, 0ns), Put::aborted);
    p.take_sum(job);
  }
  p.pipe.start();
  Scope job = p.scopes->open_h();
  p.in.put_h(21, job);
  job.close_h();
  job.wait();
  EXPECT_EQ(p.take_sum(job), 42);
  p.in.close_h();
  p.pipe.wait();
}

TEST(Scopes, AreAskedFor) {
  HIWAY_NEEDS_DEVICE();
  ThereAndBack<Twice> p(Twice{});
  p.pipe.start();
  EXPECT_THAT(text_of_error<Error>([&] { p.in.put_h(1); }), HasSubstr("neither a scope was named"));
  EXPECT_THAT(text_of_error<MisuseError>([&] { p.pipe.wait(); }), HasSubstr("tunnel 'there'"));
}

TEST(Scopes, ClosedOnesTakeNoMore) {
  HIWAY_NEEDS_DEVICE();
  ThereAndBack<Twice> p(Twice{});
  Scopes& others = p.pipe.create_scopes("others");
  p.pipe.start();
  Scope job = p.scopes->open_h();
  job.close_h();
  EXPECT_THAT(text_of_error<Error>([&] { p.in.put_h(1, job); }), HasSubstr("closed"));
  Scope other = others.open_h();
  EXPECT_THAT(text_of_error<Error>([&] { p.in.put_h(1, other); }), HasSubstr("no scopes of this kind"));
  p.in.close_h();
  p.pipe.wait();
}

TEST(Scopes, StagesWorkOnOneItemAtATime) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  Scopes& jobs = pipe.create_scopes("jobs");
  auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_cpu, {.scopes = &jobs});
  pipe.add_cpu_stage(
      "source",
      [&](Inlet<int> out) {
        Scope job = jobs.open_h();
        out.put_h(1, job);
        out.put_h(2, job);
      },
      into(t));
  pipe.add_cpu_stage(
      "reader",
      [](Outlet<int> in) {
        int x = 0;
        while (in.next_h(x)) {
        }
      },
      from(t));
  EXPECT_THAT(text_of_error<Error>([&] { pipe.run(); }), HasSubstr("before the last task's end_task"));
}

TEST(Scopes, BelongToTheirPipeline) {
  HIWAY_NEEDS_DEVICE();
  Pipeline one(bounded());
  Pipeline other(bounded());
  Scopes& jobs = one.create_scopes("jobs");
  EXPECT_THAT(
      text_of_error<ConfigError>([&] { other.create_tunnel<int>("t", Direction::cpu_to_cpu, {.scopes = &jobs}); }),
      HasSubstr("not this pipeline's"));
  EXPECT_THAT(text_of_error<ConfigError>([&] { one.create_scopes("jobs"); }), HasSubstr("unique"));
  EXPECT_THAT(text_of_error<ConfigError>([&] { one.create_scopes("none", {.most_open = 0}); }),
              HasSubstr("most_open must be from 1"));
  EXPECT_THAT(text_of_error<ConfigError>([&] {
                one.create_tunnel<int>("t", Direction::cpu_to_cpu,
                                       {.when_full = WhenFull::drop_newest, .scopes = &jobs});
              }),
              HasSubstr("drops nothing"));
  EXPECT_THAT(text_of_error<ConfigError>([&] {
                one.create_tunnel<int>("t", Direction::cpu_to_cpu,
                                       {.when_full = WhenFull::drop_oldest, .scopes = &jobs});
              }),
              HasSubstr("drops nothing"));
}

TEST(Scopes, CannotBeOpenedAfterAStartThatFailed) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  Scopes& jobs = pipe.create_scopes("jobs");
  auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_cpu, {.scopes = &jobs});
  static_cast<void>(t.open_inlet());
  EXPECT_THROW(pipe.start(), ConfigError);
  EXPECT_THAT(text_of_error<Aborted>([&] { (void)jobs.open_h(); }), HasSubstr("the last one has failed: tunnel 't'"));
}

/// Puts what is not 0 again and again.
struct Again {
  HIWAY_DEVICE void operator()(int const& x, Inlet<int> again, Inlet<long> out) const {
    if (x > 0) {
      again.put(x);
    } else {
      out.put(x);
    }
  }
};

TEST(Scopes, AreCancelledOnTheDevice) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  Scopes& jobs = pipe.create_scopes("jobs", {.most_open = 2});
  auto& roots = pipe.create_tunnel<int>("roots", Direction::cpu_to_gpu, {.capacity_items = 64, .scopes = &jobs});
  auto& again = pipe.create_tunnel<int>("again", Direction::gpu_to_gpu, {.capacity_items = 64, .scopes = &jobs});
  auto& back = pipe.create_tunnel<long>("back", Direction::gpu_to_cpu, {.capacity_items = 64, .scopes = &jobs});
  std::atomic<int> came{0};
  pipe.add_gpu_stage("again", Again{}, from(roots, again), into(again, back), small_grid);
  pipe.add_cpu_stage(
      "count", [&](long const&) { ++came; }, from(back));
  Inlet<int> in = roots.open_inlet();
  pipe.start();
  for (int i = 0; i < 20; ++i) {
    Scope endless = jobs.open_h();
    for (int k = 0; k < 8; ++k) in.put_h(1, endless);
    endless.close_h();
    EXPECT_FALSE(endless.wait_for(1ms));
    endless.cancel();
    ASSERT_TRUE(endless.wait_for(10s));
    EXPECT_THAT(text_of_error<ScopeCancelled>([&] { endless.wait(); }), HasSubstr("cancelled"));
    endless.cancel();
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

/// `work(outlet, f)` calls f(item) for all items but those of cancelled scopes.
template <class Work>
void expect_cancelled_on_the_cpu(Work work) {
  Pipeline pipe(bounded());
  Scopes& jobs = pipe.create_scopes("jobs", {.most_open = 2});
  auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_cpu, {.capacity_items = 64, .scopes = &jobs});
  auto& u = pipe.create_tunnel<int>("u", Direction::cpu_to_cpu, {.capacity_items = 64, .scopes = &jobs});
  std::promise<void> go;
  std::shared_future<void> const gate = go.get_future().share();
  std::atomic<int> worked{0};
  std::atomic<int> left{0};
  pipe.add_cpu_stage(
      "gate",
      [&](Outlet<int> in, Inlet<int> out) {
        gate.wait();
        work(in, [&](int x) {
          ++worked;
          out.put_h(x);
        });
      },
      from(t), into(u));
  pipe.add_cpu_stage(
      "end", [&](Outlet<int> in) { in.for_each_h([&](int const&) { ++left; }); }, from(u));
  Inlet<int> in = t.open_inlet();
  pipe.start();
  Scope bad = jobs.open_h();
  Scope good = jobs.open_h();
  for (int k = 0; k < 5; ++k) {
    in.put_h(k, bad);
    in.put_h(k, good);
  }
  bad.cancel();
  bad.close_h();
  good.close_h();
  go.set_value();
  ASSERT_TRUE(bad.wait_for(10s));
  EXPECT_THROW(bad.wait(), ScopeCancelled);
  good.wait();
  in.close_h();
  pipe.wait();
  EXPECT_EQ(worked, 5);
  EXPECT_EQ(left, 5);
}
TEST(Scopes, AreCancelledOnTheCpu) {
  HIWAY_NEEDS_DEVICE();
  expect_cancelled_on_the_cpu([](Outlet<int> in, auto f) {
    int x = 0;
    while (in.next_h(x)) {
      f(x);
      in.end_task_h();
    }
  });
  expect_cancelled_on_the_cpu([](Outlet<int> in, auto f) { in.for_each_h(f); });
}

/// A handle outlives its scope, whose place another one has.
TEST(Scopes, CancelledAfterTheirEndLeaveTheNextOneAlone) {
  HIWAY_NEEDS_DEVICE();
  ThereAndBack<Twice> p(Twice{}, {.most_open = 1});
  p.pipe.start();
  Scope first = p.scopes->open_h();
  first.close_h();
  first.wait();
  Scope next = p.scopes->open_h();
  first.cancel();
  EXPECT_NO_THROW(first.wait());
  p.in.put_h(21, next);
  next.close_h();
  EXPECT_NO_THROW(next.wait());
  EXPECT_EQ(p.take_sum(next), 42);
  p.in.close_h();
  p.pipe.wait();
}

TEST(Scopes, TakeBackOffersThatFindNoRoom) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  Scopes& jobs = pipe.create_scopes("jobs");
  auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_cpu, {.capacity_items = 2, .scopes = &jobs});
  Inlet<int> in = t.open_inlet();
  Outlet<int> out = t.open_outlet();
  pipe.start();
  Scope job = jobs.open_h();
  EXPECT_EQ(in.offer_h(1, job, 0ns), Put::done);
  EXPECT_EQ(in.offer_h(2, job, 0ns), Put::done);
  EXPECT_EQ(in.offer_h(3, job, 0ns), Put::full);
  job.close_h();
  for (int i = 1; i <= 2; ++i) {
    int x = 0;
    EXPECT_TRUE(out.get_h(x));
    EXPECT_EQ(x, i);
    EXPECT_FALSE(job.wait_for(0ms));
    out.end_task_h();
  }
  ASSERT_TRUE(job.wait_for(10s));
  in.close_h();
  int x = 0;
  EXPECT_FALSE(out.next_h(x));
  pipe.wait();
}

TEST(Scopes, TakeBackAStagesOffersThatFindNoRoom) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  Scopes& jobs = pipe.create_scopes("jobs");
  auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_cpu, {.capacity_items = 2, .scopes = &jobs});
  auto& u = pipe.create_tunnel<int>("u", Direction::cpu_to_cpu, {.capacity_items = 2, .scopes = &jobs});
  std::promise<void> offered;
  pipe.add_cpu_stage(
      "offers",
      [&](int const& x, Inlet<int> out) {
        EXPECT_EQ(out.offer_h(x, 0ns), Put::done);
        EXPECT_EQ(out.offer_h(x, 0ns), Put::done);
        EXPECT_EQ(out.offer_h(x, 0ns), Put::full);
        offered.set_value();
      },
      from(t), into(u));
  pipe.add_cpu_stage(
      "end",
      [gate = offered.get_future().share()](Outlet<int> in) {
        gate.wait();
        in.for_each_h([](int const&) {});
      },
      from(u));
  Inlet<int> const in = t.open_inlet();
  pipe.start();
  Scope job = jobs.open_h();
  in.put_h(1, job);
  job.close_h();
  EXPECT_TRUE(job.wait_for(10s));
  in.close_h();
  pipe.wait();
}

struct Wide {
  int number;
  std::array<int, 99> rest;
};
struct MakeWide {
  HIWAY_DEVICE Wide operator()(int const& x) const {
    Wide w{};
    w.number = x;
    w.rest[98] = x;
    return w;
  }
};

TEST(Scopes, OfLargeItems) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  Scopes& jobs = pipe.create_scopes("jobs");
  auto& there = pipe.create_tunnel<int>("there", Direction::cpu_to_gpu, {.capacity_items = 16, .scopes = &jobs});
  auto& back = pipe.create_tunnel<Wide>("back", Direction::gpu_to_cpu, {.capacity_items = 16, .scopes = &jobs});
  pipe.add_gpu_stage("make", MakeWide{}, from(there), into(back), small_grid);
  std::atomic<long> sum{0};
  pipe.add_cpu_stage(
      "sum", [&](Wide const& w) { sum += w.number + w.rest[98]; }, from(back));
  Inlet<int> in = there.open_inlet();
  pipe.start();
  for (int i = 1; i <= 40; ++i) {
    Scope job = jobs.open_h();
    in.put_h(i, job);
    job.close_h();
    job.wait();
    EXPECT_EQ(sum.exchange(0), 2L * i);
  }
  in.close_h();
  pipe.wait();
}

TEST(Scopes, GiveTheirPlaceAwayAfterTheCalls) {
  HIWAY_NEEDS_DEVICE();
  ThereAndBack<Twice> p(Twice{}, {.most_open = 1});
  p.pipe.start();
  std::atomic<bool> called{false};
  {
    Scope job = p.scopes->open_h();
    job.then([&] {
      std::this_thread::sleep_for(50ms);
      called = true;
    });
    p.in.put_h(1, job);
  }
  Scope const next = p.scopes->open_h();
  EXPECT_TRUE(called);
  p.in.close_h();
  p.pipe.wait();
}

TEST(Scopes, MayBeClosedAgain) {
  HIWAY_NEEDS_DEVICE();
  ThereAndBack<Twice> p(Twice{});
  p.pipe.start();
  for (int i = 0; i < 20; ++i) {
    Scope job = p.scopes->open_h();
    p.in.put_h(1, job);
    job.close_h();
    job.close_h();
    ASSERT_TRUE(job.wait_for(10s));
  }
  p.in.close_h();
  p.pipe.wait();
}

TEST(Scopes, LeftOpenEndWithTheirRun) {
  HIWAY_NEEDS_DEVICE();
  ThereAndBack<Twice> p(Twice{});
  p.pipe.start();
  Scope const job = p.scopes->open_h();
  p.in.put_h(1, job);
  p.in.close_h();
  p.pipe.wait();
  ASSERT_TRUE(job.wait_for(0s));
  EXPECT_NO_THROW(job.wait());
  EXPECT_EQ(p.take_sum(job), 2);
}

/// Fails twice, and puts nothing.
struct FailsTwice {
  HIWAY_DEVICE void operator()(int const&) const {
    fail_scope("first");
    fail_scope("second");
  }
};
TEST(Scopes, HaveTheFirstMessageAlsoIfTheRunIsOver) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  Scopes& jobs = pipe.create_scopes("jobs");
  auto& there = pipe.create_tunnel<int>("there", Direction::cpu_to_gpu, {.scopes = &jobs});
  auto& here = pipe.create_tunnel<int>("here", Direction::cpu_to_cpu, {.scopes = &jobs});
  pipe.add_gpu_stage("fail", FailsTwice{}, from(there), small_grid);
  pipe.add_cpu_stage("fail at the host", FailsTwice{}, from(here));
  Inlet<int> const device = there.open_inlet();
  Inlet<int> const host = here.open_inlet();
  for (int run = 0; run < 10; ++run) {
    pipe.start();
    Scope a = jobs.open_h();
    Scope b = jobs.open_h();
    device.put_h(1, a);
    host.put_h(1, b);
    device.close_h();
    host.close_h();
    pipe.wait();
    EXPECT_EQ(text_of_error<ScopeFailed>([&] { a.wait(); }), "first");
    EXPECT_EQ(text_of_error<ScopeFailed>([&] { b.wait(); }), "first");
  }
}

struct EndsThere {
  HIWAY_DEVICE void operator()(int const&) const {}
};
TEST(Scopes, EndWithoutAThreadThatWaits) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  Scopes& jobs = pipe.create_scopes("jobs");
  auto& there = pipe.create_tunnel<int>("there", Direction::cpu_to_gpu, {.scopes = &jobs});
  pipe.add_gpu_stage("end", EndsThere{}, from(there), small_grid);
  Inlet<int> const in = there.open_inlet();
  pipe.start();
  std::promise<void> ended;
  {
    Scope job = jobs.open_h();
    job.then([&] { ended.set_value(); });
    in.put_h(1, job);
  }
  EXPECT_EQ(ended.get_future().wait_for(20s), std::future_status::ready);
  in.close_h();
  pipe.wait();
}

TEST(Scopes, CallAtOnceWhenTheyHaveEnded) {
  HIWAY_NEEDS_DEVICE();
  ThereAndBack<FailsSome> p(FailsSome{});
  p.pipe.start();
  Scope job = p.scopes->open_h();
  p.in.put_h(3, job);
  job.close_h();
  EXPECT_TRUE(job.wait_for(20s));
  bool called = false;
  job.then([&] { called = true; });
  EXPECT_TRUE(called);
  std::exception_ptr error;
  job.then([&](std::exception_ptr const& e) { error = e; });
  EXPECT_TRUE(error != nullptr);
  p.in.close_h();
  p.pipe.wait();
}

/// A stage opens a scope, and waits by `wait(jobs, job)` for what cannot come, when the run is aborted.
template <class Wait>
void expect_stage_to_leave(Wait wait) {
  Pipeline pipe(bounded());
  Scopes& jobs = pipe.create_scopes("jobs", {.most_open = 1});
  auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_cpu, {.scopes = &jobs});
  std::promise<void> waits;
  pipe.add_cpu_stage(
      "source",
      [&](Inlet<int> out) {
        Scope const job = jobs.open_h();
        out.put_h(1, job);
        waits.set_value();
        wait(jobs, job);
      },
      into(t));
  pipe.add_cpu_stage(
      "end", [](int const&) {}, from(t));
  pipe.start();
  waits.get_future().wait();
  pipe.abort();
  EXPECT_THAT(text_of_error<Error>([&] { pipe.wait(); }), HasSubstr("abort"));
}
TEST(Scopes, StagesThatWaitForThemLeaveAnAbortedRun) {
  HIWAY_NEEDS_DEVICE();
  expect_stage_to_leave([](Scopes& jobs, Scope const&) { (void)jobs.open_h(); });
  expect_stage_to_leave([](Scopes&, Scope const& job) { job.wait(); });
}

/// A thread that reads the mail while its run fails has read it when the next one begins.
TEST(Scopes, OfTheNextRunAreHeardOf) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  Scopes& jobs = pipe.create_scopes("jobs");
  auto& there = pipe.create_tunnel<int>("there", Direction::cpu_to_gpu, {.scopes = &jobs});
  pipe.add_gpu_stage("end", EndsThere{}, from(there), small_grid);
  Inlet<int> const in = there.open_inlet();
  for (bool has_read = false; !has_read;) {
    pipe.start();
    std::promise<bool> called;
    std::thread reader([&] {
      Scope job = jobs.open_h();
      job.then([&, self = std::this_thread::get_id()] {
        bool const here = self == std::this_thread::get_id();
        called.set_value(here);
        if (here) std::this_thread::sleep_for(200ms);
      });
      in.put_h(1, job);
      job.close_h();
      while (!job.wait_for(0s)) {
      }
    });
    has_read = called.get_future().get();
    pipe.abort();
    EXPECT_THAT(text_of_error<Error>([&] { pipe.wait(); }), HasSubstr("abort"));
    pipe.start();
    reader.join();
    Scope job = jobs.open_h();
    in.put_h(1, job);
    job.close_h();
    EXPECT_TRUE(job.wait_for(10s));
    in.close_h();
    pipe.wait();
  }
}

/// A user's own thread has got an item when the run fails. In the next run it has no scope.
TEST(Scopes, OfAFailedRunAreForgotten) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  Scopes& jobs = pipe.create_scopes("jobs", {.most_open = 1});
  auto& there = pipe.create_tunnel<int>("there", Direction::cpu_to_gpu, {.scopes = &jobs});
  auto& back = pipe.create_tunnel<long>("back", Direction::gpu_to_cpu, {.scopes = &jobs});
  auto& on = pipe.create_tunnel<long>("on", Direction::cpu_to_cpu, {.scopes = &jobs});
  pipe.add_gpu_stage("work", Twice{}, from(there), into(back), small_grid);
  pipe.add_cpu_stage(
      "end", [](long const&) {}, from(on));
  Inlet<int> const in = there.open_inlet();
  Outlet<long> const out = back.open_outlet();
  Inlet<long> const further = on.open_inlet();
  long x = 0;
  pipe.start();
  in.put_h(1, jobs.open_h());
  ASSERT_TRUE(out.next_h(x));
  pipe.abort();
  EXPECT_THAT(text_of_error<Error>([&] { pipe.wait(); }), HasSubstr("abort"));
  pipe.start();
  Scope job = jobs.open_h();
  fail_scope_h("of the failed run");
  in.put_h(2, job);
  job.close_h();
  ASSERT_TRUE(out.next_h(x));
  EXPECT_EQ(x, 4);
  further.put_h(x);
  out.end_task_h();
  EXPECT_NO_THROW(job.wait());
  in.close_h();
  further.close_h();
  EXPECT_FALSE(out.next_h(x));
  pipe.wait();
}

/// Works on an item of one kind, and gets one of another.
struct GetsBoth {
  HIWAY_DEVICE void operator()(Outlet<int> in, Outlet<long> other) const {
    int x = 0;
    long y = 0;
    while (in.next(x) && other.next(y)) {
    }
  }
};
TEST(Scopes, StagesWorkOnOneItemOfAllKindsAtATime) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  Scopes& jobs = pipe.create_scopes("jobs");
  Scopes& others = pipe.create_scopes("others");
  auto& a = pipe.create_tunnel<int>("a", Direction::cpu_to_gpu, {.scopes = &jobs});
  auto& b = pipe.create_tunnel<long>("b", Direction::cpu_to_gpu, {.scopes = &others});
  pipe.add_gpu_stage("stage", GetsBoth{}, from(a, b), {.blocks = 1, .threads_per_block = 1});
  Inlet<int> const in = a.open_inlet();
  Inlet<long> const other = b.open_inlet();
  pipe.start();
  in.put_h(1, jobs.open_h());
  other.put_h(1, others.open_h());
  EXPECT_THAT(text_of_error<Error>([&] { pipe.wait(); }), HasSubstr("before the last task's end_task"));
}

struct Forward {
  HIWAY_DEVICE void operator()(long const& x, Inlet<long> out) const { out.put(x); }
};
struct ForwardByALoop {
  HIWAY_DEVICE void operator()(Outlet<long> in, Inlet<long> out) const {
    in.for_each([&](long const& x) {
      while (!out.try_put(x)) {
      }
    });
  }
};
struct Several {
  int n;
  HIWAY_DEVICE void operator()(long const& x, Inlet<long> out) const {
    for (int i = 0; i < n; ++i) out.put(x);
  }
};
/// The host -> device 0 -> 1 -> 2 -> the host: `first`, `second` and `third`; all results of one item.
template <class First, class Second, class Third>
void expect_results_over_devices(First first, Second second, Third third, long results) {
  Pipeline pipe(bounded());
  Scopes& jobs = pipe.create_scopes("jobs");
  auto& in = pipe.create_tunnel<long>("in", Direction::cpu_to_gpu, {.capacity_items = 64, .scopes = &jobs});
  auto& a = pipe.create_tunnel<long>("a", Direction::gpu_to_gpu, {.capacity_items = 64, .scopes = &jobs});
  auto& b = pipe.create_tunnel<long>("b", Direction::gpu_to_gpu, {.capacity_items = 64, .scopes = &jobs});
  auto& out = pipe.create_tunnel<long>("out", Direction::gpu_to_cpu, {.capacity_items = 64, .scopes = &jobs});
  auto const on = [](int device) { return GpuStageOptions{.blocks = 1, .threads_per_block = 32, .device = device}; };
  pipe.add_gpu_stage("first", first, from(in), into(a), on(0));
  pipe.add_gpu_stage("second", second, from(a), into(b), on(1));
  pipe.add_gpu_stage("third", third, from(b), into(out), on(2));
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
    EXPECT_EQ(got.exchange(0), results);
  }
  host.close_h();
  pipe.wait();
}
TEST(Scopes, GoFromDeviceToDevice) {
  HIWAY_NEEDS_DEVICES(3);
  expect_results_over_devices(Forward{}, Forward{}, Forward{}, 1);
  expect_results_over_devices(Forward{}, ForwardByALoop{}, Several{50}, 50);
  expect_results_over_devices(Several{10}, Several{10}, Several{10}, 1000);
}

/// Nothing is put from outside: a stage names the scopes. Its results belong to none.
template <class Result, class Make>
void expect_results_without_scopes(Make make) {
  Pipeline pipe(bounded());
  Scopes& jobs = pipe.create_scopes("jobs", {.most_open = 2});
  auto& there = pipe.create_tunnel<int>("there", Direction::cpu_to_gpu, {.capacity_items = 16, .scopes = &jobs});
  auto& here = pipe.create_tunnel<int>("here", Direction::cpu_to_cpu, {.capacity_items = 16, .scopes = &jobs});
  auto& back = pipe.create_tunnel<Result>("back", Direction::gpu_to_cpu, {.capacity_items = 16});
  auto& made = pipe.create_tunnel<Result>("made", Direction::cpu_to_cpu, {.capacity_items = 16});
  std::atomic<int> ended{0};
  std::atomic<int> got{0};
  pipe.add_cpu_stage(
      "source",
      [&](Inlet<int> device, Inlet<int> host) {
        for (int i = 0; i < 100; ++i) {
          Scope job = jobs.open_h();
          job.then([&] { ++ended; });
          device.put_h(i, job);
          host.put_h(i, job);
        }
      },
      into(there, here));
  pipe.add_gpu_stage("make", make, from(there), into(back), small_grid);
  pipe.add_cpu_stage("make at the host", make, from(here), into(made));
  pipe.add_cpu_stage(
      "count", [&](Result const&) { ++got; }, from(back, made));
  pipe.run();
  EXPECT_EQ(ended, 100);
  EXPECT_EQ(got, 200);
}
TEST(Scopes, EndBeforeResultsThatHaveNone) {
  HIWAY_NEEDS_DEVICE();
  expect_results_without_scopes<long>(Twice{});
  expect_results_without_scopes<Wide>(MakeWide{});
}

struct FillsInPlace {
  HIWAY_DEVICE void operator()(int const& x, Inlet<long> out) const {
    out.put_in_place([&](long& y) { y = 2L * x; });
  }
};
TEST(Scopes, EndWithTheLastTaskOfAnItemMadeInPlace) {
  HIWAY_NEEDS_DEVICE();
  expect_sums(FillsInPlace{}, 20);
}

}  // namespace
