// Method baseline: level by level, as one would write it without the library. A kernel follows the edges of a level's
// visits, and appends those of the next level to a list: each vertex once, for only the first to lower it finds it
// unreached. The host copies the list's length after each level, and launches the next one for so many.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <hiway/pipeline.hpp>
#include <span>
#include <utility>
#include <vector>

#include "bfs/methods.hpp"
#include "bfs/on_device.hpp"

namespace bfs {

using Count = hiway::Word<std::uint32_t>;

struct Expand {
  Edges edges;
  Level* levels;
  std::uint32_t piece;
  Visit const* now;
  std::uint32_t visits;
  Visit* next;
  Count* next_count;
  Count* later_count;  ///< of the level after it: set to 0

  HIWAY_DEVICE void operator()() const {
    hiway::anywhere([&](auto m) {
      if (m.thread_index() == 0) later_count->bits = 0;
      for (std::uint32_t i = m.thread_index(); i < visits; i += m.thread_count()) {
        follow(m, edges, levels, now[i], [&](Visit const& later) { append(m, later); });
      }
    });
  }

 private:
  template <class Machine>
  HIWAY_DEVICE void append(Machine m, Visit visit) const {
    std::uint32_t const pieces = (visit.last - visit.first + piece - 1) / piece;
    if (pieces == 0) return;
    std::uint32_t at = pieces == 1 ? claim_one(m) : m.fetch_add(*next_count, pieces, hiway::MemoryOrder::relaxed);
    for (; visit.first < visit.last; visit.first += piece) {
      std::uint32_t const end = visit.last - visit.first < piece ? visit.last : visit.first + piece;
      next[at++] = {visit.vertex, visit.level, visit.first, end};
    }
  }
  /// Lanes that come together share an atomic addition.
  template <class Machine>
  HIWAY_DEVICE std::uint32_t claim_one(Machine m) const {
    std::uint32_t const lanes = m.converged();
    unsigned const leader = m.lowest(lanes);
    std::uint32_t first = 0;
    if (m.lane() == leader) first = m.fetch_add(*next_count, m.count(lanes), hiway::MemoryOrder::relaxed);
    return m.shuffle(lanes, first, leader) + m.count(lanes & hiway::lanes_below(m.lane()));
  }
};

namespace {

class Search {
 public:
  Search(Problem const& problem, Options const& options, Job const& job)
      : problem_(problem),
        options_(options),
        emulated_(job.device == "simt"),
        pipe_(job.pipeline()),
        device_(pipe_, problem.graph),
        counts_(pipe_.create_buffer<Count>(3)) {
    // A vertex has a visit for each piece, the last of which may be short.
    std::size_t const most = problem.graph.vertices() + problem.graph.edges() / options.piece + 1;
    for (hiway::Buffer<Visit>*& list : lists_) list = &pipe_.create_buffer<Visit>(most);
    counts_.copy_in(std::array<Count, 3>{});
    device_.clear(problem.source);
    expand(0, 0);  // both load the kernels
    pipe_.synchronize();
  }

  Measurement run() {
    Measurement run;
    auto const begin = std::chrono::steady_clock::now();
    device_.clear(problem_.source);
    std::vector<Visit> const first = visits_of_source();
    lists_[0]->copy_in(first);
    counts_.copy_in(std::array<Count, 3>{});
    auto visits = static_cast<std::uint32_t>(first.size());
    for (std::uint32_t level = 0; visits != 0; ++level) {
      run.work.puts += visits;
      expand(level, visits);
      pipe_.synchronize();
      Count next{};
      counts_.copy_out(std::span(&next, 1), (level + 1) % 3);
      visits = next.bits;
    }
    pipe_.synchronize();  // without visits nobody has waited for the levels to be cleared
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    run.summary = device_.summary(problem_.graph);
    run.items = run.summary.reached;
    run.work.edges = run.summary.edges;  // each vertex has been visited once
    return run;
  }

 private:
  [[nodiscard]] std::vector<Visit> visits_of_source() const {
    std::uint32_t const end = problem_.graph.first[problem_.source + 1];
    std::vector<Visit> visits;
    for (std::uint32_t edge = problem_.graph.first[problem_.source]; edge < end;) {
      std::uint32_t const last = edge + std::min(options_.piece, end - edge);
      visits.push_back({problem_.source, 0, edge, last});
      edge = last;
    }
    return visits;
  }
  void expand(std::uint32_t level, std::uint32_t visits) {
    std::uint32_t const threads = options_.threads != 0 ? options_.threads : emulated_ ? 32U : 256U;
    std::uint32_t const most_blocks = emulated_ ? 1U : 1U << 16;
    hiway::GpuStageOptions const grid{.blocks = std::clamp((visits + threads - 1) / threads, 1U, most_blocks),
                                      .threads_per_block = threads};
    Count* const counts = counts_.view().data;
    pipe_.launch("expand",
                 Expand{device_.edges(), device_.levels(), options_.piece, lists_[level % 2]->view().data, visits,
                        lists_[(level + 1) % 2]->view().data, counts + (level + 1) % 3, counts + (level + 2) % 3},
                 grid);
  }

  Problem const& problem_;
  Options options_;
  bool emulated_;
  hiway::Pipeline pipe_;
  OnDevice device_;
  hiway::Buffer<Count>& counts_;                ///< of the visits of a level, modulo 3
  std::array<hiway::Buffer<Visit>*, 2> lists_;  ///< of even and odd levels
};

}  // namespace

std::vector<Measurement> run_baseline(Problem const& problem, Options const& options, Job const& job) {
  Search search{problem, options, job};
  return cli::repeated(job, [&] { return search.run(); });
}

}  // namespace bfs
