#include "evolutionary_program/app.hpp"

#include <optional>
#include <string>
#include <vector>

#include "cli/bad_input.hpp"
#include "evolutionary_program/methods.hpp"

namespace evolutionary_program {
namespace {

constexpr std::uint32_t least_population = islands * mates;
constexpr std::uint32_t most_population = 1U << 16;
constexpr std::uint32_t most_generations = 1U << 20;

class EvolutionaryProgram final : public cli::App {
 public:
  std::string name() const override { return "evolutionary-program"; }
  std::string summary() const override {
    return "two islands of creatures evolve (evaluated and mutated on the GPU, selected and crossed on the CPU)";
  }
  std::vector<std::string> methods() const override { return {"hiway", "baseline", "reference"}; }

  void add_options(cli::Options& command) override {
    command.add_option("--population", problem_.population, "creatures of both islands together (128)").type_name("N");
    command.add_option("--generations", problem_.generations, "(3)").type_name("N");
    command.add_option("--compute", compute_, "off: creatures go round as they are, to see what that alone takes (on)")
        .type_name("on|off");
  }

  std::vector<std::string> load(std::uint64_t) override {
    std::uint32_t const p = problem_.population;
    if (p < least_population || p > most_population || p % islands != 0)
      throw cli::BadInput{"--population must be even, 20 to 65536: " + std::to_string(p)};
    if (problem_.generations < 1 || problem_.generations > most_generations)
      throw cli::BadInput{"--generations must be 1 to 1048576: " + std::to_string(problem_.generations)};
    if (compute_ != "on" && compute_ != "off") throw cli::BadInput{"--compute: on or off, not " + compute_};
    problem_.computes = compute_ == "on";
    return {};
  }

  cli::MethodRun run(std::string const& method, cli::RunRequest const& request) override {
    bool const is_reference = method == "reference";
    Job const& job = request.job;
    std::vector<Measurement> const runs = method == "hiway"      ? run_hiway(problem_, job)
                                          : method == "baseline" ? run_baseline(problem_, job)
                                                                 : run_reference(problem_, job);
    if (is_reference && !oracle_) oracle_ = runs.front().summary;
    Summary shown = runs.back().summary;
    cli::MethodRun out = cli::method_run(runs);
    if (request.verify) {
      if (!oracle_) oracle_ = run_reference(problem_, {}).front().summary;
      shown = cli::verified(out, runs, [&](Summary const& summary) { return summary == *oracle_; });
    }
    out.device = is_reference ? "cpu" : request.job.device;
    out.result["island_hash"] = cli::Json::array();
    for (std::uint64_t const hash : shown.island_hash) out.result["island_hash"].push_back(cli::hex(hash));
    out.result["best"] = shown.best;
    return out;
  }

  std::string graph(std::string const& device) override { return hiway_graph(device); }

 private:
  Problem problem_;
  std::string compute_ = "on";
  std::optional<Summary> oracle_;  // made once, for all methods
};

}  // namespace

std::unique_ptr<cli::App> make_app() { return std::make_unique<EvolutionaryProgram>(); }

}  // namespace evolutionary_program
