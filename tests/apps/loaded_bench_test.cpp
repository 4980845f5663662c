// bench loaded: processes that spin and never outlive it, turns that may take too long, and what it makes of the times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bench/benches.hpp"
#include "bench/spinning.hpp"
#include "bench/turn_limit.hpp"
#include "cli/bad_input.hpp"
#include "hiway/cpus.hpp"
#include "tests/apps/stand_in.hpp"

namespace bench {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// The spinning processes of this program are this program.
[[gnu::constructor]] void spin_before_main(int argc, char** argv) { spin_where_asked(argc, argv); }

bool comes_true(auto const& condition) {
  auto const until = std::chrono::steady_clock::now() + 20s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

/// The words of /proc/PID/stat from the state on; none for a process that is gone.
std::vector<std::string> stat_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  std::size_t const name_end = line.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream words(line.substr(name_end + 1));
  return {std::istream_iterator<std::string>(words), {}};
}
bool is_gone(pid_t pid) {
  std::vector<std::string> const stat = stat_of(pid);
  return stat.empty() || stat[0] == "Z";  // nobody may have collected it
}
/// In clock ticks.
unsigned long cpu_time_of(pid_t pid) {
  std::vector<std::string> const stat = stat_of(pid);
  return stat.size() > 11 ? std::stoul(stat[11]) : 0;
}

TEST(SpinningProcesses, UseCpusUntilTheObjectGoes) {
  std::vector<pid_t> pids;
  {
    SpinningProcesses const spinning(2);
    pids.assign(spinning.pids().begin(), spinning.pids().end());
    ASSERT_THAT(pids, SizeIs(2));
    EXPECT_TRUE(spinning.all_spin());
    for (pid_t const pid : pids) EXPECT_TRUE(comes_true([&] { return cpu_time_of(pid) >= 5; })) << pid;
  }
  for (pid_t const pid : pids) EXPECT_TRUE(stat_of(pid).empty()) << pid << " is left";
}

/// Makes three, tells their ids, and stands still until it is killed.
[[noreturn]] void spin_and_pause(int tell) {
  SpinningProcesses const spinning(3);
  std::size_t const bytes = spinning.pids().size_bytes();
  if (write(tell, spinning.pids().data(), bytes) != static_cast<ssize_t>(bytes)) _exit(1);
  for (;;) pause();
}

TEST(SpinningProcesses, EndWithAParentThatIsKilled) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  pid_t const parent = fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) spin_and_pause(ends[1]);
  std::vector<pid_t> pids(3);
  ASSERT_EQ(read(ends[0], pids.data(), 3 * sizeof(pid_t)), static_cast<ssize_t>(3 * sizeof(pid_t)));
  for (pid_t const pid : pids) EXPECT_FALSE(is_gone(pid));
  ASSERT_EQ(kill(parent, SIGKILL), 0);
  ASSERT_EQ(waitpid(parent, nullptr, 0), parent);
  for (pid_t const pid : pids) {
    EXPECT_TRUE(comes_true([&] { return is_gone(pid); })) << pid << " is left";
    (void)kill(pid, SIGKILL);
  }
  close(ends[0]);
  close(ends[1]);
}

TEST(SpinningProcesses, OneThatEndsIsMissed) {
  SpinningProcesses const spinning(2);
  ASSERT_EQ(kill(spinning.pids()[1], SIGKILL), 0);
  EXPECT_TRUE(comes_true([&] { return !spinning.all_spin(); }));
}

TEST(SpinningProcesses, WhatCannotBeStartedIsSaidInOneLine) {
  auto const said = [](std::string const& program) -> std::string {
    try {
      SpinningProcesses const spinning(2, program);
    } catch (std::runtime_error const& error) {
      return error.what();
    }
    return "they spin";
  };
  EXPECT_EQ(said("/nowhere/spin"), "2 spinning processes cannot be started: /nowhere/spin: No such file or directory");
  EXPECT_EQ(said("/bin/true"), "2 spinning processes cannot be started: only 0 of them began to spin");
  EXPECT_LT(waitpid(-1, nullptr, WNOHANG), 0) << "a child is left";
}

Turn right_turn(double value) { return {value, true}; }
auto in(std::chrono::milliseconds time) { return TurnLimit::Clock::now() + time; }

TEST(TurnLimit, GivesWhatATurnReturnsOrThrows) {
  TurnLimit limit;
  Turn const turn = limit.run([] { return right_turn(7); }, in(60s));
  EXPECT_TRUE(turn.right && turn.ended);
  EXPECT_EQ(turn.value, 7);
  EXPECT_FALSE(limit.goes_on());
  EXPECT_THROW((void)limit.run([]() -> Turn { throw std::out_of_range("of a turn"); }, in(60s)), std::out_of_range);
}

TEST(TurnLimit, BeginsNoOtherUntilALateTurnHasEnded) {
  TurnLimit limit;
  std::atomic<bool> may_end = false;
  std::atomic<bool> has_ended = false;
  Turn const late = limit.run(
      [&] {
        while (!may_end) std::this_thread::sleep_for(1ms);
        has_ended = true;
        return right_turn(1);
      },
      in(50ms));
  EXPECT_FALSE(late.right || late.ended);
  EXPECT_EQ(late.wrong, "not ended when the row's time was up");
  EXPECT_EQ(limit.run([] { return right_turn(2); }, in(60s)).wrong, "not run: an earlier turn has not ended");
  std::jthread const later([&] {
    std::this_thread::sleep_for(50ms);
    may_end = true;
  });
  limit.let_it_end(in(60s));
  Turn const next = limit.run([&] { return Turn{2, has_ended, "it did not wait"}; }, in(60s));
  EXPECT_TRUE(next.right && next.ended) << next.wrong;
  EXPECT_EQ(limit.run([] { return right_turn(3); }, in(-1ms)).wrong, "the row's time is up");
}

TEST(TurnLimit, GivesUpOnATurnThatNeverEnds) {
  TurnLimit limit;
  std::atomic<bool> may_end = false;
  auto const never = [&] {
    while (!may_end) std::this_thread::sleep_for(1ms);
    return right_turn(1);
  };
  (void)limit.run(never, in(20ms));
  limit.let_it_end(in(20ms));
  limit.let_it_end(in(1h));  // it has been waited for
  EXPECT_TRUE(limit.goes_on());
  may_end = true;
  EXPECT_TRUE(comes_true([&] { return !limit.goes_on(); }));
  EXPECT_TRUE(limit.run([] { return right_turn(3); }, in(60s)).right);
}

TEST(TurnLimitDeathTest, AProgramEndsWithoutATurnThatNeverDoes) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        static std::atomic<int> turns = 0;
        static struct Waits {  // as a device's library might
          ~Waits() {
            while (turns >= 0) std::this_thread::sleep_for(1ms);
          }
        } const waits;
        TurnLimit limit;
        (void)limit.run(
            []() -> Turn {
              for (;;) turns = 1;
            },
            in(20ms));
        std::exit(0);
      },
      testing::ExitedWithCode(EXIT_FAILURE), "");
}

/// Rows of the applications alone, whose stand-ins take 4 ms, by their baselines 12.
struct Bed {
  std::vector<Asked> asked{};
  std::string wrong{};  ///< the application that is
  std::function<void(std::string const& method)> meanwhile{};

  std::unique_ptr<Bench> make(std::string const& arguments) {
    auto bench = make_loaded([this] {
      std::vector<std::unique_ptr<cli::App>> apps;
      for (char const* app : {"stencil", "gene-alignment", "evolutionary-program", "reyes"})
        apps.push_back(std::make_unique<StandIn>(app, asked, app != wrong, meanwhile));
      return apps;
    });
    take_arguments(*bench, arguments);
    return bench;
  }
  std::vector<Row> run(std::string const& arguments) {
    return make(arguments)->run({.device = "simt", .repeat = 2, .small = false, .ran = {}});
  }
};

TEST(LoadedBench, HasARowForEachWorkAndLevel) {
  std::vector<Row> const rows = Bed().run("--levels 0,1/2,2 --trips 5");
  EXPECT_THAT(first_wrong(rows), IsEmpty());
  unsigned const cpus = hiway::available_cpus();
  std::vector<std::string> works;
  std::vector<unsigned> spinning;
  for (Row const& row : rows) {
    works.push_back(row.what["work"]);
    spinning.push_back(row.what["spinning"]);
    EXPECT_EQ(row.what["cpus"], cpus);
  }
  ASSERT_THAT(works, SizeIs(12));
  EXPECT_EQ(works[0], "gene-alignment");
  EXPECT_EQ(works[3], "evolutionary-program");
  EXPECT_EQ(works[6], "reyes");
  EXPECT_EQ(works[9], "round-trip");
  for (std::size_t work = 0; work != 12; work += 3) {
    EXPECT_EQ(spinning[work], 0U);
    EXPECT_EQ(spinning[work + 1], (cpus + 1) / 2);
    EXPECT_EQ(spinning[work + 2], 2 * cpus);
  }
  EXPECT_EQ(rows[1].what["load"], "1/2");
  EXPECT_EQ(rows[0].what["command"], "hiway run gene-alignment --target-length 65536 --query-length 1024");
}

TEST(LoadedBench, StandsBesideTheBaselineAndBesideAnIdleMachine) {
  std::vector<Row> const rows = Bed().run("--levels 1/2,0 --trips 5");
  ASSERT_THAT(rows, SizeIs(8));
  for (std::size_t i = 0; i != 6; ++i) {
    EXPECT_EQ(rows[i].beside, "baseline");
    EXPECT_EQ(rows[i].measured[0].variant, "hiway");
    EXPECT_NEAR(*rows[i].measured[0].ratio, 3, 1e-9);
    EXPECT_THAT(rows[i].measured[0].values, SizeIs(2));
    for (Measured const& measured : rows[i].measured) EXPECT_EQ(measured.facts["times_idle"], 1.0);
  }
  for (Measured const& measured : rows[7].measured) {  // idle
    EXPECT_EQ(measured.facts["times_idle"], 1.0);
    EXPECT_EQ(measured.facts["p99_times_idle"], 1.0);
    EXPECT_TRUE(measured.facts.contains("longest_us"));
  }
  EXPECT_FALSE(Bed().run("--levels 1/2 --only reyes")[0].measured[0].facts.contains("times_idle"));
}

TEST(LoadedBench, RunsTheReferenceOnceBeforeAnythingSpins) {
  Bed bed;
  (void)bed.run("--levels 1 --only reyes");
  std::vector<std::string> methods;
  for (Asked const& asked : bed.asked) methods.push_back(asked.method);
  EXPECT_THAT(methods, ElementsAre("reference", "hiway", "baseline", "hiway", "baseline", "hiway", "baseline"));
  EXPECT_EQ(bed.asked[1].sizes, "--width 1280 --height 720 --pictures 30 ");
}

TEST(LoadedBench, IsSmallWhereItIsAsked) {
  Bed bed;
  std::vector<Row> const rows = bed.run("--quick");
  EXPECT_THAT(first_wrong(rows), IsEmpty());
  EXPECT_THAT(rows, SizeIs(8));
  for (Asked const& asked : bed.asked) EXPECT_THAT(asked.sizes, IsEmpty());
}

TEST(LoadedBench, SaysWhichResultDiffers) {
  EXPECT_THAT(first_wrong(Bed{.wrong = "reyes"}.run("--levels 0,1/2 --trips 5")),
              testing::AllOf(HasSubstr("reyes"), HasSubstr("differs from the serial reference")));
}

TEST(LoadedBench, ARowThatTakesTooLongSaysSoAndTheNextIsMeasured) {
  std::atomic<int> runs = 0;
  Bed bed{.meanwhile = [&](std::string const& method) {
    if (method == "hiway" && ++runs == 2) std::this_thread::sleep_for(1500ms);
  }};
  std::vector<Row> const rows = bed.run("--levels 0,1/2 --only reyes --limit-s 1");
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_FALSE(rows[0].measured[0].right);
  EXPECT_EQ(rows[0].measured[0].wrong, "not ended when the row's time was up");
  EXPECT_THAT(rows[0].measured[0].values, IsEmpty());
  EXPECT_THAT(first_wrong({rows[1]}), IsEmpty());
  EXPECT_THAT(rows[1].measured[0].values, SizeIs(2));
}

TEST(LoadedBench, ASpinningProcessThatEndsTakesItsRowBack) {
  Bed bed{.meanwhile = [](std::string const& method) {
    if (method != "hiway") return;
    std::ifstream children("/proc/" + std::to_string(getpid()) + "/task/" + std::to_string(getpid()) + "/children");
    for (pid_t pid = 0; children >> pid;) (void)kill(pid, SIGKILL);
    std::this_thread::sleep_for(20ms);
  }};
  std::vector<Row> const rows = bed.run("--levels 0,1 --only reyes");
  EXPECT_THAT(first_wrong({rows[0]}), IsEmpty());
  EXPECT_THAT(first_wrong({rows[1]}), HasSubstr("a spinning process ended meanwhile"));
}

TEST(LoadedBench, WrongOptionsAreNamed) {
  auto const refused = [](std::string const& arguments, char const* text) {
    try {
      (void)Bed().make(arguments);
      FAIL() << "taken: " << arguments;
    } catch (cli::BadInput const& error) {
      EXPECT_THAT(error.what(), HasSubstr(text));
    }
  };
  refused("--only blast", "--only: no work blast");
  for (char const* level : {"half", "1/", "/2", "1/0", "1/65", "9", "-1", "1/2/3", "0.5"})
    refused(std::string("--levels=0,") + level, (std::string("--levels: 0 to 8, as 2 or 3/4, not ") + level).c_str());
  refused("--trips 1000001", "--trips: at most 1000000");
  refused("--limit-s 0", "--limit-s: 1 to 3600");
  refused("--limit-s 3601", "--limit-s: 1 to 3600");
}

}  // namespace
}  // namespace bench
