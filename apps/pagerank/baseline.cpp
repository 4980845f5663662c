// Method baseline: the original's way. The matrix and the first ranks are copied in, a kernel is launched for each
// round without waiting, by turns from one vector to the other, and the one that the last round wrote is copied out.
#include <chrono>
#include <cstdint>
#include <hiway/pipeline.hpp>
#include <vector>

#include "cli/host_array.hpp"
#include "pagerank/methods.hpp"
#include "pagerank/on_device.hpp"

namespace pagerank {

struct Multiply {
  Matrix matrix;
  float const* now;
  float* next;
  std::uint32_t lanes;
  HIWAY_DEVICE void operator()() const {
    hiway::anywhere([&](auto m) {
      multiply(m, matrix, Share{m, matrix, lanes}, now, [&](std::uint32_t node, float rank) { next[node] = rank; });
    });
  }
};

namespace {

class Rounds {
 public:
  Rounds(Problem const& problem, Options const& options, Job const& job)
      : rounds_(problem.rounds),
        lanes_(options.lanes_for(problem)),
        grid_(Options{.threads = options.threads, .lanes = options.lanes}.grid_for(
            problem, job.device == "simt" ? 64 : 512, job.device == "simt" ? 1 : 1U << 16)),
        pipe_(job.pipeline()),
        device_(pipe_, problem, job.pinned),
        ranks_(pipe_, problem.nodes(), job.pinned) {
    device_.copy_in();
    launch(0);  // loads the kernel
    pipe_.synchronize();
  }

  Measurement run() {
    Measurement run;
    auto const begin = std::chrono::steady_clock::now();
    device_.copy_in();
    for (float& rank : ranks_.all()) rank = 1.0F / static_cast<float>(ranks_.all().size());
    device_.ranks(0).copy_in(ranks_.all());
    for (std::uint32_t round = 0; round < rounds_; ++round) launch(round);
    pipe_.synchronize();
    device_.ranks(rounds_).copy_out(ranks_.all());
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    run.summary.assign(ranks_.all().begin(), ranks_.all().end());
    run.items = run.summary.size();
    return run;
  }

 private:
  void launch(std::uint32_t round) {
    pipe_.launch(
        "multiply",
        Multiply{device_.matrix(), device_.ranks(round).view().data, device_.ranks(round + 1).view().data, lanes_},
        grid_);
  }

  std::uint32_t rounds_;
  std::uint32_t lanes_;
  hiway::GpuStageOptions grid_;
  hiway::Pipeline pipe_;
  OnDevice device_;
  cli::HostArray<float> ranks_;
};

}  // namespace

std::vector<Measurement> run_baseline(Problem const& problem, Options const& options, Job const& job) {
  Rounds rounds{problem, options, job};
  return cli::repeated(job, [&] { return rounds.run(); });
}

}  // namespace pagerank
