// The threads of a pipeline are kept between its runs: made by prepare(), the same in every run, asleep in between,
// replaced when they have ended themselves, and gone with the pipeline.
#include "lib/pipeline/kept_threads.hpp"

#include <gmock/gmock.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <semaphore>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "hiway/machine/thread_machine.hpp"
#include "tests/cpus.hpp"
#include "tests/device.hpp"
#include "tests/faults/faulty_device.hpp"

namespace {

using namespace hiway;
using namespace std::chrono_literals;
using hiway_tests::allowed_cpus;
using hiway_tests::bounded;
using hiway_tests::text_of_error;
using testing::IsSupersetOf;
using Posts = std::vector<KeptThreads::Post>;

#if defined(HIWAY_SANITIZED)
constexpr int many = 1000;
#else
constexpr int many = 10'000;
#endif

/// The threads of this process, by the system's number.
std::set<std::string> threads_now() {
  static bool const with_a_sanitizers_own = (std::thread([] {}).join(), true);  // it comes with the first thread
  (void)with_a_sanitizers_own;
  std::set<std::string> all;
  for (auto const& task : std::filesystem::directory_iterator("/proc/self/task")) all.insert(task.path().filename());
  return all;
}

/// A thread that was joined may still be in the list for a moment.
bool are_soon(std::set<std::string> const& threads) {
  for (auto const until = std::chrono::steady_clock::now() + 10s; std::chrono::steady_clock::now() < until;) {
    if (threads_now() == threads) return true;
    std::this_thread::sleep_for(1ms);
  }
  return false;
}

// ---- the class

TEST(KeptThreads, EachDoesItsWorkOnceInEveryRunOnTheSameThread) {
  constexpr std::size_t count = 5;
  std::vector<std::vector<pid_t>> by(count);
  Posts posts;
  for (std::size_t i = 0; i < count; ++i) posts.push_back({"thread", [&by, i] { by[i].push_back(gettid()); }});
  KeptThreads threads;
  threads.make(std::move(posts));
  for (int run = 1; run <= 1000; ++run) {
    threads.start();
    threads.await();
    for (auto const& ids : by) ASSERT_EQ(ids.size(), run);
  }
  std::set<pid_t> different;
  for (auto const& ids : by) {
    EXPECT_EQ(std::set<pid_t>(ids.begin(), ids.end()).size(), 1U);
    different.insert(ids.front());
  }
  EXPECT_EQ(different.size(), count);
  EXPECT_FALSE(different.contains(gettid()));
}

TEST(KeptThreads, WorkThatTakesLongIsWaitedFor) {
  std::atomic<int> done = 0;
  auto const work = [&] {
    std::this_thread::sleep_for(20ms);
    ++done;
  };
  KeptThreads threads;
  threads.make({{"a", work}, {"b", [] {}}, {"c", work}});
  threads.start();
  threads.await();
  EXPECT_EQ(done, 2);
}

TEST(KeptThreads, OneThatEndsItselfIsWaitedForAndReplaced) {
  bool ends = true;
  std::atomic<int> a = 0;
  std::atomic<int> b = 0;
  KeptThreads threads;
  threads.make({{"a", [&] { ++a; }}, {"b", [&] {
                                        ++b;
                                        if (ends) pthread_exit(nullptr);
                                      }}});
  std::set<std::string> const before = threads_now();
  threads.start();
  threads.await();
  EXPECT_EQ(a + b, 2);
  ends = false;
  threads.complete();
  EXPECT_EQ(threads_now().size(), before.size());
  for (int run = 0; run < 3; ++run) {
    threads.start();
    threads.await();
  }
  EXPECT_EQ(a, 4);
  EXPECT_EQ(b, 4);
}

TEST(KeptThreads, OthersTakeTheirPlaceAndMayEndWithoutARun) {
  std::set<std::string> const before = threads_now();
  std::atomic<int> done = 0;
  {
    KeptThreads threads;
    threads.make({{"a", [&] { done += 1; }}, {"b", [&] { done += 1; }}});
    threads.make({{"c", [&] { done += 10; }}});
    EXPECT_EQ(threads_now().size(), before.size() + 1);
    threads.start();
    threads.await();
    EXPECT_EQ(done, 10);
    threads.make({{"d", [] {}}});
  }
  EXPECT_TRUE(are_soon(before));
}

// ---- pipelines

/// Stages `feed` and `add` with a tunnel between them. What `feed` does first can be set.
struct Adds {
  explicit Adds(PipelineConfig const& config = bounded(), CpuStageOptions const& feeds = {}) : pipe(config) {
    auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu);
    pipe.add_cpu_stage(
        "feed",
        [this](Inlet<int> out) {
          if (first) first();
          for (int i = 1; i <= items; ++i) out.put_h(i);
        },
        into(numbers), feeds);
    pipe.add_cpu_stage(
        "add", [this](int const& x) { sum += x; }, from(numbers));
  }
  void expect_run() {
    sum = 0;
    pipe.run();
    EXPECT_EQ(sum, items * (items + 1) / 2);
  }
  std::function<void()> first;
  int items = 10;
  std::atomic<int> sum = 0;
  Pipeline pipe;
};

TEST(KeptThreadsOfAPipeline, PrepareMakesThemAndEveryRunHasTheSame) {
  std::set<std::string> const before = threads_now();
  {
    Adds adds;
    adds.pipe.prepare();
    std::set<std::string> const prepared = threads_now();
    EXPECT_GE(prepared.size(), before.size() + 3) << "feed, add, watcher";
    std::set<std::string> ran;
    adds.first = [&] { ran.insert(std::to_string(gettid())); };
    for (int i = 0; i < 20; ++i) adds.expect_run();
    EXPECT_EQ(threads_now(), prepared);
    EXPECT_EQ(ran.size(), 1U);
    EXPECT_THAT(prepared, IsSupersetOf(ran));
  }
  EXPECT_TRUE(are_soon(before));
}

struct Same {
  HIWAY_DEVICE int operator()(int const& x) const { return x; }
};

TEST(KeptThreadsOfAPipeline, ThatUsesADeviceAreTheSameToo) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& there = pipe.create_tunnel<int>("there", Direction::cpu_to_gpu, {.movement = Movement::dma});
  auto& back = pipe.create_tunnel<int>("back", Direction::gpu_to_cpu);
  int sum = 0;
  pipe.add_cpu_stage(
      "feed", [](Inlet<int> out) { out.put_h(7); }, into(there));
  pipe.add_gpu_stage("same", Same{}, from(there), into(back), {.blocks = 1, .threads_per_block = 32});
  pipe.add_cpu_stage(
      "add", [&](int const& x) { sum += x; }, from(back));
  pipe.run();  // the device's own threads are made by the first launch
  std::set<std::string> const first = threads_now();
  for (int i = 0; i < 20; ++i) pipe.run();
  EXPECT_EQ(threads_now(), first);
  EXPECT_EQ(sum, 21 * 7);
}

TEST(KeptThreadsOfAPipeline, BeginTheirStagesWhenAllKernelsAreLaunched) {
  hiway_tests::FaultyDevice device({});  // it counts
  Pipeline pipe({.device = hiway_tests::FaultyDevice::name});
  auto& there = pipe.create_tunnel<int>("there", Direction::cpu_to_gpu);
  auto& back = pipe.create_tunnel<int>("back", Direction::gpu_to_cpu);
  std::uint64_t launched = 0;
  pipe.add_cpu_stage(
      "feed", [&](Inlet<int>) { launched = device.starts; }, into(there));
  pipe.add_gpu_stage("same", Same{}, from(there), into(back),
                     {.blocks = 1, .threads_per_block = 32, .residency = Residency::resident});  // started once
  pipe.add_cpu_stage(
      "add", [](int const&) {}, from(back));
  for (std::uint64_t run = 1; run <= 50; ++run) {
    pipe.run();
    EXPECT_EQ(launched, 2 * run) << "the device monitor and the stage's kernel";
  }
}

#if !defined(HIWAY_SANITIZED)  // a sanitizer has a thread of its own that naps
/// How often threads of this process have left a CPU, but for the caller.
long switches() {
  long sum = 0;
  for (std::string const& task : threads_now()) {
    if (task == std::to_string(gettid())) continue;
    std::ifstream status("/proc/self/task/" + task + "/status");
    for (std::string word; status >> word;) {
      long n = 0;
      if (word.ends_with("voluntary_ctxt_switches:") && status >> n) sum += n;
    }
  }
  return sum;
}

TEST(KeptThreadsOfAPipeline, SleepBetweenRuns) {
  Adds adds;
  adds.expect_run();
  std::this_thread::sleep_for(20ms);
  long const before = switches();
  EXPECT_GT(before, 0);
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(switches(), before);
}
#endif

TEST(KeptThreadsOfAPipeline, ManyEmptyRuns) {
  Adds adds;
  adds.items = 0;
  for (int i = 0; i < many; ++i) adds.pipe.run();
  adds.items = 10;
  adds.expect_run();
}

TEST(KeptThreadsOfAPipeline, AreMadeAnewForOtherStages) {
  Adds adds;
  adds.expect_run();
  std::set<std::string> const two = threads_now();
  auto& more = adds.pipe.create_tunnel<int>("more", Direction::cpu_to_cpu);
  std::atomic<int> got = 0;
  adds.pipe.add_cpu_stage("feed more", [](Inlet<int> out) { out.put_h(1); }, into(more), {.threads = 3});
  adds.pipe.add_cpu_stage("add more", [&](int const& x) { got += x; }, from(more), {.threads = 2});
  adds.pipe.prepare();
  EXPECT_EQ(threads_now().size(), two.size() + 5);
  adds.expect_run();
  EXPECT_EQ(got, 3);
}

TEST(KeptThreadsOfAPipeline, AnExceptionInAStageLeavesThemForTheNextRun) {
  Adds adds;
  adds.pipe.prepare();
  std::set<std::string> const prepared = threads_now();
  for (int i = 0; i < 20; ++i) {
    adds.first = [] { throw std::runtime_error("not wanted"); };
    EXPECT_EQ(text_of_error<StageError>([&] { adds.pipe.run(); }), "stage 'feed': not wanted");
    adds.first = {};
    adds.expect_run();
  }
  EXPECT_EQ(threads_now(), prepared);
}

TEST(KeptThreadsOfAPipeline, OneThatHasEndedItselfIsReplacedAtTheNextRun) {
  Adds adds;
  adds.pipe.prepare();
  std::set<std::string> const prepared = threads_now();
  pid_t lost = 0;
  adds.first = [&] {
    lost = gettid();
    pthread_exit(nullptr);
  };
  EXPECT_EQ(text_of_error<StageError>([&] { adds.pipe.run(); }),
            "stage 'feed': its thread has ended itself (pthread_exit), or was cancelled");
  adds.first = [&] { EXPECT_NE(gettid(), lost); };
  adds.expect_run();
  EXPECT_EQ(threads_now().size(), prepared.size());
  adds.expect_run();
}

TEST(KeptThreadsOfAPipeline, EndWithItHoweverItIsDestroyed) {
  std::set<std::string> const before = threads_now();
  Adds{}.pipe.prepare();
  EXPECT_TRUE(are_soon(before)) << "without a run";
  {
    Adds adds;
    std::binary_semaphore inside{0};
    adds.first = [&] { inside.release(); };
    adds.items = 1'000'000'000;
    adds.pipe.start();
    inside.acquire();
  }
  EXPECT_TRUE(are_soon(before)) << "during a run";
}

/// Its life ends with its thread.
struct OfThread {
  static inline std::atomic<int> alive = 0;
  int runs = 0;
  OfThread() { ++alive; }
  ~OfThread() {
    std::this_thread::sleep_for(50ms);
    --alive;
  }
};
OfThread& of_thread() {
  thread_local OfThread own;
  return own;
}

TEST(KeptThreadsOfAPipeline, KeepWhatTheUsersCodeHasForEachThread) {
  {
    Adds adds;
    int runs = 0;
    adds.first = [&] { runs = ++of_thread().runs; };
    for (int i = 0; i < 5; ++i) adds.expect_run();
    EXPECT_EQ(runs, 5);
    EXPECT_EQ(OfThread::alive, 1);
    adds.first = [] {
      static_cast<void>(of_thread());
      pthread_exit(nullptr);
    };
    EXPECT_THROW(adds.pipe.run(), StageError);
    EXPECT_EQ(OfThread::alive, 0) << "what a thread does as it ends itself belongs to its run";
    adds.first = [&] { runs = ++of_thread().runs; };
    adds.expect_run();
    EXPECT_EQ(runs, 1);
  }
  EXPECT_EQ(OfThread::alive, 0);
}

TEST(KeptThreadsOfAPipeline, BeginEachRunWithAContextOfItsOwn) {
  Adds adds(bounded(), {.wait = Wait::yield});
  ThreadContext seen;
  adds.first = [&] {
    seen = this_thread_context();
    this_thread_context() = {.thread = 9, .threads = 9, .wait = Wait::sleep, .naps = 9, .unwinds = 9};
  };
  for (int i = 0; i < 3; ++i) {
    adds.expect_run();
    EXPECT_EQ(seen.thread, 0U);
    EXPECT_EQ(seen.threads, 1U);
    EXPECT_EQ(seen.wait, Wait::yield);
    EXPECT_EQ(seen.naps, 0U);
    EXPECT_EQ(seen.unwinds, 0U);
  }
}

TEST(KeptThreadsOfAPipeline, ArePinnedInEveryRunAndNoOtherStageIsPinnedByIt) {
  std::vector<int> const cpus = allowed_cpus();
  Adds adds(bounded(), {.pin = {cpus.back()}});
  std::vector<int> feeds_on;
  adds.first = [&] {
    feeds_on = allowed_cpus();
    cpu_set_t all;  // the user's code moves the thread
    CPU_ZERO(&all);
    for (int const cpu : cpus) CPU_SET(cpu, &all);
    EXPECT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
  };
  for (int i = 0; i < 3; ++i) {
    feeds_on.clear();
    adds.expect_run();
    EXPECT_EQ(feeds_on, std::vector<int>{cpus.back()});
  }
  auto& more = adds.pipe.create_tunnel<int>("more", Direction::cpu_to_cpu);
  std::vector<int> others_on;
  adds.pipe.add_cpu_stage(
      "other", [&](Inlet<int>) { others_on = allowed_cpus(); }, into(more));
  adds.pipe.add_cpu_stage(
      "sink", [](int const&) {}, from(more));
  adds.expect_run();
  EXPECT_EQ(others_on, cpus);
}

TEST(KeptThreadsOfAPipeline, AStageThreadMayAbortAtOnceAndAsk) {
  Adds adds;
  adds.first = [&] {
    static_cast<void>(adds.pipe.stats());
    adds.pipe.abort();
  };
  for (int i = 0; i < 50; ++i) EXPECT_EQ(text_of_error<Aborted>([&] { adds.pipe.run(); }), "the pipeline was aborted");
  adds.first = {};
  adds.expect_run();
}

// A forked child has none of its parent's threads. This pipeline has nothing on a device, and no run is under way.
TEST(KeptThreadsOfAPipeline, OfTheParentAreRefusedToAForkedChild) {
  std::optional<Adds> adds(std::in_place);
  adds->pipe.prepare();
  std::string const belongs = "the pipeline belongs to the process that this one was forked from; make a new one here";
  pid_t const child = fork();
  if (child == 0) {
    alarm(20);
    bool const refused = text_of_error<MisuseError>([&] { adds->pipe.start(); }) == "start: " + belongs &&
                         text_of_error<MisuseError>([&] { adds->pipe.prepare(); }) == "prepare: " + belongs;
    adds.reset();
    _exit(refused ? 0 : 1);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  adds->expect_run();
}

}  // namespace
