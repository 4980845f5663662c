#include "reyes/app.hpp"

#include <algorithm>
#include <hiway/cpus.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/bad_input.hpp"
#include "cli/output.hpp"
#include "picture/picture.hpp"
#include "reyes/methods.hpp"

namespace reyes {
namespace {

constexpr std::int32_t most_side = 16384;
constexpr std::uint64_t most_depth_bytes = std::uint64_t{4} << 30;
constexpr std::uint64_t most_patches = std::uint64_t{1} << 24;  ///< of all pictures, each of which has its own

class Reyes final : public cli::App {
 public:
  std::string name() const override { return "reyes"; }
  std::string summary() const override {
    return "pictures of curved surfaces (patches split, diced, shaded and resolved on the GPU)";
  }
  std::vector<std::string> methods() const override { return {"hiway", "baseline", "reference"}; }

  void add_options(cli::Options& command) override {
    command.add_option("--patches", file_, "bicubic Bezier patches, BBP; without it: a teapot").type_name("FILE");
    command.add_option("--width", width_, "of a picture, in pixels (320)").type_name("N");
    command.add_option("--height", height_, "(180)").type_name("N");
    command.add_option("--pictures", pictures_wanted_, "of a stream that turns (1)").type_name("N");
    command.add_option("--split", split_, "methods hiway, baseline: what splits, the GPU or CPU threads (gpu)")
        .type_name("gpu|cpu");
    command.add_option("--form", form_, "method hiway: stages of the GPU in one kernel, or in several (group)")
        .type_name("group|stages");
    command.add_option("--blocks", blocks_, "method hiway: of each kernel that splits, dices or shades; 0: chosen (0)")
        .type_name("N");
    command.add_option("--collectors", collectors_, "method hiway: CPU threads that take the pictures; 0: chosen (0)")
        .type_name("N");
    command.add_option("--canvases", canvases_, "method baseline: pictures under way where the GPU splits (4)")
        .type_name("N");
    command.add_flag("--kernels-only", kernels_only_,
                     "method baseline: measures its kernels, from patches on the device to colours there");
    command.add_option("--out", out_, "writes the last picture").type_name("FILE.png|FILE.ppm");
  }

  std::vector<std::string> load(std::uint64_t) override {
    auto const in_range = [](char const* option, std::int64_t value, std::int64_t most) {
      if (value < 1 || value > most)
        throw cli::BadInput{std::string(option) + " must be 1 to " + std::to_string(most) + ": " +
                            std::to_string(value)};
    };
    in_range("--width", width_, most_side);
    in_range("--height", height_, most_side);
    in_range("--pictures", pictures_wanted_, 100000);
    if (form_ != "group" && form_ != "stages") throw cli::BadInput{"--form: group or stages, not " + form_};
    if (split_ != "gpu" && split_ != "cpu") throw cli::BadInput{"--split: gpu or cpu, not " + split_};
    if (blocks_ < 0 || blocks_ > 65536) throw cli::BadInput{"--blocks must be 0 to 65536: " + std::to_string(blocks_)};
    if (collectors_ < 0 || collectors_ > 64)
      throw cli::BadInput{"--collectors must be 0 to 64: " + std::to_string(collectors_)};
    in_range("--canvases", canvases_, 16);
    if (kernels_only_ && split_ != "gpu") throw cli::BadInput{"--kernels-only: with --split gpu, not " + split_};
    if (!out_.empty()) {
      picture::require_known_kind("--out", out_);
      cli::require_writable("--out", out_);
    }
    auto const depth_bytes = static_cast<std::uint64_t>(width_ * height_ * pictures_wanted_) * sizeof(picture::Pixel);
    if (depth_bytes > most_depth_bytes)
      throw cli::BadInput{"--pictures: depth buffers of " + std::to_string(depth_bytes >> 20) +
                          " MiB on the device, at most 4096 MiB; the CPU needs as much for pictures"};
    Patches const patches = placed(file_.empty() ? teapot() : read_patches(file_));
    if (patches.size() * static_cast<std::uint64_t>(pictures_wanted_) > most_patches)
      throw cli::BadInput{"--pictures: " + std::to_string(pictures_wanted_) + " pictures of " +
                          std::to_string(patches.size()) + " patches, at most 16777216 patches in all"};
    problem_.view = View{static_cast<std::int32_t>(width_), static_cast<std::int32_t>(height_)};
    problem_.pictures.clear();
    for (std::uint32_t i = 0; i < pictures_wanted_; ++i) problem_.pictures.push_back(turned(patches, i));
    pictures_.assign(problem_.pictures.size(), Colours(problem_.view.pixels()));
    return {};
  }

  cli::MethodRun run(std::string const& method, cli::RunRequest const& request) override {
    if (kernels_only_ && method != "baseline") throw cli::BadInput{"--kernels-only: of method baseline, not " + method};
    bool const is_reference = method == "reference";
    if (request.verify && !is_reference && !oracle_) {
      oracle_ = run_reference(problem_, {}, pictures_).front().summary;
      oracle_pictures_ = pictures_;
    }
    bool right = true;
    Job job = request.job;
    job.ran = [&] {
      if (request.verify && oracle_) right = right && pictures_ == oracle_pictures_;
      request.job.ran();
    };
    std::vector<Measurement> const runs = method == "hiway" ? run_hiway(problem_, job, options(), pictures_)
                                          : method == "baseline"
                                              ? run_baseline(problem_, job, baseline_options(), pictures_)
                                              : run_reference(problem_, job, pictures_);
    if (is_reference && !oracle_) {
      oracle_ = runs.front().summary;
      oracle_pictures_ = pictures_;
    }
    Summary shown = runs.back().summary;
    cli::MethodRun out = cli::method_run(runs);
    if (request.verify) {
      out.verified = right;
      for (Measurement const& run : runs) {
        if (run.summary == *oracle_) continue;
        out.verified = false;
        shown = run.summary;
      }
    }
    out.device = is_reference ? "cpu" : request.job.device;
    out.result["pictures"] = problem_.pictures.size();
    out.result["split"] = shown.split;
    out.result["dice"] = shown.dice;
    out.result["shade"] = shown.shade;
    out.result["image_checksum"] = cli::hex(shown.checksum);
    if (!out_.empty()) out.files.push_back({out_, picture::encode_for(out_, last_picture())});
    return out;
  }

  std::string graph(std::string const& device) override { return hiway_graph(device, options()); }

 private:
  [[nodiscard]] Splitter splitter() const { return split_ == "gpu" ? Splitter::gpu : Splitter::cpu; }
  [[nodiscard]] BaselineOptions baseline_options() const {
    return {.splitter = splitter(), .canvases = static_cast<unsigned>(canvases_), .kernels_only = kernels_only_};
  }
  [[nodiscard]] Options options() const {
    // With the split on the GPU the CPU has nothing else to do.
    unsigned const chosen = split_ == "gpu" ? std::clamp(hiway::available_cpus() / 2, 2U, 6U) : 2U;
    return {.form = form_ == "group" ? Form::group : Form::stages,
            .splitter = splitter(),
            .blocks = static_cast<unsigned>(blocks_),
            .collectors = collectors_ == 0 ? chosen : static_cast<unsigned>(collectors_)};
  }
  [[nodiscard]] picture::Picture last_picture() const {
    picture::Picture p{problem_.view.width, problem_.view.height, {}};
    for (std::uint32_t const colour : pictures_.back()) {
      for (unsigned const shift : {16U, 8U, 0U}) p.rgb.push_back(static_cast<std::uint8_t>(colour >> shift & 0xff));
    }
    return p;
  }

  std::string file_;
  std::int64_t width_ = 320;
  std::int64_t height_ = 180;
  std::int64_t pictures_wanted_ = 1;
  std::string form_ = "group";
  std::string split_ = "gpu";
  std::int64_t blocks_ = 0;
  std::int64_t collectors_ = 0;
  std::int64_t canvases_ = BaselineOptions{}.canvases;
  bool kernels_only_ = false;
  std::string out_;
  Problem problem_;
  Pictures pictures_;  // of the last run
  std::optional<Summary> oracle_;
  Pictures oracle_pictures_;
};

}  // namespace

std::unique_ptr<cli::App> make_app() { return std::make_unique<Reyes>(); }

}  // namespace reyes
