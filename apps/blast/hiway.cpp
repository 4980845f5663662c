// Method hiway: a segment of four nodes, each with lanes of its own, so that the few places which get on keep all of them busy:
//
//   seeds -> positions -> exact -> score -> hits
//
// or of one node with all four merged, to compare with: then a lane whose place has no seed waits for the others.
#include <algorithm>
#include <cstdint>
#include <hiway/hiway.hpp>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "blast/methods.hpp"
#include "blast/stages.hpp"

namespace blast {
namespace {

using hiway::segment::chain;
using hiway::segment::node;
using hiway::segment::Refill;
using hiway::segment::ReplicaOf;
using hiway::segment::SegmentBase;
using hiway::segment::Shape;

class Searcher {
 public:
  Searcher(Problem const& problem, SegmentOptions const& options, hiway::PipelineConfig const& config)
      : options_(options), pipe_(config), search_(copy_to(pipe_, problem)) {
    if (options.feed == Feed::tunnel) {
      add_tunnels();
    } else {
      hits_ = &pipe_.create_buffer<Hit>(room_for_hits(problem));
      add_search();
    }
    pipe_.prepare();
  }

  Measurement run(Hits& hits) {
    Measurement run;
    got_.clear();
    cli::take_report(run, pipe_.run());
    run.segment = cli::numbers_of(*segment_);
    if (hits_ != nullptr) {
      hits.resize(segment_->items("hits"));
      hits_->copy_out(std::span(hits));
      run.items = hits.size();
    } else {
      hits = got_;
    }
    run.summary = summarize(hits);
    return run;
  }
  [[nodiscard]] std::string graph() const { return pipe_.graph(); }

 private:
  /// One for three places, which random bases do not come near; a run with more ends with an error that says so.
  static std::size_t room_for_hits(Problem const& problem) {
    return std::max<std::size_t>(std::size_t{1} << 20, static_cast<std::size_t>(problem.search().places()) / 3);
  }

  template <class Sink>
  auto four_nodes(Sink const& sink) const {
    return chain(node("seeds", FindSeeds{search_}, {.gain = 2.3}), node("positions", Positions{search_}, {.gain = 1.1}),
                 node("exact", ExtendExact{search_}, {.gain = 0.05}), node("score", Score{search_}), sink);
  }
  template <class Sink>
  auto one_node(Sink const& sink) const {
    return chain(node("merged", hiway::segment::merge(FindSeeds{search_}, Positions{search_}, ExtendExact{search_},
                                                      Score{search_})),
                 sink);
  }

  void add_search() {
    if (options_.ensembles && options_.replica == Replica::warp)
      return of_shape<Shape{ReplicaOf::warp, Refill::ensembles}>();
    cli::with_shape(options_.replica, options_.counters, [&]<Shape shape>(cli::ShapeOf<shape>) { of_shape<shape>(); });
  }
  template <Shape shape>
  void of_shape() {
    auto const places = hiway::segment::indices<Place>(static_cast<std::uint64_t>(stretches(search_)));
    auto const hits = hiway::segment::store("hits", *hits_);
    hiway::segment::SegmentConfig const config{.threads_per_block = threads_per_block};
    if (options_.merged) {
      segment_ = &pipe_.add_segment<shape>("search", places, one_node(hits), config);
    } else {
      segment_ = &pipe_.add_segment<shape>("search", places, four_nodes(hits), config);
    }
  }
  void add_tunnels() {
    constexpr hiway::TunnelConfig room{.capacity_items = 65536};
    auto& places = pipe_.create_tunnel<Place>("places", hiway::Direction::cpu_to_gpu, room);
    auto& hits = pipe_.create_tunnel<Hit>("hits", hiway::Direction::gpu_to_cpu, room);
    pipe_.add_cpu_stage(
        "send",
        [all = static_cast<Place>(stretches(search_))](hiway::Inlet<Place> out) {
          std::vector<Place> some(1024);
          for (Place first = 0; first < all; first += some.size()) {
            some.resize(std::min<Place>(some.size(), all - first));
            std::iota(some.begin(), some.end(), first);
            out.put_h(std::span<Place const>(some));
          }
        },
        hiway::into(places));
    segment_ = &pipe_.add_segment<Shape{ReplicaOf::warp}>("search", hiway::from(places), four_nodes(hiway::into(hits)));
    pipe_.add_cpu_stage(
        "keep", [this](hiway::Outlet<Hit> in) { in.for_each_h([&](Hit const& hit) { got_.push_back(hit); }); },
        hiway::from(hits));
  }

  static constexpr unsigned threads_per_block = 128;

  SegmentOptions options_;
  hiway::Pipeline pipe_;
  Search search_;
  hiway::Buffer<Hit>* hits_ = nullptr;
  Hits got_;  ///< from the tunnel
  SegmentBase* segment_ = nullptr;
};

}  // namespace

std::vector<Measurement> run_hiway(Problem const& problem, SegmentOptions const& options, Job const& job, Hits& hits) {
  Searcher searcher{problem, options, job.pipeline()};
  return cli::repeated(job, [&] { return searcher.run(hits); });
}

std::string hiway_graph(Problem const& problem, std::string const& device) {
  return Searcher{problem, {}, {.device = device}}.graph();
}

}  // namespace blast
