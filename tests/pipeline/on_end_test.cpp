// How a program hears of the end of a run: Pipeline::on_end and stop_token.
#include <gmock/gmock.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "hiway/log.hpp"
#include "hiway/pipeline.hpp"
#include "hiway/stencil/stencil_tunnel.hpp"
#include "tests/device.hpp"

namespace {

using namespace hiway;
using hiway_tests::bounded;
using hiway_tests::text_of_error;
using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::chrono_literals;

std::string text_of(std::exception_ptr const& error) {
  if (!error) return "no error";
  return text_of_error<Error>([&] { std::rethrow_exception(error); });
}

/// What on_end was called with.
class Ends {
 public:
  void operator()(std::exception_ptr const& error) {
    std::scoped_lock const lock(mutex_);
    texts_.push_back(text_of(error));
    came_.notify_all();
  }
  /// Once there are so many; what there is, if they do not come.
  std::vector<std::string> await(std::size_t count) {
    std::unique_lock lock(mutex_);
    came_.wait_for(lock, 20s, [&] { return texts_.size() >= count; });
    return texts_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::vector<std::string> texts_;
};

struct FailAtThree {
  HIWAY_DEVICE long operator()(int const& x) const {
    if (x == 3) fail("three is not wanted");
    return x;
  }
};
struct FailAtTheEnd {
  HIWAY_DEVICE void operator()(Outlet<int> in) const {
    in.for_each_d([](int) {});
    if (thread_index() == 0) in.fail_d("late");
  }
};

/// A source of the numbers below `count`, a GPU stage, a sum.
struct Numbers {
  Numbers() : pipe(bounded()) {
    auto& there = pipe.create_tunnel<int>("there", Direction::cpu_to_gpu);
    auto& back = pipe.create_tunnel<long>("back", Direction::gpu_to_cpu);
    pipe.add_cpu_stage(
        "count",
        [this](Inlet<int> out) {
          for (int i = 0; i < count; ++i) out.put_h(i);
        },
        into(there));
    pipe.add_gpu_stage("f", FailAtThree{}, from(there), into(back), {.blocks = 1, .threads_per_block = 32});
    pipe.add_cpu_stage(
        "sum",
        [this](long const& x) {
          if (x == refused) throw std::out_of_range("no two");
          sum += x;
        },
        from(back));
    pipe.on_end([this](std::exception_ptr error) { ends(error); });
  }
  int count = 3;
  long refused = -1;
  long sum = 0;
  Ends ends;
  Pipeline pipe;
};

TEST(OnEnd, IsCalledOnceInEachRunWithItsFirstErrorOrNull) {
  HIWAY_NEEDS_DEVICE();
  Numbers n;
  n.pipe.run();
  n.count = 4;
  EXPECT_EQ(text_of_error<StageError>([&] { n.pipe.run(); }), "stage 'f': three is not wanted");
  n.count = 3;
  n.refused = 2;
  EXPECT_EQ(text_of_error<StageError>([&] { n.pipe.run(); }), "stage 'sum': no two");
  n.refused = -1;
  n.pipe.run();
  EXPECT_THAT(n.ends.await(4),
              ElementsAre("no error", "stage 'f': three is not wanted", "stage 'sum': no two", "no error"));
}

TEST(OnEnd, IsCalledAlsoIfNobodyWaits) {
  HIWAY_NEEDS_DEVICE();
  Numbers n;
  n.count = 4;
  n.pipe.start();
  EXPECT_THAT(n.ends.await(1), ElementsAre("stage 'f': three is not wanted"));
  EXPECT_THROW(n.pipe.wait(), StageError);
  EXPECT_EQ(n.ends.await(1).size(), 1u);
}

TEST(OnEnd, HearsOfAnErrorThatComesAfterTheTunnelsHaveEnded) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_gpu);
  pipe.add_cpu_stage(
      "feed", [](Inlet<int> out) { out.put_h(1); }, into(t));
  pipe.add_gpu_stage("late", FailAtTheEnd{}, from(t), {.blocks = 1, .threads_per_block = 32});
  Ends ends;
  pipe.on_end(std::ref(ends));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(text_of_error<StageError>([&] { pipe.run(); }), "stage 'late': late");
  EXPECT_THAT(ends.await(20), testing::AllOf(testing::SizeIs(20), testing::Each("stage 'late': late")));
}

// No monitor sees that a frame lacks a value: it is found when the run is over.
TEST(OnEnd, HearsOfWhatIsFoundWhenTheRunIsOver) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& t = pipe.create_stencil_tunnel<int>("matrix", Direction::cpu_to_cpu,
                                            {.width = 4, .height = 4, .region_width = 4, .region_height = 4});
  pipe.add_cpu_stage(
      "produce", [](StencilInlet<int> out) { out.set_h(0, 0, 1); }, into(t));
  pipe.add_cpu_stage(
      "consume", [](StencilOutlet<int> in) { in.for_each_h([](StencilTask const&) {}); }, from(t));
  Ends ends;
  pipe.on_end(std::ref(ends));
  std::stop_token const token = pipe.stop_token();
  std::string const text = text_of_error<MisuseError>([&] { pipe.run(); });
  EXPECT_THAT(text, HasSubstr("frame 0 is not complete"));
  EXPECT_THAT(ends.await(1), ElementsAre(text));
  EXPECT_TRUE(token.stop_requested());
}

/// A source that waits for something outside of the library.
struct Outside {
  Outside() : pipe(bounded()) {
    auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_cpu);
    pipe.add_cpu_stage(
        "listen",
        [this](Inlet<int> out) {
          std::unique_lock lock(mutex);
          std::stop_token const token = pipe.stop_token();
          waits = true;
          if (bell.wait(lock, token, [&] { return rung; })) out.put_h(1);
        },
        into(t));
    pipe.add_cpu_stage(
        "sink", [](int const&) {}, from(t));
    pipe.on_end([this](std::exception_ptr error) { ends(error); });
  }
  void start() {
    rung = waits = false;
    pipe.start();
    for (int i = 0; i < 1000 && !waits; ++i) std::this_thread::sleep_for(10ms);
    ASSERT_TRUE(waits);
  }
  void ring() {
    std::scoped_lock const lock(mutex);
    rung = true;
    bell.notify_all();
  }
  std::mutex mutex;
  std::condition_variable_any bell;
  bool rung = false;
  std::atomic<bool> waits = false;
  Ends ends;
  Pipeline pipe;
};

TEST(StopToken, LetsASourceLeaveThatWaitsOutside) {
  HIWAY_NEEDS_DEVICE();
  Outside run;
  for (int i = 0; i < 3; ++i) {
    run.start();
    run.pipe.abort();
    EXPECT_EQ(text_of_error<Aborted>([&] { run.pipe.wait(); }), "the pipeline was aborted");
    run.start();
    run.ring();
    run.pipe.wait();
  }
  std::string const aborted = "the pipeline was aborted";
  EXPECT_THAT(run.ends.await(6), ElementsAre(aborted, "no error", aborted, "no error", aborted, "no error"));
}

TEST(StopToken, LetsASourceLeaveWhenAnotherStageFails) {
  HIWAY_NEEDS_DEVICE();
  Outside run;
  auto& there = run.pipe.create_tunnel<int>("there", Direction::cpu_to_gpu);
  auto& back = run.pipe.create_tunnel<long>("back", Direction::gpu_to_cpu);
  run.pipe.add_cpu_stage(
      "feed", [](Inlet<int> out) { out.put_h(3); }, into(there));
  run.pipe.add_gpu_stage("f", FailAtThree{}, from(there), into(back), {.blocks = 1, .threads_per_block = 32});
  run.pipe.add_cpu_stage(
      "read", [](long const&) {}, from(back));
  run.start();
  EXPECT_THAT(run.ends.await(1), ElementsAre("stage 'f': three is not wanted"));
  EXPECT_THROW(run.pipe.wait(), StageError);
}

TEST(StopToken, OfBeforeTheStartIsTheNextRuns) {
  HIWAY_NEEDS_DEVICE();
  Outside run;
  std::stop_token const first = run.pipe.stop_token();
  run.start();
  EXPECT_EQ(first, run.pipe.stop_token());
  EXPECT_FALSE(first.stop_requested());
  run.ring();
  run.pipe.wait();
  std::stop_token const second = run.pipe.stop_token();
  EXPECT_NE(first, second);
  run.start();
  EXPECT_EQ(second, run.pipe.stop_token());
  run.pipe.abort();
  EXPECT_THROW(run.pipe.wait(), Aborted);
  EXPECT_FALSE(first.stop_requested());
  EXPECT_TRUE(second.stop_requested());
  EXPECT_FALSE(run.pipe.stop_token().stop_requested());
}

// A run that fails as it ends: no monitor may look again.
TEST(StopToken, IsRequestedInEachRunThatFails) {
  HIWAY_NEEDS_DEVICE();
  Numbers n;
  n.refused = 2;
  for (int i = 0; i < 50; ++i) {
    std::stop_token const token = n.pipe.stop_token();
    EXPECT_THROW(n.pipe.run(), StageError);
    EXPECT_TRUE(token.stop_requested());
  }
}

TEST(OnEnd, OfAPipelineThatIsDestroyedSaysSo) {
  HIWAY_NEEDS_DEVICE();
  Ends ends;
  {
    auto run = std::make_unique<Outside>();
    run->pipe.on_end(std::ref(ends));
    run->start();
  }
  EXPECT_THAT(ends.await(1), ElementsAre("the pipeline was destroyed while it ran"));
}

TEST(OnEnd, ThatThrowsChangesNothing) {
  HIWAY_NEEDS_DEVICE();
  std::vector<std::string> warnings;
  set_log_sink([&](LogLevel level, std::string_view text) {
    if (level == LogLevel::warning) warnings.emplace_back(text);
  });
  Numbers n;
  n.pipe.on_end([](std::exception_ptr const&) { throw std::out_of_range("enough"); });
  for (int i = 0; i < 2; ++i) n.pipe.run();
  set_log_sink({});
  std::string const text = "on_end: its function has thrown, which is dropped: enough";
  EXPECT_THAT(warnings, ElementsAre(text, text));
}

TEST(OnEnd, MayAskForNumbersButNotWaitOrStart) {
  HIWAY_NEEDS_DEVICE();
  Numbers n;
  std::uint64_t items = 0;
  std::string waited;
  std::string started;
  n.pipe.on_end([&](std::exception_ptr const&) {
    items = n.pipe.stats().tunnels.at(0).items;
    waited = text_of_error<MisuseError>([&] { n.pipe.wait(); });
    started = text_of_error<ConfigError>([&] { n.pipe.start(); });
  });
  n.pipe.run();
  EXPECT_EQ(items, 3u);
  EXPECT_THAT(waited, HasSubstr("wait: called on a thread of the run itself"));
  EXPECT_EQ(started, "start while the pipeline runs");
}

TEST(OnEnd, IsSetBetweenRunsAndTheLastOneCounts) {
  HIWAY_NEEDS_DEVICE();
  Outside run;
  Ends last;
  run.pipe.on_end(std::ref(last));
  run.start();
  EXPECT_EQ(text_of_error<ConfigError>([&] { run.pipe.on_end({}); }), "on_end while the pipeline runs");
  run.ring();
  run.pipe.wait();
  run.pipe.on_end({});
  run.start();
  run.ring();
  run.pipe.wait();
  EXPECT_THAT(last.await(1), ElementsAre("no error"));
  EXPECT_TRUE(run.ends.await(0).empty());
}

}  // namespace
