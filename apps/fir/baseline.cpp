// Method baseline: Hetero-Mark's. Block by block: the block and the samples before it are copied in, a kernel filters
// them, the result is copied out to its place.
#include <algorithm>
#include <array>
#include <hiway/pipeline.hpp>
#include <span>
#include <vector>

#include "cli/host_array.hpp"
#include "fir/methods.hpp"
#include "fir/stages.hpp"

namespace fir {
namespace {

struct FilterBlock {
  Taps taps;
  float const* samples;
  float* result;
  std::uint32_t count;
  HIWAY_DEVICE void operator()() const {
    for (std::uint32_t i = hiway::thread_index(); i < count; i += hiway::thread_count())
      result[i] = filtered(taps, samples + i);
  }
};

constexpr std::array<float, history> nothing_before{};

/// The device's side, made once for all runs.
class Device {
 public:
  Device(Signal const& signal, Job const& job)
      : block_(signal.block_samples),
        pipe_(job.pipeline()),
        from_(cli::copied_from<float>(pipe_, signal.samples, job.pinned)),
        to_(pipe_, signal.samples.size(), job.pinned),
        samples_(pipe_.create_buffer<float>(history + block_)),
        result_(pipe_.create_buffer<float>(block_)),
        kernel_{signal.taps, samples_.view().data + history, result_.view().data, block_} {
    constexpr unsigned threads = 64;  // the original's
    grid_ = {.blocks = job.device == "simt" ? 1 : (block_ + threads - 1) / threads, .threads_per_block = threads};
    filter_block(0);  // loads the kernel
  }

  Measurement run() {
    arrays::Clock const clock;
    samples_.copy_in(nothing_before);
    for (std::size_t first = 0; first < from_.size(); first += block_) filter_block(first);
    double const seconds = clock.seconds();
    return {.summary = summarize(to_.all()), .seconds = seconds, .items = from_.size()};
  }
  [[nodiscard]] std::span<float const> filtered() const { return to_.all(); }

 private:
  void filter_block(std::size_t first) {
    std::size_t const before = std::min<std::size_t>(history, first);
    samples_.copy_in(from_.subspan(first - before, before + block_), history - before);
    pipe_.launch("filter", kernel_, grid_);
    pipe_.synchronize();
    result_.copy_out(to_.all().subspan(first, block_));
  }

  std::uint32_t block_;
  hiway::Pipeline pipe_;
  std::span<float const> from_;
  cli::HostArray<float> to_;
  hiway::Buffer<float>& samples_;
  hiway::Buffer<float>& result_;
  FilterBlock kernel_;
  hiway::GpuStageOptions grid_{};
};

}  // namespace

std::vector<Measurement> run_baseline(Signal const& signal, Job const& job, std::vector<float>& filtered) {
  Device device{signal, job};
  std::vector<Measurement> const runs = cli::repeated(job, [&] { return device.run(); });
  filtered.assign(device.filtered().begin(), device.filtered().end());
  return runs;
}

}  // namespace fir
