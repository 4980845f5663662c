// What a run tells of its scopes: in its report, its trace and its stall reports.
#include <gmock/gmock.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "hiway/log.hpp"
#include "hiway/pipeline.hpp"
#include "hiway/service.hpp"
#include "tests/device.hpp"

namespace {

using namespace hiway;
using hiway_tests::bounded;
using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

GpuStageOptions const small_grid{.blocks = 2, .threads_per_block = 64};

struct FailsThrees {
  HIWAY_DEVICE long operator()(int const& x) const {
    if (x == 3) fail_scope("no threes");
    return x;
  }
};

/// open inlet -> GPU stage -> CPU stage, which waits while it is held.
struct Jobs {
  explicit Jobs(std::size_t most_open = 8, PipelineConfig config = bounded()) : pipe(config) {
    scopes = &pipe.create_scopes("jobs", {.most_open = most_open});
    auto& there = pipe.create_tunnel<int>("there", Direction::cpu_to_gpu, {.scopes = scopes});
    auto& back = pipe.create_tunnel<long>("back", Direction::gpu_to_cpu, {.scopes = scopes});
    in = there.open_inlet();
    pipe.add_gpu_stage("work", FailsThrees{}, from(there), into(back), small_grid);
    pipe.add_cpu_stage(
        "end",
        [this](long const&) {
          while (held) std::this_thread::sleep_for(1ms);
        },
        from(back));
  }
  [[nodiscard]] Scope put(int x) {
    Scope job = scopes->open_h();
    in.put_h(x, job);
    job.close_h();
    return job;
  }
  RunReport end() {
    in.close_h();
    return pipe.wait();
  }
  Pipeline pipe;
  Scopes* scopes;
  Inlet<int> in;
  std::atomic<bool> held{false};
};

TEST(ScopesReport, SaysHowManyEndedHow) {
  HIWAY_NEEDS_DEVICE();
  Jobs p;
  for (int run = 0; run < 2; ++run) {
    p.pipe.start();
    for (int i = 0; i < 10; ++i) {
      Scope const job = p.put(i);
      ASSERT_TRUE(job.wait_for(20s));
    }
    Scope job = p.scopes->open_h();
    job.cancel();
    job.close_h();
    ASSERT_TRUE(job.wait_for(20s));
    Scope open = p.scopes->open_h();
    std::this_thread::sleep_for(20ms);
    ScopesReport const now = p.pipe.stats().scopes.at(0);
    EXPECT_EQ(now.open, 1U);
    EXPECT_EQ(now.oldest_place, open.index());
    EXPECT_GE(now.oldest_us, 20'000);
    ScopesReport const r = p.end().scopes.at(0);  // which ends what is left open
    EXPECT_EQ(r.name, "jobs");
    EXPECT_EQ(r.most_open, 8U);
    EXPECT_EQ(r.opened, 12U);
    EXPECT_EQ(r.ended, 12U);
    EXPECT_EQ(r.failed, 1U);
    EXPECT_EQ(r.cancelled, 1U);
    EXPECT_EQ(r.open, 0U);
    EXPECT_EQ(r.oldest_us, 0);
    EXPECT_EQ(r.waits, 0U);
    EXPECT_GE(r.slowest_us, 20'000);
    EXPECT_GT(r.median_us, 0);
    EXPECT_LT(r.median_us, r.slowest_us);
  }
}

TEST(ScopesReport, NamesTheSlowest) {
  HIWAY_NEEDS_DEVICE();
  Jobs p;
  p.pipe.start();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(p.put(1).wait_for(20s));
  p.held = true;
  Scope const slow = p.put(1);
  std::this_thread::sleep_for(100ms);
  p.held = false;
  ASSERT_TRUE(slow.wait_for(20s));
  std::uint32_t const place = slow.index();
  ScopesReport const r = p.end().scopes.at(0);
  EXPECT_EQ(r.slowest_place, place);
  EXPECT_GE(r.slowest_us, 100'000);
}

TEST(ScopesReport, NamesTheOldest) {
  HIWAY_NEEDS_DEVICE();
  Jobs p;
  p.pipe.start();
  std::vector<Scope> open;
  for (int i = 0; i < 6; ++i) {
    open.push_back(p.scopes->open_h());
    std::this_thread::sleep_for(2ms);
  }
  EXPECT_EQ(p.pipe.stats().scopes.at(0).oldest_place, open.front().index());
  open.erase(open.begin());
  EXPECT_EQ(p.pipe.stats().scopes.at(0).oldest_place, open.front().index());
  open.clear();
  p.end();
}

TEST(ScopesReport, FailedFirstAndThenCancelledIsFailed) {
  HIWAY_NEEDS_DEVICE();
  Jobs p;
  p.pipe.start();
  p.held = true;
  Scope job = p.put(3);
  for (int i = 0; i < 20'000 && p.pipe.stats().tunnels.at(1).items == 0; ++i) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(20ms);  // the letter
  job.cancel();
  p.held = false;
  EXPECT_TRUE(job.wait_for(20s));
  ScopesReport const r = p.end().scopes.at(0);
  EXPECT_EQ(r.failed, 1U);
  EXPECT_EQ(r.cancelled, 0U);
}

TEST(ScopesReport, CountsWaitsForAPlace) {
  HIWAY_NEEDS_DEVICE();
  Jobs p(1);
  p.pipe.start();
  Scope first = p.scopes->open_h();
  std::future<void> second = std::async(std::launch::async, [&] { p.scopes->open_h().close_h(); });
  std::this_thread::sleep_for(50ms);
  first.close_h();
  second.get();
  ScopesReport const r = p.end().scopes.at(0);
  EXPECT_EQ(r.waits, 1U);
  EXPECT_GE(r.wait_seconds, 0.02);
  EXPECT_LT(r.wait_seconds, 20);
}

TEST(ScopesReport, CountsRequestsOfAService) {
  HIWAY_NEEDS_DEVICE();
  Jobs p(1);
  auto& there = p.pipe.create_tunnel<int>("asked", Direction::cpu_to_gpu, {.scopes = p.scopes});
  auto& back = p.pipe.create_tunnel<long>("answered", Direction::gpu_to_cpu, {.scopes = p.scopes});
  p.pipe.add_gpu_stage("answer", FailsThrees{}, from(there), into(back), small_grid);
  Service<int, long> service(p.pipe, there, back);
  p.pipe.start();
  Scope blocks = p.scopes->open_h();
  std::future<long> late = std::async(std::launch::async, [&] { return service.submit(2).get(); });
  std::this_thread::sleep_for(50ms);
  blocks.close_h();
  EXPECT_EQ(late.get(), 2);
  EXPECT_THROW(service.submit(3).get(), ScopeFailed);
  service.stop();
  ScopesReport const r = p.end().scopes.at(0);
  EXPECT_EQ(r.opened, 3U);
  EXPECT_EQ(r.failed, 1U);
  EXPECT_GE(r.waits, 1U);
}

TEST(ScopesReport, OfAFailedRunHasThemAsFailed) {
  HIWAY_NEEDS_DEVICE();
  Jobs p;
  p.pipe.start();
  Scope const job = p.scopes->open_h();
  p.pipe.abort();
  EXPECT_THROW(p.pipe.wait(), Aborted);
  EXPECT_TRUE(job.wait_for(20s));
  p.pipe.start();
  EXPECT_EQ(p.end().scopes.at(0).opened, 0U);
}

/// The file's text; the file goes.
std::string taken(std::string const& path) {
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::filesystem::remove(path);
  return text;
}

std::size_t count_of(std::string const& text, std::string const& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

TEST(ScopesTrace, HasABeginAndAnEndOfEach) {
  HIWAY_NEEDS_DEVICE();
  std::string const path = ::testing::TempDir() + "scopes_trace.json";
  PipelineConfig config = bounded();
  config.trace = path;
  Jobs p(8, config);
  Scopes& others = p.pipe.create_scopes("others", {.most_open = 4});
  p.pipe.start();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(p.put(i).wait_for(20s));
  Scope other = others.open_h();
  other.cancel();
  p.end();
  std::string const text = taken(path);
  EXPECT_EQ(count_of(text, "{\"ph\":\"b\",\"pid\":6,\"tid\":1,\"name\":\"jobs\",\"cat\":\"scope\",\"id2\""), 10U);
  EXPECT_EQ(count_of(text, "{\"ph\":\"e\",\"pid\":6,\"tid\":1,\"name\":\"jobs\",\"cat\":\"scope\",\"id2\""), 10U);
  EXPECT_EQ(count_of(text, "\"outcome\":\"ended well\""), 9U);
  EXPECT_EQ(count_of(text, "\"outcome\":\"failed\""), 1U);
  EXPECT_EQ(count_of(text, "\"outcome\":\"cancelled\""), 1U);
  EXPECT_THAT(text, HasSubstr("\"args\":{\"name\":\"scopes 'jobs'\"}"));
  std::string const id = "\"cat\":\"scope\",\"id2\":{\"local\":\"" + std::to_string(8 + other.index()) + "\"}";
  EXPECT_EQ(count_of(text, "\"name\":\"others\"," + id), 2U) << "kinds have ids of their own";
}

/// The microseconds from a scope's opening to its first and last task at a stage, in the order of a trace.
std::vector<std::pair<double, double>> tasks_in(std::string const& text, std::string const& stage) {
  std::vector<std::pair<double, double>> all;
  std::string const key = "\"" + stage + "\":[";
  for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + 1)) {
    double first = -1;
    double last = -1;
    std::istringstream numbers(text.substr(at + key.size(), 40));
    numbers >> first;
    numbers.ignore(1);
    numbers >> last;
    all.emplace_back(first, last);
  }
  return all;
}

TEST(ScopesTrace, SaysWhenEachCpuStageWorkedOnIt) {
  HIWAY_NEEDS_DEVICE();
  std::string const path = ::testing::TempDir() + "scopes_visits_trace.json";
  PipelineConfig config = bounded();
  config.trace = path;
  Pipeline pipe(config);
  Scopes& jobs = pipe.create_scopes("jobs", {.most_open = 2});
  auto& in = pipe.create_tunnel<int>("in", Direction::cpu_to_cpu, {.scopes = &jobs});
  auto& there = pipe.create_tunnel<int>("there", Direction::cpu_to_gpu, {.scopes = &jobs});
  auto& back = pipe.create_tunnel<long>("back", Direction::gpu_to_cpu, {.scopes = &jobs});
  Inlet<int> inlet = in.open_inlet();
  pipe.add_cpu_stage(
      "cut \"it\"",
      [](int const& x) {
        if (x != 0) std::this_thread::sleep_for(5ms);
        return x;
      },
      from(in), into(there));
  pipe.add_gpu_stage("work", FailsThrees{}, from(there), into(back), small_grid);
  pipe.add_cpu_stage(
      "end", [](long const&) {}, from(back));
  pipe.start();
  for (int i = 0; i < 4; ++i) {  // at two places
    Scope job = jobs.open_h();
    for (int k = 0; k < 2; ++k) inlet.put_h(i, job);
    job.close_h();
    ASSERT_TRUE(job.wait_for(20s));
  }
  inlet.close_h();
  pipe.wait();
  std::string const text = taken(path);
  auto const cut = tasks_in(text, "cut \\\"it\\\"");
  auto const end = tasks_in(text, "end");
  ASSERT_EQ(cut.size(), 4U) << text;
  ASSERT_EQ(end.size(), 4U);
  EXPECT_EQ(tasks_in(text, "work").size(), 0U) << "devices note none";
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_GE(cut[i].first, 0) << i;
    EXPECT_LT(cut[i].first, 5e6) << i << ": of its own scope, not of the one before at its place";
    EXPECT_GE(cut[i].second - cut[i].first, i != 0 ? 4900 : 0) << i;
    EXPECT_GE(end[i].first, cut[i].first) << i;
    EXPECT_GE(end[i].second, end[i].first) << i;
  }
}

TEST(ScopesTrace, IsNotWrittenWithoutScopes) {
  HIWAY_NEEDS_DEVICE();
  std::string const path = ::testing::TempDir() + "no_scopes_trace.json";
  PipelineConfig config = bounded();
  config.trace = path;
  Pipeline pipe(config);
  auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_cpu);
  pipe.add_cpu_stage(
      "feed", [](Inlet<int> out) { out.put_h(1); }, into(t));
  pipe.add_cpu_stage(
      "end", [](int const&) {}, from(t));
  pipe.run();
  std::string const text = taken(path);
  EXPECT_THAT(text, Not(HasSubstr("\"pid\":6")));
}

TEST(ScopesStall, NamesThoseThatAreOpen) {
  HIWAY_NEEDS_DEVICE();
  std::mutex mutex;
  std::string logged;
  set_log_sink([&](LogLevel, std::string_view text) {
    std::scoped_lock const lock(mutex);
    logged += text;
  });
  PipelineConfig config = bounded();
  config.stall_after = 100ms;
  Jobs p(8, config);
  p.held = true;
  p.pipe.start();
  Scope const job = p.put(1);
  auto const has = [&] {
    std::scoped_lock const lock(mutex);
    return logged.find("no progress for") != std::string::npos;
  };
  for (int i = 0; i < 20'000 && !has(); ++i) std::this_thread::sleep_for(1ms);
  p.held = false;
  p.end();
  set_log_sink({});
  EXPECT_THAT(logged,
              HasSubstr("\n  scopes 'jobs': 1 of 8 open, 0 ended; place " + std::to_string(job.index()) + " for 1"))
      << "100 ms and more";
}

TEST(ScopesReport, IsInAllForms) {
  RunReport report;
  EXPECT_THAT(to_text(report), Not(HasSubstr("slowest")));
  report.scopes.push_back({.name = "jobs",
                           .most_open = 64,
                           .opened = 10,
                           .ended = 9,
                           .failed = 2,
                           .cancelled = 1,
                           .open = 1,
                           .median_us = 5,
                           .p99_us = 50,
                           .slowest_us = 100,
                           .slowest_place = 7,
                           .oldest_us = 200,
                           .oldest_place = 3,
                           .waits = 4,
                           .wait_seconds = 0.5});
  report.scopes.push_back({.name = "unused", .most_open = 1});
  EXPECT_THAT(
      to_json(report),
      HasSubstr(R"("scopes":[{"name":"jobs","most_open":64,"opened":10,"ended":9,"failed":2,"cancelled":1,"open":1,)"
                R"("median_us":5,"p99_us":50,"slowest_us":100,"slowest_place":7,"oldest_us":200,)"
                R"("oldest_place":3,"waits":4,"wait_seconds":0.5},{)"));
  EXPECT_THAT(to_text(report), AllOf(HasSubstr("slowest us"), HasSubstr("4, 0.5 s")));
  EXPECT_THAT(to_prometheus(report),
              AllOf(HasSubstr("hiway_scopes_ended_total{scopes=\"jobs\",outcome=\"well\"} 6\n"),
                    HasSubstr("hiway_scopes_ended_total{scopes=\"jobs\",outcome=\"failed\"} 2\n"),
                    HasSubstr("hiway_scopes_seconds{scopes=\"jobs\",quantile=\"0.99\"} "),
                    HasSubstr("hiway_scopes_open{scopes=\"jobs\"} 1\n"),
                    Not(HasSubstr("hiway_scopes_seconds{scopes=\"unused\""))));
}

}  // namespace
