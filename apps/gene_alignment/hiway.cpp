// Method hiway: coarse (persistent GPU stage) -> fine (CPU threads) -> collect (one CPU thread), all at the same time.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <hiway/hiway.hpp>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gene_alignment/methods.hpp"
#include "gene_alignment/stages.hpp"

namespace gene_alignment {

/// The source: tests positions of the target, one a lane and turn, and puts those that match.
struct CoarseStage {
  CoarseProblem problem;
  HIWAY_DEVICE void operator()(hiway::Inlet<Match> found) const {
    std::int64_t const positions = coarse_positions(problem.target_bases, problem.query_bases);
    for (std::int64_t at = hiway::thread_index(); at < positions; at += hiway::thread_count()) {
      auto const position = static_cast<std::int32_t>(at);
      if (coarse_match(problem, position)) found.put_d(Match{position});
    }
  }
};

struct FineStage {
  std::span<Base const> target;
  std::span<Base const> query;
  Alignment operator()(Match const& match) const { return fine_match(target, query, match); }
};

namespace {

/// The pipeline for one input, with room for it on the device. *Lifetime*: not longer than the input's.
class Aligner {
 public:
  Aligner(Input const& input, Job const& job)
      : input_(input),
        pipe_(job.pipeline()),
        target_(pipe_.create_buffer<Base>(input.target.size())),
        query_(pipe_.create_buffer<Base>(input.query.size())),
        seeds_(pipe_.create_buffer<std::uint32_t>(
            static_cast<std::size_t>(seed_count(static_cast<std::int32_t>(input.query.size()))))) {
    auto& matches = pipe_.create_tunnel<Match>("matches", hiway::Direction::gpu_to_cpu, job.scheme.tunnel());
    auto& alignments = pipe_.create_tunnel<Alignment>("alignments", hiway::Direction::cpu_to_cpu, job.scheme.tunnel());
    CoarseProblem const problem{target_.view().data,
                                query_.view().data,
                                seeds_.view().data,
                                static_cast<std::int32_t>(target_.size()),
                                static_cast<std::int32_t>(query_.size()),
                                static_cast<std::int32_t>(seeds_.size())};
    // Two threads are left to the collector and to the library's monitors.
    unsigned const threads = std::max(3U, std::thread::hardware_concurrency()) - 2;
    pipe_.add_gpu_stage("coarse", CoarseStage{problem}, hiway::into(matches));
    pipe_.add_cpu_stage("fine", FineStage{input.target, input.query}, hiway::from(matches), hiway::into(alignments),
                        {.threads = threads});
    pipe_.add_cpu_stage(
        "collect", [this](Alignment const& alignment) { found_.push_back(alignment); }, hiway::from(alignments));
  }
  Aligner(Aligner const&) = delete;
  Aligner& operator=(Aligner const&) = delete;

  void prepare() { pipe_.prepare(); }

  Measurement run() {
    auto const begin = std::chrono::steady_clock::now();
    found_.clear();
    target_.copy_in(input_.target);
    query_.copy_in(input_.query);
    seeds_.copy_in(make_seeds(input_.query));
    hiway::RunReport report = pipe_.run();
    Measurement measured{.summary = summarize(found_)};
    cli::take_report(measured, std::move(report));
    measured.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return measured;
  }

  [[nodiscard]] std::string graph() const { return pipe_.graph(); }

 private:
  Input const& input_;
  hiway::Pipeline pipe_;
  hiway::Buffer<Base>& target_;
  hiway::Buffer<Base>& query_;
  hiway::Buffer<std::uint32_t>& seeds_;
  std::vector<Alignment> found_;
};

}  // namespace

std::vector<Measurement> run_hiway(Input const& input, Job const& job) {
  Aligner aligner{input, job};
  aligner.prepare();
  return cli::repeated(job, [&] { return aligner.run(); });
}

std::string hiway_graph(std::string const& device) {
  Input const smallest{Sequence(1), Sequence(1), {}};
  return Aligner{smallest, {.device = device}}.graph();
}

}  // namespace gene_alignment
