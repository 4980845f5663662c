// fail_task: one task fails, is counted, and the run goes on.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "hiway/log.hpp"
#include "hiway/pipeline.hpp"
#include "hiway/segment/segment.hpp"
#include "hiway/service.hpp"
#include "lib/word_copies.hpp"
#include "tests/device.hpp"

namespace {

using namespace hiway;
using hiway_tests::bounded;
using hiway_tests::text_of_error;
using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

GpuStageOptions const small_grid{.blocks = 2, .threads_per_block = 64};

struct NoThrees {
  HIWAY_DEVICE long operator()(int const& x) const {
    if (x % 3 == 0) fail_task("no threes");
    return x;
  }
};
struct NoThreesByPuts {
  HIWAY_DEVICE void operator()(int const& x, Inlet<long> out) const {
    if (x % 3 == 0) return fail_task("no threes");
    out.put(x);
  }
};
struct NoThreesInALoop {
  HIWAY_DEVICE void operator()(Outlet<int> in, Inlet<long> out) const {
    in.for_each([&](int const& x) {
      if (x % 3 == 0) return fail_task("no threes");
      out.put(x);
    });
  }
};

/// What a run logs.
class Logged {
 public:
  Logged() {
    set_log_sink([this](LogLevel, std::string_view text) {
      std::scoped_lock const lock(mutex_);
      texts_.emplace_back(text);
    });
  }
  ~Logged() { set_log_sink({}); }
  Logged(Logged const&) = delete;
  Logged& operator=(Logged const&) = delete;
  [[nodiscard]] std::vector<std::string> of_failed_tasks() {
    std::scoped_lock const lock(mutex_);
    std::vector<std::string> some = texts_;
    std::erase_if(some, [](std::string const& text) { return text.find("a task has failed") == std::string::npos; });
    return some;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> texts_;
};

/// Waits for it; false if it does not come.
bool comes(auto&& f) {
  for (auto const until = std::chrono::steady_clock::now() + 20s; !f(); std::this_thread::sleep_for(1ms)) {
    if (std::chrono::steady_clock::now() > until) return false;
  }
  return true;
}

StageReport const& stage_of(RunReport const& report, std::string const& name) {
  return *std::ranges::find(report.stages, name, &StageReport::name);
}

/// 1 to n -> a stage -> their sum.
template <class Work>
struct Through {
  explicit Through(Work work, bool on_gpu, int n) : pipe(bounded()) {
    auto& numbers = pipe.create_tunnel<int>("numbers", on_gpu ? Direction::cpu_to_gpu : Direction::cpu_to_cpu);
    auto& results = pipe.create_tunnel<long>("results", on_gpu ? Direction::gpu_to_cpu : Direction::cpu_to_cpu);
    pipe.add_cpu_stage(
        "feed",
        [n](Inlet<int> out) {
          for (int i = 1; i <= n; ++i) out.put_h(i);
        },
        into(numbers));
    if (on_gpu) {
      pipe.add_gpu_stage("work", work, from(numbers), into(results), small_grid);
    } else {
      pipe.add_cpu_stage("work", work, from(numbers), into(results), {.threads = 2});
    }
    pipe.add_cpu_stage(
        "sum", [this](long const& x) { sum += x; }, from(results));
  }
  Pipeline pipe;
  long sum = 0;
};

template <class Work>
void expect_a_third_to_fail(Work work, bool puts_failed) {
  int const n = 300;
  long const all = n * (n + 1) / 2;
  long const threes = 3L * (n / 3) * (n / 3 + 1) / 2;
  for (bool const on_gpu : {false, true}) {
    Through<Work> p(work, on_gpu, n);
    for (int run = 0; run < 2; ++run) {
      p.sum = 0;
      Logged logged;
      RunReport const report = p.pipe.run();
      StageReport const& stage = stage_of(report, "work");
      EXPECT_EQ(stage.failed_tasks, 100U);
      EXPECT_EQ(stage.first_failure, "no threes");
      EXPECT_EQ(stage.items, 300U);
      EXPECT_EQ(stage_of(report, "sum").failed_tasks, 0U);
      EXPECT_EQ(stage_of(report, "sum").first_failure, "");
      EXPECT_EQ(p.sum, puts_failed ? all : all - threes);
      EXPECT_THAT(logged.of_failed_tasks(), ElementsAre(AllOf(HasSubstr("stage 'work'"), HasSubstr("no threes"))));
    }
  }
}

TEST(FailTask, IsCountedAndLoggedOnceInValueForm) {
  HIWAY_NEEDS_DEVICE();
  expect_a_third_to_fail(NoThrees{}, true);
}
TEST(FailTask, IsCountedAndLoggedOnceInItemForm) {
  HIWAY_NEEDS_DEVICE();
  expect_a_third_to_fail(NoThreesByPuts{}, false);
}
TEST(FailTask, IsCountedAndLoggedOnceInALoop) {
  HIWAY_NEEDS_DEVICE();
  expect_a_third_to_fail(NoThreesInALoop{}, false);
}

TEST(FailTask, FailsItsScope) {
  HIWAY_NEEDS_DEVICE();
  Logged logged;
  Pipeline pipe(bounded());
  Scopes& jobs = pipe.create_scopes("jobs");
  auto& there = pipe.create_tunnel<int>("there", Direction::cpu_to_gpu, {.scopes = &jobs});
  auto& back = pipe.create_tunnel<long>("back", Direction::gpu_to_cpu, {.scopes = &jobs});
  Inlet<int> const in = there.open_inlet();
  pipe.add_gpu_stage("work", NoThrees{}, from(there), into(back), small_grid);
  pipe.add_cpu_stage(
      "end",
      [](long const& x) {
        if (x % 5 == 0 && x % 3 != 0) fail_task_h("no fives");  // else the device's letter may come later than this
      },
      from(back));
  pipe.start();
  for (int i = 1; i <= 30; ++i) {
    Scope job = jobs.open_h();
    in.put_h(i, job);
    job.close_h();
    if (i % 3 == 0) {
      EXPECT_EQ(text_of_error<ScopeFailed>([&] { job.wait(); }), "no threes") << i;
    } else if (i % 5 == 0) {
      EXPECT_EQ(text_of_error<ScopeFailed>([&] { job.wait(); }), "no fives") << i;
    } else {
      EXPECT_NO_THROW(job.wait()) << i;
    }
  }
  in.close_h();
  RunReport const report = pipe.wait();
  EXPECT_EQ(stage_of(report, "work").failed_tasks, 10U);
  EXPECT_EQ(stage_of(report, "work").first_failure, "no threes");
  EXPECT_EQ(stage_of(report, "end").failed_tasks, 4U);
  EXPECT_THAT(logged.of_failed_tasks(), IsEmpty()) << "of a task with a scope the scope hears";
}

/// A lane's place for its task's scope is shared memory, which keeps what an earlier kernel has left there.
TEST(FailTask, WithoutScopesAfterAKernelThatHasThem) {
  HIWAY_NEEDS_DEVICE();
  for (int round = 0; round < 3; ++round) {
    {
      Pipeline pipe(bounded());
      Scopes& jobs = pipe.create_scopes("jobs");
      auto& there = pipe.create_tunnel<int>("there", Direction::cpu_to_gpu, {.scopes = &jobs});
      auto& back = pipe.create_tunnel<long>("back", Direction::gpu_to_cpu, {.scopes = &jobs});
      Inlet<int> const in = there.open_inlet();
      pipe.add_gpu_stage("work", NoThrees{}, from(there), into(back), small_grid);
      pipe.add_cpu_stage(
          "end", [](long const&) {}, from(back));
      pipe.start();
      Scope job = jobs.open_h();
      for (int i = 0; i < 500; ++i) in.put_h(1, job);
      pipe.abort();
      EXPECT_THROW(pipe.wait(), Aborted);
    }
    Logged logged;
    Through<NoThrees> p(NoThrees{}, true, 300);
    EXPECT_EQ(stage_of(p.pipe.run(), "work").failed_tasks, 100U);
    EXPECT_EQ(logged.of_failed_tasks().size(), 1U);
  }
}

struct AskScope {
  HIWAY_DEVICE long operator()(int const& x) const {
    fail_scope("nothing hears of it");
    return x + scope_index();
  }
};
TEST(FailTask, AStageWithoutScopesHasNone) {
  HIWAY_NEEDS_DEVICE();
  for (bool const on_gpu : {false, true}) {
    Through<AskScope> p(AskScope{}, on_gpu, 100);
    EXPECT_EQ(stage_of(p.pipe.run(), "work").failed_tasks, 0U);
    EXPECT_EQ(p.sum, 5050);
  }
}

struct NoFives {
  HIWAY_DEVICE long operator()(long const& x) const {
    if (x % 5 == 0) fail_task_d("no fives");
    return x;
  }
};
TEST(FailTask, IsCountedAtItsStageOfAGroup) {
  HIWAY_NEEDS_DEVICE();
  Logged logged;
  Pipeline pipe(bounded());
  Scopes& jobs = pipe.create_scopes("jobs");
  auto& there = pipe.create_tunnel<int>("there", Direction::cpu_to_gpu, {.scopes = &jobs});
  auto& within = pipe.create_tunnel<long>("within", Direction::gpu_to_gpu);
  auto& back = pipe.create_tunnel<long>("back", Direction::gpu_to_cpu);
  Inlet<int> const in = there.open_inlet();
  long sum = 0;
  pipe.add_gpu_group("group", small_grid, stage("threes", NoThrees{}, from(there), into(within)),
                     stage("fives", NoFives{}, from(within), into(back)));
  pipe.add_cpu_stage(
      "end", [&](long const& x) { sum += x; }, from(back));
  pipe.start();
  for (int i = 1; i <= 60; ++i) in.put_h(i, jobs.open_h());
  in.close_h();
  RunReport const report = pipe.wait();
  EXPECT_EQ(stage_of(report, "threes").failed_tasks, 20U);
  EXPECT_EQ(stage_of(report, "fives").failed_tasks, 12U);
  EXPECT_EQ(stage_of(report, "fives").first_failure, "no fives");
  EXPECT_EQ(sum, 60 * 61 / 2);
  EXPECT_THAT(logged.of_failed_tasks(), ElementsAre(AllOf(HasSubstr("stage 'fives'"), HasSubstr("no fives"))))
      << "what comes of an item with a scope in a tunnel without has none";
}

TEST(FailTask, OfABatch) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu);
  pipe.add_cpu_stage(
      "feed", [](Inlet<int> out) { out.put_h(1); }, into(numbers));
  pipe.add_batch_stage(
      "batch", [](Batch<int const>, Stream) { fail_task_h("a batch"); }, from(numbers));
  RunReport const report = pipe.run();
  EXPECT_EQ(stage_of(report, "batch").failed_tasks, 1U);
  EXPECT_EQ(stage_of(report, "batch").first_failure, "a batch");
}

struct KeepsEven {
  HIWAY_DEVICE segment::Maybe<std::uint32_t> operator()(std::uint32_t const& x) const {
    if (x % 2 == 0) return segment::Maybe<std::uint32_t>(x);
    fail_task_d("odd");
    return segment::Maybe<std::uint32_t>::none();
  }
};
TEST(FailTask, OfASegment) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& room = pipe.create_buffer<std::uint32_t>(100);
  auto& even = pipe.add_segment("even", segment::indices(100),
                                segment::chain(segment::node("keep", KeepsEven{}), segment::store("kept", room)));
  RunReport const report = pipe.run();
  EXPECT_EQ(even.items("kept"), 50U);
  EXPECT_EQ(stage_of(report, "even").failed_tasks, 50U);
  EXPECT_EQ(stage_of(report, "even").first_failure, "odd");
}

TEST(FailTask, IsSeenWhileTheRunGoesOn) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& there = pipe.create_tunnel<int>("there", Direction::cpu_to_gpu);
  auto& back = pipe.create_tunnel<long>("back", Direction::gpu_to_cpu);
  Inlet<int> const in = there.open_inlet();
  pipe.add_gpu_stage("work", NoThrees{}, from(there), into(back), small_grid);
  std::atomic<int> got{0};
  pipe.add_cpu_stage(
      "end", [&](long const&) { ++got; }, from(back));
  pipe.start();
  in.put_h(3);
  EXPECT_TRUE(comes([&] { return got != 0; }));
  StageReport const now = stage_of(pipe.stats(), "work");
  EXPECT_EQ(now.failed_tasks, 1U);
  EXPECT_EQ(now.first_failure, "no threes");
  in.close_h();
  pipe.wait();
}

TEST(FailTask, LeavesAMessageThatIsWhole) {
  FirstFailure first;
  FailedTasks tasks{.first = &first};
  std::vector<std::thread> failing;
  for (char const* const message : {"one", "another"})
    failing.emplace_back([&tasks, message] { detail::count_failed_task(StageThread{}, tasks, message, false); });
  std::string seen;
  EXPECT_TRUE(comes([&] { return !(seen = WordCopies{}.read_when(&tasks.ready, &first, at_host).message).empty(); }));
  EXPECT_TRUE(seen == "one" || seen == "another") << seen;
  for (std::thread& one : failing) one.join();
  EXPECT_EQ(tasks.count.bits, 2U);
}

TEST(FailTask, IsLoggedOnceWhileTheRunGoesOn) {
  HIWAY_NEEDS_DEVICE();
  Logged logged;
  PipelineConfig config = bounded();
  config.stall_after = 40ms;  // the watcher looks each quarter of it
  Pipeline pipe(config);
  auto& there = pipe.create_tunnel<int>("there", Direction::cpu_to_gpu);
  auto& back = pipe.create_tunnel<long>("back", Direction::gpu_to_cpu);
  Inlet<int> const in = there.open_inlet();
  pipe.add_gpu_stage("work", NoThrees{}, from(there), into(back), small_grid);
  pipe.add_cpu_stage(
      "end", [](long const&) {}, from(back));
  pipe.start();
  in.put_h(3);
  EXPECT_TRUE(comes([&] { return !logged.of_failed_tasks().empty(); }));
  in.put_h(3);
  std::this_thread::sleep_for(60ms);
  in.close_h();
  pipe.wait();
  EXPECT_EQ(logged.of_failed_tasks().size(), 1U);
}

TEST(FailTask, IsLoggedAlsoIfTheRunFails) {
  HIWAY_NEEDS_DEVICE();
  Logged logged;
  Pipeline pipe(bounded());
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu);
  pipe.add_cpu_stage(
      "feed", [](Inlet<int> out) { out.put_h(1); }, into(numbers));
  pipe.add_cpu_stage(
      "work",
      [](int const&) {
        fail_task_h("first");
        fail_h("then");
      },
      from(numbers));
  EXPECT_THAT(text_of_error<StageError>([&] { pipe.run(); }), HasSubstr("then"));
  EXPECT_THAT(logged.of_failed_tasks(), ElementsAre(HasSubstr("first")));
}

TEST(FailTask, CutsAMessageOff) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu);
  pipe.add_cpu_stage(
      "work",
      [](Inlet<int>) {
        fail_task_h(std::string(200, 'x').c_str());
        fail_task_h("a later one");
      },
      into(numbers));
  pipe.add_cpu_stage(
      "end", [](int const&) {}, from(numbers));
  Logged const logged;
  EXPECT_EQ(stage_of(pipe.run(), "work").first_failure, std::string(123, 'x'));
}

TEST(FailTask, OfAThreadOfTheProgramsOwnFailsTheScope) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  Scopes& jobs = pipe.create_scopes("jobs");
  auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_cpu, {.scopes = &jobs});
  Inlet<int> const in = t.open_inlet();
  Outlet<int> const out = t.open_outlet();
  pipe.start();
  Scope job = jobs.open_h();
  in.put_h(1, job);
  job.close_h();
  int x = 0;
  ASSERT_TRUE(out.next_h(x));
  fail_task_h("by hand");
  out.end_task_h();
  EXPECT_EQ(text_of_error<ScopeFailed>([&] { job.wait(); }), "by hand");
  EXPECT_EQ(text_of_error<StageFailure>([] { fail_task_h("of no task"); }), "of no task");
  in.close_h();
  EXPECT_FALSE(out.next_h(x));
  pipe.wait();
}

TEST(FailTask, IsTheErrorOfARequest) {
  HIWAY_NEEDS_DEVICE();
  Service<int, long> service{NoThrees{}, ServiceOptions{.device = hiway_tests::device()}};
  auto bad = service.submit(3);
  auto good = service.submit(4);
  EXPECT_EQ(text_of_error<ScopeFailed>([&] { bad.get(); }), "no threes");
  EXPECT_EQ(good.get(), 4);
  service.stop();
}

TEST(FailTask, IsInTheReport) {
  RunReport report;
  report.stages.push_back({.name = "work", .failed_tasks = 2, .first_failure = "no \"threes\""});
  report.stages.push_back({.name = "well"});
  EXPECT_THAT(to_json(report), HasSubstr(R"("failed_tasks":2,"first_failure":"no \"threes\"")"));
  EXPECT_THAT(to_text(report), HasSubstr("\nwork: failed tasks 2, the first: no \"threes\"\n"));
  EXPECT_THAT(to_text(report), ::testing::Not(HasSubstr("well: failed")));
  EXPECT_THAT(to_prometheus(report), HasSubstr("hiway_stage_failed_tasks_total{stage=\"work\"} 2\n"));
}

}  // namespace
