// Method hiway: points and memberships stay on the GPU. For each iteration the CPU sends out the parts of all points by
// a tunnel; blocks of a kernel that stays find each point's nearest centroid, and those points whose cluster is another
// than before leave by a second tunnel, with their number after them. The CPU corrects its sums by them, and when it
// has all of an iteration, sends out the parts again:
//
//   begin (CPU) -> parts -> assign (GPU) -> changes -> correct (CPU) -> parts
//
// Centroids lie in pinned memory. The CPU writes them before it sends out parts, when all parts have been answered.
// Blocks take whichever part comes: what one has written of a part's memberships, another one may read in the next
// iteration; it knows of it by way of the CPU.
//
// Or, with a kernel launched in each iteration, the first tunnel has centroids, and a batch stage gets those of an
// iteration as one batch.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <hiway/cpus.hpp>
#include <hiway/pipeline.hpp>
#include <numeric>
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
        changes[m.fetch_add(words->changes[count], 1U, hiway::MemoryOrder::relaxed)] = {p, before, now};
      }
      m.sync_block();
      if (m.thread_in_block() != 0) return;
      if (m.fetch_add(words->blocks, 1U, hiway::MemoryOrder::acq_rel) + 1 != m.block_count()) return;
      std::uint32_t const all = m.fetch_add(words->changes[count], 1U, hiway::MemoryOrder::relaxed);
      changes[all] = {all, none, none};
      m.store(words->changes[1 - count], 0U, hiway::MemoryOrder::relaxed);
      m.store(words->blocks, 0U, hiway::MemoryOrder::relaxed);
    });
  }
};

/// A block for one part of the points after another.
struct AssignParts {
  Points points;
  std::uint16_t* memberships;
  float const* centroids;  ///< in pinned memory
  std::uint32_t clusters;
  std::uint32_t parts;

  /// In a block's shared memory.
  struct Near {
    float* centroids;
    Change* changes;  ///< one more than threads
    hiway::Word<std::uint32_t>* count;
  };
  static std::size_t shared_bytes(unsigned threads, std::size_t values) {
    return sizeof(hiway::Word<std::uint32_t>) + (threads + 1) * sizeof(Change) + values * sizeof(float);
  }

  HIWAY_DEVICE void operator()(hiway::Outlet<std::uint32_t> in, hiway::Inlet<Change> out) const {
    hiway::anywhere([&](auto m) {
      std::uint32_t const values = clusters * points.of_each;
      auto* const changes = reinterpret_cast<Change*>(m.shared_memory());
      auto* const count = reinterpret_cast<hiway::Word<std::uint32_t>*>(changes + m.block_threads() + 1);
      Near const near{reinterpret_cast<float*>(count + 1), changes, count};
      in.for_each_block([&](std::uint32_t part) {
        if (m.thread_in_block() == 0) m.store(*near.count, 0U, hiway::MemoryOrder::relaxed);
        for (std::uint32_t i = m.thread_in_block(); i < values; i += m.block_threads())
          near.centroids[i] = centroids[i];
        m.sync_block();
        assign(m, near, part, out);
      });
    });
  }

 private:
  HIWAY_DEVICE std::uint32_t begin_of(std::uint32_t part) const {
    return static_cast<std::uint32_t>(std::uint64_t{points.count} * part / parts);
  }
  /// As many points at a time as the block has threads.
  template <class Machine>
  HIWAY_DEVICE void assign(Machine m, Near const& near, std::uint32_t part, hiway::Inlet<Change> const& out) const {
    std::uint32_t const end = begin_of(part + 1);
    std::uint32_t all = 0;
    for (std::uint32_t first = begin_of(part); first < end; first += m.block_threads()) {
      find_changes(m, near, first + m.thread_in_block(), end);
      m.sync_block();
      std::uint32_t count = m.load(*near.count, hiway::MemoryOrder::relaxed);
      all += count;
      m.sync_block();  // before the count is 0 again
      bool const is_last = end - first <= m.block_threads();
      if (m.thread_in_block() == 0) {
        m.store(*near.count, 0U, hiway::MemoryOrder::relaxed);
        if (is_last) near.changes[count] = {all, none, none};
      }
      m.sync_block();
      if (is_last) ++count;
      if (count != 0) out.put_block(std::span<Change const>(near.changes, count));
      m.sync_block();  // before the changes are others
    }
  }
  template <class Machine>
  HIWAY_DEVICE void find_changes(Machine m, Near const& near, std::uint32_t point, std::uint32_t end) const {
    if (point >= end) return;
    auto const now = static_cast<std::uint16_t>(nearest(points, point, near.centroids, clusters));
    std::uint16_t const before = memberships[point];
    if (now == before) return;
    memberships[point] = now;
    near.changes[m.fetch_add(*near.count, 1U, hiway::MemoryOrder::relaxed)] = {point, before, now};
  }
};

namespace {

unsigned correctors(Tuning const& tuning) {
  return tuning.threads != 0 ? tuning.threads : std::clamp(hiway::available_cpus() / 2, 1U, 8U);
}

class Clustering {
 public:
  Clustering(Input const& input, Tuning const& tuning, Job const& job)
      : input_(input),
        is_emulated_(job.device == "simt"),
        parts_(std::min(is_emulated_ ? 2U : tuning.parts, input.points)),
        correction_(input, correctors(tuning), tuning.at_once,
                    tuning.stays ? static_cast<std::uint32_t>(parts_.size()) : 1),
        pipe_(job.pipeline()),
        rows_(pipe_.create_buffer<float>(input.values.size())),
        features_(pipe_.create_buffer<float>(input.values.size())),
        memberships_(pipe_.create_buffer<std::uint16_t>(input.points)),
        found_(input.points),
        words_(pipe_.create_buffer<Words>(1)) {
    std::iota(parts_.begin(), parts_.end(), 0U);
    // No put finds a tunnel full, also while one side has not heard yet what the other has taken: all points may change
    // in an iteration, which has its ends, too.
    hiway::TunnelConfig config = job.scheme.tunnel({.capacity_items = 2 * (std::size_t{input.points} + parts_.size())});
    if (tuning.stays && config.movement == hiway::Movement::automatic)
      config.movement = tuning.copies ? hiway::Movement::dma : hiway::Movement::direct;
    auto& changes = pipe_.create_tunnel<Change>("changes", hiway::Direction::gpu_to_cpu, config);
    tuning.stays ? add_staying(tuning, job, changes) : add_launched(tuning, job, changes);
    bring_points();  // loads the kernels
    pipe_.prepare();
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
    memberships_.copy_out(found_);
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    run.summary = summarize(input_, {found_.begin(), found_.end()}, correction_.iterations());
    return run;
  }
  [[nodiscard]] std::string graph() const { return pipe_.graph(); }

 private:
  void add_staying(Tuning const& tuning, Job const& job, hiway::Tunnel<Change>& changes) {
    std::size_t const values = std::size_t{input_.clusters} * input_.features;
    // A part is few bytes, and nobody does anything until it is there.
    hiway::TunnelConfig config = job.scheme.tunnel({.capacity_items = 8 * parts_.size()});
    if (config.movement == hiway::Movement::automatic) config.movement = hiway::Movement::direct;
    auto& parts = pipe_.create_tunnel<std::uint32_t>("parts", hiway::Direction::cpu_to_gpu, config);
    centroids_ = pipe_.create_host_buffer<float>(values);
    unsigned const threads = is_emulated_ ? 64 : tuning.block_threads;
    pipe_.add_cpu_stage(
        "begin", [this](hiway::Inlet<std::uint32_t> out) { send_parts(out); }, hiway::into(parts));
    pipe_.add_gpu_stage("assign",
                        AssignParts{.points = points(),
                                    .memberships = memberships_.view().data,
                                    .centroids = centroids_.data(),
                                    .clusters = input_.clusters,
                                    .parts = static_cast<std::uint32_t>(parts_.size())},
                        hiway::from(parts), hiway::into(changes),
                        {.blocks = is_emulated_ ? static_cast<unsigned>(parts_.size()) : 0,  // as many as fit
                         .threads_per_block = threads,
                         .shared_bytes = AssignParts::shared_bytes(threads, values)});
    pipe_.add_cpu_stage("correct",
                        [this](hiway::Outlet<Change> in, hiway::Inlet<std::uint32_t> out) {
                          correction_.run(in, [&] { send_parts(out); });
                        },
                        hiway::from(changes), hiway::into(parts), {.threads = correctors(tuning)});
  }
  void send_parts(hiway::Inlet<std::uint32_t> const& out) {
    std::ranges::copy(correction_.centroids(), centroids_.begin());
    out.put_h(std::span<std::uint32_t const>(parts_));
  }

  void add_launched(Tuning const& tuning, Job const& job, hiway::Tunnel<Change>& changes) {
    std::size_t const values = std::size_t{input_.clusters} * input_.features;
    // A batch takes half of a tunnel at most.
    auto& centroids = pipe_.create_tunnel<float>("centroids", hiway::Direction::cpu_to_gpu,
                                                 job.scheme.tunnel({.capacity_items = 2 * values}));
    pipe_.add_cpu_stage(
        "begin", [this](hiway::Inlet<float> out) { out.put_h(correction_.centroids()); }, hiway::into(centroids));
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
                        [this](hiway::Outlet<Change> in, hiway::Inlet<float> out) {
                          correction_.run(in, [&] { out.put_h(correction_.centroids()); });
                        },
                        hiway::from(changes), hiway::into(centroids), {.threads = correctors(tuning)});
  }
  void assign(float const* centroids, hiway::Batch<Change> const& out, hiway::Stream const& stream) {
    Words* const words = words_.view().data;
    out.resize_on_device(&words->changes[count_].bits);
    stream.launch(Assign{.points = points(),
                         .memberships = memberships_.view().data,
                         .centroids = centroids,
                         .clusters = input_.clusters,
                         .changes = out.data(),
                         .words = words,
                         .count = count_},
                  grid().blocks, grid().threads_per_block);
    count_ = 1 - count_;
  }

  void bring_points() {
    rows_.copy_in(input_.values);
    pipe_.launch("transpose", Transpose{rows_.view().data, features_.view().data, input_.points, input_.features},
                 grid());
    pipe_.launch("forget", Forget{memberships_.view().data, input_.points, words_.view().data}, grid());
    pipe_.synchronize();
  }
  [[nodiscard]] Points points() const { return {features_.view().data, input_.points, input_.features}; }
  /// Of a kernel with a thread a point.
  [[nodiscard]] hiway::GpuStageOptions grid() const {
    if (is_emulated_) return {.blocks = 2, .threads_per_block = 64};
    return {.blocks = (input_.points + 127) / 128, .threads_per_block = 128};
  }

  Input const& input_;
  bool is_emulated_;
  std::vector<std::uint32_t> parts_;  // all of them
  Correction correction_;
  hiway::Pipeline pipe_;
  hiway::Buffer<float>& rows_;
  hiway::Buffer<float>& features_;
  hiway::Buffer<std::uint16_t>& memberships_;
  std::vector<std::uint16_t> found_;  // memberships, at the end
  hiway::Buffer<Words>& words_;       // of kernels that are launched
  std::span<float> centroids_;        // as a kernel that stays reads them
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
