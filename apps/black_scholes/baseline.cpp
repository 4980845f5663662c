// Method baseline: ordinary kernels, as one would write them without the library. A thread prices an option; one that passes
// is appended to a list in the device's memory, by an atomic counter. The launches follow one another without the host.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <hiway/pipeline.hpp>
#include <string_view>
#include <vector>

#include "black_scholes/methods.hpp"

namespace black_scholes {

/// Options on the device.
struct List {
  Option* options;
  hiway::Word<std::uint32_t>* count;
};

/// Every option of a list: `pass(option)` says whether it goes into the other list.
template <class Pass>
HIWAY_DEVICE inline void pass_on(List in, List out, Pass const& pass) {
  hiway::anywhere([&](auto m) {
    std::uint32_t const count = m.load(*in.count, hiway::MemoryOrder::relaxed);
    for (std::uint32_t i = m.thread_index(); i < count; i += m.thread_count()) {
      Option option = in.options[i];
      if (pass(option)) out.options[m.fetch_add(*out.count, 1U, hiway::MemoryOrder::relaxed)] = option;
    }
  });
}

/// Stages of a pipeline, from `first` to the one before `end`.
struct PriceStages {
  Pricing pricing;
  std::uint32_t first, end;
  List in, out;
  HIWAY_DEVICE void operator()() const {
    pass_on(in, out, [this](Option& option) { return pricing.pass_all(option, first, end); });
  }
};
/// All ways.
struct PriceWays {
  Pricing pricing;
  List in, out;
  HIWAY_DEVICE void operator()() const {
    pass_on(in, out, [this](Option& option) { return pricing.pass(option, way_of(option)); });
  }
};

namespace {

class Kernels {
 public:
  Kernels(Problem const& problem, Job const& job)
      : problem_(problem),
        pipe_(job.pipeline()),
        counts_(pipe_.create_buffer<Count>(stages + 1)),
        grid_(job.device == "simt" ? hiway::GpuStageOptions{.blocks = 1, .threads_per_block = 32} : grid_for(problem)) {
    Options options;
    options.reserve(problem.items);
    for (std::uint64_t i = 0; i < problem.items; ++i) options.push_back(make_option(problem.seed, i));
    for (hiway::Buffer<Option>*& list : lists_)
      list = &pipe_.create_buffer<Option>(std::max<std::uint64_t>(1, problem.items));
    lists_[0]->copy_in(options);
    set_counts(0);
    launch();  // loads the kernels
    pipe_.synchronize();
  }

  Measurement run(Options& outputs) {
    Measurement run;
    set_counts(static_cast<std::uint32_t>(problem_.items));
    auto const begin = std::chrono::steady_clock::now();
    List const last = launch();
    pipe_.synchronize();
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::array<Count, stages + 1> counts{};
    counts_.copy_out(counts);
    outputs.resize(counts[static_cast<std::size_t>(last.count - counts_.view().data)].bits);
    for (hiway::Buffer<Option> const* list : lists_) {
      if (list->view().data == last.options) list->copy_out(outputs);
    }
    run.summary = summarize(outputs);
    run.items = problem_.items;
    return run;
  }

 private:
  using Count = hiway::Word<std::uint32_t>;

  static hiway::GpuStageOptions grid_for(Problem const& problem) {
    constexpr std::uint32_t threads = 128;
    constexpr std::uint64_t most_blocks = 1U << 16;
    std::uint64_t const blocks = std::clamp<std::uint64_t>((problem.items + threads - 1) / threads, 1, most_blocks);
    return {.blocks = static_cast<unsigned>(blocks), .threads_per_block = threads};
  }
  void set_counts(std::uint32_t items) {
    std::array<Count, stages + 1> counts{};
    counts[0].bits = items;
    counts_.copy_in(counts);
  }
  /// List `k`: the options that go in, or those behind the k-th kernel, in one of the two other buffers.
  [[nodiscard]] List list(std::uint32_t k) const {
    return {lists_[k == 0 ? 0 : 2 - k % 2]->view().data, counts_.view().data + k};
  }
  /// The last kernel's list.
  List launch() {
    Pricing const pricing = problem_.pricing();
    if (problem_.is_four_way()) {
      pipe_.launch("price ways", PriceWays{pricing, list(0), list(1)}, grid_);
      return list(1);
    }
    std::uint32_t const kernels = problem_.topology == Topology::merged ? 1 : stages;
    std::uint32_t const of_each = stages / kernels;
    for (std::uint32_t k = 0; k < kernels; ++k) {
      pipe_.launch("price stages", PriceStages{pricing, k * of_each, (k + 1) * of_each, list(k), list(k + 1)}, grid_);
    }
    return list(kernels);
  }

  Problem problem_;
  hiway::Pipeline pipe_;
  hiway::Buffer<Count>& counts_;  ///< of each list
  std::array<hiway::Buffer<Option>*, 3> lists_{};
  hiway::GpuStageOptions grid_;
};

}  // namespace

std::vector<Measurement> run_baseline(Problem const& problem, Job const& job, Options& outputs) {
  Kernels kernels{problem, job};
  return cli::repeated(job, [&] { return kernels.run(outputs); });
}

}  // namespace black_scholes
