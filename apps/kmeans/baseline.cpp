// Method baseline: Hetero-Mark's scheme. In each iteration centroids are copied in, a kernel finds memberships, all of
// them are copied out, and the CPU compares them and sums all points; nothing overlaps.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <hiway/cpus.hpp>
#include <hiway/pipeline.hpp>
#include <span>
#include <vector>

#include "cli/host_array.hpp"
#include "kmeans/methods.hpp"
#include "kmeans/stages.hpp"
#include "kmeans/summing.hpp"

namespace kmeans {

/// A thread a point.
struct FindNearest {
  Points points;
  float const* centroids;
  std::uint32_t clusters;
  std::uint32_t* memberships;
  HIWAY_DEVICE void operator()() const {
    for (std::uint32_t p = hiway::thread_index(); p < points.count; p += hiway::thread_count())
      memberships[p] = nearest(points, p, centroids, clusters);
  }
};

namespace {

class Alternating {
 public:
  Alternating(Input const& input, Job const& job)
      : input_(input),
        pipe_(job.pipeline()),
        rows_(pipe_.create_buffer<float>(input.values.size())),
        features_(pipe_.create_buffer<float>(input.values.size())),
        centroids_(pipe_.create_buffer<float>(std::size_t{input.clusters} * input.features)),
        memberships_(pipe_.create_buffer<std::uint32_t>(input.points)),
        values_(cli::copied_from(pipe_, std::span<float const>(input.values), job.pinned)),
        centroids_array_(pipe_, centroids_.size(), job.pinned),
        found_array_(pipe_, input.points, job.pinned),
        summing_(input, found_array_.all(), hiway::available_cpus()),
        grid_(job.device == "simt"
                  ? hiway::GpuStageOptions{.blocks = 2, .threads_per_block = 64}
                  : hiway::GpuStageOptions{.blocks = (input.points + 127) / 128, .threads_per_block = 128}) {
    transpose();  // loads the kernels
    find();
    pipe_.synchronize();
  }

  Measurement run() {
    Measurement run;
    auto const begin = std::chrono::steady_clock::now();
    rows_.copy_in(values_);
    transpose();
    std::span<float> const centroids = centroids_array_.all();
    std::ranges::copy(first_centroids(input_), centroids.begin());
    summing_.begin();
    std::uint32_t iterations = 0;
    for (bool changes = true; changes && iterations < input_.iterations; ++iterations) {
      centroids_.copy_in(centroids);
      find();
      pipe_.synchronize();
      memberships_.copy_out(found_array_.all());
      changes = summing_.update(centroids) != 0;
    }
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    run.summary = summarize(input_, summing_.memberships(), iterations);
    run.items = std::uint64_t{input_.points} * iterations;
    return run;
  }

 private:
  void transpose() {
    pipe_.launch("transpose", Transpose{rows_.view().data, features_.view().data, input_.points, input_.features},
                 grid_);
  }
  void find() {
    Points const points{features_.view().data, input_.points, input_.features};
    pipe_.launch("find nearest", FindNearest{points, centroids_.view().data, input_.clusters, memberships_.view().data},
                 grid_);
  }

  Input const& input_;
  hiway::Pipeline pipe_;
  hiway::Buffer<float>& rows_;
  hiway::Buffer<float>& features_;
  hiway::Buffer<float>& centroids_;
  hiway::Buffer<std::uint32_t>& memberships_;
  std::span<float const> values_;
  cli::HostArray<float> centroids_array_;
  cli::HostArray<std::uint32_t> found_array_;
  Summing summing_;
  hiway::GpuStageOptions grid_;
};

}  // namespace

std::vector<Measurement> run_baseline(Input const& input, Job const& job) {
  Alternating alternating{input, job};
  return cli::repeated(job, [&] { return alternating.run(); });
}

}  // namespace kmeans
