#include "cli/run_command.hpp"

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cli/bad_input.hpp"
#include "cli/device.hpp"
#include "cli/names.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"

namespace cli {
namespace {

/// The options of `hiway run APP` that are not the application's.
struct RunOptions {
  std::string device = "auto";
  std::string methods;
  std::int64_t repeat = 1;
  std::string verify = "on";
  std::string json;
  std::string trace;
  std::string stats;
  bool watch = false;
  std::int64_t seed = 1;  // signed: the parser would wrap a -1 around
  bool pinned = false;
  bool nodes = false;
  bool as_json = false;
};

void add_run_options(Options& command, App const& app, RunOptions& options) {
  options.methods = app.methods().front();
  add_device_option(command, options.device);
  command.add_option("--method", options.methods, "one or, with commas, several of: " + joined(app.methods()))
      .type_name("METHOD")
      .default_str(options.methods);
  command.add_option("--repeat", options.repeat, "runs of each method").type_name("N").default_str("1");
  command.add_option("--verify", options.verify, "on: compare with the serial reference; off: do not")
      .type_name("on|off")
      .default_str("on");
  command.add_flag("--pinned", options.pinned, "methods that copy large data do so from and to pinned memory");
  if (app.goes_over_nodes())
    command.add_flag("--nodes", options.nodes,
                     "method hiway: shares its work out over the nodes of the cluster (hiway launch); node 0 says what "
                     "came of it");
  command.add_option("--json", options.json, "print one JSON object (several methods: an array), or write it to FILE")
      .type_name("[FILE|-]")
      .expected(0, 1);
  command.add_option("--trace", options.trace, "write the last run's trace to FILE, for hiway report or Perfetto")
      .type_name("FILE");
  command
      .add_option("--stats", options.stats,
                  "write what the last run's stages and tunnels did to FILE: .json, .prom (Prometheus), else a table; "
                  "- is stderr")
      .type_name("FILE");
  command.add_flag("--watch", options.watch, "show a table of stages and tunnels while it runs");
  command.add_option("--seed", options.seed, "of everything random").type_name("N").default_str("1");
}

std::vector<std::string> split_methods(App const& app, std::string const& list) {
  std::vector<std::string> methods;
  std::istringstream words{list};
  for (std::string word; std::getline(words, word, ',');) {
    if (!contains(app.methods(), word)) {
      throw BadInput{"--method: no method '" + word + "' of " + app.name() + ": " + joined(app.methods())};
    }
    methods.push_back(word);
  }
  if (methods.empty()) throw BadInput{"--method: no method given: " + joined(app.methods())};
  return methods;
}

// The library looks at the environment, so a program that is not this one can be asked the same.
void observe(RunOptions const& options) {
  for (auto const& [option, variable, file] :
       {std::tuple{"--trace", "HIWAY_TRACE", &options.trace}, std::tuple{"--stats", "HIWAY_STATS", &options.stats}}) {
    if (file->empty()) continue;
    if (*file != "-") require_writable(option, *file);
    setenv(variable, file->c_str(), 1);
  }
  if (options.watch) setenv("HIWAY_WATCH", "200", 0);
}

void check(RunOptions const& options, std::vector<std::string> const& methods) {
  if (options.repeat < 1 || options.repeat > 1'000'000) {
    throw BadInput{"--repeat must be 1 to 1000000: " + std::to_string(options.repeat)};
  }
  if (options.seed < 0) throw BadInput{"--seed must be 0 or more: " + std::to_string(options.seed)};
  if (options.verify != "on" && options.verify != "off")
    throw BadInput{"--verify must be on or off: " + options.verify};
  if (options.nodes && methods != std::vector<std::string>{"hiway"}) throw BadInput{"--nodes goes with --method hiway"};
}

/// Runs the methods, and says what came of them as the options want it.
Exit run_and_show(App& app, RunOptions const& options, std::vector<std::string> const& methods, RunRequest request) {
  Json objects = Json::array();
  std::string text;
  bool all_verified = true;
  bool all_written = true;
  {
    Progress progress{static_cast<unsigned>(methods.size()) * request.job.repeat};
    request.job.ran = [&] { progress.step(); };
    for (std::string const& method : methods) {
      progress.say(app.name() + " " + method);
      MethodRun const result = app.run(method, request);
      all_verified = all_verified && result.verified;
      for (File const& file : result.files) all_written = write_or_say(file) && all_written;
      objects.push_back(to_json(app.name(), method, result));
      text += to_text(app.name(), method, result, request.verify);
    }
  }
  if (options.as_json) {
    Json const& document = methods.size() == 1 ? objects.front() : objects;
    text = document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  bool const to_file = options.as_json && options.json != "-";
  all_written = write_or_print(to_file ? options.json : "", text) && all_written;
  if (request.verify && !all_verified) {
    std::cerr << "hiway: " << app.name() << ": the result differs from the serial reference\n";
    return failed;
  }
  return all_written ? done : failed;
}

Exit run_app(App& app, RunOptions const& options) {
  std::vector<std::string> const methods = split_methods(app, options.methods);
  check(options, methods);
  std::optional<hiway::Cluster> cluster;
  if (options.nodes) cluster.emplace();
  bool const shows = !cluster || cluster->node() == 0;
  if (shows) observe(options);
  if (shows && options.as_json && !options.json.empty() && options.json != "-")
    require_writable("--json", options.json);
  std::vector<std::string> const notes = app.load(static_cast<std::uint64_t>(options.seed));
  RunRequest request{{.device = chosen_device(options.device),
                      .repeat = static_cast<unsigned>(options.repeat),
                      .pinned = options.pinned,
                      .cluster = cluster ? &*cluster : nullptr},
                     shows && options.verify == "on"};
  if (!shows) {
    static_cast<void>(app.run(methods.front(), request));
    return done;
  }
  for (std::string const& note : notes) std::cerr << "hiway: note: " << note << "\n";
  return run_and_show(app, options, methods, std::move(request));
}

class RunCommand final : public Command {
 public:
  explicit RunCommand(Apps const& apps) : apps_(apps), options_(apps.size()) {}
  std::string name() const override { return "run"; }
  std::string summary() const override { return "run an application"; }

  void add_options(Options& command) override {
    command.footer(
        "A run that stands still: HIWAY_STALL_AFTER=MS makes it say who waits for what after so many\n"
        "milliseconds without progress; kill -USR1 asks at once.\n"
        "HIWAY_MOVEMENT_TABLE=FILE: which tunnels go by dma; hiway bench movement --write-table makes it.");
    for (std::size_t i = 0; i < apps_.size(); ++i) {
      of_apps_.push_back(command.add_command(apps_[i]->name(), apps_[i]->summary()));
      add_run_options(of_apps_.back(), *apps_[i], options_[i]);
      apps_[i]->add_options(of_apps_.back());
    }
  }
  void check(std::span<std::string const> words) const override { choice().check(words); }
  int run(Options const& /*command*/, std::string const& /*line*/) override {
    for (std::size_t i = 0; i < apps_.size(); ++i) {
      if (!of_apps_[i].given()) continue;
      options_[i].as_json = of_apps_[i].given("--json");
      return run_app(*apps_[i], options_[i]);
    }
    throw BadInput{choice().needed()};
  }

 private:
  [[nodiscard]] Choice choice() const { return {"run", "an application", "application", names_of(apps_)}; }

  Apps const& apps_;
  std::vector<RunOptions> options_;  // of each application
  std::vector<Options> of_apps_;     // likewise
};

}  // namespace

std::unique_ptr<Command> make_run_command(Apps const& apps) { return std::make_unique<RunCommand>(apps); }

}  // namespace cli
