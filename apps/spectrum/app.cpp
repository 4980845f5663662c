#include "spectrum/app.hpp"

#include <optional>
#include <string>
#include <vector>

#include "cli/bad_input.hpp"
#include "cli/output.hpp"
#include "spectrum/methods.hpp"
#include "spectrum/on_gpu.hpp"

namespace spectrum {
namespace {

constexpr std::uint64_t most_packets = std::uint64_t{1} << 32;
constexpr unsigned most_threads = 1024;

class App final : public cli::App {
 public:
  std::string name() const override { return "spectrum"; }
  std::string summary() const override {
    return "tones in packets of voltages, by their spectra (packets made on the CPU, cuFFT and a search on the GPU)";
  }
  std::vector<std::string> methods() const override { return {"hiway", "baseline", "reference"}; }

  void add_options(cli::Options& command) override {
    command.add_option("--packets", problem_.packets, "of 1,024 voltages each (4096)").type_name("N");
    command.add_option("--threads", problem_.threads, "that make packets (half of the CPUs)").type_name("N");
  }

  std::vector<std::string> load(std::uint64_t seed) override {
    problem_.seed = seed;
    if (problem_.packets > most_packets)
      throw cli::BadInput{"--packets must be 0 to 4294967296: " + std::to_string(problem_.packets)};
    if (problem_.threads > most_threads)
      throw cli::BadInput{"--threads must be 0 to 1024: " + std::to_string(problem_.threads)};
    return {};
  }

  cli::MethodRun run(std::string const& method, cli::RunRequest const& request) override {
    bool const is_emulated = request.job.device == "simt";
    if (method == "baseline" && (is_emulated || on_gpu().baseline == nullptr))
      throw cli::BadInput{
          "--method baseline: for a GPU, by a program that was built with CUDA and cuFFT; the device is " +
          request.job.device};
    if (method == "hiway" && !is_emulated && on_gpu().plan == nullptr)
      throw cli::BadInput{"spectrum: this program was built without cuFFT; use --device simt"};
    std::vector<Measurement> const runs = method == "hiway"      ? run_hiway(problem_, request.job)
                                          : method == "baseline" ? on_gpu().baseline(problem_, request.job)
                                                                 : run_reference(problem_, request.job);
    cli::MethodRun out = cli::method_run(runs);
    Summary shown = runs.back().summary;
    if (request.verify) {
      if (!tones_) tones_ = tones_of(problem_);
      shown = cli::verified(out, runs, [&](Summary const& summary) { return summary == *tones_; });
    }
    out.device = method == "reference" ? "cpu" : request.job.device;
    out.result["packets"] = problem_.packets;
    out.result["hits"] = shown.hits;
    out.result["checksum"] = cli::hex(shown.checksum);
    return out;
  }

  std::string graph(std::string const& device) override { return hiway_graph(problem_, device); }

 private:
  Problem problem_;
  std::optional<Summary> tones_;  // made once, for all methods
};

}  // namespace

std::unique_ptr<cli::App> make_app() { return std::make_unique<App>(); }

}  // namespace spectrum
