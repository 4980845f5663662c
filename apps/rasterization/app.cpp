#include "rasterization/app.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "cli/bad_input.hpp"
#include "cli/output.hpp"
#include "rasterization/methods.hpp"

namespace rasterization {
namespace {

constexpr std::int32_t most_side = 16384;
constexpr std::uint32_t most_pictures = 65536;
constexpr std::uint64_t most_depth_bytes = std::uint64_t{4} << 30;  ///< the CPU holds two copies: a run's, the oracle's

std::string gibibytes(std::uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GiB", static_cast<double>(bytes) / (1 << 30));
  return text;
}

class Rasterization final : public cli::App {
 public:
  std::string name() const override { return "rasterization"; }
  std::string summary() const override {
    return "pictures of a cube or a model that turns (corners on the CPU, tiles and pixels on the GPU)";
  }
  std::vector<std::string> methods() const override { return {"hiway", "baseline", "kernels", "reference"}; }

  void add_options(cli::Options& command) override {
    command.add_option("--pictures", problem_.pictures, "(4)").type_name("N");
    command.add_option("--width", problem_.width, "of a picture, in pixels (256)").type_name("N");
    command.add_option("--height", problem_.height, "(192)").type_name("N");
    command.add_option("--obj", obj_, "a model, Wavefront OBJ; without it: a cube").type_name("FILE");
    command.add_option("--out", out_, "writes the last picture, .png or .ppm").type_name("FILE");
    command.add_flag("--kernels-only", kernels_only_,
                     "of baseline and kernels: measures neither vertex nor copies, triangles are on the device before");
  }

  std::vector<std::string> load(std::uint64_t) override {
    auto const require = [](bool holds, std::string const& text) {
      if (!holds) throw cli::BadInput{text};
    };
    auto const side = [&](std::string const& option, std::int32_t value) {
      require(value >= 1 && value <= most_side, option + " must be 1 to 16384: " + std::to_string(value));
    };
    side("--width", problem_.width);
    side("--height", problem_.height);
    require(problem_.pictures >= 1 && problem_.pictures <= most_pictures,
            "--pictures must be 1 to 65536: " + std::to_string(problem_.pictures));
    std::uint64_t const bytes = problem_.pixels() * sizeof(picture::Pixel);
    require(bytes <= most_depth_bytes, "--pictures: depth buffers of " + gibibytes(bytes) +
                                           ", 8 bytes a pixel; at most " + gibibytes(most_depth_bytes));
    if (!out_.empty()) {
      picture::require_known_kind("--out", out_);
      cli::require_writable("--out", out_);
    }
    std::vector<std::string> notes;
    if (!obj_.empty()) problem_.model = read_obj(obj_, notes);
    return notes;
  }

  cli::MethodRun run(std::string const& method, cli::RunRequest const& request) override {
    bool const is_reference = method == "reference";
    bool const launches = method == "baseline" || method == "kernels";
    if (kernels_only_ && !launches) throw cli::BadInput{"--kernels-only: --method baseline, kernels, not " + method};
    Job const& job = request.job;
    Measured const measured = kernels_only_ ? Measured::kernels_only : Measured::all;
    if (request.verify && !oracle_) oracle_ = reference_pictures(problem_);
    Oracle const* const oracle = request.verify ? &*oracle_ : nullptr;
    std::vector<Measurement> const runs = method == "hiway"      ? run_hiway(problem_, job, oracle)
                                          : method == "baseline" ? run_baseline(problem_, job, oracle, measured)
                                          : method == "kernels"  ? run_kernels(problem_, job, oracle, measured)
                                                                 : run_reference(problem_, job, oracle);
    cli::MethodRun out = cli::method_run(runs);
    out.device = is_reference ? "cpu" : request.job.device;
    out.verified = request.verify && std::ranges::all_of(runs, &Measurement::right);
    auto const wrong = std::ranges::find(runs, false, &Measurement::right);
    Measurement const& shown = wrong == runs.end() ? runs.back() : *wrong;
    out.result["pictures"] = problem_.pictures;
    out.result["triangles"] = shown.summary.triangles;
    if (shown.tiles) out.result["tiles"] = *shown.tiles;
    out.result["covered_pixels"] = shown.summary.covered_pixels;
    out.result["image_checksum"] = cli::hex(shown.summary.image_checksum);
    if (!out_.empty()) out.files.push_back({out_, picture::encode_for(out_, shown.last)});
    return out;
  }

  std::string graph(std::string const& device) override { return hiway_graph(device); }

 private:
  Problem problem_;
  std::string obj_;
  std::string out_;
  bool kernels_only_ = false;
  std::optional<Oracle> oracle_;  // made once, for all methods
};

}  // namespace

std::unique_ptr<cli::App> make_app() { return std::make_unique<Rasterization>(); }

}  // namespace rasterization
