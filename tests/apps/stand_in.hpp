// An application that computes nothing, for the tests of benches that run applications.
#pragma once
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/bench.hpp"
#include "cli/app.hpp"

namespace bench {

/// What a stand-in was asked.
struct Asked {
  std::string app;
  std::string method;
  cli::Scheme scheme;
  std::string sizes;
  bool pinned;
};

/// Takes the application's options, and 12 ms by its baseline, 4 ms else. Two tunnels took it, with claims that were
/// shared.
class StandIn final : public cli::App {
 public:
  StandIn(std::string name, std::vector<Asked>& asked, bool right,
          std::function<void(std::string const& method)> meanwhile = {})
      : name_(std::move(name)), asked_(asked), right_(right), meanwhile_(std::move(meanwhile)) {}
  std::string name() const override { return name_; }
  std::string summary() const override { return {}; }
  std::vector<std::string> methods() const override { return {"hiway", "baseline"}; }
  void add_options(cli::Options& command) override {
    for (auto& [option, value] : values_) command.add_option(option, value, "a size");
  }
  std::vector<std::string> load(std::uint64_t) override {
    for (auto const& [option, value] : values_) {
      if (value) sizes_ += option + " " + *value + " ";
    }
    return {};
  }
  cli::MethodRun run(std::string const& method, cli::RunRequest const& request) override {
    asked_.push_back({name_, method, request.job.scheme, sizes_, request.job.pinned});
    if (meanwhile_) meanwhile_(method);
    cli::MethodRun run;
    run.verified = right_ && request.verify;
    run.seconds.assign(request.job.repeat, method == "baseline" ? 0.012 : seconds_);
    run.tunnels.resize(2);
    for (std::uint64_t i = 0; i < 2; ++i) {
      run.tunnels[i].items = 10 + 10 * i;
      run.tunnels[i].put_groups = 2 + i;
      run.tunnels[i].get_groups = 3 + i;
    }
    return run;
  }
  std::string graph(std::string const&) override { return {}; }
  void set_seconds(double seconds) { seconds_ = seconds; }

 private:
  std::string name_;
  std::vector<Asked>& asked_;
  std::vector<std::pair<std::string, std::optional<std::string>>> values_{
      {"--target-length", {}}, {"--query-length", {}},  {"--population", {}}, {"--generations", {}}, {"--width", {}},
      {"--height", {}},        {"--pictures", {}},      {"--image", {}},      {"--compute", {}},     {"--frames", {}},
      {"--cross", {}},         {"--split", {}},         {"--placement", {}},  {"--graph", {}},       {"--scale", {}},
      {"--blocks", {}},        {"--block-samples", {}}, {"--taps", {}},       {"--bytes", {}},       {"--pixels", {}},
      {"--colours", {}},       {"--options", {}},       {"--points", {}},     {"--features", {}},    {"--clusters", {}},
      {"--places", {}},        {"--nodes", {}},         {"--rounds", {}},     {"--keys", {}}};
  double seconds_ = 0.004;
  std::string sizes_;
  bool right_;
  std::function<void(std::string const& method)> meanwhile_;  // in each run
};

/// The bench's options are those of the command line `arguments`.
inline void take_arguments(Bench& bench, std::string const& arguments) {
  cli::Options command;
  bench.add_options(command);
  EXPECT_TRUE(command.parse_line(arguments));
  bench.check_options();
}

}  // namespace bench
