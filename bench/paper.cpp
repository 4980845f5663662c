// bench paper: the paper's evaluation (HiWayLib, ASPLOS'19, section 4) with this library: its six applications by their
// baselines and by the library's own switches, one after another turned on (figures 10 and 11); without computation
// (4.3); by what carries items across the bus (4.5). Value: milliseconds of a run, copies included; every run is
// verified.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/app_runs.hpp"
#include "bench/benches.hpp"
#include "cli/app.hpp"
#include "cli/bad_input.hpp"

namespace bench {
namespace {

using cli::Scheme;
using hiway::EndDetection;
using hiway::Grouping;
using hiway::Movement;

/// One way to run an application: its method, and the switches of its pipeline.
struct Setting {
  std::string name;
  std::string method;
  Scheme scheme{};
  bool pinned = false;

  [[nodiscard]] Json facts() const {
    constexpr char const* groupings[] = {"automatic", "none", "warp", "block", "block_scan"};
    constexpr char const* movements[] = {"automatic", "dma", "direct", "managed"};
    Json facts = Json::object();
    facts["method"] = method;
    bool const tracked = scheme.end_detection == EndDetection::tracked;
    facts["end_detection"] = tracked ? "tracked" : "time_out";
    if (!tracked) facts["end_time_out_us"] = scheme.end_time_out.count();
    facts["grouping"] = groupings[static_cast<unsigned>(scheme.grouping)];
    facts["movement"] = movements[static_cast<unsigned>(scheme.movement)];
    if (pinned) facts["copies"] = "pinned";
    return facts;
  }
};

/// An application with its input.
struct Subject {
  std::string title;  ///< as the paper names it
  std::string app;
  std::string arguments;
  std::chrono::microseconds time_out;  ///< about ten times its longest task, as the paper has it
  bool copies_much = false;            ///< from and to ordinary memory, by its baseline
  bool by_regions = false;             ///< has a stencil: its baseline is a pipeline whose tasks carry copies
};

constexpr char const* baseline = "baseline";
constexpr char const* pinned_baseline = "baseline, pinned";
constexpr char const* basic = "basic";
constexpr char const* late_triggered = "+ late-triggered";
constexpr char const* relief = "+ relief";
constexpr char const* regions = "+ lazy regions";

/// Figures 10 and 11. Without a stencil the baseline is chunks, copies and launches (from ordinary memory, as its
/// authors have it; beside it from pinned memory), and the other ways are one pipeline; with one, the baseline is the
/// basic scheme with counted tasks (the paper's 4.1).
std::vector<Setting> breakdown(Subject const& subject) {
  std::string const method = subject.by_regions ? "baseline" : "hiway";
  Scheme const timed{EndDetection::time_out, subject.time_out, Grouping::none};
  Scheme const counted{.grouping = Grouping::none};
  std::vector<Setting> settings{
      {baseline, "baseline", subject.by_regions ? counted : Scheme{}},
      {basic, method, timed},
      {late_triggered, method, counted},
      {relief, method},
  };
  if (subject.by_regions) settings.push_back({regions, "hiway"});
  if (subject.copies_much) settings.insert(settings.begin() + 1, {pinned_baseline, "baseline", {}, true});
  return settings;
}

class PaperBench final : public Bench {
 public:
  explicit PaperBench(AppList apps) : apps_(std::move(apps)) {}
  [[nodiscard]] std::string name() const override { return "paper"; }
  [[nodiscard]] std::string summary() const override {
    return "the paper's six applications: baselines, and the library's switches one by one";
  }
  void add_options(cli::Options& command) override {
    command.add_option("--app", only_, "of one application, by its name in `hiway list`").type_name("APP");
    command.add_option("--part", part_, "breakdown, communication, or movement; without it: all three")
        .type_name("PART");
    command.add_option("--runs", runs_, "of a turn, whose median counts; 0: 3").type_name("N");
    command.add_option("--image", image_, "face detection's; without it: the small one that is built in")
        .type_name("FILE");
    command.add_flag("--list", lists_, "prints what is compared, and runs nothing");
  }
  void check_options() const override {
    if (runs_ > 1000) throw cli::BadInput{"--runs: at most 1000"};
    if (!part_.empty() && part_ != "breakdown" && part_ != "communication" && part_ != "movement")
      throw cli::BadInput{"--part: breakdown, communication or movement, not " + part_};
    std::vector<Subject> const all = subjects(false);
    if (!only_.empty() && std::ranges::find(all, only_, &Subject::app) == all.end())
      throw cli::BadInput{"--app: not one of the paper's applications: " + only_};
  }
  [[nodiscard]] std::string listing() const override {
    if (!lists_) return {};
    std::string text;
    for (Comparison const& c : comparisons(false)) {
      text += c.part + ": hiway run " + c.subject.app + c.subject.arguments + "\n";
      for (Setting const& setting : c.settings) text += "    " + setting.name + ": " + setting.facts().dump() + "\n";
    }
    return text;
  }

  [[nodiscard]] std::vector<Row> run(Request const& request) override {
    std::vector<Row> rows;
    for (Comparison const& c : comparisons(request.small)) rows.push_back(row(c, request));
    if (only_.empty() && (part_.empty() || part_ == "breakdown")) rows.push_back(mean_of(rows));
    return rows;
  }

 private:
  struct Comparison {
    std::string part;
    Subject subject;
    std::string beside;
    std::vector<Setting> settings;
  };

  /// In the paper's order. `small`: as large as an application is by itself.
  [[nodiscard]] std::vector<Subject> subjects(bool small) const {
    using std::chrono::milliseconds;
    // The emulated device stands still as long as its machine has other things to do.
    auto const after = [&](int ms) { return milliseconds(small ? 300 : ms); };
    auto const sized = [&](char const* arguments) { return std::string(small ? "" : arguments); };
    return {
        {"GA", "gene-alignment", sized(paper_size::gene_alignment), after(15)},
        {"EP", "evolutionary-program", sized(paper_size::evolutionary_program), after(2), true},
        {"RE", "reyes", sized(paper_size::reyes), after(2), true},
        {"FD", "face-detection", image_.empty() ? "" : " --image " + image_, after(2), false, true},
        {"ST", "stencil", sized(" --width 4096 --height 4096 --frames 1"), after(2), false, true},
        {"RA", "rasterization", sized(" --width 1024 --height 768 --pictures 100"), after(2)},
    };
  }

  [[nodiscard]] std::vector<Comparison> comparisons(bool small) const {
    std::vector<Comparison> all;
    auto const wanted = [&](char const* part) { return part_.empty() || part_ == part; };
    std::vector<Subject> of;
    for (Subject const& subject : subjects(small)) {
      if (only_.empty() || subject.app == only_) of.push_back(subject);
    }
    for (Subject const& subject : of) {
      if (wanted("breakdown")) all.push_back({"breakdown", subject, baseline, breakdown(subject)});
    }
    for (Subject idle : of) {
      if (!wanted("communication") || idle.app != "evolutionary-program") continue;
      idle.arguments += " --compute off";
      all.push_back({"communication",
                     idle,
                     baseline,
                     {{baseline, "baseline"}, {pinned_baseline, "baseline", {}, true}, {"hiway", "hiway"}}});
    }
    for (Subject const& subject : of) {
      if (!wanted("movement")) continue;
      // A region is copied, by whomever; managed memory would move pages instead.
      std::string const beside = subject.by_regions ? "dma" : "managed";
      Comparison c{"movement", subject, beside, {}};
      if (!subject.by_regions) c.settings.push_back({"managed", "hiway", {.movement = Movement::managed}});
      c.settings.push_back({"dma", "hiway", {.movement = Movement::dma}});
      c.settings.push_back({"direct", "hiway", {.movement = Movement::direct}});
      c.settings.push_back({"automatic", "hiway"});
      all.push_back(std::move(c));
    }
    return all;
  }

  [[nodiscard]] Row row(Comparison const& c, Request const& request) const {
    std::shared_ptr<cli::App> const app = loaded_app(apps_, c.subject.app, c.subject.arguments);
    unsigned const runs = runs_ != 0 ? runs_ : request.small ? 1 : 3;
    std::vector<Variant> variants;
    for (Setting const& setting : c.settings) {
      AppRuns how{request.device, setting.method, runs, setting.scheme, setting.pinned};
      variants.push_back({setting.name, app_turn(app, std::move(how)), [setting] { return setting.facts(); }});
    }
    Json what = Json::object();
    what["part"] = c.part;
    what["application"] = c.subject.title;
    what["command"] = "hiway run " + c.subject.app + c.subject.arguments;
    what["runs"] = runs;
    return measure(std::move(what), "ms", Better::less, c.beside, variants, request);
  }

  /// How many times as fast as its baseline an application is at last, over all of them.
  [[nodiscard]] static Row mean_of(std::vector<Row> const& rows) {
    Row mean{Json::object(), "times", Better::more, "", {}};
    mean.what["part"] = "breakdown";
    mean.what["application"] = "geometric mean over baseline";
    Measured measured{.variant = "hiway", .right = true, .facts = Json::object()};
    double product = 1;
    unsigned count = 0;
    for (Row const& row : rows) {
      if (row.what["part"] != "breakdown" || !row.measured.back().ratio) continue;
      product *= *row.measured.back().ratio;
      ++count;
    }
    measured.median = measured.lowest = measured.highest = std::pow(product, 1.0 / std::max(1U, count));
    measured.values = {measured.median};
    mean.measured.push_back(std::move(measured));
    return mean;
  }

  AppList apps_;
  std::string only_;
  std::string part_;
  std::string image_;
  unsigned runs_ = 0;
  bool lists_ = false;
};

}  // namespace

std::unique_ptr<Bench> make_paper(AppList apps) { return std::make_unique<PaperBench>(std::move(apps)); }

}  // namespace bench
