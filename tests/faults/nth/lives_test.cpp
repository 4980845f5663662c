// Lives of random pipelines: made, started, ended in every way, run again, destroyed. In two of three lives one
// allocation or thread start fails, wherever it falls. Meanwhile two threads call stats() and graph() of whatever
// pipeline lives. HIWAY_CYCLES: how many lives; HIWAY_SEED: the first one's seed. HIWAY_SEED=n HIWAY_CYCLES=1 replays
// one.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include "hiway/hiway.hpp"
#include "hiway/log.hpp"
#include "tests/device.hpp"
#include "tests/environment.hpp"
#include "tests/faults/nth/interpose.hpp"
#include "tests/faults/nth/named.hpp"
#include "tests/faults/nth/watchdog.hpp"
#include "tests/soak/random_pipeline.hpp"
#include "tests/soak/resident_memory.hpp"

namespace {

using namespace hiway_tests;
using hiway::Pipeline;
using std::chrono::microseconds;
using std::chrono::steady_clock;

enum class End : std::uint8_t {
  by_itself,
  by_abort,
  by_abort_while_waited_for,
  by_deadline,
  by_a_stage,
  by_destructor
};
constexpr std::array end_names{"ends by itself", "is aborted",       "is aborted while it is waited for",
                               "has a deadline", "fails in a stage", "is destroyed under way"};

/// What a seed says of a life.
struct Life {
  explicit Life(std::uint64_t number) : seed(number), spec(Generator(number, 200)()) {
    std::mt19937_64 random(number);
    end = static_cast<End>(random() % end_names.size());
    moment = microseconds(random() % 1000);
    config = bounded(std::chrono::seconds(30));
    if (end == End::by_deadline) config.deadline = std::chrono::milliseconds(1 + random() % 2);
    for (StageSpec& s : spec.stages) {
      if (end == End::by_a_stage) s.rule.fails_of = 1 + static_cast<std::uint32_t>(random() % 100);
    }
    std::uint64_t const kind =
        random() % 6;  // two lives without a failure, three with an allocation's, one with a thread's
    if (kind > 1) fails = kind == 5 ? nth::Resource::thread : nth::Resource::memory;
    which =
        fails == nth::Resource::thread ? 1 + random() % 16 : 1 + random() % (std::uint64_t{1} << (5 + random() % 7));
    fails_while_made = random() % 8 == 0;
    lookers_fail = random() % 8 == 0;
    runs = random() % 4 == 0 ? 2 : 1;
  }
  [[nodiscard]] std::string text() const {
    return "HIWAY_SEED=" + std::to_string(seed) + " HIWAY_CYCLES=1, a life that " + end_names[static_cast<int>(end)] +
           (fails ? *fails == nth::Resource::thread ? ", thread " : ", allocation " : "") +
           (fails ? std::to_string(which) + " fails" : "") + (fails_while_made ? ", counted from its making" : "");
  }

  std::uint64_t seed;
  PipelineSpec spec;
  hiway::PipelineConfig config{};
  End end{};
  microseconds moment{};
  std::optional<nth::Resource> fails{};
  std::uint64_t which = 0;
  bool fails_while_made = false;
  bool lookers_fail = false;  ///< what they ask for counts and fails, too
  int runs = 1;
};

/// A thread that looks at the pipeline it is shown, again and again.
class Looker {
 public:
  Looker() : thread_([this](std::stop_token const& stop) { look(stop); }) {}

  /// *Lifetime*: the pipeline stays until hide().
  void show(Pipeline& pipe, bool spared) {
    std::scoped_lock const lock(mutex_);
    shown_ = &pipe;
    spared_ = spared;
  }
  void hide() {
    std::scoped_lock const lock(mutex_);
    shown_ = nullptr;
  }
  [[nodiscard]] std::uint64_t looks() {
    std::scoped_lock const lock(mutex_);
    return looks_;
  }
  /// What was wrong with something it saw since it was last asked, or nothing.
  [[nodiscard]] std::string wrong() {
    std::scoped_lock const lock(mutex_);
    return std::exchange(wrong_, {});
  }

 private:
  void look(std::stop_token const& stop) {
    for (unsigned turn = 0; !stop.stop_requested(); ++turn) {
      {
        std::scoped_lock const lock(mutex_);
        if (shown_ != nullptr) look_at(*shown_, turn % 4 == 0);
      }
      std::this_thread::sleep_for(microseconds(100 + turn * 37 % 500));
    }
  }
  void look_at(Pipeline& pipe, bool at_graph) {
    ++looks_;
    std::optional<nth::Spared> spared;
    if (spared_) spared.emplace();
    try {
      if (at_graph) {
        if (pipe.graph().starts_with("digraph pipeline {")) return;
        wrong_ = "no graph";
      } else {
        hiway::RunReport const now = pipe.stats();
        for (hiway::TunnelReport const& t : now.tunnels) {
          if (t.name.empty()) wrong_ = "stats() of a tunnel without a name";
        }
      }
    } catch (std::bad_alloc const&) {
      nth::Spared const spared_too;
      if (spared_) wrong_ = "stats() without memory";
    } catch (std::exception const& e) {
      nth::Spared const spared_too;
      wrong_ = std::string("a look: ") + e.what();
    }
  }

  std::mutex mutex_;
  Pipeline* shown_ = nullptr;
  bool spared_ = true;
  std::uint64_t looks_ = 0;
  std::string wrong_;
  std::jthread thread_;
};

/// How the lives went.
struct Tally {
  std::uint64_t runs = 0;
  std::uint64_t ended_well = 0;
  std::uint64_t fired = 0;   ///< what was to fail was asked for
  std::uint64_t errors = 0;  ///< that came of it
  std::array<std::uint64_t, end_names.size()> ends{};

  friend std::ostream& operator<<(std::ostream& out, Tally const& t) {
    out << t.runs << " runs, " << t.ended_well << " ended well; " << t.fired << " failures met, " << t.errors
        << " errors of them";
    for (std::size_t e = 0; e < end_names.size(); ++e)
      out << (e == 0 ? "; of a life that " : ", ") << end_names[e] << " " << t.ends[e];
    return out;
  }
};

class Lives {
 public:
  /// What was wrong with it, or nothing.
  std::string live(Life const& life) {
    ++tally_.ends[static_cast<std::size_t>(life.end)];
    std::vector<Seen> const expected = expected_of(life.spec);
    std::unique_ptr<RandomPipeline> made;
    std::string wrong = live(life, expected, made);
    for (Looker& looker : lookers_) looker.hide();
    made.reset();
    nth::end();
    tally_.fired += life.fails && nth::has_failed() ? 1 : 0;
    for (Looker& looker : lookers_) {
      if (std::string const of_look = looker.wrong(); wrong.empty() && !of_look.empty()) wrong = of_look;
    }
    return wrong;
  }
  [[nodiscard]] Tally const& tally() const { return tally_; }
  [[nodiscard]] std::uint64_t looks() { return lookers_[0].looks() + lookers_[1].looks(); }

 private:
  std::string live(Life const& life, std::vector<Seen> const& expected, std::unique_ptr<RandomPipeline>& made) {
    if (life.fails && life.fails_while_made) nth::begin(*life.fails, life.which);
    try {
      made = build(life.spec, life.config);
    } catch (std::exception const& e) {
      nth::Spared const spared;
      bool const fired = life.fails && nth::has_failed();
      tally_.errors += fired ? 1 : 0;
      return fired ? "" : std::string("it was not made: ") + e.what();
    }
    if (!life.fails_while_made && life.fails) nth::begin(*life.fails, life.which);
    for (Looker& looker : lookers_) looker.show(made->pipeline(), !life.lookers_fail);
    for (int run = 1; run <= life.runs; ++run) {
      std::optional<std::string> const error = run_once(life, made->pipeline());
      nth::Spared const spared;
      if (life.end == End::by_destructor && !error) return "";
      std::string const wrong = wrong_with(life, expected, *made, error);
      if (!wrong.empty()) return "run " + std::to_string(run) + ": " + wrong;
      made->forget_seen();
    }
    return "";
  }

  std::optional<std::string> run_once(Life const& life, Pipeline& pipe) {
    ++tally_.runs;
    std::jthread aborter;
    try {
      if (life.end == End::by_abort_while_waited_for) {
        nth::Spared const spared;
        aborter = std::jthread([&] {
          std::this_thread::sleep_for(life.moment);
          pipe.abort();
        });
      }
      pipe.start();
      if (life.end == End::by_abort || life.end == End::by_destructor) std::this_thread::sleep_for(life.moment);
      if (life.end == End::by_abort) pipe.abort();
      if (life.end == End::by_destructor) return std::nullopt;
      pipe.wait();
      return std::nullopt;
    } catch (std::exception const& e) {
      nth::Spared const spared;
      return e.what();
    }
  }

  std::string wrong_with(Life const& life, std::vector<Seen> const& expected, RandomPipeline& made,
                         std::optional<std::string> const& error) {
    if (!error) {
      ++tally_.ended_well;
      return made.seen() == expected ? "" : "it ended as if it had been right, and it was not";
    }
    bool const aborted = life.end == End::by_abort || life.end == End::by_abort_while_waited_for;
    if (aborted && *error == "the pipeline was aborted") return "";
    if (life.end == End::by_deadline && error->starts_with("the deadline of ")) return "";
    if (life.end == End::by_a_stage && error->find("planted") != std::string::npos) return "";
    if (!life.fails || !nth::has_failed()) return "nothing was to fail, and: " + one_line(*error);
    ++tally_.errors;
    return nth::names_something(*error) ? "" : "it names nothing: " + one_line(*error);
  }

  Tally tally_;
  std::array<Looker, 2> lookers_;
};

TEST(LivesWithFaults, EndRightOrWithAnErrorThatNamesSomething) {
  hiway::set_log_sink([](hiway::LogLevel, std::string_view) {});
  std::uint64_t const first = from_environment("HIWAY_SEED", 1);
  std::uint64_t const cycles = from_environment("HIWAY_CYCLES", 300);
  auto const began = steady_clock::now();
  auto const until = began + std::chrono::seconds(std::getenv("HIWAY_CYCLES") == nullptr ? 20 : 1000000);
  Lives lives;
  unsigned wrong = 0;
  Memory warm;
  std::uint64_t done = 0;
  for (; done < cycles && steady_clock::now() < until && wrong < 20; ++done) {
    Life const life(first + done);
    nth::Watchdog const watchdog(life.text());
    if (done == cycles / 4) warm = Memory::now();
    if (std::string const what = lives.live(life); !what.empty()) {
      ++wrong;
      ADD_FAILURE() << life.text() << ": " << what << " (" << line_of(life.spec) << ")";
    }
    if (done % 5000 == 4999) std::cout << "lives: " << done + 1 << ", " << Memory::now() << std::endl;
  }
  Memory const last = Memory::now();
  std::cout << "lives: " << done << " of seeds " << first << " to " << first + done - 1 << " in "
            << std::chrono::duration<double>(steady_clock::now() - began).count() << " s, " << wrong << " wrong; "
            << lives.tally() << "; " << lives.looks() << " looks; " << last << ", when warm " << warm << std::endl;
#if !defined(HIWAY_SANITIZED)  // sanitizers keep freed memory
  EXPECT_LE(last.resident, warm.resident + (std::int64_t{4} << 20));
  EXPECT_LE(last.outside_heaps(), warm.outside_heaps() + (std::int64_t{1} << 20));
  EXPECT_LE(last.in_use, warm.in_use + (std::int64_t{1} << 18));
#endif
  hiway::set_log_sink({});
}

}  // namespace
