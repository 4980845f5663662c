// Command lines of the program, changed at random: each is taken, or refused in one line. Applications load their
// input, and do not run.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/all_apps.hpp"
#include "cli/commands.hpp"
#include "cli/program.hpp"
#include "tests/apps/files.hpp"
#include "tests/fuzz/mutation.hpp"
#include "tests/fuzz/outcome.hpp"

namespace hiway_tests {
namespace {

using cli::Apps;

class Loads final : public cli::App {
 public:
  explicit Loads(std::unique_ptr<cli::App> app) : app_(std::move(app)) {}
  std::string name() const override { return app_->name(); }
  std::string summary() const override { return app_->summary(); }
  std::vector<std::string> methods() const override { return app_->methods(); }
  void add_options(cli::Options& command) override { app_->add_options(command); }
  std::vector<std::string> load(std::uint64_t seed) override { return app_->load(seed); }
  cli::MethodRun run(std::string const&, cli::RunRequest const&) override {
    cli::MethodRun run;
    run.device = "cpu";
    run.verified = true;
    run.seconds = {0.5};
    return run;
  }
  std::string graph(std::string const&) override { return "digraph {}\n"; }

 private:
  std::unique_ptr<cli::App> app_;
};

Apps all_loads() {
  Apps apps;
  for (auto& app : cli::all_apps()) apps.push_back(std::make_unique<Loads>(std::move(app)));
  return apps;
}

/// What is written to a stream while it lives.
class Written {
 public:
  explicit Written(std::ostream& stream) : stream_(stream), before_(stream.rdbuf(text_.rdbuf())) {}
  ~Written() { stream_.rdbuf(before_); }
  Written(Written const&) = delete;
  Written& operator=(Written const&) = delete;
  [[nodiscard]] std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::ostream& stream_;
  std::streambuf* before_;
};

std::vector<std::string> option_names(cli::App& app) {
  cli::Options command;
  app.add_options(command);
  std::vector<std::string> names{"--device", "--method", "--repeat", "--verify", "--json", "--trace",
                                 "--stats",  "--watch",  "--seed",   "--pinned", "--help"};
  for (std::string& name : command.names()) names.push_back(std::move(name));
  return names;
}

class FuzzOptions : public Files {
 protected:
  // What a mutated name is written to lies in the test's folder.
  FuzzOptions() : before_(std::filesystem::current_path()) { std::filesystem::current_path(path("")); }
  ~FuzzOptions() override {
    std::filesystem::current_path(before_);
    for (char const* name : {"HIWAY_TRACE", "HIWAY_STATS", "HIWAY_WATCH"}) unsetenv(name);
  }

  /// The words after `hiway`. Numbers are small or invalid, so nothing large is loaded.
  static std::vector<std::string> words(Mutation& mutation, Apps const& apps) {
    static std::array const commands{"run",   "run",       "run",    "run",    "run",     "run",
                                     "graph", "plan",      "plan",   "report", "devices", "list",
                                     "bench", "--version", "--help", "-x",     "",        "ran"};
    static std::array const values{"0",         "1",          "2",
                                   "3",         "17",         "64",
                                   "-1",        "9999999999", "99999999999999999999999",
                                   "0.5",       "1.25",       "-0.5",
                                   "nan",       "inf",        "1e3",
                                   "1e999",     "0x10",       "",
                                   "x",         "N=2",        "=",
                                   "N=",        "N",          "on",
                                   "off",       "hiway",      "reference",
                                   "simt",      "cuda:",      "cpu",
                                   "group",     "dense",      "tunnel",
                                   "hiway,,x",  "reference,", "64MiB",
                                   "-",         "--",         "absent",
                                   ".",         "a.fa",       "a.obj",
                                   "plan.json", "out.png",    "absent/x.json",
                                   "\xff\xfe",  "two\nlines", "\x1b[1m"};
    static std::array const plan_options{"--memory", "--param",    "--front",  "--json",
                                         "--dot",    "--symbolic", "--degree", "--certificate"};
    std::vector<std::string> words;
    std::string const command = mutation.one_of(commands);
    words.push_back(command);
    std::vector<std::string> names{"--help", "--device"};
    if (command == "run" || command == "graph") {
      cli::App& app = *mutation.one_of(apps);
      words.push_back(mutation.below(16) == 0 ? "none" : app.name());
      if (command == "run") names = option_names(app);
    } else if (command == "plan") {
      words.push_back(mutation.below(4) == 0 ? mutation.one_of(values) : "plan.json");
      names.assign(plan_options.begin(), plan_options.end());
    } else if (command == "report") {
      words.push_back(mutation.one_of(values) == std::string{"-"} ? "absent" : mutation.one_of(values));
      names = {"-o", "--out"};
      if (words.back() == "-") words.back() = "a.fa";  // stdin is not this test's
    }
    for (std::size_t n = mutation.below(5); n > 0; --n) {
      std::string name = mutation.one_of(names);
      if (mutation.below(16) == 0) name += mutation.one_of(values);
      std::string const value = mutation.one_of(values);
      if (mutation.below(8) == 0) {
        words.push_back(name + "=" + value);
        continue;
      }
      words.push_back(name);
      if (mutation.below(8) != 0) words.push_back(value);
    }
    return words;
  }

 private:
  std::filesystem::path before_;
};

TEST_F(FuzzOptions, EachCommandLineIsTakenOrRefusedInOneLine) {
  plain("a.fa", ">x\nACGTACGTACGTACGTACGTACGTACGTACGT\n");
  plain("a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
  plain("plan.json", R"({"params": {"N": 3}, "streams": [{"name": "s", "elem_bytes": 4}], "body": [
 {"for": "i", "from": 0, "to": "N", "body": [{"task": "t", "ops": [{"stream": "s", "write": 1}]}]}]})");
  Outcomes outcomes{"options"};
  outcomes.each([&](std::uint64_t seed) {
    Apps const apps = all_loads();
    Mutation mutation{seed};
    std::vector<std::string> const words = FuzzOptions::words(mutation, apps);
    std::vector<char const*> argv{"hiway"};
    std::string line;
    for (std::string const& word : words) {
      argv.push_back(word.c_str());
      line += " '" + word + "'";
    }
    int code = 0;
    std::string complaint;
    {
      Written const out{std::cout};
      Written const errors{std::cerr};
      code = cli::run_program(static_cast<int>(argv.size()), argv.data(), cli::all_commands(apps, {}));
      complaint = errors.text();
    }
    bool const is_plan = words.front() == "plan";  // whose verdicts are 1 and 3
    EXPECT_TRUE(code == 0 || code == 2 || (is_plan && (code == 1 || code == 3))) << code << line << ": " << complaint;
    if (code != 2) return;
    EXPECT_TRUE(complaint.starts_with("hiway: ") && complaint.ends_with('\n')) << line << ": " << complaint;
    complaint.pop_back();
    throw cli::BadInput{complaint};
  });
}

}  // namespace
}  // namespace hiway_tests
