// A traced run: what its threads did is in slices where they did it, what its tunnels held in counters, and both agree
// with the report.
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "lib/json.hpp"
#include "tests/device.hpp"

namespace {

using namespace hiway;
using hiway_tests::bounded;
using hiway_tests::text_of_error;
using std::chrono::milliseconds;
using testing::HasSubstr;

std::string trace_path() {
  return testing::TempDir() + "trace_" + testing::UnitTest::GetInstance()->current_test_info()->name() + ".json";
}

PipelineConfig traced() {
  PipelineConfig config = bounded();
  config.trace = trace_path();
  return config;
}

struct Slice {
  std::int64_t process = 0;
  std::int64_t track = 0;
  std::string category;
  std::string name;
  double begin = 0;  // us
  double length = 0;
  std::map<std::string, double> numbers;
  std::string tunnel;
  [[nodiscard]] double end() const { return begin + length; }
};

/// The file of the current test's last run.
class TraceFile {
 public:
  TraceFile() {
    std::ifstream in(trace_path());
    std::stringstream text;
    text << in.rdbuf();
    all_ = parse_json(text.str());
    for (Json const& event : member(all_, "traceEvents").items) read(event);
  }
  ~TraceFile() { std::filesystem::remove(trace_path()); }

  [[nodiscard]] std::vector<Slice> of(std::string const& category) const {
    std::vector<Slice> found;
    std::ranges::copy_if(slices, std::back_inserter(found), [&](Slice const& s) { return s.category == category; });
    return found;
  }
  /// The last value of a counter.
  [[nodiscard]] double last(std::string const& counter, std::string const& number) const {
    return counters.at(counter).back().numbers.at(number);
  }
  [[nodiscard]] Json const& stats() const { return member(member(all_, "hiway"), "stats"); }
  [[nodiscard]] bool failed() const {
    return std::ranges::any_of(member(all_, "hiway").members, [](JsonMember const& m) { return m.key == "error"; });
  }
  static Json const& member(Json const& object, std::string const& key) {
    for (JsonMember const& m : object.members) {
      if (m.key == key) return m.value;
    }
    throw std::out_of_range(key);
  }

  std::vector<Slice> slices;
  std::vector<Slice> instants;
  std::map<std::string, std::vector<Slice>> counters;

 private:
  void read(Json const& event) {
    std::string const kind = member(event, "ph").text;
    if (kind == "M") return;
    Slice s;
    s.process = member(event, "pid").integer;
    s.track = member(event, "tid").integer;
    s.name = member(event, "name").text;
    s.begin = member(event, "ts").number;
    for (JsonMember const& m : event.members) {
      if (m.key == "cat") s.category = m.value.text;
      if (m.key == "dur") s.length = m.value.number;
      if (m.key != "args") continue;
      for (JsonMember const& a : m.value.members) {
        s.numbers[a.key] = a.value.number;
        if (a.key == "tunnel") s.tunnel = a.value.text;
      }
    }
    if (kind == "X") slices.push_back(s);
    if (kind == "i") instants.push_back(s);
    if (kind == "C") counters[s.name].push_back(s);
  }
  Json all_;
};

/// On one track, each slice lies within what is open, or behind it.
void expect_nested(std::vector<Slice> slices) {
  std::ranges::sort(slices, [](Slice const& a, Slice const& b) {
    return std::tuple(a.process, a.track, a.begin, -a.length) < std::tuple(b.process, b.track, b.begin, -b.length);
  });
  std::vector<Slice const*> open;
  for (Slice const& s : slices) {
    constexpr double rounding = 0.0015;
    if (!open.empty() && (open.back()->process != s.process || open.back()->track != s.track)) open.clear();
    while (!open.empty() && open.back()->end() <= s.begin + rounding) open.pop_back();
    if (!open.empty()) {
      EXPECT_LE(s.end(), open.back()->end() + rounding) << s.name << " and " << open.back()->name;
    }
    open.push_back(&s);
  }
}

struct Same {
  HIWAY_DEVICE int operator()(int const& x) const { return x; }
};

StageReport const& stage(RunReport const& report, std::string const& name) {
  return *std::ranges::find(report.stages, name, &StageReport::name);
}

/// A stage "feed" that puts the numbers below `count`, each behind `before` of it.
void feed(
    Pipeline& pipe, Tunnel<int>& numbers, int count, std::function<void(int)> const& before = [](int) {}) {
  pipe.add_cpu_stage(
      "feed",
      [=](Inlet<int> out) {
        for (int i = 0; i < count; ++i) {
          before(i);
          out.put_h(i);
        }
      },
      into(numbers));
}

TEST(Trace, AStageThatSleepsAtAnItemShowsOneSliceThere) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(traced());
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu);
  feed(pipe, numbers, 1000);
  double slept = 0;
  pipe.add_cpu_stage(
      "sleep",
      [&](int const& i) {
        if (i != 500) return;
        auto const begin = std::chrono::steady_clock::now();
        std::this_thread::sleep_for(milliseconds(37));
        slept = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
      },
      from(numbers));
  pipe.run();
  TraceFile const trace;
  std::vector<Slice> const tasks = trace.of("task");
  auto const found = std::ranges::find_if(tasks, [](Slice const& s) { return s.length > 30'000; });
  ASSERT_NE(found, tasks.end());
  EXPECT_EQ(std::ranges::count_if(tasks, [](Slice const& s) { return s.length > 30'000; }), 1);
  EXPECT_NEAR(found->length / 1000, slept, 2);
  EXPECT_EQ(found->tunnel, "numbers");
  EXPECT_LE(found->numbers.at("first"), 500);
  EXPECT_GT(found->numbers.at("first") + found->numbers.at("items"), 500);
  expect_nested(trace.slices);
}

/// A source that sleeps before its item 100 of 200.
void expect_a_slice_of_a_source_that_sleeps(std::size_t capacity_items) {
  Pipeline pipe(traced());
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu, {.capacity_items = capacity_items});
  feed(pipe, numbers, 200, [](int i) {
    if (i == 100) std::this_thread::sleep_for(milliseconds(100));
  });
  pipe.add_cpu_stage(
      "sink", [](int const&) {}, from(numbers));
  pipe.run();
  TraceFile const trace;
  std::vector<Slice> const tasks = trace.of("task");
  auto const found = std::ranges::find_if(tasks, [](Slice const& s) { return s.length > 80'000; });
  ASSERT_NE(found, tasks.end());
  EXPECT_NEAR(found->length / 1000, 100, 5);
  EXPECT_LE(found->numbers.at("first"), 100);
  EXPECT_GT(found->numbers.at("first") + found->numbers.at("items"), 100);
  std::vector<Slice> const waits = trace.of("get");
  // On a busy machine the sink may begin its wait late.
  EXPECT_TRUE(std::ranges::any_of(waits, [](Slice const& s) { return s.length > 40'000 && s.tunnel == "numbers"; }));
  expect_nested(trace.slices);
}

TEST(Trace, ASourceThatSleepsShowsOneSliceToo) {
  HIWAY_NEEDS_DEVICE();
  expect_a_slice_of_a_source_that_sleeps(4);
}

TEST(Trace, ASourceThatStagesItsPutsShowsOneSliceToo) {
  HIWAY_NEEDS_DEVICE();
  expect_a_slice_of_a_source_that_sleeps(1024);
}

/// Each second of a wait is a wait, and each of work is work, in whatever form the stage is.
TEST(Report, AStageThatWorksHalfTheTimeIsHalfBusy) {
  HIWAY_NEEDS_DEVICE();
  constexpr milliseconds each(10);
  for (bool const loop : {false, true}) {
    Pipeline pipe(bounded());
    auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu);
    feed(pipe, numbers, 10, [=](int) { std::this_thread::sleep_for(2 * each); });
    auto const work = [&](int const&) { std::this_thread::sleep_for(each); };
    if (loop) {
      pipe.add_cpu_stage(
          "sink", [=](Outlet<int> in) { in.for_each_h(work); }, from(numbers));
    } else {
      pipe.add_cpu_stage("sink", work, from(numbers));
    }
    StageReport const sink = stage(pipe.run(), "sink");
    EXPECT_NEAR(sink.busy, 0.5, 0.2);
    EXPECT_NEAR(sink.items_of[0].seconds, 0.11, 0.04);
  }
}

/// feed -> GPU -> sink, whose sink takes 300 us for each.
RunReport run_with_a_slow_sink(Movement movement) {
  Pipeline pipe(traced());
  auto& numbers =
      pipe.create_tunnel<int>("numbers", Direction::cpu_to_gpu, {.capacity_items = 8, .movement = movement});
  auto& same = pipe.create_tunnel<int>("same", Direction::gpu_to_cpu, {.capacity_items = 8, .movement = movement});
  feed(pipe, numbers, 300);
  pipe.add_gpu_stage("same", Same{}, from(numbers), into(same), {.blocks = 1, .threads_per_block = 32});
  pipe.add_cpu_stage(
      "sink", [](int const&) { std::this_thread::sleep_for(std::chrono::microseconds(300)); }, from(same));
  return pipe.run();
}

TEST(Trace, CountersAddUpToTheReportAndSlicesNest) {
  HIWAY_NEEDS_DEVICE();
  for (Movement const movement : {Movement::direct, Movement::dma}) {
    RunReport const report = run_with_a_slow_sink(movement);
    TraceFile const trace;
    expect_nested(trace.slices);
    double bytes = 0;
    double batches = 0;
    for (Slice const& copy : trace.of("dma")) {
      bytes += copy.numbers.at("bytes");
      batches += copy.numbers.at("batches");
    }
    if (movement == Movement::dma) {
      EXPECT_EQ(bytes, 2 * 300 * sizeof(int));
      EXPECT_EQ(batches, static_cast<double>(report.tunnels[0].batches + report.tunnels[1].batches));
    }
    for (TunnelReport const& t : report.tunnels) {
      EXPECT_EQ(trace.last(t.name + ": total", "put"), 300);
      EXPECT_EQ(trace.last(t.name + ": total", "ended"), 300);
      EXPECT_LE(t.most_items, 8);
      for (Slice const& s : trace.counters.at(t.name)) EXPECT_LE(s.numbers.at("items"), 8);
    }
    // The sink's 60 ms: the tunnels before it are full, and who feeds them waits.
    EXPECT_EQ(report.tunnels[1].most_items, 8);
    EXPECT_GT(report.tunnels[1].mean_items, 2);
    StageReport const& feed = stage(report, "feed");
    StageReport const& sink = stage(report, "sink");
    EXPECT_GT(sink.busy, feed.busy);
    EXPECT_EQ(sink.items, 300U);
    EXPECT_LT(feed.busy, 0.4);
    EXPECT_GT(feed.room_in[0].seconds, 0.02);
    double room = 0;
    for (Slice const& s : trace.of("put")) room += s.length / 1e6;
    EXPECT_NEAR(room, feed.room_in[0].seconds, 0.01);
    EXPECT_EQ(stage(report, "same").room_in[0].seconds, -1);  // nobody knows
    EXPECT_GT(stage(report, "same").busy, 0);
    EXPECT_EQ(TraceFile::member(trace.stats(), "stages").items.size(), 3U);
    EXPECT_FALSE(trace.of("end").empty());
    EXPECT_FALSE(trace.of("device").empty());
    EXPECT_FALSE(trace.failed());
  }
}

TEST(Trace, ThereIsOneOfARunThatFailed) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(traced());
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu);
  feed(pipe, numbers, 10);
  pipe.add_cpu_stage(
      "sink",
      [](int const& i) {
        if (i == 5) throw std::runtime_error("five");
      },
      from(numbers));
  EXPECT_EQ(text_of_error<StageError>([&] { pipe.run(); }), "stage 'sink': five");
  TraceFile const trace;
  EXPECT_TRUE(trace.failed());
  EXPECT_EQ(trace.last("numbers: total", "put"), 10);
  expect_nested(trace.slices);
}

TEST(Trace, AStallIsInIt) {
  HIWAY_NEEDS_DEVICE();
  PipelineConfig config = traced();
  config.stall_after = milliseconds(50);
  config.on_stall = OnStall::abort;
  Pipeline pipe(config);
  auto& a = pipe.create_tunnel<int>("a", Direction::cpu_to_cpu, {.capacity_items = 1});
  auto& b = pipe.create_tunnel<int>("b", Direction::cpu_to_cpu, {.capacity_items = 1});
  pipe.add_cpu_stage(
      "fork",
      [](Inlet<int> into_a, Inlet<int> into_b) {
        into_a.put_h(1);
        into_a.put_h(2);
        into_b.put_h(1);
      },
      into(a, b));
  pipe.add_cpu_stage(
      "join",
      [](Outlet<int> from_a, Outlet<int> from_b) {
        int x = 0;
        if (from_b.next_h(x)) from_b.end_task_h();
        while (from_a.next_h(x)) from_a.end_task_h();
      },
      from(a, b));
  EXPECT_THROW(pipe.run(), Aborted);
  TraceFile const trace;
  ASSERT_EQ(trace.instants.size(), 1U);
  EXPECT_EQ(trace.instants[0].category, "stall");
  // The wait that nobody ended is there, too.
  std::vector<Slice> const waits = trace.of("put");
  EXPECT_TRUE(std::ranges::any_of(waits, [](Slice const& s) { return s.tunnel == "a" && s.length > 40'000; }));
  expect_nested(trace.slices);
}

TEST(Trace, AFileThatCannotBeWrittenIsSaidBeforeTheRun) {
  HIWAY_NEEDS_DEVICE();
  PipelineConfig config = bounded();
  config.trace = "/nowhere/trace.json";
  Pipeline pipe(config);
  bool ran = false;
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu);
  pipe.add_cpu_stage(
      "feed", [&](Inlet<int>) { ran = true; }, into(numbers));
  pipe.add_cpu_stage(
      "sink", [](int const&) {}, from(numbers));
  EXPECT_THAT(text_of_error<ConfigError>([&] { pipe.run(); }),
              HasSubstr("trace: '/nowhere/trace.json' cannot be written"));
  EXPECT_FALSE(ran);
}

// The folder is gone when the run ends. The error of that hid the stage's, or the report of a good run.
TEST(Trace, AFileThatCannotBeWrittenBehindTheRunHidesNothing) {
  HIWAY_NEEDS_DEVICE();
  std::filesystem::path const folder = testing::TempDir() + "gone_" + std::to_string(getpid());
  PipelineConfig config = bounded();
  config.trace = folder / "trace.json";
  for (bool const fails : {false, true}) {
    std::filesystem::create_directories(folder);
    Pipeline pipe(config);
    auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu);
    pipe.add_cpu_stage(
        "feed", [](Inlet<int> out) { out.put_h(1); }, into(numbers));
    pipe.add_cpu_stage(
        "sink",
        [&](int const&) {
          std::filesystem::remove_all(folder);
          if (fails) throw std::runtime_error("1 is not wanted");
        },
        from(numbers));
    testing::internal::CaptureStderr();
    if (fails) {
      EXPECT_THAT(text_of_error<StageError>([&] { pipe.run(); }), HasSubstr("1 is not wanted"));
    } else {
      EXPECT_EQ(pipe.run().items, 1U);
      EXPECT_EQ(pipe.stats().items, 1U);
    }
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("trace: '" + config.trace + "' cannot be written: "));
  }
}

// The look before the run empties nothing: a run that never ends leaves the last one's trace.
TEST(Trace, IsWrittenBehindTheRunAndNotBefore) {
  HIWAY_NEEDS_DEVICE();
  std::string const path = testing::TempDir() + "kept.json";
  std::ofstream(path) << "of before";
  PipelineConfig config = bounded();
  config.trace = path;
  Pipeline pipe(config);
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu);
  pipe.add_cpu_stage(
      "feed", [](Inlet<int> out) { out.put_h(1); }, into(numbers));
  pipe.add_cpu_stage(
      "sink",
      [&](int const&) {
        std::stringstream text;
        text << std::ifstream(path).rdbuf();
        EXPECT_EQ(text.str(), "of before");
      },
      from(numbers));
  pipe.run();
  EXPECT_GT(std::filesystem::file_size(path), 100U);
  std::filesystem::remove(path);
}

TEST(Report, StatsOfARunUnderWayAreWhatThereIs) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu, {.capacity_items = 4});
  auto const out = numbers.open_inlet();
  int got = 0;
  pipe.add_cpu_stage(
      "sink", [&](int const&) { ++got; }, from(numbers));
  pipe.start();
  for (int i = 0; i < 3; ++i) out.put_h(i);
  while (pipe.stats().tunnels[0].finished != 3) std::this_thread::yield();
  std::this_thread::sleep_for(milliseconds(30));
  RunReport const live = pipe.stats();
  EXPECT_EQ(live.tunnels[0].items, 3U);
  EXPECT_EQ(live.stages[0].items, 3U);
  EXPECT_GT(live.seconds, 0.02);
  out.close_h();
  RunReport const report = pipe.wait();
  EXPECT_EQ(report.stages[0].items, 3U);
  EXPECT_GT(report.stages[0].items_of[0].seconds, 0.02);
  EXPECT_LT(report.stages[0].busy, 0.5);
  EXPECT_EQ(report.tunnels[0].most_items, -1);  // nothing was sampled
}

TEST(Report, IsJsonATableAndMetrics) {
  RunReport r;
  r.device = "simt";
  r.seconds = 0.5;
  r.end_detection_us = 12.5;
  r.items = 7;
  r.tunnels.push_back(
      {.name = "a \"b\"", .movement = "dma", .why = "asked for", .items = 7, .finished = 7, .batches = 2});
  r.tunnels[0].capacity_items = 8;
  r.tunnels[0].direction = "cpu_to_gpu";
  r.tunnels[0].item_bytes = 4;
  r.stages.push_back(
      {.name = "feed", .executors = 2, .seconds = 1, .busy = 0.25, .items_of = {}, .room_in = {{"a \"b\"", 0.75}}});
  r.stages.push_back({.name = "work", .gpu = true, .executors = 4, .launches = 3, .items_of = {}, .room_in = {}});
  Json const json = parse_json(to_json(r));
  EXPECT_EQ(TraceFile::member(TraceFile::member(json, "tunnels").items[0], "bytes").integer, 28);
  EXPECT_EQ(TraceFile::member(TraceFile::member(json, "tunnels").items[0], "name").text, "a \"b\"");
  Json const& into = TraceFile::member(TraceFile::member(json, "stages").items[0], "into").items[0];
  EXPECT_EQ(TraceFile::member(into, "waits").number, 0.75);
  std::string const text = to_text(r);
  EXPECT_THAT(text, HasSubstr("device simt, 500.000 ms, 7 items, end found after 12.5 us\n"));
  EXPECT_THAT(text, HasSubstr("feed   CPU          2         -      0  25.0 %                -    a \"b\" 75.0 %\n"));
  EXPECT_EQ(TraceFile::member(TraceFile::member(json, "stages").items[1], "launches").integer, 3);
  EXPECT_THAT(text, HasSubstr("work   GPU          4         3      0       -"));
  std::string const metrics = to_prometheus(r);
  EXPECT_THAT(
      metrics,
      HasSubstr("# TYPE hiway_tunnel_items_total counter\nhiway_tunnel_items_total{tunnel=\"a \\\"b\\\"\"} 7\n"));
  EXPECT_THAT(metrics,
              HasSubstr("hiway_stage_wait_seconds_total{stage=\"feed\",tunnel=\"a \\\"b\\\"\",for=\"room\"} 0.75\n"));
  EXPECT_THAT(metrics, testing::Not(HasSubstr("most_items")));
}

}  // namespace
