#include "knn/app.hpp"

#include <optional>
#include <string>
#include <vector>

#include "cli/bad_input.hpp"
#include "cli/hash.hpp"
#include "knn/methods.hpp"

namespace knn {
namespace {

constexpr std::uint32_t most_threads = 1024;
constexpr std::uint32_t most_at_once = 1U << 20;
constexpr std::uint32_t most_blocks = 1024;

class App final : public cli::App {
 public:
  std::string name() const override { return "knn"; }
  std::string summary() const override {
    return "the places that are nearest to one (GPU and CPU share them, one CPU thread keeps the nearest)";
  }
  std::vector<std::string> methods() const override { return {"hiway", "baseline", "reference"}; }

  void add_options(cli::Options& command) override {
    command.add_option("--input", options_.file, "names of files with records of 48 characters a line")
        .type_name("FILE");
    command.add_option("--places", options_.places, "that are made (42764)").type_name("N");
    command.add_option("--k", options_.k, "how many are looked for (10)").type_name("N");
    command.add_option("--lat", options_.latitude, "of the place that they are near to, in degrees (0)")
        .type_name("DEGREES");
    command.add_option("--lng", options_.longitude, "its longitude (0)").type_name("DEGREES");
    command
        .add_option("--feeders", tuning_.feeders,
                    "CPU threads of method hiway that send places to the GPU (a quarter of the CPUs, four at most)")
        .type_name("N");
    command
        .add_option("--searchers", tuning_.searchers,
                    "CPU threads of method hiway that search themselves (half of the CPUs); 0: the GPU does all")
        .type_name("N");
    command.add_option("--at-once", tuning_.at_once, "places that a CPU thread takes (4096)").type_name("N");
    command.add_option("--blocks", tuning_.blocks, "of four warps, of method hiway on a GPU (64)").type_name("N");
    command.add_option("--movement", movement_, "of places to the GPU, method hiway (direct)").type_name("direct|dma");
  }

  std::vector<std::string> load(std::uint64_t seed) override {
    cli::require_in_range("--feeders", tuning_.feeders.value_or(1), 1, most_threads);
    cli::require_in_range("--searchers", tuning_.searchers.value_or(1), 0, most_threads);
    cli::require_in_range("--at-once", tuning_.at_once, 1, most_at_once);
    cli::require_in_range("--blocks", tuning_.blocks, 1, most_blocks);
    if (movement_ != "direct" && movement_ != "dma") throw cli::BadInput{"--movement: direct or dma, not " + movement_};
    tuning_.copies = movement_ == "dma";
    options_.seed = seed;
    input_ = make_input(options_);
    return {};
  }

  cli::MethodRun run(std::string const& method, cli::RunRequest const& request) override {
    bool const is_reference = method == "reference";
    Job const& job = request.job;
    std::vector<Measurement> const runs = method == "hiway"      ? run_hiway(input_, tuning_, job)
                                          : method == "baseline" ? run_baseline(input_, tuning_, job)
                                                                 : run_reference(input_, job);
    if (is_reference && !oracle_) oracle_ = runs.front().summary;
    cli::MethodRun out = cli::method_run(runs);
    Summary shown = runs.back().summary;
    if (request.verify) {
      if (!oracle_) oracle_ = run_reference(input_, {}).front().summary;
      shown = cli::verified(out, runs, [&](Summary const& summary) { return summary == *oracle_; });
    }
    out.device = is_reference ? "cpu" : request.job.device;
    out.result["places"] = input_.places.size();
    std::uint64_t hash = cli::first_hash;
    out.result["nearest"] = cli::Json::array();
    for (Key const key : shown) {
      hash = cli::hash_on(hash, key);
      out.result["nearest"].push_back({{"place", number_of(key)}, {"distance", distance_of(key)}});
    }
    out.result["nearest_hash"] = cli::hex(hash);
    return out;
  }

  std::string graph(std::string const& device) override { return hiway_graph(make_input({.places = 1}), device); }

 private:
  InputOptions options_;
  Tuning tuning_;
  std::string movement_ = "direct";
  Input input_;
  std::optional<Summary> oracle_;  // made once, for all methods
};

}  // namespace

std::unique_ptr<cli::App> make_app() { return std::make_unique<App>(); }

}  // namespace knn
