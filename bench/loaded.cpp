// bench loaded: how pipelines fare beside processes that use the CPUs: three of the paper's applications beside their
// baselines, and one request at a time through a standing pipeline, while other processes spin.
//
// Each level of load has its spinning processes, as many as are that part of the CPUs this process may run on. What is
// compared at one level is measured in turns beside the same processes; facts say how many times the idle level's it
// is.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/app_runs.hpp"
#include "bench/benches.hpp"
#include "bench/echo.hpp"
#include "bench/quantiles.hpp"
#include "bench/spinning.hpp"
#include "bench/turn_limit.hpp"
#include "cli/app.hpp"
#include "cli/bad_input.hpp"
#include "hiway/cpus.hpp"

namespace bench {
namespace {

constexpr char const* round_trip = "round-trip";
constexpr std::pair<char const*, char const*> applications[] = {
    {"gene-alignment", paper_size::gene_alignment},
    {"evolutionary-program", paper_size::evolutionary_program},
    {"reyes", paper_size::reyes}};
constexpr char const* baseline = "baseline";

/// A part of the CPUs, as it is written: "1/4", "2".
struct Level {
  std::string text;
  unsigned over = 0;
  unsigned under = 1;

  [[nodiscard]] unsigned processes(unsigned cpus) const { return (2 * cpus * over + under) / (2 * under); }
};

std::optional<Level> level_of(std::string const& text) {
  Level level{text};
  char const* const end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, level.over);
  if (error != std::errc{}) return std::nullopt;
  if (rest != end && *rest == '/') {
    auto const under = std::from_chars(rest + 1, end, level.under);
    if (under.ec != std::errc{}) return std::nullopt;
    rest = under.ptr;
  }
  bool const fits = level.under >= 1 && level.under <= 64 && level.over <= 8 * level.under;
  return rest == end && fits ? std::optional(std::move(level)) : std::nullopt;
}

/// What is measured at every level.
struct Work {
  Json what;
  std::string unit;
  std::string beside;                              ///< empty: nothing
  std::function<std::vector<Variant>()> variants;  ///< anew for each level
};

Work work_of_app(AppList const& apps, std::string const& name, std::string const& arguments,
                 std::string const& device) {
  std::shared_ptr<cli::App> const app = loaded_app(apps, name, arguments);
  // Its answer is what every run is compared with; it is made where nothing spins yet.
  (void)app->run("reference", {.job = {.device = device}, .verify = false});
  return {{{"work", name}, {"command", "hiway run " + name + arguments}}, "ms", baseline, [app, device] {
            std::vector<Variant> variants;
            for (char const* const method : {"hiway", baseline}) {
              // A turn's first run finds caches and memory as others left them.
              variants.push_back({method, app_turn(app, {device, method, 2, {}, false, AppRuns::Counts::last})});
            }
            return variants;
          }};
}

Work work_of_round_trips(std::string const& device, unsigned trips, bool small) {
  std::shared_ptr<Echo> const echo = make_echo({.device = device});
  std::shared_ptr<Echo> const quick = make_echo({.device = device, .low_latency = true});
  Work work{{{"work", round_trip}, {"stage", "one polling warp"}, {"item_bytes", 8}, {"trips", trips}}, "us", "", {}};
  if (std::optional<Variant> const launches = empty_launches(device, trips)) {
    work.beside = launches->name;
  } else {
    work.what["beside"] = "none: an empty launch needs a GPU";
  }
  work.variants = [=] {
    std::vector<Variant> variants{round_trips("hiway", echo, trips, false, small),
                                  round_trips("low latency", quick, trips, false, small)};
    if (std::optional<Variant> launches = empty_launches(device, trips)) variants.push_back(std::move(*launches));
    return variants;
  };
  return work;
}

/// Says in `row` how many times those of `idle`, the same work's, its times are.
void beside_idle(Row& row, Row const& idle) {
  for (Measured& measured : row.measured) {
    auto const same = std::ranges::find(idle.measured, measured.variant, &Measured::variant);
    if (same == idle.measured.end() || measured.values.empty() || !(same->median > 0)) continue;
    auto const times = [](double value, double of) { return std::round(1000 * value / of) / 1000; };
    measured.facts["times_idle"] = times(measured.median, same->median);
    char const* const p99 = "p99_us";
    if (measured.facts.contains(p99) && same->facts.contains(p99))
      measured.facts["p99_times_idle"] = times(measured.facts[p99], same->facts[p99]);
  }
}

class LoadedBench final : public Bench {
 public:
  explicit LoadedBench(AppList apps) : apps_(std::move(apps)) {}
  [[nodiscard]] std::string name() const override { return "loaded"; }
  [[nodiscard]] std::string summary() const override {
    return "three applications, their baselines and round trips beside processes that use the CPUs";
  }
  void add_options(cli::Options& command) override {
    command.add_option("--only", only_, "only this: gene-alignment, evolutionary-program, reyes, round-trip")
        .type_name("WORK");
    command.add_option("--levels", levels_, "spinning processes, as parts of the CPUs: 0,1/4,1/2,3/4,1,2; quick: 0,1/2")
        .type_name("PART,...")
        .delimiter(',')
        .one_at_a_time();
    command.add_option("--trips", trips_, "of a turn of round-trip; 0: 3000").type_name("N");
    command.add_option("--limit-s", limit_s_, "that a row may take (30)").type_name("SECONDS");
    command.add_flag("--quick", quick_, "small inputs and two levels, as always where the device is emulated");
  }
  void check_options() const override {
    bool const known = only_.empty() || only_ == round_trip ||
                       std::ranges::any_of(applications, [&](auto const& app) { return only_ == app.first; });
    if (!known) throw cli::BadInput{"--only: no work " + only_};
    for (std::string const& text : levels_) {
      if (!level_of(text)) throw cli::BadInput{"--levels: 0 to 8, as 2 or 3/4, not " + text};
    }
    if (trips_ > 1'000'000) throw cli::BadInput{"--trips: at most 1000000"};
    if (limit_s_ < 1 || limit_s_ > 3600) throw cli::BadInput{"--limit-s: 1 to 3600"};
  }

  [[nodiscard]] std::vector<Row> run(Request const& request) override {
    check_options();
    std::vector<Work> const works = works_of(request);
    std::vector<std::vector<Row>> rows(works.size());  // of each work, a row a level
    for (Level const& level : levels(request)) {
      unsigned const cpus = hiway::available_cpus();
      SpinningProcesses const spinning(level.processes(cpus));
      for (std::size_t i = 0; i != works.size(); ++i) {
        Json const load{{"load", level.text}, {"spinning", level.processes(cpus)}, {"cpus", cpus}};
        rows[i].push_back(row(works[i], load, request));
        if (!spinning.all_spin()) take_back(rows[i].back());
      }
    }
    std::vector<Row> all;
    for (std::vector<Row>& of_work : rows) {
      auto const idle = std::ranges::find(of_work, 0, [](Row const& row) { return row.what["spinning"].get<int>(); });
      if (idle != of_work.end() && !request.small) {
        for (Row& row : of_work) beside_idle(row, *idle);
      }
      std::ranges::move(of_work, std::back_inserter(all));
    }
    return all;
  }

 private:
  [[nodiscard]] std::vector<Level> levels(Request const& request) const {
    bool const few = request.small || quick_;
    std::vector<Level> levels;
    for (std::string const& text : !levels_.empty() ? levels_
                                   : few            ? std::vector<std::string>{"0", "1/2"}
                                                    : std::vector<std::string>{"0", "1/4", "1/2", "3/4", "1", "2"})
      levels.push_back(*level_of(text));
    return levels;
  }

  [[nodiscard]] std::vector<Work> works_of(Request const& request) const {
    bool const small = request.small || quick_;
    std::vector<Work> works;
    for (auto const& [app, arguments] : applications) {
      if (only_.empty() || only_ == app)
        works.push_back(work_of_app(apps_, app, small ? "" : arguments, request.device));
    }
    unsigned const trips = trips_ != 0 ? trips_ : small ? 20 : 3000;
    if (only_.empty() || only_ == round_trip)
      works.push_back(work_of_round_trips(request.device, trips, request.small));
    return works;
  }

  [[nodiscard]] Row row(Work const& work, Json const& load, Request const& request) {
    std::chrono::seconds const row_may_take(limit_s_);
    limit_->let_it_end(TurnLimit::Clock::now() + row_may_take);
    auto const until = TurnLimit::Clock::now() + row_may_take;
    std::vector<Variant> variants = work.variants();
    for (Variant& variant : variants) variant = within(limit_, until, std::move(variant));
    Json what = work.what;
    what.update(load);
    return measure(std::move(what), work.unit, Better::less, work.beside, variants, request);
  }

  static void take_back(Row& row) {
    for (Measured& measured : row.measured) {
      if (measured.right) measured.wrong = "a spinning process ended meanwhile";
      measured.right = false;
    }
  }

  AppList apps_;
  std::shared_ptr<TurnLimit> limit_ = std::make_shared<TurnLimit>();
  std::string only_;
  std::vector<std::string> levels_;
  unsigned trips_ = 0;
  unsigned limit_s_ = 30;
  bool quick_ = false;
};

}  // namespace

std::unique_ptr<Bench> make_loaded(AppList apps) { return std::make_unique<LoadedBench>(std::move(apps)); }

}  // namespace bench
