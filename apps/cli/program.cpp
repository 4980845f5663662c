#include "cli/program.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <hiway/hiway.hpp>
#include <iomanip>
#include <iostream>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>

#include "cli/bad_input.hpp"
#include "cli/bench_command.hpp"
#include "cli/device.hpp"
#include "cli/machine.hpp"
#include "cli/output.hpp"
#include "cli/plan.hpp"
#include "cli/progress.hpp"
#include "cli/report_command.hpp"

namespace cli {
namespace {

using Apps = std::vector<std::unique_ptr<App>>;
using Benches = std::vector<std::unique_ptr<bench::Bench>>;

enum Exit : int { done = 0, failed = 1, bad_arguments = 2 };

constexpr std::array commands{"devices", "list", "run", "graph", "plan", "report", "bench"};

template <class Words>
bool contains(Words const& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

template <class Words>
std::string joined(Words const& words) {
  std::string text;
  for (std::string_view word : words) {
    if (!text.empty()) text += ", ";
    text += word;
  }
  return text;
}

/// Of applications or benches.
template <class Things>
std::vector<std::string> names(Things const& things) {
  std::vector<std::string> all;
  for (auto const& thing : things) all.push_back(thing->name());
  return all;
}

/// Whatever it is, on one line.
std::string one_line(std::string_view text) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  std::string line;
  for (char c : text) {
    bool const is_control = static_cast<unsigned char>(c) < ' ' || c == 0x7f;
    line += c == '\n' ? std::string{"; "} : std::string{is_control ? '?' : c};
  }
  return line;
}

Exit print_text(std::string const& text) {
  print(text);
  return done;
}

std::string needs_command() { return "a command is needed: " + joined(commands) + " (hiway --help)"; }

std::string needs_application(std::string const& command, Apps const& apps) {
  return command + " needs an application: " + joined(names(apps));
}

std::string needs_bench(Benches const& benches) { return "bench needs a name: " + joined(names(benches)); }

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
  bool as_json = false;
};

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

int run(App& app, RunOptions const& options) {
  if (options.repeat < 1 || options.repeat > 1'000'000) {
    throw BadInput{"--repeat must be 1 to 1000000: " + std::to_string(options.repeat)};
  }
  if (options.seed < 0) throw BadInput{"--seed must be 0 or more: " + std::to_string(options.seed)};
  if (options.verify != "on" && options.verify != "off")
    throw BadInput{"--verify must be on or off: " + options.verify};
  observe(options);
  std::vector<std::string> const methods = split_methods(app, options.methods);
  bool const to_file = options.as_json && !options.json.empty() && options.json != "-";
  if (to_file) require_writable("--json", options.json);
  std::vector<std::string> const notes = app.load(static_cast<std::uint64_t>(options.seed));
  RunRequest request{{.device = chosen_device(options.device),
                      .repeat = static_cast<unsigned>(options.repeat),
                      .pinned = options.pinned},
                     options.verify == "on"};
  for (std::string const& note : notes) std::cerr << "hiway: note: " << note << "\n";

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
  all_written = write_or_print(to_file ? options.json : "", text) && all_written;
  if (request.verify && !all_verified) {
    std::cerr << "hiway: " << app.name() << ": the result differs from the serial reference\n";
    return failed;
  }
  return all_written ? done : failed;
}

std::string device_table() {
  std::ostringstream text;
  for (hiway::DeviceInfo const& device : hiway::devices()) {
    text << std::left << std::setw(8) << device.name << "  " << device.description
         << (device.usable ? "" : "  (not usable)") << "\n";
  }
  return text.str();
}

std::string app_table(Apps const& apps, Benches const& benches) {
  std::ostringstream text;
  for (auto const& app : apps) {
    text << std::left << std::setw(22) << app->name() << app->summary() << "\n"
         << std::setw(22) << ""
         << "methods: " << joined(app->methods()) << "\n";
  }
  for (auto const& bench : benches)
    text << std::left << std::setw(22) << "bench " + bench->name() << bench->summary() << "\n";
  return text.str();
}

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

/// Says what is wrong with the first words, more plainly than the parser would.
void check_words(std::vector<std::string_view> const& words, Apps const& apps, Benches const& benches) {
  if (words.empty()) throw BadInput{needs_command()};
  std::string const command{words[0]};
  if (command.starts_with("-")) return;
  if (!contains(commands, command))
    throw BadInput{"no command '" + command + "': " + joined(commands) + " (hiway --help)"};
  if (command == "bench") {
    if (words.size() < 2) throw BadInput{needs_bench(benches)};
    std::string const name{words[1]};
    if (!name.starts_with("-") && !contains(names(benches), name))
      throw BadInput{"bench: no bench '" + name + "': " + joined(names(benches))};
  }
  if (command != "run" && command != "graph") return;
  if (words.size() < 2) throw BadInput{needs_application(command, apps)};
  std::string const name{words[1]};
  if (!name.starts_with("-") && !contains(names(apps), name)) {
    throw BadInput{command + ": no application '" + name + "': " + joined(names(apps))};
  }
}

/// The command line without the program's path.
std::string command_line(int argc, char const* const* argv) {
  std::string line = "hiway";
  for (int i = 1; i < argc; ++i) line += std::string{" "} + argv[i];
  return line;
}

int dispatch(int argc, char const* const* argv, Apps const& apps, Benches const& benches) {
  check_words({argv + std::min(argc, 1), argv + argc}, apps, benches);

  Options program{"CPU-GPU pipelines of persistent stages: applications, benches, devices, plans.", "hiway"};
  program.footer("Ends with 0, or 1 when a run failed or was not verified, or 2 for bad arguments or input.");
  program.add_version("hiway " + version());
  Options const devices = program.add_command("devices", "the devices of this machine that a pipeline can run on");
  Options const list = program.add_command("list", "the applications and their methods, and the benches");
  Options run_command = program.add_command("run", "run an application");
  run_command.footer(
      "A run that stands still: HIWAY_STALL_AFTER=MS makes it say who waits for what after so many\n"
      "milliseconds without progress; kill -USR1 asks at once.\n"
      "HIWAY_MOVEMENT_TABLE=FILE: which tunnels go by dma; hiway bench movement --write-table makes it.");
  Options graph_command = program.add_command("graph", "print an application's pipeline in Graphviz' dot language");
  Options plan_command =
      program.add_command("plan", "what capacities a program of tasks and streams needs, and why less deadlocks");
  PlanRequest plan_options;
  add_plan_options(plan_command, plan_options);
  Options report_command =
      program.add_command("report", "make a page of a run's trace: what held it up, and what it did when");
  ReportRequest report_options;
  add_report_options(report_command, report_options);
  Options bench_command = program.add_command("bench", "measure one road of the library beside its floor or baseline");
  std::vector<Options> of_benches;
  std::vector<BenchOptions> bench_options(benches.size());
  for (std::size_t i = 0; i < benches.size(); ++i) {
    of_benches.push_back(bench_command.add_command(benches[i]->name(), benches[i]->summary()));
    add_bench_options(of_benches.back(), *benches[i], bench_options[i]);
  }
  std::vector<Options> of_runs;
  std::vector<Options> of_graphs;
  std::vector<RunOptions> run_options(apps.size());
  std::string graph_device = "auto";
  for (std::size_t i = 0; i < apps.size(); ++i) {
    of_runs.push_back(run_command.add_command(apps[i]->name(), apps[i]->summary()));
    add_run_options(of_runs.back(), *apps[i], run_options[i]);
    apps[i]->add_options(of_runs.back());
    of_graphs.push_back(graph_command.add_command(apps[i]->name(), apps[i]->summary()));
    add_device_option(of_graphs.back(), graph_device);
  }

  if (!program.parse({argv + 1, argv + argc})) return done;

  if (devices.given()) return print_text(device_table());
  if (list.given()) return print_text(app_table(apps, benches));
  for (std::size_t i = 0; i < benches.size(); ++i) {
    if (of_benches[i].given()) return run_bench(of_benches[i], *benches[i], bench_options[i], command_line(argc, argv));
  }
  if (bench_command.given()) throw BadInput{needs_bench(benches)};
  if (plan_command.given()) return run_plan(plan_command, plan_options);
  if (report_command.given()) return run_report(report_options);
  for (std::size_t i = 0; i < apps.size(); ++i) {
    if (of_graphs[i].given()) return print_text(apps[i]->graph(chosen_device(graph_device)));
    if (!of_runs[i].given()) continue;
    run_options[i].as_json = of_runs[i].given("--json");
    return run(*apps[i], run_options[i]);
  }
  if (run_command.given() || graph_command.given())
    throw BadInput{needs_application(run_command.given() ? "run" : "graph", apps)};
  throw BadInput{needs_command()};
}

int complain(std::string_view what, Exit code) {
  std::cerr << "hiway: " << one_line(what) << "\n";
  return code;
}

}  // namespace

int run_program(int argc, char const* const* argv, Apps const& apps, Benches const& benches) {
  hiway::take_report_signal();  // it may come before the application has a pipeline
  try {
    return dispatch(argc, argv, apps, benches);
  } catch (BadInput const& error) {
    return complain(error.what(), bad_arguments);
  } catch (hiway::ConfigError const& error) {  // NoDevice is one
    return complain(error.what(), bad_arguments);
  } catch (std::bad_alloc const&) {
    return complain("not enough memory", failed);
  } catch (std::exception const& error) {
    return complain(error.what(), failed);
  }
}

}  // namespace cli
