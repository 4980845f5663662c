#include "pagerank/app.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "cli/bad_input.hpp"
#include "pagerank/methods.hpp"

namespace pagerank {
namespace {

using cli::require_in_range;

constexpr std::uint32_t most_rounds = 100'000;

class App final : public cli::App {
 public:
  std::string name() const override { return "pagerank"; }
  std::string summary() const override {
    return "ranks of nodes that refer to each other, round by round (a kernel that stays for all rounds)";
  }
  std::vector<std::string> methods() const override { return {"hiway", "baseline", "reference"}; }

  void add_options(cli::Options& command) override {
    command.add_option("--input", file_, "Hetero-Mark's matrix; without it: one that is made").type_name("FILE");
    command.add_option("--nodes", nodes_, "of the one that is made (256)").type_name("N");
    command.add_option("--connections", connections_, "nodes that refer to each (8)").type_name("N");
    command.add_option("--rounds", rounds_, "(20)").type_name("N");
    command.add_option("--lanes", options_.lanes, "that share a row, 1 to 32 (one for two of its entries)")
        .type_name("N");
    command.add_option("--blocks", options_.blocks, "method hiway: of its kernel (enough for all rows; at most 128)")
        .type_name("N");
    command.add_option("--threads", options_.threads, "of a block (768; of the baseline 512)").type_name("N");
  }

  std::vector<std::string> load(std::uint64_t seed) override {
    if (file_ && (nodes_ || connections_)) throw cli::BadInput{"--input excludes --nodes and --connections"};
    std::uint32_t const nodes = nodes_.value_or(256);
    std::uint32_t const connections = connections_.value_or(8);
    require_in_range("--nodes", nodes, 1, most_nodes);
    require_in_range("--connections", connections, 1, most_entries / nodes);
    require_in_range("--rounds", rounds_, 1, most_rounds);
    require_in_range("--blocks", options_.blocks, 0, 1024);
    require_in_range("--threads", options_.threads, 0, 1024);
    if (options_.threads % 32 != 0)
      throw cli::BadInput{"--threads must be a multiple of 32: " + std::to_string(options_.threads)};
    if (options_.lanes != 0 && (options_.lanes > 32 || !std::has_single_bit(options_.lanes)))
      throw cli::BadInput{"--lanes must be 1, 2, 4, 8, 16 or 32: " + std::to_string(options_.lanes)};
    problem_ = file_ ? read_problem(*file_) : make_problem(nodes, connections, seed);
    problem_.rounds = rounds_;
    return {};
  }

  cli::MethodRun run(std::string const& method, cli::RunRequest const& request) override {
    bool const is_reference = method == "reference";
    std::vector<Measurement> const runs = is_reference        ? run_reference(problem_, request.job)
                                          : method == "hiway" ? run_hiway(problem_, options_, request.job)
                                                              : run_baseline(problem_, options_, request.job);
    cli::MethodRun out = cli::method_run(runs);
    Ranks shown = runs.back().summary;
    if (request.verify) {
      if (!oracle_) oracle_ = reference_ranks(problem_);
      shown = cli::verified(out, runs, [&](Ranks const& ranks) { return difference(ranks, *oracle_) <= tolerance; });
    }
    out.device = is_reference ? "cpu" : request.job.device;
    auto const highest = std::ranges::max_element(shown);
    out.result["nodes"] = problem_.nodes();
    out.result["connections"] = problem_.entries.size();
    out.result["rounds"] = problem_.rounds;
    out.result["sum"] = std::accumulate(shown.begin(), shown.end(), 0.0);
    out.result["highest_node"] = highest - shown.begin();
    out.result["highest_rank"] = *highest;
    if (request.verify) out.result["difference"] = difference(shown, *oracle_);
    return out;
  }

  std::string graph(std::string const& device) override { return hiway_graph(make_problem(2, 1, 1), device); }

 private:
  std::optional<std::string> file_;
  std::optional<std::uint32_t> nodes_;
  std::optional<std::uint32_t> connections_;
  std::uint32_t rounds_ = 20;
  Options options_;
  Problem problem_;
  std::optional<std::vector<double>> oracle_;  // made once, for all methods
};

}  // namespace

std::unique_ptr<cli::App> make_app() { return std::make_unique<App>(); }

}  // namespace pagerank
