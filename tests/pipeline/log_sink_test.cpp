// A program's sink is called with nothing locked: it may do what any code of the program may do.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "hiway/log.hpp"
#include "tests/device.hpp"

namespace {

using namespace hiway;
using std::chrono::milliseconds;
using testing::ElementsAre;

/// A sink for the life of this object; stderr again after it.
struct Sink {
  explicit Sink(LogSink sink) { set_log_sink(std::move(sink)); }
  ~Sink() { set_log_sink({}); }
};

/// A run whose stage says `text` on a thread of its own.
void run_and_say(std::string const& text) {
  Pipeline pipe(hiway_tests::bounded());
  auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_cpu);
  pipe.add_cpu_stage("feed", [](Inlet<int> out) { out.put_h(1); }, into(t));
  pipe.add_cpu_stage("say", [&](int const&) { log(LogLevel::error, text); }, from(t));
  pipe.run();
}

// It hung: the log's mutex was held while the sink was called.
TEST(LogSinks, ASinkMayLogAndThatGoesToStderr) {
  std::vector<std::string> heard;
  Sink const sink([&](LogLevel, std::string_view text) {
    heard.emplace_back(text);
    log(LogLevel::error, "got " + std::string(text));
  });
  testing::internal::CaptureStderr();
  log(LogLevel::error, "one");
  log(LogLevel::error, "two");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "hiway: got one\nhiway: got two\n");
  EXPECT_THAT(heard, ElementsAre("one", "two"));
}

TEST(LogSinks, ASinkMayRunAPipelineWhoseStagesLog) {
  std::vector<std::string> heard;
  Sink const sink([&](LogLevel, std::string_view text) {
    heard.emplace_back(text);
    if (text == "one") run_and_say("inside");
  });
  log(LogLevel::error, "one");
  log(LogLevel::error, "two");
  EXPECT_THAT(heard, ElementsAre("one", "inside", "two"));
}

TEST(LogSinks, ASinkMaySetAnotherSink) {
  std::vector<std::string> heard;
  Sink const sink([&](LogLevel, std::string_view text) {
    heard.push_back("first " + std::string(text));
    set_log_sink([&](LogLevel, std::string_view later) { heard.push_back("second " + std::string(later)); });
    heard.push_back("still here");  // what the sink holds lives until it has returned
  });
  log(LogLevel::error, "one");
  log(LogLevel::error, "two");
  EXPECT_THAT(heard, ElementsAre("first one", "still here", "second two"));
}

TEST(LogSinks, MessagesOfManyThreadsComeOneAtATimeAndEachOnce) {
  constexpr int threads = 4, messages = 500;
  std::atomic<int> inside{0}, most{0};
  std::vector<std::string> heard;  // no mutex: there is one caller at a time
  {
    Sink const sink([&](LogLevel, std::string_view text) {
      int const now = ++inside;
      if (now > most) most = now;
      std::this_thread::yield();
      heard.emplace_back(text);
      --inside;
    });
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t)
      all.emplace_back([t] {
        for (int i = 0; i < messages; ++i) log(LogLevel::error, std::to_string(t * messages + i));
      });
    for (std::thread& t : all) t.join();
  }
  EXPECT_EQ(most, 1);
  std::vector<std::string> expected;
  for (int i = 0; i < threads * messages; ++i) expected.push_back(std::to_string(i));
  EXPECT_THAT(heard, testing::UnorderedElementsAreArray(expected));
}

TEST(LogSinks, NobodyIsInTheOldSinkWhenAnotherHasBeenSet) {
  std::atomic<bool> reached{false}, left{false};
  set_log_sink([&](LogLevel, std::string_view) {
    reached = true;
    std::this_thread::sleep_for(milliseconds(100));
    left = true;
  });
  std::thread speaker([] { log(LogLevel::error, "one"); });
  while (!reached) std::this_thread::yield();
  set_log_sink({});
  EXPECT_TRUE(left);
  speaker.join();
}

TEST(LogSinks, AChildOfForkLogsThoughTheParentIsInItsSink) {
  std::atomic<bool> reached{false}, go_on{false}, heard{false};
  Sink const sink([&](LogLevel, std::string_view text) {
    if (text != "stay") {
      heard = true;
      return;
    }
    reached = true;
    while (!go_on) std::this_thread::sleep_for(milliseconds(1));
  });
  std::thread speaker([] { log(LogLevel::error, "stay"); });
  while (!reached) std::this_thread::yield();
  pid_t const child = fork();
  if (child == 0) {
    alarm(20);
    log(LogLevel::error, "child");
    _exit(heard ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(heard);
  go_on = true;
  speaker.join();
}

}  // namespace
