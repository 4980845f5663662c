#include "fir/app.hpp"

#include <optional>
#include <string>
#include <vector>

#include "cli/bad_input.hpp"
#include "fir/methods.hpp"

namespace fir {
namespace {

class Fir final : public cli::App {
 public:
  std::string name() const override { return "fir"; }
  std::string summary() const override {
    return "a finite impulse response filter of a long signal (fed and taken by CPU threads, filtered on the GPU)";
  }
  std::vector<std::string> methods() const override { return {"hiway", "baseline", "cuda", "reference"}; }

  void add_options(cli::Options& command) override {
    command.add_option("--blocks", options_.blocks, "of samples (64)").type_name("N");
    command.add_option("--block-samples", options_.block_samples, "samples of a block (1024)").type_name("N");
    command.add_option("--taps", options_.taps, "of the filter (16)").type_name("N");
    carrying_.add_there_and_back(command);
  }

  std::vector<std::string> load(std::uint64_t seed) override {
    options_.seed = seed;
    carrying_.check();
    signal_ = make_signal(options_);
    return {};
  }

  cli::MethodRun run(std::string const& method, cli::RunRequest const& request) override {
    if (method == "cuda" && (request.job.device == "simt" || cuda_method() == nullptr))
      throw cli::BadInput{"--method cuda: for a GPU, by a program that was built with CUDA; the device is " +
                          request.job.device};
    std::vector<float> filtered;
    std::vector<Measurement> const runs = method == "hiway"      ? run_hiway(signal_, carrying_, request.job, filtered)
                                          : method == "baseline" ? run_baseline(signal_, request.job, filtered)
                                          : method == "cuda"     ? cuda_method()(signal_, request.job, filtered)
                                                                 : run_reference(signal_, request.job, filtered);
    cli::MethodRun out = cli::method_run(runs);
    Summary shown = runs.back().summary;
    if (request.verify) {
      if (!oracle_) oracle_ = run_reference(signal_, {}, filtered).front().summary;
      shown = cli::verified(out, runs, [&](Summary const& summary) { return summary == *oracle_; });
    }
    out.device = method == "reference" ? "cpu" : request.job.device;
    out.result["samples"] = signal_.samples.size();
    out.result["taps"] = signal_.taps.count;
    out.result["filtered_hash"] = cli::hex(shown.hash);
    return out;
  }

  std::string graph(std::string const& device) override { return hiway_graph(device); }

 private:
  InputOptions options_;
  arrays::Carrying carrying_;
  Signal signal_;
  std::optional<Summary> oracle_;  // made once, for all methods
};

}  // namespace

std::unique_ptr<cli::App> make_app() { return std::make_unique<Fir>(); }

}  // namespace fir
