// Method hiway: points and memberships stay on the GPU. Centroids come by a tunnel, one batch an iteration; a kernel
// finds each point's nearest one, and those points whose cluster is another than before leave by a second tunnel, with
// their number last. The CPU corrects its sums by them, and puts the next centroids into the first tunnel:
//
//   begin (CPU) -> centroids -> assign (GPU) -> changes -> correct (CPU) -> centroids
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <hiway/cpus.hpp>
#include <hiway/pipeline.hpp>
#include <span>
#include <string>
#include <vector>

#include "cli/device.hpp"
#include "kmeans/correction.hpp"
#include "kmeans/methods.hpp"
#include "kmeans/stages.hpp"

namespace kmeans {

/// What blocks tell each other. There are two counts, as one is copied to the CPU while the next is needed.
struct Words {
  hiway::Word<std::uint32_t> changes[2];
  hiway::Word<std::uint32_t> blocks;  ///< that are done
};

/// An ordinary kernel, before a run: nothing has a cluster.
struct Forget {
  std::uint16_t* memberships;
  std::uint32_t points;
  Words* words;
  HIWAY_DEVICE void operator()() const {
    for (std::uint32_t p = hiway::thread_index(); p < points; p += hiway::thread_count()) memberships[p] = none;
    if (hiway::thread_index() == 0) *words = {};
  }
};

/// A thread a point.
struct Assign {
  Points points;
  std::uint16_t* memberships;
  float const* centroids;
  std::uint32_t clusters;
  Change* changes;
  Words* words;
  std::uint32_t count;  ///< of words->changes, which one
  HIWAY_DEVICE void operator()() const {
    hiway::anywhere([&](auto m) {
      for (std::uint32_t p = m.thread_index(); p < points.count; p += m.thread_count()) {
        auto const now = static_cast<std::uint16_t>(nearest(points, p, centroids, clusters));
        std::uint16_t const before = memberships[p];
        if (now == before) continue;
        memberships[p] = now;
        changes[m.fetch_add(words->changes[count], 1U, hiway::Order::relaxed)] = {p, before, now};
      }
      m.sync_block();
      if (m.thread_in_block() != 0) return;
      if (m.fetch_add(words->blocks, 1U, hiway::Order::acq_rel) + 1 != m.block_count()) return;
      std::uint32_t const all = m.fetch_add(words->changes[count], 1U, hiway::Order::relaxed);
      changes[all] = {all, none, none};
      m.store(words->changes[1 - count], 0U, hiway::Order::relaxed);
      m.store(words->blocks, 0U, hiway::Order::relaxed);
    });
  }
};

namespace {

unsigned correctors(Tuning const& tuning) {
  return tuning.threads != 0 ? tuning.threads : std::clamp(hiway::available_cpus() / 4, 1U, 4U);
}

class Clustering {
 public:
  Clustering(Input const& input, Tuning const& tuning, Job const& job)
      : input_(input),
        correction_(input, correctors(tuning), tuning.at_once),
        pipe_(job.pipeline()),
        rows_(pipe_.create_buffer<float>(input.values.size())),
        features_(pipe_.create_buffer<float>(input.values.size())),
        memberships_(pipe_.create_buffer<std::uint16_t>(input.points)),
        words_(pipe_.create_buffer<Words>(1)),
        grid_(job.device == "simt"
                  ? hiway::GpuStageOptions{.blocks = 2, .threads_per_block = 64}
                  : hiway::GpuStageOptions{.blocks = (input.points + 127) / 128, .threads_per_block = 128}) {
    std::size_t const values = std::size_t{input.clusters} * input.features;
    auto& centroids = pipe_.create_tunnel<float>("centroids", hiway::Direction::cpu_to_gpu,
                                                 job.scheme.tunnel({.capacity_items = 2 * values}));
    // No put waits for room: all points may change in an iteration, which has an end, too.
    auto& changes = pipe_.create_tunnel<Change>("changes", hiway::Direction::gpu_to_cpu,
                                                job.scheme.tunnel({.capacity_items = std::size_t{input.points} + 1}));
    pipe_.add_cpu_stage(
        "begin", [this](hiway::Inlet<float> out) { correction_.put_first(out); }, hiway::into(centroids));
    pipe_.add_batch_stage("assign",
                          [this](hiway::Batch<float const> in, hiway::Batch<Change> out, hiway::Stream stream) {
                            assign(in.data(), out, stream);
                          },
                          hiway::from(centroids), hiway::into(changes),
                          {.max_items = values,
                           .min_items = values,
                           .max_wait = std::chrono::hours(1),
                           .in_flight = 1,
                           .device = cli::number_of(pipe_.device())});
    pipe_.add_cpu_stage("correct",
                        [this](hiway::Outlet<Change> in, hiway::Inlet<float> out) { correction_.run(in, out); },
                        hiway::from(changes), hiway::into(centroids), {.threads = correctors(tuning)});
    prepare();
  }
  Clustering(Clustering const&) = delete;
  Clustering& operator=(Clustering const&) = delete;

  Measurement run() {
    Measurement run;
    correction_.begin();
    count_ = 0;
    auto const begin = std::chrono::steady_clock::now();
    bring_points();
    cli::take_report(run, pipe_.run());
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    run.summary = summarize(input_, correction_.memberships(), correction_.iterations());
    return run;
  }
  [[nodiscard]] std::string graph() const { return pipe_.graph(); }

 private:
  void prepare() {
    bring_points();  // loads the kernels
    pipe_.prepare();
  }
  void bring_points() {
    rows_.copy_in(input_.values);
    pipe_.launch("transpose", Transpose{rows_.view().data, features_.view().data, input_.points, input_.features},
                 grid_);
    pipe_.launch("forget", Forget{memberships_.view().data, input_.points, words_.view().data}, grid_);
    pipe_.synchronize();
  }
  void assign(float const* centroids, hiway::Batch<Change> const& out, hiway::Stream const& stream) {
    Words* const words = words_.view().data;
    out.resize_on_device(&words->changes[count_].bits);
    stream.launch(Assign{.points = {features_.view().data, input_.points, input_.features},
                         .memberships = memberships_.view().data,
                         .centroids = centroids,
                         .clusters = input_.clusters,
                         .changes = out.data(),
                         .words = words,
                         .count = count_},
                  grid_.blocks, grid_.threads_per_block);
    count_ = 1 - count_;
  }

  Input const& input_;
  Correction correction_;
  hiway::Pipeline pipe_;
  hiway::Buffer<float>& rows_;
  hiway::Buffer<float>& features_;
  hiway::Buffer<std::uint16_t>& memberships_;
  hiway::Buffer<Words>& words_;
  hiway::GpuStageOptions grid_;
  std::uint32_t count_ = 0;
};

}  // namespace

std::vector<Measurement> run_hiway(Input const& input, Tuning const& tuning, Job const& job) {
  Clustering clustering{input, tuning, job};
  return cli::repeated(job, [&] { return clustering.run(); });
}

std::string hiway_graph(Input const& input, std::string const& device) {
  return Clustering{input, {}, {.device = device}}.graph();
}

}  // namespace kmeans
