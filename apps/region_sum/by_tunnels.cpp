// Method hiway, when ints come by a tunnel, in pieces, and sums leave by another: there may be more of both than the
// device's memory holds. A piece is a region of its parts, a part one of its ints, and these lie in the piece:
//
//   cut (CPU) -> parts -> open -> ints -> sum -> add (CPU)
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <hiway/hiway.hpp>
#include <span>
#include <vector>

#include "region_sum/methods.hpp"
#include "region_sum/pieces.hpp"

namespace region_sum {

/// Of a region, or a part of one.
struct Partial {
  std::uint64_t sum;
  std::uint32_t region;
};
struct Parts {
  HIWAY_DEVICE unsigned count(Piece const& piece) const { return piece.parts; }
  HIWAY_DEVICE Part at(Piece const& piece, unsigned k) const { return piece.part[k]; }
};
struct IntsOfPart {
  static constexpr unsigned items_per_lane = 4;
  HIWAY_DEVICE unsigned count(Part const& part, Piece const&) const { return part.count; }
  HIWAY_DEVICE std::uint32_t at(Part const& part, unsigned k, Piece const& piece) const {
    return piece.ints[part.first + k];
  }
};
struct AddUpPart {
  HIWAY_DEVICE std::uint64_t identity() const { return 0; }
  HIWAY_DEVICE std::uint64_t value(std::uint32_t const& number) const { return number; }
  HIWAY_DEVICE std::uint64_t join(std::uint64_t const& a, std::uint64_t const& b) const { return a + b; }
  HIWAY_DEVICE Partial close(Part const& part, std::uint64_t const& sum) const { return {sum, part.region}; }
};

namespace {

constexpr std::uint64_t ints_at_once = std::uint64_t{64} * Piece::most_ints;
constexpr std::size_t partials_at_once = 4096;

/// Some ints at a time, by whichever thread is free.
struct Cut {
  Problem const* problem;
  std::atomic<std::uint64_t>* next;
  std::uint64_t end;

  void operator()(hiway::Inlet<Piece> out) const {
    for (std::uint64_t first; (first = next->fetch_add(ints_at_once)) < end;) {
      for (Cutter cutter{*problem, first, std::min(end, first + ints_at_once)}; !cutter.is_done();)
        out.put_in_place_h([&](Piece& piece) { cutter.cut(piece); });
    }
  }
};
struct Add {
  Sums* sums;

  void operator()(hiway::Outlet<Partial> in) const {
    std::vector<Partial> some(partials_at_once);
    while (std::size_t const n = in.next_h(std::span(some))) {
      for (Partial const& partial : std::span(some).first(n))
        std::atomic_ref((*sums)[partial.region]).fetch_add(partial.sum, std::memory_order_relaxed);
      in.end_task_h(n);
    }
  }
};

/// Over nodes each cuts its share of the ints for its own segment, and sums go to node 0.
class ByTunnels {
 public:
  ByTunnels(Problem const& problem, SegmentOptions const& options, Job const& job)
      : problem_(problem),
        job_(job),
        pipe_(job.pipeline()),
        first_int_(problem.ints.size() * job.node() / job.nodes()),
        sums_(problem.regions()) {
    std::uint64_t const end = problem.ints.size() * (job.node() + 1) / job.nodes();
    using hiway::Direction;
    using hiway::segment::enumerate;
    using hiway::segment::NodeOptions;
    unsigned const cores = hiway::available_cpus();
    auto& pieces = pipe_.create_tunnel<Piece>("pieces", Direction::cpu_to_gpu, {.capacity_items = 4096});
    auto& sums = pipe_.create_tunnel<Partial>("sums", Direction::gpu_to_cpu, {.capacity_items = std::size_t{1} << 20});
    pipe_.add_cpu_stage("cut", Cut{&problem_, &next_int_, end}, hiway::into(pieces),
                        {.threads = std::clamp(cores / 2, 1U, 8U), .nodes = hiway::all_nodes});
    segment_ = &pipe_.add_segment<hiway::segment::Shape{hiway::segment::ReplicaOf::warp}>(
        "sum regions", hiway::from(pieces),
        hiway::segment::chain(
            // Few pieces at once in each replica: they are long.
            enumerate("parts", Parts{}, NodeOptions{.gain = 15, .queue_slots = 4, .region_slots = 8}),
            enumerate("open", IntsOfPart{}, NodeOptions{.gain = 128}), hiway::segment::aggregate("sum", AddUpPart{}),
            hiway::into(sums)),
        {.threads_per_block = 128, .nodes = hiway::all_nodes, .context = options.context});
    pipe_.add_cpu_stage("add", Add{&sums_}, hiway::from(sums), {.threads = std::clamp(cores / 4, 1U, 4U)});
    pipe_.prepare();
  }
  ByTunnels(ByTunnels const&) = delete;
  ByTunnels& operator=(ByTunnels const&) = delete;

  Measurement run(Sums& sums) {
    next_int_ = first_int_;
    std::ranges::fill(sums_, 0);
    Measurement run;
    cli::take_report(run, pipe_.run());
    if (job_.nodes() == 1) run.segment = cli::numbers_of(*segment_);
    run.items = problem_.ints.size();
    run.summary = summarize(sums_);
    sums = sums_;
    return run;
  }

 private:
  Problem const& problem_;
  Job job_;
  hiway::Pipeline pipe_;
  std::uint64_t first_int_;  ///< of this node
  hiway::segment::SegmentBase* segment_ = nullptr;
  std::atomic<std::uint64_t> next_int_ = 0;
  Sums sums_;
};

}  // namespace

std::vector<Measurement> run_by_tunnels(Problem const& problem, SegmentOptions const& options, Job const& job,
                                        Sums& sums) {
  ByTunnels summer{problem, options, job};
  return cli::repeated(job, [&] { return summer.run(sums); });
}

}  // namespace region_sum
