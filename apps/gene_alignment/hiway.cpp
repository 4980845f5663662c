// Method hiway: coarse (persistent GPU stage) -> fine (CPU threads) -> collect (one CPU thread), all at the same time.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <future>
#include <hiway/cpus.hpp>
#include <hiway/pipeline.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/host_array.hpp"
#include "gene_alignment/methods.hpp"
#include "gene_alignment/stages.hpp"

namespace gene_alignment {

/// The source: tests positions of its part of the target, one a lane and turn, and puts those that match, or all.
struct CoarseStage {
  CoarseProblem problem;
  std::int32_t first;  ///< position in the target
  bool puts_all;
  HIWAY_DEVICE void operator()(hiway::Inlet<Tested> tested) const {
    std::int64_t const positions = coarse_positions(problem.target_bases, problem.query_bases);
    for (std::int64_t at = hiway::thread_index(); at < positions; at += hiway::thread_count()) {
      auto const position = static_cast<std::int32_t>(at);
      bool const matches = coarse_match(problem, position);
      if (matches || puts_all) tested.put_d(Tested{first + position, matches ? 1 : 0});
    }
  }
};

struct FineStage {
  std::span<Base const> target;
  std::span<Base const> query;
  void operator()(Tested const& tested, hiway::Inlet<Alignment> alignments) const {
    if (tested.matches != 0) alignments.put_h(fine_match(target, query, Match{tested.position}));
  }
};

namespace {

/// What one GPU tests.
struct Part {
  std::span<Base const> bases;  ///< of the target
  hiway::Buffer<Base>& target;
  hiway::Buffer<Base>& query;
  hiway::Buffer<std::uint32_t>& seeds;
};

/// The pipeline for one input, with room for it on the devices: positions are shared out evenly, each GPU's matches go
/// through a tunnel to CPU threads of their own. Over nodes each has the input and its GPUs' share of the positions,
/// and alignments go to node 0. *Lifetime*: not longer than the input's.
class Aligner {
 public:
  Aligner(Input const& input, Job const& job, Cross cross)
      : input_(input),
        cross_(cross),
        pipe_(job.pipeline()),
        target_(cli::copied_from<Base>(pipe_, input.target, job.pinned)) {
    // Two threads are left to the collector and to the library's monitors.
    unsigned const threads = std::max(3U, hiway::available_cpus()) - 2;
    std::vector<hiway::Tunnel<Tested>*> matches;
    for (unsigned gpu = 0; gpu < job.gpus; ++gpu)
      matches.push_back(
          &pipe_.create_tunnel<Tested>(job.name_on(gpu, "matches"), hiway::Direction::gpu_to_cpu, job.scheme.tunnel()));
    auto& alignments = pipe_.create_tunnel<Alignment>("alignments", hiway::Direction::cpu_to_cpu, job.scheme.tunnel());
    for (unsigned gpu = 0; gpu < job.gpus; ++gpu) {
      add_coarse(gpu, job, *matches[gpu]);
      pipe_.add_cpu_stage(job.name_on(gpu, "fine"), FineStage{input.target, input.query}, hiway::from(*matches[gpu]),
                          hiway::into(alignments),
                          {.threads = std::max(1U, threads / job.gpus), .nodes = hiway::all_nodes});
    }
    pipe_.add_cpu_stage(
        "collect", [this](Alignment const& alignment) { found_.push_back(alignment); }, hiway::from(alignments));
  }
  Aligner(Aligner const&) = delete;
  Aligner& operator=(Aligner const&) = delete;

  void prepare() { pipe_.prepare(); }

  Measurement run() {
    auto const begin = std::chrono::steady_clock::now();
    found_.clear();
    std::vector<std::uint32_t> const seeds = make_seeds(input_.query);
    copy_in(seeds);
    hiway::RunReport report = pipe_.run();
    Measurement measured{.summary = summarize(found_)};
    cli::take_report(measured, std::move(report));
    measured.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return measured;
  }

  [[nodiscard]] std::string graph() const { return pipe_.graph(); }

 private:
  /// To all GPUs at the same time, each by a thread: every one has a bus of its own.
  void copy_in(std::vector<std::uint32_t> const& seeds) {
    std::vector<std::future<void>> copies;
    for (Part const& part : parts_) {
      copies.push_back(std::async(std::launch::async, [&] {
        part.target.copy_in(part.bases);
        part.query.copy_in(input_.query);
        part.seeds.copy_in(seeds);
      }));
    }
    for (std::future<void>& copy : copies) copy.get();
  }
  /// The GPU's share of the positions. The bases behind them are the next one's, too: a seed may begin at the last.
  void add_coarse(unsigned gpu, Job const& job, hiway::Tunnel<Tested>& matches) {
    std::span<Base const> const all = target_;
    auto const query_bases = static_cast<std::int32_t>(input_.query.size());
    std::int64_t const positions = coarse_positions(static_cast<std::int32_t>(all.size()), query_bases);
    std::int64_t const behind = static_cast<std::int64_t>(all.size()) - positions;
    std::int64_t const first = positions * job.among_all(gpu) / job.all_gpus();
    std::int64_t const end = positions * (job.among_all(gpu) + 1) / job.all_gpus();
    std::span<Base const> const bases =
        all.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(end - first + behind));
    int const device = job.device_of(gpu);
    auto const seeds = static_cast<std::size_t>(seed_count(query_bases));
    Part const part{bases, pipe_.create_buffer<Base>(bases.size(), device),
                    pipe_.create_buffer<Base>(input_.query.size(), device),
                    pipe_.create_buffer<std::uint32_t>(seeds, device)};
    CoarseProblem const problem{part.target.view().data,
                                part.query.view().data,
                                part.seeds.view().data,
                                static_cast<std::int32_t>(bases.size()),
                                query_bases,
                                static_cast<std::int32_t>(seeds)};
    pipe_.add_gpu_stage(job.name_on(gpu, "coarse"),
                        CoarseStage{problem, static_cast<std::int32_t>(first), cross_ == Cross::all},
                        hiway::into(matches), {.device = device, .nodes = hiway::all_nodes});
    parts_.push_back(part);
  }

  Input const& input_;
  Cross cross_;
  hiway::Pipeline pipe_;
  std::span<Base const> target_;
  std::vector<Part> parts_;
  std::vector<Alignment> found_;
};

}  // namespace

std::vector<Measurement> run_hiway(Input const& input, Job const& job, Cross cross) {
  Aligner aligner{input, job, cross};
  aligner.prepare();
  return cli::repeated(job, [&] { return aligner.run(); });
}

std::string hiway_graph(std::string const& device) {
  Input const smallest{Sequence(1), Sequence(1), {}};
  return Aligner{smallest, {.device = device}, Cross::matches}.graph();
}

}  // namespace gene_alignment
