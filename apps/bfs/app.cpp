#include "bfs/app.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "bfs/input.hpp"
#include "bfs/methods.hpp"
#include "cli/bad_input.hpp"

namespace bfs {
namespace {

using cli::require_in_range;

constexpr std::uint32_t most_side = 1U << 14;
constexpr std::uint32_t most_scale = 25;
constexpr std::array<char const*, 5> groupings{"automatic", "none", "warp", "block", "block_scan"};  // by their numbers

class App final : public cli::App {
 public:
  std::string name() const override { return "bfs"; }
  std::string summary() const override {
    return "how many edges lead from a vertex of a graph to each other (on the GPU, a tunnel that feeds itself)";
  }
  std::vector<std::string> methods() const override { return {"hiway", "baseline", "reference"}; }

  void add_options(cli::Options& command) override {
    command.add_option("--graph", graph_, "road: a grid of streets; power-law: Graph500's; or a DIMACS file .gr (road)")
        .type_name("road|power-law|FILE");
    command.add_option("--width", width_, "of the road's grid (48)").type_name("N");
    command.add_option("--height", height_, "(32)").type_name("N");
    command.add_option("--scale", scale_, "power-law: 2^N vertices (9)").type_name("N");
    command.add_option("--edge-factor", edge_factor_, "power-law: edges for each vertex (16)").type_name("N");
    command.add_option("--source", source_, "the vertex to begin with, from 0 on (one with most edges)").type_name("V");
    command.add_option("--piece", options_.piece, "edges that a lane follows at most for an item (64)").type_name("N");
    command.add_option("--blocks", options_.blocks, "method hiway: of its kernel (260)").type_name("N");
    command.add_option("--threads", options_.threads, "of a block (256)").type_name("N");
    command.add_option("--capacity", options_.capacity, "method hiway: items in the tunnel (one for each vertex)")
        .type_name("N");
    command.add_option("--grouping", grouping_, "method hiway: how lanes share a claim on the tunnel (automatic)")
        .type_name("automatic|none|warp|block|block_scan");
  }

  std::vector<std::string> load(std::uint64_t seed) override {
    check_options();
    problem_.graph = graph_ == "road"        ? make_road(width_, height_, seed)
                     : graph_ == "power-law" ? make_power_law(scale_, edge_factor_, seed)
                                             : read_dimacs(graph_);
    problem_.source = source_.value_or(busiest(problem_.graph));
    require_in_range("--source", problem_.source, 0, problem_.graph.vertices() - 1);
    return {};
  }

  cli::MethodRun run(std::string const& method, cli::RunRequest const& request) override {
    bool const is_reference = method == "reference";
    std::vector<Measurement> const runs = is_reference        ? run_reference(problem_, request.job)
                                          : method == "hiway" ? run_hiway(problem_, options_, request.job)
                                                              : run_baseline(problem_, options_, request.job);
    if (is_reference && !oracle_) oracle_ = runs.front().summary;
    Summary shown = runs.back().summary;
    cli::MethodRun out = cli::method_run(runs);
    if (request.verify) {
      if (!oracle_) oracle_ = run_reference(problem_, {}).front().summary;
      shown = cli::verified(out, runs, [&](Summary const& summary) { return summary == *oracle_; });
    }
    out.device = is_reference ? "cpu" : request.job.device;
    out.result["vertices"] = problem_.graph.vertices();
    out.result["edges"] = problem_.graph.edges();
    out.result["source"] = problem_.source;
    out.result["reached"] = shown.reached;
    out.result["reached_edges"] = shown.edges;
    out.result["depth"] = shown.depth;
    out.result["levels_hash"] = cli::hex(shown.levels_hash);
    out.result["followed_edges"] = runs.back().work.edges;
    out.result["puts"] = runs.back().work.puts;
    return out;
  }

  std::string graph(std::string const& device) override {
    problem_.graph = make_road(2, 2, 1);
    return hiway_graph(problem_, device);
  }

 private:
  void check_options() {
    require_in_range("--width", width_, 1, most_side);
    require_in_range("--height", height_, 1, most_side);
    require_in_range("--scale", scale_, 1, most_scale);
    require_in_range("--edge-factor", edge_factor_, 1, 64);
    if (std::uint64_t{edge_factor_} << (scale_ + 1) > most_edges)
      throw cli::BadInput{"--edge-factor: 2^" + std::to_string(scale_) + " vertices have at most " +
                          std::to_string(most_edges >> (scale_ + 1)) + " edges each, not " +
                          std::to_string(edge_factor_)};
    require_in_range("--piece", options_.piece, 1, 1U << 20);
    require_in_range("--blocks", options_.blocks, 0, 1U << 16);
    require_in_range("--threads", options_.threads, 0, 1024);
    if (options_.threads % 32 != 0)
      throw cli::BadInput{"--threads must be a multiple of 32: " + std::to_string(options_.threads)};
    require_in_range("--capacity", options_.capacity, 0, 1U << 24);
    auto const* const found = std::ranges::find(groupings, grouping_);
    if (found == groupings.end())
      throw cli::BadInput{"--grouping: automatic, none, warp, block or block_scan, not " + grouping_};
    options_.grouping = static_cast<hiway::Grouping>(found - groupings.begin());
  }

  std::string graph_ = "road";
  std::uint32_t width_ = 48;
  std::uint32_t height_ = 32;
  std::uint32_t scale_ = 9;
  std::uint32_t edge_factor_ = 16;
  std::optional<std::uint32_t> source_;
  std::string grouping_ = "automatic";
  Options options_;
  Problem problem_;
  std::optional<Summary> oracle_;  // made once, for all methods
};

}  // namespace

std::unique_ptr<cli::App> make_app() { return std::make_unique<App>(); }

}  // namespace bfs
