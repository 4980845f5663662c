// Method baseline: Hetero-Mark's. All pixels are copied in, one kernel counts them, the counts are copied out.
#include <algorithm>
#include <hiway/pipeline.hpp>
#include <span>
#include <vector>

#include "arrays/piece.hpp"
#include "cli/host_array.hpp"
#include "hist/methods.hpp"
#include "hist/stages.hpp"

namespace hist {
namespace {

/// The device's side, made once for all runs.
class Device {
 public:
  Device(Image const& image, Job const& job)
      : image_(image),
        pipe_(job.pipeline()),
        from_(cli::copied_from<Pixels>(pipe_, image.pieces, job.pinned)),
        pixels_(pipe_.create_buffer<Pixels>(image.pieces.size())),
        counts_(pipe_.create_buffer<Count>(image.colours)),
        found_(image.colours) {
    auto const [blocks, threads] = arrays::launch_for(image.pixels, job.device);
    grid_ = {.blocks = blocks, .threads_per_block = threads, .shared_bytes = counts_.size() * sizeof(Count)};
    count_first(1);  // loads the kernel
  }

  Measurement run() {
    arrays::Clock const clock;
    count_first(from_.size());
    double const seconds = clock.seconds();
    return {.summary = summarize(found_), .seconds = seconds, .items = image_.pixels};
  }

 private:
  /// Of so many pieces.
  void count_first(std::size_t pieces) {
    std::ranges::fill(found_, Count{0});
    pixels_.copy_in(from_.first(pieces));
    counts_.copy_in(found_);
    pipe_.launch("count",
                 CountColours{pixels_.view().data->data(), pieces * std::tuple_size_v<Pixels>, counts_.view().data,
                              image_.colours},
                 grid_);
    pipe_.synchronize();
    counts_.copy_out(found_);
  }

  Image const& image_;
  hiway::Pipeline pipe_;
  std::span<Pixels const> from_;
  hiway::Buffer<Pixels>& pixels_;
  hiway::Buffer<Count>& counts_;
  std::vector<Count> found_;  ///< copied from there
  hiway::GpuStageOptions grid_{};
};

}  // namespace

std::vector<Measurement> run_baseline(Image const& image, Job const& job) {
  Device device{image, job};
  return cli::repeated(job, [&] { return device.run(); });
}

}  // namespace hist
