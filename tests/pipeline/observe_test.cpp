// What a program sees of a run without a trace: the log, the graph with its numbers, the live table, latencies.
#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "hiway/log.hpp"
#include "tests/device.hpp"
#include "tests/environment.hpp"

namespace {

using namespace hiway;
using hiway_tests::bounded;
using hiway_tests::Environment;
using hiway_tests::text_of_error;
using std::chrono::milliseconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

std::string read(std::string const& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// feed -> sink, a hundred numbers.
struct Line {
  explicit Line(milliseconds sleep = milliseconds(0)) : pipe(bounded()) {
    auto& numbers = pipe.create_tunnel<int>("the \"numbers\"", Direction::cpu_to_cpu, {.capacity_items = 8});
    pipe.add_cpu_stage(
        "feed",
        [sleep](Inlet<int> out) {
          for (int i = 0; i < 100; ++i) out.put_h(i);
          std::this_thread::sleep_for(sleep);
        },
        into(numbers));
    pipe.add_cpu_stage(
        "sink", [](int const&) {}, from(numbers));
  }
  Pipeline pipe;
};

TEST(Log, GoesWhereTheProgramSays) {
  std::mutex mutex;
  std::vector<std::pair<LogLevel, std::string>> heard;
  set_log_sink([&](LogLevel level, std::string_view text) {
    std::scoped_lock const lock(mutex);
    heard.emplace_back(level, text);
  });
  log(LogLevel::warning, "mind this");
  log(LogLevel::debug, "not that");  // HIWAY_LOG is not set
  PipelineConfig config = bounded();
  config.end_detection = EndDetection::time_out;
  Pipeline pipe(config);
  set_log_sink({});
  EXPECT_THAT(heard, ElementsAre(Pair(LogLevel::warning, "mind this"),
                                 Pair(LogLevel::warning, HasSubstr("EndDetection::time_out is unsound"))));
  testing::internal::CaptureStderr();
  log(LogLevel::info, "again");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "hiway: again\n");
}

TEST(Log, ASinkThatThrowsHarmsNobody) {
  set_log_sink([](LogLevel, std::string_view) { throw 1; });
  log(LogLevel::error, "lost");
  set_log_sink({});
}

TEST(Graph, HasTheNumbersOfTheLastRun) {
  Line line;
  std::string const before = line.pipe.graph();
  EXPECT_THAT(before, HasSubstr("\"feed\" -> \"sink\" [label=\"the \\\"numbers\\\" (8)\"];"));
  line.pipe.run();
  std::string const after = line.pipe.graph();
  EXPECT_THAT(after,
              AllOf(HasSubstr("label=\"the \\\"numbers\\\" (8)\\n100 items, "), HasSubstr("CPU, 1 thread\\nbusy ")));
}

TEST(Graph, IsWrittenBehindTheRunAndAtTheSignal) {
  std::string const path = testing::TempDir() + "graph.dot";
  Environment const asked("HIWAY_GRAPH", path);
  Line line(milliseconds(1000));
  line.pipe.start();
  while (line.pipe.stats().tunnels[0].finished != 100) std::this_thread::yield();
  testing::internal::CaptureStderr();
  raise(SIGUSR1);
  for (int i = 0; i < 500 && !std::filesystem::exists(path); ++i) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("asked by SIGUSR1"));
  EXPECT_THAT(read(path), HasSubstr("holds 0"));
  line.pipe.wait();
  EXPECT_THAT(read(path), AllOf(HasSubstr("100 items"), Not(HasSubstr("holds"))));
  std::filesystem::remove(path);
}

TEST(Graph, IsAPictureWhereGraphvizIsInstalled) {
  std::string const path = testing::TempDir() + "graph.svg";
  {
    Environment const asked("HIWAY_GRAPH", path);
    testing::internal::CaptureStderr();
    Line().pipe.run();
  }
  std::string const said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(read(path + ".dot"), HasSubstr("digraph pipeline"));
  if (std::filesystem::exists(path)) {
    EXPECT_THAT(read(path), HasSubstr("<svg"));
    EXPECT_EQ(said, "");
  } else {
    EXPECT_THAT(said, HasSubstr("needs Graphviz"));
  }
  std::filesystem::remove(path);
  std::filesystem::remove(path + ".dot");
}

// Graphviz does not write the file: the library does, as it writes each other file, through links, too.
TEST(Graph, OfAnotherProgramIsWrittenAsAnyFile) {
  std::filesystem::path const folder = testing::TempDir() + "drawn_" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  // It reads all of its input: if it ended early, writing the graph could fail.
  std::ofstream(folder / "dot") << "#!/bin/sh\nhead -c 7\necho ', drawn'\ncat > /dev/null\n";
  std::filesystem::permissions(folder / "dot", std::filesystem::perms::owner_all);
  std::filesystem::create_symlink("picture", folder / "graph.svg");
  std::string const before = std::getenv("PATH");
  {
    Environment const path("PATH", folder.string() + ":" + before);
    Environment const asked("HIWAY_GRAPH", folder / "graph.svg");
    Line().pipe.run();
  }
  setenv("PATH", before.c_str(), 1);
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "graph.svg"));
  EXPECT_EQ(read(folder / "picture"), "digraph, drawn\n");
  std::filesystem::remove_all(folder);
}

TEST(Graph, ThatCannotBeWrittenLeavesTheRunAlone) {
  for (std::string const variable : {"HIWAY_GRAPH", "HIWAY_STATS"}) {
    Environment const asked(variable.c_str(), "/nowhere/file");
    testing::internal::CaptureStderr();
    EXPECT_EQ(Line().pipe.run().items, 100U);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr(variable + ": '/nowhere/file' cannot be written"));
  }
}

TEST(Watch, ShowsTheTableWhileTheRunGoesOn) {
  Environment const asked("HIWAY_WATCH", "20");
  testing::internal::CaptureStderr();
  Line(milliseconds(200)).pipe.run();
  std::string const shown = testing::internal::GetCapturedStderr();
  EXPECT_THAT(shown,
              AllOf(HasSubstr("stage"), HasSubstr("feed"), HasSubstr("the \"numbers\""), HasSubstr("device simt")));
  std::size_t tables = 0;
  for (std::size_t at = 0; (at = shown.find("device simt", at)) != std::string::npos; ++at) ++tables;
  EXPECT_GE(tables, 4U);
  EXPECT_LE(tables, 14U);
}

TEST(Watch, WhatIsNoNumberIsSaid) {
  Environment const asked("HIWAY_WATCH", "often");
  EXPECT_EQ(text_of_error<ConfigError>([] { Line().pipe.run(); }),
            "HIWAY_WATCH must be a number of milliseconds: 'often'");
}

struct Timed {
  int number;
  Stamp begun;
};
TEST(Latencies, OfSampledItemsAreInTheReport) {
  Pipeline pipe(bounded());
  Latency& path = pipe.create_latency("feed to sink", 4);
  std::atomic<bool> all_are_put = false;
  auto& items = pipe.create_tunnel<Timed>("items", Direction::cpu_to_cpu, {.capacity_items = 64});
  pipe.add_cpu_stage(
      "feed",
      [&](Inlet<Timed> out) {
        all_are_put = false;
        for (int i = 0; i < 40; ++i) out.put_h({i, path.begin_h()});
        all_are_put = true;
      },
      into(items));
  pipe.add_cpu_stage(
      "sink",
      [&](Timed const& t) {
        if (t.number == 0) {
          while (!all_are_put) std::this_thread::yield();
          std::this_thread::sleep_for(milliseconds(30));
        }
        path.end_h(t.begun);
      },
      from(items));
  for (int run = 0; run < 2; ++run) {  // each begins anew
    RunReport const report = pipe.run();
    ASSERT_EQ(report.latencies.size(), 1U);
    LatencyReport const& l = report.latencies[0];
    EXPECT_EQ(l.path, "feed to sink");
    EXPECT_EQ(l.samples, 10U);
    EXPECT_GE(l.least_us, 25'000);  // the last was put before the first was over
    EXPECT_LE(l.least_us, l.median_us);
    EXPECT_LE(l.median_us, l.p99_us);
    EXPECT_LE(l.p99_us, l.most_us);
    EXPECT_THAT(to_text(report), HasSubstr("feed to sink"));
    EXPECT_THAT(to_prometheus(report), HasSubstr("hiway_latency_seconds{path=\"feed to sink\",quantile=\"0.99\"}"));
  }
}

TEST(Latencies, KeepAFairSampleOfMany) {
  Latency path("many", 1);
  for (int i = 0; i < 200'000; ++i) path.end_h({path.begin_h().ns - (i < 100'000 ? 0 : 1'000'000'000)});
  LatencyReport const l = path.report();
  EXPECT_EQ(l.samples, 200'000U);
  EXPECT_LT(l.least_us, 1000);
  EXPECT_GE(l.most_us, 1e6);
  EXPECT_GE(l.p99_us, 1e6);
}

}  // namespace
