#include "face_detection/app.hpp"

#include <optional>
#include <string>
#include <vector>

#include "cli/bad_input.hpp"
#include "cli/output.hpp"
#include "face_detection/methods.hpp"

namespace face_detection {
namespace {

class FaceDetection final : public cli::App {
 public:
  std::string name() const override { return "face-detection"; }
  std::string summary() const override {
    return "faces in a picture, of any size (levels, tiles and the LBP comparison on the GPU, sums on the CPU)";
  }
  std::vector<std::string> methods() const override { return {"hiway", "baseline", "reference"}; }

  void add_options(cli::Options& command) override {
    command.add_option("--image", files_.image_file, "binary PGM or PPM, or PNG; without it: a small one of a face")
        .type_name("FILE");
    command.add_option("--cascade", files_.cascade_file, "OpenCV's XML, of LBP features; without it: frontal faces")
        .type_name("FILE");
    command.add_option("--scale-factor", files_.scale_factor, "from a level to the next smaller one (1.1)")
        .type_name("F");
    command.add_option("--min-neighbours", files_.min_neighbours, "more windows than these are a face; 0: each is (3)")
        .type_name("N");
    command.add_option("--out", out_, "writes the picture with the faces' outlines, as PNG").type_name("FILE");
    command
        .add_option("--placement", placement_,
                    "paper: all but sums on the GPU; lbp-on-cpu: not the comparison, either; cpu: none (paper)")
        .type_name("paper|lbp-on-cpu|cpu");
    command.add_option("--blocks", blocks_, "of 128 threads, of windows and of scan on the GPU; 0: chosen (0)")
        .type_name("N");
    command.add_option("--stop-after", stop_after_, "lbp: nothing is put to the last stage").type_name("STAGE");
  }

  std::vector<std::string> load(std::uint64_t) override {
    if (placement_ != "paper" && placement_ != "lbp-on-cpu" && placement_ != "cpu")
      throw cli::BadInput{"--placement: paper, lbp-on-cpu or cpu, not " + placement_};
    if (!stop_after_.empty() && stop_after_ != "lbp") throw cli::BadInput{"--stop-after: lbp, not " + stop_after_};
    if (!stop_after_.empty() && placement_ == "paper")
      throw cli::BadInput{"--stop-after lbp: of --placement lbp-on-cpu or cpu"};
    if (blocks_ < 0 || blocks_ > 65536) throw cli::BadInput{"--blocks must be 0 to 65536: " + std::to_string(blocks_)};
    if (!out_.empty()) cli::require_writable("--out", out_);
    options_ = {placement_ == "cpu"     ? Placement::cpu
                : placement_ == "paper" ? Placement::paper
                                        : Placement::lbp_on_cpu,
                !stop_after_.empty(), static_cast<unsigned>(blocks_)};
    input_ = make_input(files_);
    auto const by = [](std::int32_t w, std::int32_t h) { return std::to_string(w) + " x " + std::to_string(h); };
    Cascade const& c = input_.cascade;
    if (input_.image.width < c.window_width || input_.image.height < c.window_height)
      throw cli::BadInput{(files_.image_file.empty() ? "--image" : files_.image_file) +
                          ": smaller than the cascade's window: " + by(input_.image.width, input_.image.height) + ", " +
                          by(c.window_width, c.window_height)};
    return {};
  }

  cli::MethodRun run(std::string const& method, cli::RunRequest const& request) override {
    bool const is_reference = method == "reference";
    Job const& job = request.job;
    std::vector<Measurement> const runs = method == "hiway"      ? run_hiway(input_, job, options_)
                                          : method == "baseline" ? run_baseline(input_, job, options_)
                                                                 : run_reference(input_, job);
    if (is_reference && !oracle_) oracle_ = runs.front().summary;
    Measurement const& last = runs.back();
    Summary shown = last.summary;
    cli::MethodRun out = cli::method_run(runs);
    if (request.verify) {
      if (!oracle_) oracle_ = reference_summary(input_);
      shown = cli::verified(out, runs, [&](Summary const& summary) { return summary == *oracle_; });
    }
    out.device = is_reference || options_.placement == Placement::cpu ? "cpu" : request.job.device;
    out.result["raw_rectangles"] = shown.raw.size();
    out.result["rectangles"] = cli::Json::array();
    for (Rectangle const& r : shown.rectangles) out.result["rectangles"].push_back({r.x, r.y, r.width, r.height});
    if (last.bytes_moved) out.result["bytes_moved"] = *last.bytes_moved;
    if (last.region_copies) out.result["region_copies"] = *last.region_copies;
    if (!last.tunnels.empty()) out.result["tunnel_items"] = cli::Json::object();
    for (hiway::TunnelReport const& tunnel : last.tunnels) out.result["tunnel_items"][tunnel.name] = tunnel.items;
    if (!out_.empty()) out.files.push_back({out_, encode_png(input_.image, shown.rectangles)});
    return out;
  }

  std::string graph(std::string const& device) override { return hiway_graph(device, options_); }

 private:
  InputOptions files_;
  std::string out_;
  std::string placement_ = "paper";
  std::int64_t blocks_ = 0;
  std::string stop_after_;
  Options options_;
  Input input_;
  std::optional<Summary> oracle_;  // made once, for all methods
};

}  // namespace

std::unique_ptr<cli::App> make_app() { return std::make_unique<FaceDetection>(); }

}  // namespace face_detection
