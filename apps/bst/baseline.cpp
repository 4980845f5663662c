// Method baseline: the CPU and the GPU one after the other. The CPU inserts its keys into the tree in its memory; all
// nodes are copied to the GPU, a kernel inserts its keys, a thread each, and the nodes are copied back.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <hiway/pipeline.hpp>
#include <span>
#include <vector>

#include "bst/methods.hpp"
#include "cli/host_array.hpp"

namespace bst {

struct InsertAll {
  Node* nodes;
  std::uint32_t first;
  std::uint32_t end;
  HIWAY_DEVICE void operator()() const {
    hiway::anywhere([&](auto m) {
      for (std::uint32_t node = first + m.thread_index(); node < end; node += m.thread_count())
        insert(m, nodes, node, nodes[node].key);
    });
  }
};

namespace {

class Halves {
 public:
  Halves(Problem const& problem, Options const& options, Job const& job)
      : problem_(problem),
        options_(options),
        emulated_(job.device == "simt"),
        pipe_(job.pipeline()),
        initial_(initial_tree(problem)),
        tree_(pipe_, problem.nodes(), job.pinned),
        nodes_(pipe_.create_buffer<Node>(problem.nodes())) {
    launch(problem.nodes());  // loads the kernel
    pipe_.synchronize();
  }

  Measurement run() {
    Measurement run;
    std::span<Node> const nodes = tree_.all();
    std::ranges::copy(initial_, nodes.begin());
    auto const begin = std::chrono::steady_clock::now();
    hiway::anywhere([&](auto m) {
      for (std::uint32_t node = problem_.initial; node < problem_.first_of_gpu(); ++node)
        insert(m, nodes.data(), node, problem_.keys[node]);
    });
    for (std::uint32_t node = problem_.first_of_gpu(); node < problem_.nodes(); ++node)
      nodes[node].key = problem_.keys[node];
    nodes_.copy_in(nodes);
    launch(problem_.first_of_gpu());
    pipe_.synchronize();
    nodes_.copy_out(nodes);
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    run.summary = summarize(nodes);
    run.items = problem_.nodes() - problem_.initial;
    return run;
  }

 private:
  /// Inserts nodes `first` to the last.
  void launch(std::uint32_t first) {
    std::uint32_t const threads = options_.threads != 0 ? options_.threads : emulated_ ? 32U : 128U;
    std::uint32_t const enough = std::max(1U, (problem_.nodes() - first + threads - 1) / threads);
    pipe_.launch("insert", InsertAll{nodes_.view().data, first, problem_.nodes()},
                 {.blocks = emulated_ ? 1U : enough, .threads_per_block = threads});
  }

  Problem const& problem_;
  Options options_;
  bool emulated_;
  hiway::Pipeline pipe_;
  std::vector<Node> initial_;
  cli::HostArray<Node> tree_;
  hiway::Buffer<Node>& nodes_;
};

}  // namespace

std::vector<Measurement> run_baseline(Problem const& problem, Options const& options, Job const& job) {
  Halves halves{problem, options, job};
  return cli::repeated(job, [&] { return halves.run(); });
}

}  // namespace bst
