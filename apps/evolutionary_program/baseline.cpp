// Method baseline: Hetero-Mark's collaborative scheme. A host thread for each island goes from stage to stage over all
// of it: copies, a kernel, copies, and its share of the CPU's threads, which are kept from generation to generation;
// the islands overlap. What the device has already is not copied again.
#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <hiway/cpus.hpp>
#include <hiway/pipeline.hpp>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "cli/host_array.hpp"
#include "evolutionary_program/methods.hpp"

namespace evolutionary_program {

/// A warp for each creature.
struct EvaluateIsland {
  Creature* creatures;
  double* fitness;
  std::uint32_t count;
  double const* coefficients;
  bool computes;
  HIWAY_DEVICE void operator()() const {
    hiway::anywhere([&](auto m) {
      std::uint32_t const lanes = m.count(m.lanes());
      double* const terms = reinterpret_cast<double*>(hiway::shared_memory()) + m.thread_in_block() / lanes * genes;
      for (std::uint32_t c = m.thread_index() / lanes; c < count; c += m.thread_count() / lanes) {
        double const sum = computes ? fitness_of(m, creatures[c].parameters, coefficients, terms) : 0;
        if (m.lane() == 0) fitness[c] = sum;
      }
    });
  }
};
/// A thread for each creature.
struct MutateIsland {
  Creature* creatures;
  std::uint32_t count;
  bool computes;
  HIWAY_DEVICE void operator()() const {
    if (!computes) return;
    for (std::uint32_t c = hiway::thread_index(); c < count; c += hiway::thread_count()) {
      double& gene = creatures[c].parameters[c % genes];
      gene = mutated(gene, c % genes, c);
    }
  }
};

namespace {

/// One island, by one host thread and those that it starts, which live as long as a run.
class IslandRun {
 public:
  IslandRun(Problem const& problem, std::uint32_t island, Job const& job, unsigned threads)
      : problem_(problem),
        island_(island),
        threads_(threads),
        pipe_(job.pipeline()),
        creatures_(pipe_.create_buffer<Creature>(problem.of_island())),
        fitness_(pipe_.create_buffer<double>(problem.of_island())),
        coefficients_(pipe_.create_buffer<double>(genes)),
        now_array_(pipe_, problem.of_island(), job.pinned),
        next_array_(pipe_, problem.of_island(), job.pinned),
        values_array_(pipe_, problem.of_island(), job.pinned),
        ranks_(problem.of_island()),
        meeting_(static_cast<std::ptrdiff_t>(threads)) {
    coefficients_.copy_in(make_coefficients());
    unsigned const warps = job.device == "simt" ? 1 : 4;
    grid_ = {.blocks = job.device == "simt" ? 1U : 256U,
             .threads_per_block = 32 * warps,
             .shared_bytes = warps * genes * sizeof(double)};
    evaluate();  // loads the kernels
    mutate();
    pipe_.synchronize();
  }

  void run() {
    std::vector<std::jthread> others;
    for (unsigned t = 1; t < threads_; ++t) {
      others.emplace_back([this, t] {
        for (std::uint32_t generation = 0; generation < problem_.generations; ++generation) cross_some(generation, t);
      });
    }
    for (std::uint32_t generation = 0; generation < problem_.generations; ++generation) {
      if (generation == 0) {
        for (Creature& creature : now_) make_creature(creature);
        creatures_.copy_in(now_);
      }
      evaluate();
      pipe_.synchronize();
      fitness_.copy_out(values_);
      for (std::uint32_t c = 0; c < values_.size(); ++c) {
        now_[c].fitness = values_[c];
        ranks_[c] = {values_[c], c};
      }
      if (problem_.computes) select(ranks_);
      cross_some(generation, 0);
      creatures_.copy_in(next_);
      mutate();
      pipe_.synchronize();
      creatures_.copy_out(now_);
    }
  }
  [[nodiscard]] Island island() const { return {now_.begin(), now_.end()}; }

 private:
  void evaluate() {
    pipe_.launch("evaluate",
                 EvaluateIsland{creatures_.view().data, fitness_.view().data, problem_.of_island(),
                                coefficients_.view().data, problem_.computes},
                 grid_);
  }
  void mutate() {
    pipe_.launch("mutate", MutateIsland{creatures_.view().data, problem_.of_island(), problem_.computes}, grid_);
  }
  /// Crosses a thread's share when the host thread, number 0, has sorted; returns when all have crossed theirs.
  void cross_some(std::uint32_t generation, unsigned thread) {
    meeting_.arrive_and_wait();
    auto const sorted = [&](std::uint32_t k) -> Creature const& { return now_[ranks_[k].number]; };
    for (std::uint32_t c = thread; c < next_.size(); c += threads_)
      cross(problem_, sorted(c), stream_of(problem_, generation, island_, c), sorted, next_[c]);
    meeting_.arrive_and_wait();
  }

  Problem problem_;
  std::uint32_t island_;
  unsigned threads_;
  hiway::Pipeline pipe_;
  hiway::Buffer<Creature>& creatures_;
  hiway::Buffer<double>& fitness_;
  hiway::Buffer<double>& coefficients_;
  hiway::GpuStageOptions grid_;
  cli::HostArray<Creature> now_array_, next_array_;
  cli::HostArray<double> values_array_;
  std::span<Creature> now_ = now_array_.all();
  std::span<Creature> next_ = next_array_.all();
  std::span<double> values_ = values_array_.all();
  std::vector<Rank> ranks_;
  std::barrier<> meeting_;
};

}  // namespace

std::vector<Measurement> run_baseline(Problem const& problem, Job const& job) {
  unsigned const threads = std::max(2U, hiway::available_cpus() / islands);
  std::array<std::unique_ptr<IslandRun>, islands> all;
  for (std::uint32_t i = 0; i < islands; ++i) all[i] = std::make_unique<IslandRun>(problem, i, job, threads);
  std::vector<Measurement> runs;
  for (unsigned i = 0; i < job.repeat; ++i) {
    auto const begin = std::chrono::steady_clock::now();
    {
      std::vector<std::jthread> hosts;
      for (auto& island : all) hosts.emplace_back([&island] { island->run(); });
    }
    Measurement run;
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::vector<Island> islands_now;
    for (auto const& island : all) islands_now.push_back(island->island());
    run.summary = summarize(islands_now);
    run.items = std::uint64_t{problem.generations} * problem.of_island() * islands;
    runs.push_back(std::move(run));
    job.ran();
  }
  return runs;
}

}  // namespace evolutionary_program
