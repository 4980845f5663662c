#include "kmeans/app.hpp"

#include <optional>
#include <string>
#include <vector>

#include "cli/bad_input.hpp"
#include "kmeans/methods.hpp"

namespace kmeans {
namespace {

constexpr unsigned most_threads = 1024;
constexpr std::uint32_t most_at_once = 1U << 16;
constexpr std::uint32_t most_parts = 4096;

class App final : public cli::App {
 public:
  std::string name() const override { return "kmeans"; }
  std::string summary() const override {
    return "points in clusters around their means (nearest means on the GPU, means on the CPU, in a loop)";
  }
  std::vector<std::string> methods() const override { return {"hiway", "baseline", "reference"}; }

  void add_options(cli::Options& command) override {
    command.add_option("--input", options_.file, "a point a line: a number that is not used, then its features")
        .type_name("FILE");
    command.add_option("--points", options_.points, "that are made: features are 0 to 255 (2000)").type_name("N");
    command.add_option("--features", options_.features, "of each of them (34)").type_name("N");
    command.add_option("--clusters", options_.clusters, "(5)").type_name("N");
    command.add_option("--iterations", options_.iterations, "at most (500)").type_name("N");
    command
        .add_option("--threads", tuning_.threads, "of method hiway that correct sums (half of the CPUs, eight at most)")
        .type_name("N");
    command.add_option("--at-once", tuning_.at_once, "changes that such a thread takes (64)").type_name("N");
    command.add_option("--kernel", kernel_, "of method hiway: stays, or is launched in each iteration (stays)")
        .type_name("stays|launched");
    command.add_option("--parts", tuning_.parts, "of the points, for blocks of a kernel that stays, on a GPU (128)")
        .type_name("N");
    command.add_option("--movement", movement_, "of changes from a kernel that stays (direct)").type_name("direct|dma");
    command.add_option("--block-threads", tuning_.block_threads, "likewise, of a block (768)").type_name("N");
  }

  std::vector<std::string> load(std::uint64_t seed) override {
    cli::require_in_range("--threads", tuning_.threads, 0, most_threads);
    cli::require_in_range("--at-once", tuning_.at_once, 1, most_at_once);
    if (kernel_ != "stays" && kernel_ != "launched") throw cli::BadInput{"--kernel: stays or launched, not " + kernel_};
    tuning_.stays = kernel_ == "stays";
    if (movement_ != "direct" && movement_ != "dma") throw cli::BadInput{"--movement: direct or dma, not " + movement_};
    tuning_.copies = movement_ == "dma";
    cli::require_in_range("--parts", tuning_.parts, 1, most_parts);
    if (tuning_.block_threads < 32 || tuning_.block_threads > 1024 || tuning_.block_threads % 32 != 0) {
      throw cli::BadInput{"--block-threads must be a multiple of 32, at most 1024: " +
                          std::to_string(tuning_.block_threads)};
    }
    options_.seed = seed;
    input_ = make_input(options_);
    return {};
  }

  cli::MethodRun run(std::string const& method, cli::RunRequest const& request) override {
    bool const is_reference = method == "reference";
    Job const& job = request.job;
    std::vector<Measurement> const runs = method == "hiway"      ? run_hiway(input_, tuning_, job)
                                          : method == "baseline" ? run_baseline(input_, job)
                                                                 : run_reference(input_, job);
    if (is_reference && !oracle_) oracle_ = runs.front().summary;
    cli::MethodRun out = cli::method_run(runs);
    Summary shown = runs.back().summary;
    if (request.verify) {
      if (!oracle_) oracle_ = run_reference(input_, {}).front().summary;
      shown = cli::verified(out, runs, [&](Summary const& summary) { return summary == *oracle_; });
    }
    out.device = is_reference ? "cpu" : request.job.device;
    out.result["points"] = input_.points;
    out.result["features"] = input_.features;
    out.result["clusters"] = input_.clusters;
    out.result["iterations"] = shown.iterations;
    out.result["rmse"] = shown.rmse;
    out.result["memberships_hash"] = cli::hex(shown.memberships_hash);
    return out;
  }

  std::string graph(std::string const& device) override {
    return hiway_graph(make_input({.points = 5, .features = 1}), device);
  }

 private:
  InputOptions options_;
  Tuning tuning_;
  std::string movement_ = "direct";
  std::string kernel_ = "stays";
  Input input_;
  std::optional<Summary> oracle_;  // made once, for all methods
};

}  // namespace

std::unique_ptr<cli::App> make_app() { return std::make_unique<App>(); }

}  // namespace kmeans
