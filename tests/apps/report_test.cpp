// hiway report: traces are read and checked, the bottleneck is named, the page is whole.
#include <expat.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "cli/app.hpp"
#include "cli/bottleneck.hpp"
#include "cli/graph_drawing.hpp"
#include "cli/html.hpp"
#include "cli/joined_tunnels.hpp"
#include "cli/report.hpp"
#include "cli/timeline.hpp"
#include "cli/trace_file.hpp"
#include "files.hpp"

namespace {

using namespace cli;
using hiway::RunReport;
using hiway::StageReport;
using hiway::TunnelReport;
using hiway::WaitReport;

// ---- the bottleneck, of sums that are written by hand

/// What it waits is given as fractions of its life.
StageReport cpu(std::string name, double busy, std::vector<WaitReport> from, std::vector<WaitReport> into,
                unsigned threads = 1, double life = 1) {
  double const seconds = life * threads;
  for (WaitReport& wait : from) wait.seconds *= seconds;
  for (WaitReport& wait : into) wait.seconds *= seconds;
  return {.name = std::move(name),
          .executors = threads,
          .items = 100,
          .seconds = seconds,
          .busy = busy,
          .items_of = std::move(from),
          .room_in = std::move(into)};
}
StageReport gpu(std::string name, std::vector<std::string> const& from, std::vector<std::string> const& into) {
  StageReport stage{.name = std::move(name),
                    .gpu = true,
                    .executors = 32,
                    .launches = 1,
                    .items = 100,
                    .seconds = 32,
                    .busy = 0.5,
                    .items_of{},
                    .room_in{}};
  for (std::string const& tunnel : from) stage.items_of.push_back({tunnel});
  for (std::string const& tunnel : into) stage.room_in.push_back({tunnel});
  return stage;
}
TunnelReport ring(std::string name, double full, double empty, std::uint64_t capacity = 64) {
  TunnelReport tunnel;
  tunnel.name = std::move(name);
  tunnel.movement = "memory";
  tunnel.capacity_items = capacity;
  tunnel.items = tunnel.finished = 10'000;
  tunnel.full = full;
  tunnel.empty = empty;
  tunnel.mean_items = tunnel.most_items = 1;
  return tunnel;
}
/// A run of one second.
RunReport run_of(std::vector<StageReport> stages, std::vector<TunnelReport> tunnels) {
  return {"simt", 1, 10'000, -1, std::move(tunnels), {}, std::move(stages), {}};
}
Finding verdict(RunReport const& stats) { return find_bottleneck(stats).front(); }
std::string all_text(RunReport const& stats) {
  std::string all;
  for (Finding const& one : find_bottleneck(stats)) all += one.text + "\n";
  return all;
}

TEST(Bottleneck, NamesASlowConsumer) {
  RunReport const stats = run_of({cpu("feed", 0.1, {}, {{"numbers", 0.9}}), cpu("sink", 0.97, {{"numbers", 0.03}}, {})},
                                 {ring("numbers", 0.9, 0)});
  Finding const first = verdict(stats);
  EXPECT_EQ(first.kind, FindingKind::slow_stage);
  EXPECT_EQ(first.text,
            "Stage 'sink' is the bottleneck: it is busy 97 % of the time, and 'feed' waits 90 % of the time for room "
            "in tunnel "
            "'numbers' before it.");
  EXPECT_EQ(find_bottleneck(stats).size(), 1U) << all_text(stats);
}

TEST(Bottleneck, NamesASlowMiddleStageAndTellsLongWaitsApart) {
  RunReport const stats = run_of({cpu("a", 0.2, {}, {{"x", 0.8}}), cpu("b", 0.95, {{"x", 0.02}}, {{"y", 0.03}}),
                                  cpu("c", 0.2, {{"y", 0.8}}, {{"z", 0}}), cpu("d", 0.18, {{"z", 0.82}}, {})},
                                 {ring("x", 0.9, 0), ring("y", 0, 0.9), ring("z", 0, 0.9)});
  EXPECT_EQ(verdict(stats).subject, "b");
  EXPECT_NE(verdict(stats).text.find("'c' waits 80 % of the time for items of tunnel 'y' after it"), std::string::npos);
  EXPECT_NE(all_text(stats).find("Stage 'd' waits 82 % of the time for items of tunnel 'z'."), std::string::npos)
      << all_text(stats);
}

TEST(Bottleneck, SaysThatAStarvingSourceIsToBlameItself) {
  RunReport const stats =
      run_of({cpu("read", 0.99, {}, {{"lines", 0}}), cpu("count", 0.1, {{"lines", 0.9}}, {})}, {ring("lines", 0, 0.9)});
  EXPECT_EQ(verdict(stats).subject, "read");
  EXPECT_NE(verdict(stats).advice.find("what that waits for outside"), std::string::npos) << verdict(stats).advice;
}

TEST(Bottleneck, DoesNotBlameASourceThatWasSoonDone) {
  // It was busy all its life, which was a tenth of the run.
  RunReport const stats = run_of({cpu("feed", 1, {}, {{"x", 0}}, 1, 0.1), cpu("work", 0.98, {{"x", 0.02}}, {})},
                                 {ring("x", 0, 0.02, 100'000)});
  EXPECT_EQ(verdict(stats).subject, "work");
}

TEST(Bottleneck, TellsASmallRingFromASlowStage) {
  RunReport stats = run_of({cpu("put", 0.5, {}, {{"tight", 0.5}}), cpu("get", 0.55, {{"tight", 0.45}}, {})},
                           {ring("tight", 0.4, 0.4, 1)});
  EXPECT_EQ(verdict(stats).kind, FindingKind::small_ring);
  EXPECT_EQ(verdict(stats).text,
            "Tunnel 'tight' is the bottleneck: it has room for 1 item; 'put' waits 50 % of the time for room in it, "
            "and 'get' "
            "waits 45 % for its items, in turns.");
  EXPECT_NE(verdict(stats).advice.find("grow_to_items"), std::string::npos);
  stats.tunnels[0].movement = "dma";
  stats.tunnels[0].batches = 5000;
  EXPECT_NE(verdict(stats).advice.find("had 2 items"), std::string::npos) << verdict(stats).advice;
  // Where it holds most of the run, more room changes nothing.
  stats.tunnels[0].capacity_items = 8000;
  EXPECT_NE(verdict(stats).advice.find("one after the other"), std::string::npos) << verdict(stats).advice;
}

TEST(Bottleneck, InfersASlowGpuStageFromItsTunnels) {
  RunReport const stats = run_of({cpu("feed", 0.1, {}, {{"bases", 0.9}}), gpu("coarse", {"bases"}, {"matches"}),
                                  cpu("fine", 0.2, {{"matches", 0.8}}, {})},
                                 {ring("bases", 0.9, 0.01), ring("matches", 0, 0.85)});
  EXPECT_EQ(verdict(stats).kind, FindingKind::slow_stage);
  EXPECT_EQ(
      verdict(stats).text,
      "GPU stage 'coarse' is the bottleneck, as its tunnels show: 'feed' waits 90 % of the time for room in tunnel "
      "'bases' before it, and 'fine' waits 80 % of the time for items of tunnel 'matches' after it.");
}

TEST(Bottleneck, DoesNotBlameAGpuStageBesideASlowCpuStage) {
  RunReport const slow_feed =
      run_of({cpu("feed", 0.95, {}, {{"a", 0.05}}), gpu("square", {"a"}, {"b"}), cpu("sum", 0.1, {{"b", 0.9}}, {})},
             {ring("a", 0, 0.3), ring("b", 0, 0.9)});
  EXPECT_EQ(verdict(slow_feed).subject, "feed");
  RunReport const slow_sum =
      run_of({cpu("feed", 0.1, {}, {{"a", 0.9}}), gpu("square", {"a"}, {"b"}), cpu("sum", 0.96, {{"b", 0.04}}, {})},
             {ring("a", 0.95, 0), ring("b", 0.9, 0)});
  EXPECT_EQ(verdict(slow_sum).subject, "sum");
}

TEST(Bottleneck, DoesNotBlameAGpuStageThatStarves) {
  RunReport const stats = run_of(
      {cpu("feed", 0.6, {}, {{"a", 0}}, 1, 0.999), gpu("square", {"a"}, {"b"}), cpu("sum", 0.1, {{"b", 0.9}}, {})},
      {ring("a", 0, 0.9), ring("b", 0, 0.9)});
  EXPECT_EQ(verdict(stats).subject, "feed");
  EXPECT_NE(verdict(stats).text.find("is probably the bottleneck: it is busy 60 %"), std::string::npos)
      << verdict(stats).text;
  EXPECT_NEAR(shares_of(stats, stats.stages[1]).busy, 0.1, 1e-9);
}

TEST(Bottleneck, FindsTheSlowOneOfTwoGpuStages) {
  RunReport const stats = run_of({cpu("feed", 0.1, {}, {{"a", 0.9}}), gpu("one", {"a"}, {"b"}),
                                  gpu("two", {"b"}, {"c"}), cpu("sum", 0.1, {{"c", 0.9}}, {})},
                                 {ring("a", 0.9, 0), ring("b", 0.92, 0), ring("c", 0, 0.95)});
  EXPECT_EQ(verdict(stats).subject, "two");
  EXPECT_NE(verdict(stats).text.find("tunnel 'b' before it is full 92 %"), std::string::npos) << verdict(stats).text;
}

TEST(Bottleneck, CallsAPipelineBalanced) {
  RunReport const stats = run_of({cpu("a", 0.88, {}, {{"x", 0.12}}), cpu("b", 0.9, {{"x", 0.05}}, {{"y", 0.05}}),
                                  cpu("c", 0.86, {{"y", 0.14}}, {})},
                                 {ring("x", 0.1, 0.1), ring("y", 0.1, 0.1)});
  EXPECT_EQ(verdict(stats).kind, FindingKind::balanced);
  EXPECT_EQ(find_bottleneck(stats).size(), 1U) << all_text(stats);
}

TEST(Bottleneck, TellsAShortRunThatLooksForItsEnd) {
  RunReport stats = run_of({cpu("feed", 1, {}, {{"x", 0}}, 1, 0.001), cpu("sum", 0.3, {{"x", 0.7}}, {}, 1, 0.001)},
                           {ring("x", 0, 0.7)});
  stats.seconds = 0.001;
  stats.stages[0].seconds = 0.0003;
  stats.end_detection_us = 650;
  auto const found = find_bottleneck(stats);
  EXPECT_EQ(found[0].text, "Finding the end took 65 % of the run: 650 us of 1 ms.");
  // Of the 350 us before, it waited 50, and was busy 300: what it waited behind its last task says nothing.
  EXPECT_EQ(all_text(stats).find("waits"), std::string::npos) << all_text(stats);
}

TEST(Bottleneck, TellsACycleWithTooLittleInIt) {
  RunReport const stats =
      run_of({cpu("seed", 1, {}, {{"again", 0}}, 1, 0.001), cpu("grow", 0.1, {{"again", 0.9}}, {{"grown", 0}}),
              cpu("cut", 0.15, {{"grown", 0.85}}, {{"again", 0}})},
             {ring("again", 0, 0.9), ring("grown", 0, 0.9)});
  EXPECT_EQ(verdict(stats).kind, FindingKind::cycle);
  EXPECT_NE(verdict(stats).text.find("'grow' 90 %, 'cut' 85 %"), std::string::npos) << verdict(stats).text;
}

TEST(Bottleneck, NamesTheBusyStageOfACycle) {
  RunReport const stats =
      run_of({cpu("grow", 0.96, {{"again", 0.04}}, {{"grown", 0}}), cpu("cut", 0.1, {{"grown", 0.9}}, {{"again", 0}})},
             {ring("again", 0.5, 0), ring("grown", 0, 0.9)});
  EXPECT_EQ(verdict(stats).subject, "grow");
}

TEST(Bottleneck, TellsWhoPutsOrGetsOutside) {
  Finding const puts = verdict(run_of({cpu("serve", 0.05, {{"requests", 0.95}}, {})}, {ring("requests", 0, 0.95)}));
  EXPECT_EQ(puts.kind, FindingKind::outside);
  EXPECT_EQ(puts.subject, "requests");
  EXPECT_EQ(puts.text,
            "Who puts into tunnel 'requests' from outside the pipeline is the bottleneck: 'serve' waits 95 % of the "
            "time for its items.");
  EXPECT_EQ(verdict(run_of({cpu("make", 0.1, {}, {{"answers", 0.9}})}, {ring("answers", 0.9, 0)})).text,
            "Who gets from tunnel 'answers' outside the pipeline is the bottleneck: 'make' waits 90 % of the time for "
            "room in it.");
}

TEST(Bottleneck, TellsSpillsAndThreadsThatAreTooMany) {
  RunReport stats =
      run_of({cpu("feed", 0.97, {}, {{"x", 0.03}}), cpu("work", 0.2, {{"x", 0.8}}, {}, 8)}, {ring("x", 0, 0.9)});
  stats.tunnels[0].spilled = 2500;
  std::string const text = all_text(stats);
  EXPECT_NE(text.find("Tunnel 'x' spilled 2500 of its 10000 items (25 %)"), std::string::npos) << text;
  EXPECT_NE(text.find("Stage 'work' has 8 threads, and 1.6 of them are busy on average: 2 would do."),
            std::string::npos)
      << text;
}

TEST(Bottleneck, SaysWhenNothingIsKnown) {
  EXPECT_EQ(verdict(RunReport{}).kind, FindingKind::nothing);
  EXPECT_EQ(verdict(run_of({gpu("alone", {}, {})}, {})).kind, FindingKind::latency);
}

// ---- the bottleneck, of simulated chains

struct SimStage {
  bool gpu = false;
  unsigned executors = 1;
  double mean = 1;      ///< of a task
  bool bursts = false;  ///< one task in ten takes some hundred times as long as the others
};

/// A chain of stages with finite rings between them, event by event. An executor takes an item, works at it, puts it
/// when there is room, and takes the next.
class Simulation {
 public:
  Simulation(std::vector<SimStage> stages, std::vector<std::size_t> capacities, std::size_t items,
             std::mt19937_64& random)
      : stages_{std::move(stages)}, capacities_{std::move(capacities)}, random_{random}, left_{items} {
    rings_.resize(capacities_.size());
    for (SimStage const& stage : stages_) executors_.emplace_back(stage.executors);
  }

  RunReport run() {
    settle();
    while (!ends_.empty()) {
      auto const [time, stage, executor] = ends_.top();
      ends_.pop();
      pass_until(time);
      executors_[stage][executor].state = State::puts;
      executors_[stage][executor].since = now_;
      settle();
    }
    return stats();
  }

 private:
  enum class State { takes, works, puts, gone };
  struct Executor {
    State state = State::takes;
    double since = 0;
    double took = 0;  ///< waited for items
    double put = 0;   ///< waited for room
    double life = 0;
  };
  struct Ring {
    std::size_t items = 0, passed = 0, most = 0;
    double sum = 0, full = 0, empty = 0;
  };
  struct End {
    double time;
    std::size_t stage, executor;
    bool operator<(End const& other) const { return time > other.time; }
  };

  void pass_until(double time) {
    for (std::size_t r = 0; r != rings_.size(); ++r) {
      Ring& ring = rings_[r];
      ring.sum += static_cast<double>(ring.items) * (time - now_);
      ring.full += ring.items == capacities_[r] ? time - now_ : 0;
      ring.empty += ring.items == 0 ? time - now_ : 0;
    }
    now_ = time;
  }

  /// Whoever can put or take does.
  void settle() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t s = stages_.size(); s-- > 0;) {
        for (std::size_t e = 0; e != executors_[s].size(); ++e) moved = step(s, e) || moved;
      }
    }
  }
  bool step(std::size_t s, std::size_t e) {
    Executor& executor = executors_[s][e];
    if (executor.state == State::puts) {
      if (s + 1 < stages_.size()) {
        Ring& ring = rings_[s];
        if (ring.items == capacities_[s]) return false;
        ring.most = std::max(ring.most, ++ring.items);
        ++ring.passed;
      }
      executor.put += now_ - executor.since;
      executor.state = State::takes;
      executor.since = now_;
      return true;
    }
    if (executor.state != State::takes) return false;
    if (s == 0) {
      if (left_ == 0) {
        executor.state = State::gone;
        executor.life = now_;
        return false;
      }
      --left_;
    } else {
      if (rings_[s - 1].items == 0) return false;
      --rings_[s - 1].items;
    }
    executor.took += now_ - executor.since;
    executor.state = State::works;
    ends_.push({now_ + stages_[s].mean * length(stages_[s]), s, e});
    return true;
  }
  double length(SimStage const& stage) {
    double const even = std::uniform_real_distribution{0.5, 1.5}(random_);
    return !stage.bursts ? even : even * (std::bernoulli_distribution{0.1}(random_) ? 9.2 : 0.08);
  }

  RunReport stats() {
    RunReport stats{"simulated", now_, 0, -1, {}, {}, {}, {}};
    for (std::size_t r = 0; r != rings_.size(); ++r) {
      Ring const& ring = rings_[r];
      TunnelReport tunnel = stats_of(r, ring);
      stats.items += tunnel.items;
      stats.tunnels.push_back(tunnel);
    }
    for (std::size_t s = 0; s != stages_.size(); ++s) {
      StageReport stage{.name = "stage" + std::to_string(s),
                        .gpu = stages_[s].gpu,
                        .executors = stages_[s].executors,
                        .items_of{},
                        .room_in{}};
      double took = 0, put = 0;
      for (Executor const& executor : executors_[s]) {
        stage.seconds += executor.state == State::gone ? executor.life : now_;
        took += executor.took + (executor.state == State::takes ? now_ - executor.since : 0);
        put += executor.put;
      }
      if (stage.gpu) took = put = -1;
      if (!stage.gpu) stage.busy = 1 - (took + put) / stage.seconds;
      if (s > 0) stage.items_of.push_back({"ring" + std::to_string(s - 1), took});
      if (s + 1 < stages_.size()) stage.room_in.push_back({"ring" + std::to_string(s), put});
      stats.stages.push_back(stage);
    }
    return stats;
  }
  TunnelReport stats_of(std::size_t r, Ring const& seen) const {
    TunnelReport tunnel = ring("ring" + std::to_string(r), seen.full / now_, seen.empty / now_, capacities_[r]);
    tunnel.items = tunnel.finished = seen.passed;
    tunnel.mean_items = seen.sum / now_;
    tunnel.most_items = static_cast<double>(seen.most);
    return tunnel;
  }

  std::vector<SimStage> stages_;
  std::vector<std::size_t> capacities_;
  std::mt19937_64& random_;
  std::size_t left_;
  double now_ = 0;
  std::vector<Ring> rings_;
  std::vector<std::vector<Executor>> executors_;
  std::priority_queue<End> ends_;
};

struct Planted {
  RunReport stats;
  std::string slow;
};
/// Three to six stages, a third of those in the middle on the GPU; one is 1.5 to 4 times as slow as the others may be.
Planted planted_chain(std::uint64_t seed) {
  std::mt19937_64 random{seed};
  auto const number = [&](std::size_t least, std::size_t most) {
    return std::uniform_int_distribution{least, most}(random);
  };
  auto const real = [&](double least, double most) { return std::uniform_real_distribution{least, most}(random); };
  std::vector<SimStage> stages(number(3, 6));
  std::size_t const slow = number(0, stages.size() - 1);
  for (std::size_t s = 0; s != stages.size(); ++s) {
    stages[s].gpu = s > 0 && s + 1 < stages.size() && number(0, 2) == 0;
    stages[s].executors = stages[s].gpu ? 16 : static_cast<unsigned>(number(1, 4));
    double const between_items = s == slow ? real(1.5, 4) : real(0.3, 1);
    stages[s].mean = between_items * stages[s].executors;
  }
  std::vector<std::size_t> capacities(stages.size() - 1);
  for (std::size_t& capacity : capacities) capacity = std::size_t{1} << number(3, 8);
  return {Simulation{stages, capacities, 3000, random}.run(), "stage" + std::to_string(slow)};
}

TEST(Bottleneck, IsNamedInTwentyRandomChains) {
  std::size_t right = 0;
  std::string wrong;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Planted const chain = planted_chain(seed);
    Finding const first = verdict(chain.stats);
    if (first.kind == FindingKind::slow_stage && first.subject == chain.slow) {
      ++right;
    } else {
      wrong += "seed " + std::to_string(seed) + ", " + chain.slow + ": " + first.text + "\n";
    }
  }
  EXPECT_GE(right, 19U) << wrong;
}

TEST(Bottleneck, IsTheRingWhereBurstsHaveNoRoom) {
  auto const chain = [](std::size_t capacity) {
    std::mt19937_64 random{1};
    return Simulation{{{.bursts = true}, {.bursts = true}}, {capacity}, 5000, random}.run();
  };
  EXPECT_EQ(verdict(chain(1)).kind, FindingKind::small_ring) << all_text(chain(1));
  EXPECT_EQ(verdict(chain(2)).kind, FindingKind::small_ring) << all_text(chain(2));
  EXPECT_NE(verdict(chain(1024)).kind, FindingKind::small_ring) << all_text(chain(1024));
}

// ---- traces

Json event(std::string const& kind, int process, int thread, std::string const& name, double ts) {
  return {{"ph", kind}, {"pid", process}, {"tid", thread}, {"name", name}, {"ts", ts}};
}
Json slice(int process, int thread, std::string const& category, std::string const& name, double ts, double duration,
           Json const& args = Json::object()) {
  Json json = event("X", process, thread, name, ts);
  json["cat"] = category;
  json["dur"] = duration;
  json["args"] = args;
  return json;
}

/// One second of feed -> again -> work, whose names are `feed` and `tunnel` and "work".
Json small_trace(std::string const& feed = "feed", std::string const& tunnel = "numbers") {
  Json const waits_of_feed = {{{"tunnel", tunnel}, {"waits", 0.9}}};
  Json const waits_of_work = {{{"tunnel", tunnel}, {"waits", 0.03}}};
  Json stats = {{"device", "simt"}, {"seconds", 1}, {"items", 1000}, {"end_detection_us", 5000}};
  stats["stages"] = {{{"name", feed},
                      {"gpu", false},
                      {"executors", 1},
                      {"items", 0},
                      {"seconds", 0.9},
                      {"busy", 0.1},
                      {"from", Json::array()},
                      {"into", waits_of_feed}},
                     {{"name", "work"},
                      {"gpu", false},
                      {"executors", 1},
                      {"items", 1000},
                      {"seconds", 1.0},
                      {"busy", 0.97},
                      {"from", waits_of_work},
                      {"into", Json::array()}}};
  stats["tunnels"] = {{{"name", tunnel},
                       {"direction", "cpu_to_cpu"},
                       {"movement", "memory"},
                       {"why", "one home"},
                       {"item_bytes", 4},
                       {"capacity_items", 64},
                       {"items", 1000},
                       {"finished", 1000},
                       {"bytes", 4000},
                       {"batches", 0},
                       {"spilled", 0},
                       {"throttled", 0},
                       {"put_groups", 0},
                       {"get_groups", 0},
                       {"most_items", 64},
                       {"mean_items", 60.5},
                       {"full", 0.9},
                       {"empty", 0.01}}};
  auto const named = [](int thread, std::string const& name) {
    Json json = event("M", 1, thread, "thread_name", 0);
    json["args"] = {{"name", name}};
    return json;
  };
  Json held = event("C", 3, 0, tunnel, 1000);
  held["args"] = {{"items", 12}, {"spilled", 0}};
  Json total = event("C", 3, 0, tunnel + ": total", 1000);
  total["args"] = {{"put", 12}, {"ended", 3}};
  Json stall = event("i", 5, 1, "stall", 300'000);
  stall["cat"] = "stall";
  stall["args"] = {{"text", "no progress for 505 ms"}};
  return {{"traceEvents",
           {named(1, "stage '" + feed + "', thread 0"), named(2, "stage 'work', thread 0"),
            slice(1, 1, "stage", feed, 0, 900'000), slice(1, 1, "put", "waits", 100, 2000, {{"tunnel", tunnel}}),
            slice(1, 2, "stage", "work", 0, 1'000'000),
            slice(1, 2, "task", "task", 10, 5000, {{"tunnel", tunnel}, {"first", 0}, {"items", 1}}),
            slice(1, 2, "put", "waits", 400, 100, {{"tunnel", tunnel}}), held, total, stall,
            slice(5, 1, "run", "run", 0, 1'000'000), slice(5, 1, "end", "end detection", 995'000, 5000)}},
          {"hiway", {{"version", "0.1.0"}, {"trace_version", 1}, {"stats", stats}}}};
}

std::string complaint_of(Json const& trace) {
  return complaint([&] { static_cast<void>(parse_trace("t.json", trace.dump())); });
}

TEST(TraceFile, IsReadInOrder) {
  TraceFile const trace = parse_trace("t.json", small_trace().dump());
  ASSERT_EQ(trace.tracks.size(), 2U);
  EXPECT_EQ(trace.tracks[0].name, "stage 'feed', thread 0");
  EXPECT_EQ(trace.tracks[1].stage, "work");
  ASSERT_EQ(trace.tracks[0].slices.size(), 2U);
  EXPECT_EQ(trace.tracks[0].slices[1].activity, Activity::put);
  EXPECT_EQ(trace.tracks[0].slices[1].tunnel, 0);
  ASSERT_EQ(trace.samples.size(), 1U);
  ASSERT_EQ(trace.samples[0].size(), 1U) << "the total is no occupancy";
  EXPECT_EQ(trace.samples[0][0].items, 12);
  ASSERT_EQ(trace.moments.size(), 1U);
  EXPECT_EQ(trace.moments[0].text, "stall: no progress for 505 ms");
  EXPECT_EQ(trace.end_search, 995'000);
  EXPECT_EQ(trace.run_end, 1'000'000);
  EXPECT_EQ(trace.stats.stages[1].busy, 0.97);
}

TEST(TraceFile, OfARunOverNodesHasTheTracksOfEach) {
  Json const one = small_trace();
  Json json = one;
  for (Json const& event : one["traceEvents"]) {
    if (event["ph"] == "M" || event["ph"] == "i" || event.value("cat", "") == "run") continue;
    Json of_node_2 = event;
    of_node_2["pid"] = 200 + event["pid"].get<int>();
    of_node_2["ts"] = event["ts"].get<double>() + 500;
    json["traceEvents"].push_back(of_node_2);
  }
  TraceFile const trace = parse_trace("t.json", json.dump());
  ASSERT_EQ(trace.tracks.size(), 4U);
  EXPECT_EQ(trace.tracks[1].stage, "work");
  EXPECT_EQ(trace.tracks[3].stage, "work");
  EXPECT_EQ(trace.tracks[3].place, Track::Place::cpu);
  EXPECT_EQ(trace.tracks[3].slices.size(), trace.tracks[1].slices.size());
  EXPECT_EQ(trace.samples[0].size(), 2U);
  EXPECT_EQ(trace.end_search, 995'500) << "where the end was looked for last";
}

TEST(TraceFile, HasTheReportThatWasWrittenIntoIt) {
  RunReport run =
      run_of({cpu("feed", 0.25, {}, {{"a", 0.75}}, 2, 0.25), gpu("work", {"a"}, {})}, {ring("a", 0.5, 0.125)});
  run.end_detection_us = 12.5;
  run.stages[1].failed_tasks = 6;
  run.stages[1].first_failure = "no such key";
  run.tunnels[0].direction = "cpu_to_gpu";
  run.tunnels[0].movement = "dma";
  run.tunnels[0].why = "asked for";
  run.tunnels[0].item_bytes = 4;
  run.tunnels[0].batches = 3;
  run.tunnels[0].spilled = 2;
  run.tunnels[0].dropped = 7;
  run.tunnels[0].throttled = 1;
  run.tunnels[0].put_groups = 5;
  run.tunnels[0].get_groups = 4;
  run.scopes.push_back({"jobs", 64, 10, 9, 2, 1, 1, 5.5, 50, 100.25, 7, 200, 3, 4, 0.5});
  Json const trace = {{"traceEvents", Json::array()},
                      {"hiway", {{"version", "0.1.0"}, {"trace_version", 1}, {"stats", Json::parse(to_json(run))}}}};
  EXPECT_EQ(to_json(parse_trace("t.json", trace.dump()).stats), to_json(run));
}

TEST(TraceFile, SaysWhereItIsWrong) {
  EXPECT_EQ(complaint([] { static_cast<void>(parse_trace("t.json", "{\n  \"traceEvents\": [,]}")); }).substr(0, 50),
            "t.json: no JSON: parse error at line 2, column 19:");
  EXPECT_EQ(complaint_of(Json::array()), "t.json: /: an object is needed, not a list");
  EXPECT_EQ(complaint_of({{"hiway", 1}}), "t.json: /: 'traceEvents' is missing");
  EXPECT_EQ(complaint_of({{"traceEvents", {1, 2}}}), "t.json: /traceEvents: each event is an object, not number");
  EXPECT_EQ(complaint_of({{"traceEvents", Json::array()}}), "t.json: /: 'hiway' is missing");
  auto const broken = [](char const* pointer, Json const& value) {
    Json trace = small_trace();
    trace[Json::json_pointer{pointer}] = value;
    return complaint_of(trace);
  };
  EXPECT_EQ(broken("/hiway/trace_version", 2), "t.json: /hiway/trace_version: version 1 is read here, not 2");
  EXPECT_EQ(broken("/traceEvents/3/dur", "1"), "t.json: /traceEvents/3/dur: a number is needed, not a text");
  EXPECT_EQ(broken("/traceEvents/3/dur", -1), "t.json: /traceEvents/3/dur: is negative");
  EXPECT_EQ(broken("/traceEvents/3/args/tunnel", "x"),
            "t.json: /traceEvents/3/args/tunnel: no tunnel 'x' in the stats");
  EXPECT_EQ(broken("/hiway/stats/stages/1/busy", 1.5), "t.json: /hiway/stats/stages/1/busy: 0 to 1, or -1, is needed");
  EXPECT_EQ(broken("/hiway/stats/stages/1/name", "feed"), "t.json: /hiway/stats/stages/1/name: 'feed' is there twice");
  EXPECT_EQ(broken("/hiway/stats/stages/0/into/0/tunnel", "x"),
            "t.json: /hiway/stats/stages/0/into/0/tunnel: no tunnel 'x' in the stats");
  EXPECT_EQ(broken("/hiway/stats/stages/0/into/0/tunnel", "two\nlines"),
            "t.json: /hiway/stats/stages/0/into/0/tunnel: no tunnel 'two?lines' in the stats");
  EXPECT_EQ(broken("/hiway/stats/tunnels/0/items", -3),
            "t.json: /hiway/stats/tunnels/0/items: a whole number, 0 or more, is needed");
  EXPECT_EQ(broken("/hiway/stats/stages/0/executors", 5'000'000'000),
            "t.json: /hiway/stats/stages/0/executors: is too large");
  EXPECT_EQ(complaint([] { static_cast<void>(read_trace("not there")); }).substr(0, 28),
            "not there: cannot be opened:");
}

// ---- the page

TEST(Timeline, CutsNestedSlicesOutOfWhatIsAroundThem) {
  auto const pieces = flattened({{0, 100, Activity::stage, -1},
                                 {10, 50, Activity::task, 0},
                                 {20, 30, Activity::put, 1},
                                 {60, 120, Activity::get, 0}});
  ASSERT_EQ(pieces.size(), 6U);
  double const begins[] = {0, 10, 20, 30, 50, 60};
  Activity const activities[] = {Activity::stage, Activity::task,  Activity::put,
                                 Activity::task,  Activity::stage, Activity::get};
  for (std::size_t i = 0; i != pieces.size(); ++i) {
    EXPECT_EQ(pieces[i].begin, begins[i]);
    EXPECT_EQ(pieces[i].activity, activities[i]);
    EXPECT_EQ(pieces[i].begin, i == 0 ? 0 : pieces[i - 1].end);
  }
  EXPECT_EQ(pieces.back().end, 100) << "ends with what is around it";
}

TEST(GraphDrawing, LayersEveryEdgeForwardsOnceBackwardEdgesAreTurned) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    std::mt19937_64 random{seed};
    std::size_t const nodes = 2 + random() % 12;
    GraphEdges edges;
    for (std::size_t i = 0; i != nodes * 2; ++i) edges.emplace_back(random() % nodes, random() % nodes);
    GraphLayers const layers = layers_of(nodes, edges);
    for (std::size_t e = 0; e != edges.size(); ++e) {
      auto [from, to] = edges[e];
      if (layers.backwards[e]) std::swap(from, to);
      EXPECT_TRUE(from == to || layers.layer[from] < layers.layer[to]) << "seed " << seed;
    }
  }
}

// ---- tunnels between nodes

/// Node 0 feeds, 1 and 2 sum up, and so does 0; 1 and 2 have a tunnel of their own besides.
RunReport run_over_nodes() {
  RunReport run = run_of({cpu("node 0: feed", 0.1, {}, {{"node 0: numbers", 0.9}}),
                          cpu("node 0: sum", 0.1, {{"node 0: numbers (arriving)", 0.9}}, {}),
                          cpu("node 1: sum", 1, {{"node 1: numbers", 0}}, {{"node 1: own", 0}}),
                          cpu("node 1: show", 0, {{"node 1: own", 1}}, {}),
                          cpu("node 2: sum", 1, {{"node 2: numbers", 0}}, {{"node 2: own", 0}}),
                          cpu("node 2: show", 0, {{"node 2: own", 1}}, {})},
                         {ring("node 0: numbers", 0.75, 0.125), ring("node 0: numbers (arriving)", 0, 0.25),
                          ring("node 1: numbers", 0.5, 0), ring("node 1: own", 0, 1),
                          ring("node 2: numbers", 0.5, 0.25), ring("node 2: own", 0, 1)});
  run.tunnels[1].items = run.tunnels[1].finished = 1'000;
  run.tunnels[2].items = run.tunnels[2].finished = 5'000;
  run.tunnels[4].items = run.tunnels[4].finished = 4'000;
  return run;
}

TEST(JoinedTunnels, PartsOfOneBetweenNodesAreOne) {
  RunReport const whole = joined_tunnels(run_over_nodes());
  ASSERT_EQ(whole.tunnels.size(), 3U);
  EXPECT_EQ(whole.tunnels[0].name, "numbers");
  EXPECT_EQ(whole.tunnels[0].items, 10'000U);
  EXPECT_EQ(whole.tunnels[0].finished, 10'000U);
  EXPECT_EQ(whole.tunnels[0].capacity_items, 256U);
  EXPECT_EQ(whole.tunnels[0].mean_items, 4);
  EXPECT_EQ(whole.tunnels[0].full, 0.75);
  EXPECT_EQ(whole.tunnels[0].empty, 0.25);
  EXPECT_EQ(whole.tunnels[1].name, "node 1: own");
  EXPECT_EQ(whole.stages[0].room_in[0].tunnel, "numbers");
  EXPECT_EQ(whole.stages[1].items_of[0].tunnel, "numbers");
  EXPECT_EQ(whole.stages[4].items_of[0].tunnel, "numbers");
  EXPECT_EQ(whole.stages[4].room_in[0].tunnel, "node 2: own");
}

// Several devices of node 1 have an end: from what arrives, a stage of the library's carries items to them.
TEST(JoinedTunnels, WhatStaysWithinANodeIsNoPart) {
  RunReport const whole = joined_tunnels(run_of(
      {cpu("node 0: feed", 0.1, {}, {{"node 0: numbers", 0.9}}),
       cpu("node 1: numbers (to devices)", 1, {{"node 1: numbers (between nodes)", 0}}, {{"node 1: numbers", 0}}),
       cpu("node 1: sum", 1, {{"node 1: numbers", 0}}, {})},
      {ring("node 0: numbers", 0.75, 0.125), ring("node 1: numbers", 0.5, 0.5),
       ring("node 1: numbers (between nodes)", 0, 0.25)}));
  ASSERT_EQ(whole.tunnels.size(), 2U);
  EXPECT_EQ(whole.tunnels[0].name, "numbers");
  EXPECT_EQ(whole.tunnels[0].items, ring("one", 0, 0).items);
  EXPECT_EQ(whole.tunnels[0].empty, 0.25);
  EXPECT_EQ(whole.tunnels[1].name, "node 1: numbers");
  EXPECT_EQ(whole.stages[1].items_of[0].tunnel, "numbers");
  EXPECT_EQ(whole.stages[1].room_in[0].tunnel, "node 1: numbers");
}

TEST(JoinedTunnels, OfOneProcessStayAsTheyAre) {
  RunReport const run =
      run_of({cpu("a", 1, {}, {{"node x: t", 0}}), cpu("b", 1, {{"node 3:t", 0}, {"node 4: u", 0}}, {})},
             {ring("node x: t", 0, 0), ring("node 3:t", 0, 0), ring("node 4: u", 0, 0)});
  EXPECT_EQ(to_json(joined_tunnels(run)), to_json(run));
}

// By its part alone nobody puts what `sum` gets.
TEST(Report, OfARunOverNodesNamesTheSlowStage) {
  TraceFile trace;
  trace.stats = run_over_nodes();
  Finding const slow = verdict(joined_tunnels(trace.stats));
  EXPECT_EQ(slow.kind, FindingKind::slow_stage);
  EXPECT_EQ(slow.subject, "node 1: sum");
  std::string const page = to_html(trace, "t.json");
  EXPECT_NE(page.find(escaped(slow.text)), std::string::npos);
  EXPECT_NE(page.find(">numbers<"), std::string::npos) << "in the graph";
}

/// All text of a page, and its tags, or what is not well-formed about it.
struct Parsed {
  std::string text;
  std::set<std::string> attributes;
  std::size_t tags = 0;
  std::string error;
};
Parsed parsed(std::string const& page) {
  Parsed result;
  XML_Parser const parser = XML_ParserCreate("UTF-8");
  XML_SetUserData(parser, &result);
  XML_SetStartElementHandler(parser, [](void* user, XML_Char const*, XML_Char const** attributes) {
    auto& all = *static_cast<Parsed*>(user);
    ++all.tags;
    for (; *attributes != nullptr; attributes += 2) all.attributes.insert(attributes[1]);
  });
  XML_SetCharacterDataHandler(parser, [](void* user, XML_Char const* text, int length) {
    static_cast<Parsed*>(user)->text.append(text, static_cast<std::size_t>(length));
  });
  if (XML_Parse(parser, page.data(), static_cast<int>(page.size()), 1) == XML_STATUS_ERROR)
    result.error = std::string{XML_ErrorString(XML_GetErrorCode(parser))} + " in line " +
                   std::to_string(XML_GetCurrentLineNumber(parser));
  XML_ParserFree(parser);
  return result;
}

TEST(Report, IsAWellFormedPageThatNeedsNoOther) {
  std::string const feed = "<b>&\"";
  std::string const tunnel = "]]></script>'\xc3\xa4";
  std::string const page = to_html(parse_trace("t.json", small_trace(feed, tunnel).dump()), "traces/<t>.json");
  Parsed const got = parsed(page);
  EXPECT_EQ(got.error, "");
  for (std::string const& name : {feed, tunnel, std::string{"work"}})
    EXPECT_NE(got.text.find(name), std::string::npos) << name;
  EXPECT_TRUE(got.attributes.contains("stage '" + feed + "', thread 0"));
  EXPECT_TRUE(got.attributes.contains(tunnel));
  EXPECT_NE(page.find("&lt;b&gt;&amp;&quot;"), std::string::npos);
  EXPECT_NE(page.find("<h1>&lt;t&gt;.json</h1>"), std::string::npos);
  EXPECT_NE(got.text.find("From traces/<t>.json, hiway 0.1.0."), std::string::npos);
  EXPECT_EQ(page.find(feed), std::string::npos);
  EXPECT_EQ(page.find(tunnel), std::string::npos);
  for (char const* outside : {"http", "src=", "@import", "url(//"})
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  EXPECT_NE(got.text.find("Stage 'work' is the bottleneck: it is busy 97 % of the time"), std::string::npos);
  EXPECT_NE(got.text.find("stall: no progress for 505 ms"), std::string::npos);
}

TEST(Report, SaysTheErrorOfItsRun) {
  Json trace = small_trace();
  trace["hiway"]["error"] = "stage 'work' threw: <no>";
  EXPECT_NE(parsed(to_html(parse_trace("t.json", trace.dump()), "t")).text.find("stage 'work' threw: <no>"),
            std::string::npos);
}

TEST(Report, StaysSmallWithManySlicesAndSamples) {
  Json json = small_trace();
  TraceFile trace = parse_trace("t.json", json.dump());
  trace.tracks.clear();
  std::mt19937_64 random{1};
  for (int t = 0; t != 16; ++t) {
    Track track{Track::Place::cpu, "thread " + std::to_string(t), "work", {{0, 1e6, Activity::stage, -1}}};
    for (int i = 0; i != 20'000; ++i) {
      double const at = i * 50 + static_cast<double>(random() % 10);
      track.slices.push_back(
          {at, at + 5 + static_cast<double>(random() % 35), i % 3 == 0 ? Activity::get : Activity::put, 0});
    }
    trace.tracks.push_back(std::move(track));
  }
  trace.samples[0].clear();
  for (int i = 0; i != 100'000; ++i) trace.samples[0].push_back({i * 10.0, static_cast<double>(random() % 64), 0});
  std::string const page = to_html(trace, "t");
  EXPECT_LT(page.size(), 3'000'000U);
  EXPECT_EQ(parsed(page).error, "");
}

TEST(Report, OfAnEmptyRunIsAPage) {
  TraceFile const nothing;
  EXPECT_EQ(parsed(to_html(nothing, "t")).error, "");
}

// What names may hold is no markup, and no XML either: controls, noncharacters, ends of scripts.
TEST(Report, OfOddNamesIsAPage) {
  for (std::string const& name : {std::string("a\0\x1b\r\n\x7f z", 8), std::string("</script><b>&amp;]]>\"'"),
                                  std::string("\uffff\ufffe\u0085\U0001f600"), std::string(65'536, 'n')}) {
    TraceFile trace;
    trace.stats =
        run_of({cpu(name, 0.9, {}, {{name, 0.1}}), cpu(name + "2", 0.1, {{name, 0.9}}, {})}, {ring(name, 0.5, 0)});
    trace.samples.resize(1);
    trace.error = name;
    trace.moments.push_back({1, "spill", name});
    std::string const page = to_html(trace, "caf\xe9.json");
    EXPECT_EQ(parsed(page).error, "") << name.substr(0, 100);
    EXPECT_LT(page.size(), 3'000'000U);
  }
}

TEST(Html, WritesNumbersForPeople) {
  EXPECT_EQ(time_text(0), "0 \u00b5s");
  EXPECT_EQ(time_text(12.34), "12.3 \u00b5s");
  EXPECT_EQ(time_text(999.6), "1 ms");
  EXPECT_EQ(time_text(1'500'000), "1.5 s");
  EXPECT_EQ(count_text(1'234'567), "1\u202f234\u202f567");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(number_text(0.01234), "0.012");
  EXPECT_EQ(percent_text(-1), "\u2013");
  EXPECT_EQ(bytes_text(64), "64 B");
  EXPECT_EQ(bytes_text(2'560'000), "2.56 MB");
  EXPECT_EQ(shortened("\u00e4\u00e4\u00e4\u00e4", 3), "\u00e4\u00e4\u2026");
  EXPECT_EQ(shortened("abc", 3), "abc");
}

}  // namespace
