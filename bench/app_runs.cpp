#include "bench/app_runs.hpp"

#include <stdexcept>
#include <utility>

namespace bench {

std::shared_ptr<cli::App> loaded_app(AppList const& apps, std::string const& name, std::string const& arguments) {
  for (std::unique_ptr<cli::App>& app : apps()) {
    if (app->name() != name) continue;
    cli::Options options;
    app->add_options(options);
    (void)options.parse_line(arguments);
    (void)app->load(1);
    return std::move(app);
  }
  throw std::logic_error("no application " + name);
}

std::function<Turn()> app_turn(std::shared_ptr<cli::App> app, AppRuns runs) {
  return [app = std::move(app), runs = std::move(runs)]() -> Turn {
    cli::RunRequest const wanted{
        {.device = runs.device, .repeat = runs.runs, .scheme = runs.scheme, .pinned = runs.pinned}, true};
    cli::MethodRun const run = app->run(runs.method, wanted);
    if (runs.last) *runs.last = run;
    double const seconds = runs.counts == AppRuns::Counts::last ? run.seconds.back() : cli::median(run.seconds);
    return {seconds * 1e3, run.verified, "the result differs from the serial reference"};
  };
}

}  // namespace bench
