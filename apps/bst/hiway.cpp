// Method hiway: the tree lies in one place, the GPU's memory, and keys travel to it.
//
//   send (CPU) -Named-> insert
//
// The GPU's own keys are copied in before; its lanes insert these first, and then what comes. Nobody locks
// (stages.hpp).
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <hiway/pipeline.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bst/methods.hpp"
#include "cli/host_array.hpp"

namespace bst {

/// A key with the number of its node.
struct Named {
  Key key;
  std::uint32_t node;
};

struct Insert {
  Node* nodes;
  Key const* own;
  std::uint32_t first;  ///< the node of the first of its own keys
  std::uint32_t count;

  HIWAY_DEVICE void operator()(hiway::Outlet<Named> in) const {
    hiway::anywhere([&](auto m) {
      for (std::uint32_t i = m.thread_index(); i < count; i += m.thread_count()) insert(m, nodes, first + i, own[i]);
      in.for_each_d([&](Named const& sent) { insert(m, nodes, sent.node, sent.key); });
    });
  }
};

namespace {

class Growing {
 public:
  Growing(Problem const& problem, Options const& options, Job const& job)
      : problem_(problem),
        pipe_(job.pipeline()),
        initial_(initial_tree(problem)),
        keys_(cli::copied_from(pipe_, problem.of_gpu(), job.pinned)),
        own_(pipe_.create_buffer<Key>(std::max<std::size_t>(1, keys_.size()))),
        nodes_(pipe_.create_buffer<Node>(problem.nodes())),
        grown_(pipe_.create_host_buffer<Node>(problem.nodes())) {
    initial_.resize(problem.initial);
    bool const emulated = job.device == "simt";
    auto& sent =
        pipe_.create_tunnel<Named>("keys", hiway::Direction::cpu_to_gpu, job.scheme.tunnel({.capacity_items = 32768}));
    pipe_.add_cpu_stage(
        "send", [this](hiway::Inlet<Named> out) { send(out); }, hiway::into(sent));
    pipe_.add_gpu_stage(
        "insert",
        Insert{nodes_.view().data, own_.view().data, problem.first_of_gpu(), static_cast<std::uint32_t>(keys_.size())},
        hiway::from(sent),
        {.blocks = options.blocks != 0 ? options.blocks
                   : emulated          ? 2U
                                       : 132U,
         .threads_per_block = options.threads != 0 ? options.threads
                              : emulated           ? 64U
                                                   : 256U});
    pipe_.prepare();
  }
  Growing(Growing const&) = delete;
  Growing& operator=(Growing const&) = delete;

  Measurement run() {
    Measurement run;
    auto const begin = std::chrono::steady_clock::now();
    nodes_.copy_in(initial_);
    own_.copy_in(keys_);
    hiway::RunReport report = pipe_.run();
    nodes_.copy_out(grown_);
    double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    cli::take_report(run, std::move(report));
    run.seconds = seconds;
    run.summary = summarize(grown_);
    run.items = problem_.nodes() - problem_.initial;
    return run;
  }
  [[nodiscard]] std::string graph() const { return pipe_.graph(); }

 private:
  void send(hiway::Inlet<Named> const& out) const {
    std::vector<Named> some;
    some.reserve(1024);
    for (std::uint32_t node = problem_.initial; node < problem_.first_of_gpu(); ++node) {
      some.push_back({problem_.keys[node], node});
      if (some.size() < 1024 && node + 1 < problem_.first_of_gpu()) continue;
      out.put_h(some);
      some.clear();
    }
  }

  Problem const& problem_;
  hiway::Pipeline pipe_;
  std::vector<Node> initial_;
  std::span<Key const> keys_;  ///< the GPU's
  hiway::Buffer<Key>& own_;
  hiway::Buffer<Node>& nodes_;
  std::span<Node> grown_;  ///< where the tree ends
};

}  // namespace

std::vector<Measurement> run_hiway(Problem const& problem, Options const& options, Job const& job) {
  Growing growing{problem, options, job};
  return cli::repeated(job, [&] { return growing.run(); });
}

std::string hiway_graph(Problem const& problem, std::string const& device) {
  return Growing{problem, {}, {.device = device}}.graph();
}

}  // namespace bst
