// Method hiway: a segment of two nodes. What opens a region makes an item of each of its ints; what closes it adds them
// up.
//
//   regions -> open -> ints -> sum
#include <algorithm>
#include <cstdint>
#include <hiway/hiway.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/gathering.hpp"
#include "region_sum/methods.hpp"

namespace region_sum {

/// A parent.
struct Region {
  std::uint64_t first;
  std::uint32_t count;
  std::uint32_t number;
};
struct MakeRegion {
  std::uint64_t const* offsets;
  HIWAY_DEVICE Region operator()(std::uint64_t i) const {
    return {offsets[i], static_cast<std::uint32_t>(offsets[i + 1] - offsets[i]), static_cast<std::uint32_t>(i)};
  }
};
/// Its elements, four of a lane on their way at once.
struct Ints {
  std::uint32_t const* ints;
  static constexpr unsigned items_per_lane = 4;
  HIWAY_DEVICE unsigned count(Region const& region) const { return region.count; }
  HIWAY_DEVICE std::uint32_t at(Region const& region, unsigned k) const { return ints[region.first + k]; }
};
/// Goes to its place: nothing is put.
struct AddUp {
  std::uint64_t* sums;
  HIWAY_DEVICE std::uint64_t identity() const { return 0; }
  HIWAY_DEVICE std::uint64_t value(std::uint32_t const& number) const { return number; }
  HIWAY_DEVICE std::uint64_t join(std::uint64_t const& a, std::uint64_t const& b) const { return a + b; }
  HIWAY_DEVICE hiway::segment::Maybe<std::uint64_t> close(Region const& region, std::uint64_t const& sum) const {
    sums[region.number] = sum;
    return {};
  }
};

namespace {

using hiway::segment::Shape;

/// Over nodes each has a stretch of the regions on its device, and a segment that sums them.
class Summer {
 public:
  Summer(Problem const& problem, SegmentOptions const& options, Job const& job)
      : Summer(problem, stretch_of(problem, job.node(), job.nodes()), options, job) {}

  Measurement run(Sums& sums) {
    Measurement run;
    cli::take_report(run, pipe_.run());
    if (job_.nodes() == 1) run.segment = cli::numbers_of(*segment_);
    run.items = all_ints_;
    sums.resize(regions_);
    sums_.copy_out(std::span(sums));
    if (gathering_) gather(sums);
    run.summary = summarize(sums);
    return run;
  }
  [[nodiscard]] std::string graph() const { return pipe_.graph(); }

 private:
  Summer(Problem const& problem, Stretch stretch, SegmentOptions const& options, Job const& job)
      : options_(options),
        job_(job),
        pipe_(job.pipeline()),
        regions_(stretch.end - stretch.first),
        int_count_(problem.offsets[stretch.end] - problem.offsets[stretch.first]),
        all_ints_(problem.ints.size()),
        ints_(pipe_.create_buffer<std::uint32_t>(std::max<std::size_t>(1, int_count_))),
        offsets_(pipe_.create_buffer<std::uint64_t>(regions_ + 1)),
        sums_(pipe_.create_buffer<std::uint64_t>(std::max<std::size_t>(1, regions_))) {
    std::uint64_t const first_int = problem.offsets[stretch.first];
    ints_.copy_in(std::span(problem.ints).subspan(first_int, int_count_));
    std::span<std::uint64_t const> const all = problem.offsets;
    std::vector<std::uint64_t> offsets(regions_ + 1);
    std::ranges::transform(all.subspan(stretch.first, offsets.size()), offsets.begin(),
                           [&](std::uint64_t offset) { return offset - first_int; });
    offsets_.copy_in(offsets);
    cli::with_shape(options.replica, options.counters, [&]<Shape shape>(cli::ShapeOf<shape>) { of_shape<shape>(); });
    pipe_.prepare();
    if (job_.cluster != nullptr) gathering_.emplace(job_);
  }

  /// At node 0 the sums become those of all nodes.
  void gather(Sums& sums) {
    auto const& all = gathering_->run(std::span(std::as_const(sums)));
    if (job_.node() != 0) return;
    sums.clear();
    for (std::vector<std::uint64_t> const& of_node : all) sums.insert(sums.end(), of_node.begin(), of_node.end());
  }
  template <Shape shape>
  void of_shape() {
    // Few regions at once where they are long: each replica is to have several turns.
    constexpr std::uint64_t ints_a_claim = 8192;
    auto const claim = static_cast<unsigned>(
        std::clamp<std::uint64_t>(ints_a_claim * regions_ / std::max<std::uint64_t>(1, int_count_), 1, 32));
    // Queues in shared memory, and long: a node's firings are few then (README.md).
    constexpr std::uint32_t slots = 960;
    constexpr std::size_t shared_bytes = 34000;  // six blocks have room on a multiprocessor
    hiway::segment::SegmentConfig const config{.threads_per_block = 128,
                                               .nodes = hiway::all_nodes,
                                               .shared_bytes = shared_bytes,
                                               .context = options_.context,
                                               .least_claim = claim};
    segment_ = &pipe_.add_segment<shape>(
        "sum regions", hiway::segment::generate(regions_, MakeRegion{offsets_.view().data}),
        hiway::segment::chain(hiway::segment::enumerate("open", Ints{ints_.view().data}),
                              hiway::segment::aggregate("sum", AddUp{sums_.view().data},
                                                        hiway::segment::NodeOptions{.queue_slots = slots}),
                              hiway::segment::count<std::uint64_t>("none")),
        config);
  }

  SegmentOptions options_;
  Job job_;
  hiway::Pipeline pipe_;
  std::uint64_t regions_;    ///< of this node
  std::uint64_t int_count_;  ///< likewise
  std::uint64_t all_ints_;
  hiway::Buffer<std::uint32_t>& ints_;
  hiway::Buffer<std::uint64_t>& offsets_;
  hiway::Buffer<std::uint64_t>& sums_;
  hiway::segment::SegmentBase* segment_ = nullptr;
  std::optional<cli::Gathering<std::uint64_t>> gathering_;  ///< where there is a cluster
};

}  // namespace

std::vector<Measurement> run_hiway(Problem const& problem, SegmentOptions const& options, Job const& job, Sums& sums) {
  if (options.feed == Feed::tunnel) return run_by_tunnels(problem, options, job, sums);
  Summer summer{problem, options, job};
  return cli::repeated(job, [&] { return summer.run(sums); });
}

std::string hiway_graph(Problem const& problem, std::string const& device) {
  return Summer{problem, {}, {.device = device}}.graph();
}

}  // namespace region_sum
