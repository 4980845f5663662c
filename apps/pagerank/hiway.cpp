// Method hiway: PageRank is no pipeline, each round needs all ranks of the one before. What the library gives it is a
// stage whose blocks are all on the device at once, for the whole run: so they can wait for each other, and a round
// costs a meeting instead of a launch. The ranks of the last round leave as items.
//
//   iterate -Rank-> collect (CPU)
//
//   arrived   counts all blocks' arrivals; meeting k is over when it is k times the number of blocks
//   Orders    a block's ranks are stored before its arrival (sync_block, then release); others' loads come after the
//             last arrival (acquire, then sync_block)
//   A vector is written in one round, read in the next, and written again in the one after that: a meeting lies between
//   any two of these.
#include <chrono>
#include <cstdint>
#include <hiway/pipeline.hpp>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "pagerank/methods.hpp"
#include "pagerank/on_device.hpp"

namespace pagerank {

struct Rank {
  std::uint32_t node;
  float rank;
};
using Arrived = hiway::Word<std::uint32_t>;

struct Iterate {
  Matrix matrix;
  float* even;
  float* odd;
  Arrived* arrived;  ///< 0 at the start
  std::uint32_t rounds;
  std::uint32_t lanes;

  HIWAY_DEVICE void operator()(hiway::Inlet<Rank> out) const {
    hiway::anywhere([&](auto m) {
      Share const share{m, matrix, lanes};
      for (std::uint32_t node = m.thread_index(); node < matrix.nodes; node += m.thread_count())
        even[node] = 1.0F / static_cast<float>(matrix.nodes);
      for (std::uint32_t round = 0; round + 1 < rounds; ++round) {
        meet(m, round + 1);
        float* const next = round % 2 == 0 ? odd : even;
        multiply(m, matrix, share, round % 2 == 0 ? even : odd,
                 [&](std::uint32_t node, float rank) { next[node] = rank; });
      }
      meet(m, rounds);
      multiply(m, matrix, share, rounds % 2 == 1 ? even : odd, [&](std::uint32_t node, float rank) {
        out.put_d({node, rank});
      });
    });
  }

 private:
  template <class Machine>
  HIWAY_DEVICE void meet(Machine m, std::uint32_t meeting) const {
    m.sync_block();
    if (m.thread_in_block() == 0) {
      m.fetch_add(*arrived, 1U, hiway::MemoryOrder::acq_rel);
      while (m.load(*arrived, hiway::MemoryOrder::acquire) < meeting * m.block_count()) m.relax(0);
    }
    m.sync_block();
  }
};

namespace {

class Ranking {
 public:
  Ranking(Problem const& problem, Options const& options, Job const& job)
      : pipe_(job.pipeline()),
        device_(pipe_, problem, job.pinned),
        arrived_(pipe_.create_buffer<Arrived>(1)),
        ranks_(problem.nodes()) {
    bool const emulated = job.device == "simt";
    auto& ranks =
        pipe_.create_tunnel<Rank>("ranks", hiway::Direction::gpu_to_cpu, job.scheme.tunnel({.capacity_items = 16384}));
    pipe_.add_gpu_stage("iterate",
                        Iterate{device_.matrix(), device_.ranks(0).view().data, device_.ranks(1).view().data,
                                arrived_.view().data, problem.rounds, options.lanes_for(problem)},
                        hiway::into(ranks), options.grid_for(problem, emulated ? 64 : 768, emulated ? 2 : 128));
    pipe_.add_cpu_stage(
        "collect", [this](Rank const& r) { ranks_[r.node] = r.rank; }, hiway::from(ranks));
    pipe_.prepare();
  }
  Ranking(Ranking const&) = delete;
  Ranking& operator=(Ranking const&) = delete;

  Measurement run() {
    Measurement run;
    ranks_.assign(ranks_.size(), std::numeric_limits<float>::quiet_NaN());  // a rank that does not come is seen
    auto const begin = std::chrono::steady_clock::now();
    device_.copy_in();
    arrived_.copy_in(std::vector<Arrived>(1));
    hiway::RunReport report = pipe_.run();
    double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    cli::take_report(run, std::move(report));
    run.seconds = seconds;
    run.items = ranks_.size();
    run.summary = ranks_;
    return run;
  }
  [[nodiscard]] std::string graph() const { return pipe_.graph(); }

 private:
  hiway::Pipeline pipe_;
  OnDevice device_;
  hiway::Buffer<Arrived>& arrived_;
  Ranks ranks_;
};

}  // namespace

std::vector<Measurement> run_hiway(Problem const& problem, Options const& options, Job const& job) {
  Ranking ranking{problem, options, job};
  return cli::repeated(job, [&] { return ranking.run(); });
}

std::string hiway_graph(Problem const& problem, std::string const& device) {
  return Ranking{problem, {}, {.device = device}}.graph();
}

}  // namespace pagerank
