#include "hist/app.hpp"

#include <optional>
#include <string>
#include <vector>

#include "cli/bad_input.hpp"
#include "hist/methods.hpp"

namespace hist {
namespace {

class Hist final : public cli::App {
 public:
  std::string name() const override { return "hist"; }
  std::string summary() const override {
    return "how often each colour is in an image (pixels fed by CPU threads, counted on the GPU)";
  }
  std::vector<std::string> methods() const override { return {"hiway", "baseline", "reference"}; }

  void add_options(cli::Options& command) override {
    command_ = command;
    command.add_option("--pixels", options_.pixels, "of a random image (65536)").type_name("N");
    command.add_option("--colours", options_.colours, "that a pixel may have (256)").type_name("N");
    command.add_option("--input", options_.file, "reads the pixels: 4 bytes each, low byte first").type_name("FILE");
    carrying_.add_there(command);
  }

  std::vector<std::string> load(std::uint64_t seed) override {
    options_.seed = seed;
    carrying_.check();
    if (command_->given("--input")) {
      if (options_.file.empty()) throw cli::BadInput{"--input: the file's name is empty"};
      if (command_->given("--pixels")) throw cli::BadInput{"--input and --pixels exclude each other"};
    }
    image_ = make_image(options_);
    return {};
  }

  cli::MethodRun run(std::string const& method, cli::RunRequest const& request) override {
    std::vector<Measurement> const runs = method == "hiway"      ? run_hiway(image_, carrying_, request.job)
                                          : method == "baseline" ? run_baseline(image_, request.job)
                                                                 : run_reference(image_, request.job);
    cli::MethodRun out = cli::method_run(runs);
    Summary shown = runs.back().summary;
    if (request.verify) {
      if (!oracle_) oracle_ = run_reference(image_, {}).front().summary;
      shown = cli::verified(out, runs, [&](Summary const& summary) { return summary == *oracle_; });
    }
    out.device = method == "reference" ? "cpu" : request.job.device;
    out.result["pixels"] = image_.pixels;
    out.result["most_frequent"] = {{"colour", shown.colour}, {"pixels", shown.pixels}};
    out.result["histogram_hash"] = cli::hex(shown.hash);
    return out;
  }

  std::string graph(std::string const& device) override { return hiway_graph(device); }

 private:
  InputOptions options_;
  arrays::Carrying carrying_;
  std::optional<cli::Options> command_;
  Image image_;
  std::optional<Summary> oracle_;  // made once, for all methods
};

}  // namespace

std::unique_ptr<cli::App> make_app() { return std::make_unique<Hist>(); }

}  // namespace hist
