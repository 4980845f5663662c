#include "background_extraction/app.hpp"

#include <optional>
#include <string>
#include <vector>

#include "background_extraction/methods.hpp"
#include "cli/bad_input.hpp"
#include "cli/output.hpp"

namespace background_extraction {
namespace {

class BackgroundExtraction final : public cli::App {
 public:
  std::string name() const override { return "background-extraction"; }
  std::string summary() const override {
    return "what moves before a still background, in a video (bytes on the GPU, frames fed and taken on the CPU)";
  }
  std::vector<std::string> methods() const override { return {"hiway", "baseline", "reference"}; }

  void add_options(cli::Options& command) override {
    command_ = command;
    command.add_option("--width", options_.width, "of a frame, in pixels (160)").type_name("N");
    command.add_option("--height", options_.height, "(90)").type_name("N");
    command.add_option("--frames", options_.frames, "(8)").type_name("N");
    command
        .add_option("--frames-from", options_.folder,
                    "reads the frames, binary PGM or PPM of one size, in the order of their names")
        .type_name("FOLDER");
    command.add_option("--out", out_, "writes the last frame's foreground, as PPM or PGM").type_name("FILE");
  }

  std::vector<std::string> load(std::uint64_t seed) override {
    if (command_->given("--frames-from")) {
      if (options_.folder.empty()) throw cli::BadInput{"--frames-from: the folder's name is empty"};
      for (std::string const option : {"--width", "--height", "--frames"}) {
        if (command_->given(option)) throw cli::BadInput{"--frames-from and " + option + " exclude each other"};
      }
    }
    if (!out_.empty()) cli::require_writable("--out", out_);
    video_ = make_video(options_, seed);
    if (!out_.empty() && video_->frames() < 2) throw cli::BadInput{"--out: one frame alone has no foreground"};
    return {};
  }

  cli::MethodRun run(std::string const& method, cli::RunRequest const& request) override {
    bool const is_reference = method == "reference";
    Job const& job = request.job;
    std::vector<Measurement> const runs = method == "hiway"      ? run_hiway(*video_, job)
                                          : method == "baseline" ? run_baseline(*video_, job)
                                                                 : run_reference(*video_, job);
    if (is_reference && !oracle_) oracle_ = runs.front().summary;
    Summary shown = runs.back().summary;
    cli::MethodRun out = cli::method_run(runs);
    if (request.verify) {
      if (!oracle_) oracle_ = run_reference(*video_, {}).front().summary;
      shown = cli::verified(out, runs, [&](Summary const& summary) { return summary == *oracle_; });
    }
    out.device = is_reference ? "cpu" : request.job.device;
    out.result["frames"] = shown.frames;
    out.result["foreground_bytes"] = shown.foreground_bytes;
    out.result["foreground_hash"] = cli::hex(shown.foreground_hash);
    if (!out_.empty()) out.files.push_back({out_, encode_pnm(*video_, runs.back().last)});
    return out;
  }

  std::string graph(std::string const& device) override { return hiway_graph(device); }

 private:
  VideoOptions options_;
  std::string out_;
  std::optional<cli::Options> command_;
  std::optional<Video> video_;
  std::optional<Summary> oracle_;  // made once, for all methods
};

}  // namespace

std::unique_ptr<cli::App> make_app() { return std::make_unique<BackgroundExtraction>(); }

}  // namespace background_extraction
