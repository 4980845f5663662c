// bench paper: the paper's evaluation (HiWayLib, ASPLOS'19, section 4) with this library: its six applications by their
// baselines and by the library's own switches, one after another turned on (figures 10 and 11); by how lanes share
// claims, beside a search whose queues are contended; without computation (4.3); by what carries items across the bus
// (4.5). Value: milliseconds of a run, copies included; every run is verified.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/app_runs.hpp"
#include "bench/benches.hpp"
#include "bench/paper_subjects.hpp"
#include "cli/app.hpp"
#include "cli/bad_input.hpp"

namespace bench {
namespace {

constexpr char const* parts[] = {"breakdown", "relief", "communication", "movement"};

/// One of the means over all applications, of how many times as fast they are at last.
Measured mean(std::string name, std::vector<double> const& ratios, bool geometric) {
  Measured measured{.variant = std::move(name), .right = true, .facts = Json::object()};
  double sum = 0;
  for (double const ratio : ratios) sum += geometric ? std::log(ratio) : ratio;
  double const mean = ratios.empty() ? 0 : sum / static_cast<double>(ratios.size());
  measured.median = measured.lowest = measured.highest = geometric ? std::exp(mean) : mean;
  measured.values = {measured.median};
  return measured;
}

/// How often groups of warps shared a claim, in a run.
Json shared_claims(cli::MethodRun const& run) {
  Json facts = Json::object();
  std::uint64_t puts = 0;
  std::uint64_t gets = 0;
  std::uint64_t items = 0;
  for (hiway::TunnelReport const& tunnel : run.tunnels) {
    puts += tunnel.put_groups;
    gets += tunnel.get_groups;
    items += tunnel.items;
  }
  facts["items"] = items;
  facts["shared_puts"] = puts;
  facts["shared_gets"] = gets;
  return facts;
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
    command.add_option("--part", part_, "breakdown, relief, communication, or movement; without it: all")
        .type_name("PART");
    command.add_option("--runs", runs_, "of a turn, whose median counts; 0: 3").type_name("N");
    command.add_option("--image", image_, "face detection's; without it: the small one that is built in")
        .type_name("FILE");
    command.add_flag("--list", lists_, "prints what is compared, and runs nothing");
  }
  void check_options() const override {
    if (runs_ > 1000) throw cli::BadInput{"--runs: at most 1000"};
    if (!part_.empty() && std::ranges::find(parts, part_) == std::end(parts))
      throw cli::BadInput{"--part: breakdown, relief, communication or movement, not " + part_};
    if (!only_.empty() && wanted(false).empty())
      throw cli::BadInput{"--app: not one of the paper's applications" + (part_.empty() ? "" : " in part " + part_) +
                          ": " + only_};
  }
  [[nodiscard]] std::string listing() const override {
    if (!lists_) return {};
    std::string text;
    for (Comparison const& c : wanted(false)) {
      text += c.part + ": hiway run " + c.subject.app + c.subject.arguments + "\n";
      for (Setting const& setting : c.settings) text += "    " + setting.name + ": " + setting.facts().dump() + "\n";
    }
    return text;
  }

  [[nodiscard]] std::vector<Row> run(Request const& request) override {
    std::vector<Row> rows;
    std::vector<bool> in_means;
    for (Comparison const& c : wanted(request.small)) {
      rows.push_back(row(c, request));
      in_means.push_back(c.part == parts[0] && c.subject.in_means);
    }
    if (only_.empty() && (part_.empty() || part_ == parts[0])) rows.push_back(means_of(rows, in_means));
    return rows;
  }

 private:
  /// What the options leave of all comparisons.
  [[nodiscard]] std::vector<Comparison> wanted(bool small) const {
    std::vector<Comparison> all = paper_comparisons(small, image_);
    std::erase_if(all, [&](Comparison const& c) {
      return (!part_.empty() && c.part != part_) || (!only_.empty() && c.subject.app != only_);
    });
    return all;
  }

  [[nodiscard]] Row row(Comparison const& c, Request const& request) const {
    std::shared_ptr<cli::App> const app = loaded_app(apps_, c.subject.app, c.subject.arguments);
    unsigned const runs = runs_ != 0 ? runs_ : request.small ? 1 : 3;
    std::vector<Variant> variants;
    for (Setting const& setting : c.settings) {
      AppRuns how{request.device, setting.method, runs, setting.scheme, setting.pinned};
      how.last = std::make_shared<cli::MethodRun>();
      bool const counts = c.part == "relief" && setting.method == "hiway";
      variants.push_back({setting.name, app_turn(app, how), [setting, counts, last = how.last] {
                            Json facts = setting.facts();
                            if (counts) facts.update(shared_claims(*last));
                            return facts;
                          }});
    }
    Json what = Json::object();
    what["part"] = c.part;
    what["application"] = c.subject.title;
    what["command"] = "hiway run " + c.subject.app + c.subject.arguments;
    what["runs"] = runs;
    return measure(std::move(what), "ms", Better::less, c.beside, variants, request);
  }

  /// Over the rows that count: beside the baseline, and beside the pinned one where there is one.
  [[nodiscard]] static Row means_of(std::vector<Row> const& rows, std::vector<bool> const& counts) {
    std::vector<double> ratios;
    std::vector<double> of_pinned;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Measured const& last = rows[i].measured.back();
      if (!counts[i] || !last.ratio) continue;
      ratios.push_back(*last.ratio);
      auto const pinned = std::ranges::find(rows[i].measured, paper_setting::pinned_baseline, &Measured::variant);
      bool const has_pinned = pinned != rows[i].measured.end() && last.median > 0;
      of_pinned.push_back(has_pinned ? pinned->median / last.median : ratios.back());
    }
    Row means{Json::object(), "times", Better::more, "", {}};
    means.what["part"] = parts[0];
    means.what["application"] = "means of the six";
    means.measured = {mean("geometric", ratios, true), mean("arithmetic", ratios, false),
                      mean("geometric, pinned", of_pinned, true), mean("arithmetic, pinned", of_pinned, false)};
    return means;
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
