// Method hiway: one kernel that stays, and one tunnel that feeds itself.
//
//   begin -Visit-> relax --+
//                    ^     |  visits of what was lowered
//                    +-----+
//
// Each lane gets a visit of its own, and puts visits of its own: lanes, warps and blocks contend for the tunnel, which
// is what its grouping relieves. Nobody waits for a level to be finished, so a vertex may be lowered more than once
// (stages.hpp).
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <hiway/pipeline.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bfs/methods.hpp"
#include "bfs/on_device.hpp"

namespace bfs {

struct Begin {
  Visit source;
  HIWAY_DEVICE void operator()(hiway::Inlet<Visit> out) const {
    if (hiway::thread_index() == 0) out.put_d(source);
  }
};

struct Relax {
  Edges edges;
  Level* levels;
  std::uint32_t piece;
  std::uint64_t* followed;  ///< of each thread: edges

  HIWAY_DEVICE void operator()(hiway::Outlet<Visit> in, hiway::Inlet<Visit> out) const {
    hiway::anywhere([&](auto m) {
      std::uint64_t sum = 0;
      Visit visit{};
      while (!in.is_terminate_d()) {
        if (!in.get_d(visit)) continue;
        sum += relax(m, visit, out);
        in.end_task_d();
      }
      followed[m.thread_index()] = sum;
    });
  }

 private:
  /// Of more edges than a piece, others get the rest: half, then half of what is left, so that these are soon shared
  /// out.
  template <class Machine>
  HIWAY_DEVICE std::uint32_t relax(Machine m, Visit visit, hiway::Inlet<Visit> const& out) const {
    if (m.load(levels[visit.vertex], hiway::MemoryOrder::relaxed) < visit.level)
      return 0;  // lowered since: another visit
    while (visit.last - visit.first > piece) {
      std::uint32_t const middle = visit.first + (visit.last - visit.first) / 2;
      out.put_d({visit.vertex, visit.level, middle, visit.last});
      visit.last = middle;
    }
    follow(m, edges, levels, visit, [&](Visit const& next) {
      if (next.first != next.last) out.put_d(next);
    });
    return visit.last - visit.first;
  }
};

namespace {

class Search {
 public:
  Search(Problem const& problem, Options const& options, Job const& job)
      : problem_(problem), pipe_(job.pipeline()), device_(pipe_, problem.graph) {
    bool const emulated = job.device == "simt";
    // Two blocks on each multiprocessor, by its registers; of 132, begin and the library's monitor have one each.
    hiway::GpuStageOptions const grid{.blocks = options.blocks != 0 ? options.blocks
                                                : emulated          ? 2U
                                                                    : 260U,
                                      .threads_per_block = options.threads != 0 ? options.threads
                                                           : emulated           ? 64U
                                                                                : 256U};
    followed_ = &pipe_.create_buffer<std::uint64_t>(std::size_t{grid.blocks} * grid.threads_per_block);
    std::uint32_t const vertices = problem.graph.vertices();
    std::uint32_t const room = std::clamp(std::bit_ceil(vertices), 1024U, most_capacity);
    hiway::TunnelConfig const config{.capacity_items = options.capacity != 0 ? options.capacity : room,
                                     .grouping = options.grouping,
                                     .spill_items = (1U << 16) + vertices + problem.graph.edges() / options.piece};
    auto& visits = pipe_.create_tunnel<Visit>("visits", hiway::Direction::gpu_to_gpu, job.scheme.tunnel(config));
    std::uint32_t const source = problem.source;
    Visit const first{source, 0, problem.graph.first[source], problem.graph.first[source + 1]};
    pipe_.add_gpu_stage("begin", Begin{first}, hiway::into(visits), {.blocks = 1, .threads_per_block = 32});
    pipe_.add_gpu_stage("relax", Relax{device_.edges(), device_.levels(), options.piece, followed_->view().data},
                        hiway::from(visits), hiway::into(visits), grid);
  }
  Search(Search const&) = delete;
  Search& operator=(Search const&) = delete;

  void prepare() {
    pipe_.prepare();
    clear();  // loads the kernel
  }
  Measurement run() {
    Measurement run;
    auto const begin = std::chrono::steady_clock::now();
    clear();
    hiway::RunReport report = pipe_.run();
    double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    cli::take_report(run, std::move(report));
    run.seconds = seconds;
    run.summary = device_.summary(problem_.graph);
    run.items = run.summary.reached;
    run.work.puts = run.tunnels.front().items;
    std::vector<std::uint64_t> followed(followed_->size());
    followed_->copy_out(followed);
    for (std::uint64_t const edges : followed) run.work.edges += edges;
    return run;
  }
  [[nodiscard]] std::string graph() const { return pipe_.graph(); }

 private:
  static constexpr std::uint32_t most_capacity = 1U << 22;

  void clear() {
    device_.clear(problem_.source);
    pipe_.synchronize();
  }

  Problem const& problem_;
  hiway::Pipeline pipe_;
  OnDevice device_;
  hiway::Buffer<std::uint64_t>* followed_ = nullptr;
};

}  // namespace

std::vector<Measurement> run_hiway(Problem const& problem, Options const& options, Job const& job) {
  Search search{problem, options, job};
  search.prepare();
  return cli::repeated(job, [&] { return search.run(); });
}

std::string hiway_graph(Problem const& problem, std::string const& device) {
  return Search{problem, {}, {.device = device}}.graph();
}

}  // namespace bfs
