#include "bs/app.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "bs/methods.hpp"
#include "cli/bad_input.hpp"

namespace bs {
namespace {

constexpr double tolerance = 1e-4;
constexpr std::uint32_t most_threads = 1024;
constexpr std::uint32_t most_chunk = 65536;

class Bs final : public cli::App {
 public:
  std::string name() const override { return "bs"; }
  std::string summary() const override {
    return "many options are priced once (by the GPU from the front of an array, by CPU threads from its back)";
  }
  std::vector<std::string> methods() const override { return {"hiway", "baseline", "reference"}; }

  void add_options(cli::Options& command) override {
    command.add_option("--options", options_.options, "to price (65536)").type_name("N");
    command.add_option("--cpu-threads", sharing_.cpu_threads, "that price, too; 0: the GPU alone does (2)")
        .type_name("N");
    command.add_option("--chunk", sharing_.chunk, "method baseline: tiles of 4,096 options of a launch (64)")
        .type_name("N");
    carrying_.add_there_and_back(command);
  }

  std::vector<std::string> load(std::uint64_t seed) override {
    options_.seed = seed;
    carrying_.check();
    cli::require_in_range("--cpu-threads", sharing_.cpu_threads, 0, most_threads);
    cli::require_in_range("--chunk", sharing_.chunk, 1, most_chunk);
    numbers_ = make_numbers(options_);
    return {};
  }

  cli::MethodRun run(std::string const& method, cli::RunRequest const& request) override {
    if (request.verify && !oracle_) (void)run_reference(numbers_, {}, oracle_.emplace());
    Prices prices;
    double worst = 0;
    Job job = request.job;
    job.ran = [&] {
      if (request.verify) worst = std::max(worst, difference(prices, *oracle_));
      request.job.ran();
    };
    std::vector<Measurement> const runs = method == "hiway"      ? run_hiway(numbers_, sharing_, carrying_, job, prices)
                                          : method == "baseline" ? run_baseline(numbers_, sharing_, job, prices)
                                                                 : run_reference(numbers_, job, prices);
    cli::MethodRun out = cli::method_run(runs);
    out.verified = request.verify && worst <= tolerance;
    out.device = method == "reference" ? "cpu" : request.job.device;
    Summary const& shown = runs.back().summary;
    out.result["options"] = numbers_.size();
    out.result["calls"] = shown.calls;
    out.result["puts"] = shown.puts;
    out.result["cpu_tiles"] = shown.cpu_tiles;
    if (request.verify) out.result["difference"] = worst;
    return out;
  }

  std::string graph(std::string const& device) override { return hiway_graph(sharing_, device); }

 private:
  InputOptions options_;
  Sharing sharing_;
  arrays::Carrying carrying_;
  Numbers numbers_;
  std::optional<Prices> oracle_;  // made once, for all methods
};

}  // namespace

std::unique_ptr<cli::App> make_app() { return std::make_unique<Bs>(); }

}  // namespace bs
