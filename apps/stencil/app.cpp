#include "stencil/app.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cli/bad_input.hpp"
#include "stencil/methods.hpp"

namespace stencil {
namespace {

class Stencil final : public cli::App {
 public:
  std::string name() const override { return "stencil"; }
  std::string summary() const override {
    return "five-point stencil over a stream of matrices (made on the CPU, computed on the GPU)";
  }
  std::vector<std::string> methods() const override { return {"hiway", "baseline", "reference"}; }

  void add_options(cli::Options& command) override {
    command.add_option("--width", problem_.width, "of a matrix, in values (256)").type_name("N");
    command.add_option("--height", problem_.height, "(256)").type_name("N");
    command.add_option("--region", region_, "what is moved at once, R values square or W,H; 0: the library chooses (0)")
        .type_name("R[,R]")
        .delimiter(',')
        .expected(1, 2);
    command.add_option("--frames", problem_.frames, "matrices (4)").type_name("N");
    command.add_option("--iterations", problem_.iterations, "passes over each matrix (1)").type_name("N");
    cli::add_gpus(command, gpus_);
  }

  std::vector<std::string> load(std::uint64_t seed) override {
    problem_.seed = seed;
    auto const require = [](bool holds, std::string const& text) {
      if (!holds) throw cli::BadInput{text};
    };
    constexpr std::uint32_t most = 1u << 20;
    require(problem_.width >= 1 && problem_.width <= most,
            "--width must be 1 to 1048576: " + std::to_string(problem_.width));
    require(problem_.height >= 1 && problem_.height <= most,
            "--height must be 1 to 1048576: " + std::to_string(problem_.height));
    require(problem_.frames >= 1 && problem_.frames <= most,
            "--frames must be 1 to 1048576: " + std::to_string(problem_.frames));
    require(problem_.values() * problem_.frames <= std::uint64_t{1} << 32, "--frames: more than 2^32 values in all");
    require(
        problem_.iterations >= 1 && problem_.iterations <= most_iterations,
        "--iterations must be 1 to " + std::to_string(most_iterations) + ": " + std::to_string(problem_.iterations));
    problem_.region_width = region_.empty() ? 0 : region_.front();
    problem_.region_height = region_.empty() ? 0 : region_.back();
    require(problem_.region_width <= problem_.width && problem_.region_height <= problem_.height,
            "--region must not be larger than the matrix: " + std::to_string(problem_.region_width) + "," +
                std::to_string(problem_.region_height));
    cli::check_gpus(gpus_);
    if (gpus_ <= problem_.iterations) return {};
    return {"--gpus " + std::to_string(gpus_) + ": each pass runs on one, so " + std::to_string(problem_.iterations) +
            " will do"};
  }

  cli::MethodRun run(std::string const& method, cli::RunRequest const& request) override {
    bool const is_reference = method == "reference";
    Job job = request.job;
    job.gpus = gpus_;
    if (request.verify && !oracle_) oracle_ = reference_values(problem_);
    Values const* const oracle = request.verify ? &*oracle_ : nullptr;
    std::vector<Measurement> const runs = method == "hiway"      ? run_hiway(problem_, job, oracle)
                                          : method == "baseline" ? run_baseline(problem_, job, oracle)
                                                                 : run_reference(problem_, job);
    Measurement const& last = runs.back();
    cli::MethodRun out = cli::method_run(runs);
    out.device = is_reference ? "cpu" : request.job.device;
    out.verified = request.verify && std::ranges::all_of(runs, [](Measurement const& r) { return r.right; });
    out.result["checksum"] = cli::hex(last.checksum);
    if (is_reference) return out;
    double const values = static_cast<double>(problem_.values() * problem_.frames) * sizeof(float);
    out.result["bytes_moved"] = last.bytes_moved;
    out.result["copies_per_value"] = static_cast<double>(last.bytes_moved) / values;
    out.result["region_copies"] = last.region_copies;
    if (last.bytes_between_gpus != 0) out.result["bytes_between_gpus"] = last.bytes_between_gpus;
    if (last.first_task_before_last_set) out.result["first_task_before_last_set"] = *last.first_task_before_last_set;
    return out;
  }

  std::string graph(std::string const& device) override { return hiway_graph(device); }

 private:
  Problem problem_;
  std::vector<std::uint32_t> region_;
  unsigned gpus_ = 1;
  std::optional<Values> oracle_;  // made once, for all methods
};

}  // namespace

std::unique_ptr<cli::App> make_app() { return std::make_unique<Stencil>(); }

}  // namespace stencil
