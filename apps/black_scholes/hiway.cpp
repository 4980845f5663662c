// Method hiway: one segment, whose tree is the topology.
#include <algorithm>
#include <cstdint>
#include <hiway/hiway.hpp>
#include <span>
#include <string>
#include <vector>

#include "black_scholes/methods.hpp"
#include "black_scholes/stages.hpp"

namespace black_scholes {
namespace {

using hiway::segment::back_to;
using hiway::segment::chain;
using hiway::segment::node;
using hiway::segment::NodeOptions;
using hiway::segment::ReplicaOf;
using hiway::segment::SegmentBase;
using hiway::segment::Shape;

/// The node that options come back to.
struct Again;

std::string numbered(std::string name, std::uint32_t number) {
  name += ' ';
  return name += std::to_string(number);
}

class Pricer {
 public:
  Pricer(Problem const& problem, SegmentOptions const& options, hiway::PipelineConfig const& config)
      : problem_(problem), options_(options), pipe_(config) {
    if (options.feed == Feed::tunnel) {
      add_tunnels();
    } else {
      add_buffers();
    }
    pipe_.prepare();
  }

  Measurement run(Options& outputs) {
    Measurement run;
    passed_.clear();
    cli::take_report(run, pipe_.run());
    run.segment = cli::numbers_of(*segment_);
    if (out_ != nullptr) {
      outputs.resize(segment_->items("passed"));
      out_->copy_out(std::span(outputs));
    } else {
      outputs = passed_;
    }
    run.summary = summarize(outputs);
    run.items = problem_.items;
    return run;
  }
  [[nodiscard]] std::string graph() const { return pipe_.graph(); }

 private:
  [[nodiscard]] NodeOptions gains() const { return {.gain = std::max(0.01, 1 - problem_.rate)}; }
  [[nodiscard]] auto priced(std::uint32_t stage) const {
    return node(numbered("stage", stage), Price{problem_.pricing(), stage}, gains());
  }
  template <std::uint32_t Stage>
  [[nodiscard]] auto priced_at() const {
    return node(numbered("stage", Stage), PriceAt<Stage>{problem_.pricing()}, gains());
  }

  template <class Sink>
  auto five_types(Sink const& out) const {
    return chain(priced_at<0>(), priced_at<1>(), priced_at<2>(), priced_at<3>(), priced_at<4>(), out);
  }
  void add_buffers() {
    std::vector<Option> options;
    for (std::uint64_t number = 0; number != problem_.items; ++number)
      options.push_back(make_option(problem_.seed, number));
    in_ = &pipe_.create_buffer<Option>(std::max<std::uint64_t>(1, problem_.items));
    in_->copy_in(options);
    out_ = &pipe_.create_buffer<Option>(std::max<std::uint64_t>(1, problem_.items));
    cli::with_shape(options_.replica, options_.counters, [&]<Shape shape>(cli::ShapeOf<shape>) { of_shape<shape>(); });
  }
  void add_tunnels() {
    constexpr hiway::TunnelConfig room{.capacity_items = 16384};
    auto& in = pipe_.create_tunnel<Option>("options", hiway::Direction::cpu_to_gpu, room);
    auto& out = pipe_.create_tunnel<Option>("passed", hiway::Direction::gpu_to_cpu, room);
    pipe_.add_cpu_stage(
        "make",
        [problem = problem_](hiway::Inlet<Option> to) {
          for (std::uint64_t number = 0; number != problem.items; ++number) to.put_h(make_option(problem.seed, number));
        },
        hiway::into(in));
    segment_ = &pipe_.add_segment<Shape{ReplicaOf::warp}>("stages", hiway::from(in), five_types(hiway::into(out)));
    pipe_.add_cpu_stage(
        "keep", [this](hiway::Outlet<Option> from) { from.for_each_h([&](Option const& o) { passed_.push_back(o); }); },
        hiway::from(out));
  }

  template <Shape shape>
  void of_shape() {
    auto const out = hiway::segment::store("passed", *out_);
    Pricing const pricing = problem_.pricing();
    switch (problem_.topology) {
      case Topology::diff_type: return add<shape>(five_types(out));
      case Topology::same_type: return add<shape>(chain(priced(0), priced(1), priced(2), priced(3), priced(4), out));
      case Topology::self_loop:
        return add<shape>(node<Again>("stages", PriceAgain{pricing}, gains(), back_to<Again>(), out));
      case Topology::merged: return add<shape>(chain(node("stages", PriceAll{pricing}, gains()), out));
      case Topology::four_same:
        return add<shape>(node("split", SplitInFour{}, chain(priced(0), out), chain(priced(1), out),
                               chain(priced(2), out), chain(priced(3), out)));
      case Topology::four_diff:
        return add<shape>(node("split", SplitInFour{}, chain(priced_at<0>(), out), chain(priced_at<1>(), out),
                               chain(priced_at<2>(), out), chain(priced_at<3>(), out)));
      case Topology::four_staged:
        return add<shape>(node("high", SplitInTwo{1},
                               node("low 0", SplitInTwo{0}, chain(priced(0), out), chain(priced(1), out)),
                               node("low 1", SplitInTwo{0}, chain(priced(2), out), chain(priced(3), out))));
    }
  }
  template <Shape shape, class Tree>
  void add(Tree tree) {
    // Claims of four ensembles of a warp at most: an option takes long, and whoever claims last is to have little left.
    hiway::segment::SegmentConfig const config{.most_claim = 128};
    segment_ = &pipe_.add_segment<shape>("stages", hiway::segment::load(*in_, problem_.items), tree, config);
  }

  Problem problem_;
  SegmentOptions options_;
  hiway::Pipeline pipe_;
  hiway::Buffer<Option>* in_ = nullptr;
  hiway::Buffer<Option>* out_ = nullptr;
  Options passed_;  ///< from the tunnel
  SegmentBase* segment_ = nullptr;
};

}  // namespace

std::vector<Measurement> run_hiway(Problem const& problem, SegmentOptions const& options, Job const& job,
                                   Options& outputs) {
  Pricer pricer{problem, options, job.pipeline()};
  return cli::repeated(job, [&] { return pricer.run(outputs); });
}

std::string hiway_graph(Problem const& problem, std::string const& device) {
  return Pricer{problem, {}, {.device = device}}.graph();
}

}  // namespace black_scholes
