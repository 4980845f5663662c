// Method hiway: boards of the CPU's last row go into a segment, on the device, which has a node for each further row. A
// board that a node makes lies in the queue before the next one; those of the last node are solutions, and are counted.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <hiway/hiway.hpp>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/gathering.hpp"
#include "nqueens/methods.hpp"

namespace nqueens {
namespace {

using hiway::segment::NodeOptions;
using hiway::segment::Refill;
using hiway::segment::ReplicaOf;
using hiway::segment::SegmentBase;
using hiway::segment::SegmentConfig;
using hiway::segment::Shape;

/// A node for each row that the CPU does not place.
template <class Function>
auto rows_on_the_device(Problem const& problem, Options const& options) {
  std::vector<hiway::segment::OpenNode<void, Function>> rows;
  for (std::uint32_t row = problem.cpu_rows; row != problem.n; ++row) {
    // The least that sizes need to know: boards spread in the first rows, and die out in the last.
    double const gain = row < problem.n / 2 ? 3 : row < 3 * problem.n / 4 ? 1 : 0.5;
    rows.push_back(hiway::segment::node(
        "row " + std::to_string(row), Function{problem.n},
        NodeOptions{.interruptible = row - problem.cpu_rows < options.interruptible, .gain = gain}));
  }
  return chain(hiway::segment::repeat(rows), hiway::segment::count<Board>("solutions"));
}

SegmentConfig config_of(Options const& options, int device) {
  SegmentConfig config;
  config.device = device;
  config.nodes = hiway::all_nodes;
  config.blocks = options.replicas;
  config.queue_target_bytes = options.queue_bytes;
  config.queue_bytes = options.most_bytes;
  config.least_claim = 1;  // few boards, each with a great many below it
  return config;
}

/// The CPU's boards are dealt out to the GPUs of all nodes in turn, each of which has a segment; or those of node 0 go
/// to the segments by a tunnel. Each node counts its own solutions.
class Searcher {
 public:
  Searcher(Problem const& problem, Options const& options, Job const& job)
      : problem_(problem), options_(options), job_(job), pipe_(job.pipeline()) {
    for (unsigned gpu = 0; gpu < job_.gpus; ++gpu) add_segment(gpu);
    pipe_.prepare();
    if (job_.cluster != nullptr) gathering_.emplace(job_);
  }

  Measurement run() {
    Measurement run;
    auto const begin = std::chrono::steady_clock::now();
    for (std::size_t gpu = 0; gpu < boards_.size(); ++gpu) boards_[gpu]->copy_in(share_of(static_cast<unsigned>(gpu)));
    cli::take_report(run, pipe_.run());
    for (SegmentBase const* segment : segments_) run.summary.solutions += segment->items("solutions");
    if (gathering_) gather(run);
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (job_.all_gpus() == 1) run.segment = cli::numbers_of(*segments_.front());
    return run;
  }
  [[nodiscard]] std::string graph() const { return pipe_.graph(); }

 private:
  /// At node 0 the solutions become those of all nodes.
  void gather(Measurement& run) {
    for (auto const& of_node : gathering_->run(std::span(&run.summary.solutions, 1)))
      run.of_nodes.push_back(of_node.empty() ? 0 : of_node.front());
    run.summary.solutions = std::accumulate(run.of_nodes.begin(), run.of_nodes.end(), std::uint64_t{0});
  }
  [[nodiscard]] std::vector<Board> share_of(unsigned gpu) const {
    std::vector<Board> const all = boards_of_row(problem_.n, problem_.cpu_rows);
    std::vector<Board> share;
    for (std::size_t i = job_.among_all(gpu); i < all.size(); i += job_.all_gpus()) share.push_back(all[i]);
    return share;
  }
  void add_segment(unsigned gpu) {
    name_ = job_.name_on(gpu, "rows");
    device_ = job_.device_of(gpu);
    bool const warps = options_.replica == Replica::warp;
    if (options_.feed == Feed::tunnel) {
      warps ? feed_by_tunnel<Shape{ReplicaOf::warp}>() : feed_by_tunnel<Shape{ReplicaOf::block}>();
      return;
    }
    boards_.push_back(&pipe_.create_buffer<Board>(share_of(gpu).size(), device_));
    warps ? of_replica<ReplicaOf::warp>() : of_replica<ReplicaOf::block>();
  }
  template <ReplicaOf replica>
  void of_replica() {
    switch (options_.nodes) {
      case Nodes::lanes: return counting<replica, Refill::lanes, Place<>>();
      case Nodes::ensembles: return counting<replica, Refill::ensembles, Place<>>();
      case Nodes::by_hand: return counting<replica, Refill::ensembles, PlaceByHand>();
    }
  }
  template <ReplicaOf replica, Refill refill, class Function>
  void counting() {
    options_.counts ? feed_by_buffer<Shape{replica, refill, true}, Function>()
                    : feed_by_buffer<Shape{replica, refill, false}, Function>();
  }
  template <Shape shape, class Function>
  void feed_by_buffer() {
    segments_.push_back(&pipe_.add_segment<shape>(name_, hiway::segment::load(*boards_.back()),
                                                  rows_on_the_device<Function>(problem_, options_),
                                                  config_of(options_, device_)));
  }
  template <Shape shape>
  void feed_by_tunnel() {
    auto& boards = pipe_.create_tunnel<Board>("boards", hiway::Direction::cpu_to_gpu, {.capacity_items = 4096});
    pipe_.add_cpu_stage(
        "first rows",
        [problem = problem_](hiway::Inlet<Board> out) {
          out.put_h(std::span<Board const>(boards_of_row(problem.n, problem.cpu_rows)));
        },
        hiway::into(boards));
    segments_.push_back(&pipe_.add_segment<shape>(
        name_, hiway::from(boards), rows_on_the_device<Place<>>(problem_, options_), config_of(options_, device_)));
  }

  Problem problem_;
  Options options_;
  Job job_;
  hiway::Pipeline pipe_;
  std::optional<cli::Gathering<std::uint64_t>> gathering_;  ///< where there is a cluster
  // Of the segment that is being added.
  std::string name_;
  int device_ = -1;
  std::vector<hiway::Buffer<Board>*> boards_;  ///< of each GPU; none where a tunnel brings them
  std::vector<SegmentBase*> segments_;
};

}  // namespace

std::vector<Measurement> run_hiway(Problem const& problem, Options const& options, Job const& job) {
  Searcher searcher{problem, options, job};
  return cli::repeated(job, [&] {
    Measurement run = searcher.run();
    run.items = boards_of_row(problem.n, problem.cpu_rows).size();
    return run;
  });
}

std::string hiway_graph(Problem const& problem, Options const& options, std::string const& device) {
  return Searcher{problem, options, {.device = device}}.graph();
}

}  // namespace nqueens
