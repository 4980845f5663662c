// Method paper: HiWayLib's figure 9. The tunnel is a number. The coarse matching is an ordinary kernel, launched for
// each chunk of the target after its copy; each of its threads puts what it found. CPU threads get that as it comes,
// and do the fine matching. The launch of one thread after all chunks is the last thread, which puts the end flag.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <hiway/cpus.hpp>
#include <hiway/paper.hpp>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "cli/host_array.hpp"
#include "gene_alignment/methods.hpp"
#include "gene_alignment/stages.hpp"

namespace gene_alignment {

using HiWayLib::endTask_h;
using HiWayLib::get_h;
using HiWayLib::isTerminate_h;

/// The producer of figure 9(b), of one chunk.
struct PutChunk {
  CoarseProblem problem;
  int tunnel;
  bool puts_all;
  std::int32_t first = 0;
  std::int32_t count = 0;
  bool is_last = false;
  HIWAY_DEVICE void operator()() const {
    auto const i = static_cast<std::int32_t>(hiway::thread_index());
    if (is_last) return HiWayLib::put_d(HiWayLib::endFlag, tunnel);
    if (i >= count) return;
    bool const matches = coarse_match(problem, first + i);
    if (matches || puts_all) HiWayLib::put_d(Tested{first + i, matches ? 1 : 0}, tunnel);
  }
};

namespace {

// As the baseline's.
constexpr std::int32_t chunk_positions = 1024;
constexpr unsigned threads_per_block = 64;
constexpr hiway::GpuStageOptions grid{.blocks = chunk_positions / threads_per_block,
                                      .threads_per_block = threads_per_block};

/// The consumer of figure 9(b).
void consume(Input const& input, int tunnel, std::vector<Alignment>& alignments) {
  Tested tested{};
  while (!isTerminate_h()) {
    if (!get_h(&tested, tunnel)) continue;
    if (tested.matches != 0) alignments.push_back(fine_match(input.target, input.query, Match{tested.position}));
    endTask_h(tunnel);
  }
}

hiway::PipelineConfig of_this_node(Job const& job) {
  hiway::PipelineConfig config = job.pipeline();
  config.cluster = nullptr;
  return config;
}

/// One run. A service that has ended needs new tunnels, so that each run has a service of its own.
class Run {
 public:
  Run(Input const& input, Job const& job, Cross cross)
      : input_(input),
        service_(of_this_node(job)),
        bases_(cli::copied_from<Base>(service_.pipeline(), input.target, job.pinned)),
        target_(service_.pipeline().create_buffer<Base>(input.target.size())),
        query_(service_.pipeline().create_buffer<Base>(input.query.size())),
        seeds_(service_.pipeline().create_buffer<std::uint32_t>(
            static_cast<std::size_t>(seed_count(static_cast<std::int32_t>(input.query.size()))))),
        kernel_{{target_.view().data, query_.view().data, seeds_.view().data,
                 static_cast<std::int32_t>(input.target.size()), static_cast<std::int32_t>(input.query.size()),
                 static_cast<std::int32_t>(seeds_.size())},
                -1,
                cross == Cross::all} {
    service_.pipeline().launch("put chunk", kernel_, grid);  // loads the kernel
    service_.pipeline().synchronize();
    HiWayLib::createTunnel<Tested>(kernel_.tunnel, HiWayLib::GPU_TO_CPU, true, job.scheme.tunnel());
    service_.setup();
  }

  Measurement measure() {
    auto const begin = std::chrono::steady_clock::now();
    // Two CPUs are left to this thread and to the library's monitors.
    std::vector<std::vector<Alignment>> found(std::max(3U, hiway::available_cpus()) - 2);
    std::vector<std::jthread> consumers;
    for (auto& own : found) consumers.emplace_back(consume, std::cref(input_), kernel_.tunnel, std::ref(own));
    try {
      produce();
    } catch (...) {
      service_.pipeline().abort();  // the consumers leave
      throw;
    }
    consumers.clear();
    std::vector<Alignment> alignments;
    for (auto const& own : found) alignments.insert(alignments.end(), own.begin(), own.end());
    Measurement measured{.summary = summarize(std::move(alignments))};
    double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    cli::take_report(measured, service_.shutdown());
    measured.seconds = seconds;
    return measured;
  }

 private:
  void produce() {
    query_.copy_in(input_.query);
    seeds_.copy_in(make_seeds(input_.query));
    std::int32_t const positions = coarse_positions(kernel_.problem.target_bases, kernel_.problem.query_bases);
    PutChunk chunk = kernel_;
    for (; chunk.first < positions; chunk.first += chunk_positions) {
      chunk.count = std::min(chunk_positions, positions - chunk.first);
      auto const at = static_cast<std::size_t>(chunk.first);
      // The last position's seed reaches into the next chunk.
      std::size_t const bases = std::min(static_cast<std::size_t>(chunk.count + seed_bases - 1), bases_.size() - at);
      target_.copy_in(bases_.subspan(at, bases), at);
      service_.pipeline().launch("put chunk", chunk, grid);
    }
    chunk.is_last = true;
    service_.pipeline().launch("put end flag", chunk, {.blocks = 1, .threads_per_block = 1});
  }

  Input const& input_;
  HiWayLib::Service service_;
  std::span<Base const> bases_;  ///< the target's, where they are copied from
  hiway::Buffer<Base>& target_;
  hiway::Buffer<Base>& query_;
  hiway::Buffer<std::uint32_t>& seeds_;
  PutChunk kernel_;
};

}  // namespace

std::vector<Measurement> run_paper(Input const& input, Job const& job, Cross cross) {
  return cli::repeated(job, [&] { return Run{input, job, cross}.measure(); });
}

}  // namespace gene_alignment
