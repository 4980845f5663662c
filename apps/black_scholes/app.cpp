#include "black_scholes/app.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "black_scholes/methods.hpp"
#include "cli/bad_input.hpp"

namespace black_scholes {
namespace {

constexpr std::uint64_t most_items = 1U << 24;
constexpr std::uint32_t most_iterations = 1'000'000;

struct Named {
  std::string_view name;
  Topology topology;
};
constexpr std::array<Named, 7> topologies{{{"DiffType", Topology::diff_type},
                                           {"SameType", Topology::same_type},
                                           {"SelfLoop", Topology::self_loop},
                                           {"Merged", Topology::merged},
                                           {"4-way-Same", Topology::four_same},
                                           {"4-way-Diff", Topology::four_diff},
                                           {"4-way-Staged", Topology::four_staged}}};

class BlackScholes final : public cli::App {
 public:
  std::string name() const override { return "black-scholes"; }
  std::string summary() const override {
    return "options are priced and dropped in stages, connected in several ways (on the GPU)";
  }
  std::vector<std::string> methods() const override { return {"hiway", "baseline", "reference"}; }

  void add_options(cli::Options& command) override {
    command.add_option("--items", problem_.items, "options (10000)").type_name("N");
    command.add_option("--iterations", problem_.iterations, "times that a stage prices an option (10)").type_name("N");
    command.add_option("--rate", problem_.rate, "of options that a stage drops, 0 to 1 (0.5)").type_name("RATE");
    command.add_option("--topology", topology_, "how stages are connected (DiffType)").type_name(names("|"));
    choices_.add_replicas(command);
    choices_.add_feed(command, "how options come and go");
    command.add_flag("--counters", segment_.counters,
                     "method hiway: says what each node did, and what could be better");
  }

  std::vector<std::string> load(std::uint64_t seed) override {
    problem_.seed = seed;
    if (problem_.items > most_items)
      throw cli::BadInput{"--items must be 0 to 16777216: " + std::to_string(problem_.items)};
    if (problem_.iterations < 1 || problem_.iterations > most_iterations)
      throw cli::BadInput{"--iterations must be 1 to 1000000: " + std::to_string(problem_.iterations)};
    if (!(problem_.rate >= 0 && problem_.rate <= 1)) {
      std::ostringstream rate;
      rate << problem_.rate;
      throw cli::BadInput{"--rate must be 0 to 1: " + rate.str()};
    }
    auto const* const found = std::ranges::find(topologies, topology_, &Named::name);
    if (found == topologies.end()) throw cli::BadInput{"--topology: one of " + names(", ") + ", not " + topology_};
    problem_.topology = found->topology;
    segment_.replica = choices_.replica();
    segment_.feed = choices_.feed();
    if (segment_.feed == Feed::tunnel &&
        (segment_.counters || segment_.replica == Replica::block || problem_.topology != Topology::diff_type))
      throw cli::BadInput{"--feed tunnel goes with DiffType, replicas of a warp, and without --counters"};
    return {};
  }

  cli::MethodRun run(std::string const& method, cli::RunRequest const& request) override {
    bool const is_reference = method == "reference";
    if (request.verify && !oracle_) (void)run_reference(problem_, {}, oracle_.emplace());
    Options outputs;
    Difference worst{.same_options = true};
    Job job = request.job;
    job.ran = [&] {
      if (request.verify) {
        Difference const of_run = difference(outputs, *oracle_);
        worst.same_options = worst.same_options && of_run.same_options;
        worst.of_prices = std::max(worst.of_prices, of_run.of_prices);
      }
      request.job.ran();
    };
    std::vector<Measurement> const runs = is_reference        ? run_reference(problem_, job, outputs)
                                          : method == "hiway" ? run_hiway(problem_, segment_, job, outputs)
                                                              : run_baseline(problem_, job, outputs);
    cli::MethodRun out = cli::method_run(runs);
    out.verified = request.verify && worst.is_none();
    out.device = is_reference ? "cpu" : request.job.device;
    out.result["topology"] = topology_;
    out.result["count"] = runs.back().summary.count;
    out.result["checksum"] = cli::hex(runs.back().summary.checksum);
    if (runs.back().segment) cli::add_to(out.result, *runs.back().segment);
    if (request.verify && worst.same_options) out.result["price_difference"] = worst.of_prices;
    return out;
  }

  std::string graph(std::string const& device) override { return hiway_graph(problem_, device); }

 private:
  static std::string names(std::string_view between) {
    std::string all;
    for (auto const& [name, topology] : topologies) {
      if (!all.empty()) all += between;
      all += name;
    }
    return all;
  }

  Problem problem_;
  std::string topology_ = "DiffType";
  cli::SegmentChoices choices_;
  SegmentOptions segment_;
  std::optional<Options> oracle_;  // made once, for all methods
};

}  // namespace

std::unique_ptr<cli::App> make_app() { return std::make_unique<BlackScholes>(); }

}  // namespace black_scholes
