// The serial oracle: a queue of vertices; each is put into it once, when it is first seen.
#include <chrono>
#include <vector>

#include "bfs/methods.hpp"

namespace bfs {

std::vector<Measurement> run_reference(Problem const& problem, Job const& job) {
  Graph const& graph = problem.graph;
  return cli::repeated(job, [&] {
    Measurement run;
    std::vector<std::uint32_t> levels(graph.vertices(), unreached);
    std::vector<std::uint32_t> queue;
    queue.reserve(graph.vertices());
    auto const begin = std::chrono::steady_clock::now();
    levels[problem.source] = 0;
    queue.push_back(problem.source);
    for (std::size_t next = 0; next < queue.size(); ++next) {
      std::uint32_t const from = queue[next];
      for (std::uint32_t e = graph.first[from]; e != graph.first[from + 1]; ++e) {
        std::uint32_t const to = graph.targets[e];
        if (levels[to] != unreached) continue;
        levels[to] = levels[from] + 1;
        queue.push_back(to);
      }
    }
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    run.summary = summarize(graph, levels);
    run.items = run.summary.reached;
    run.work = {run.summary.edges, run.summary.reached};
    return run;
  });
}

}  // namespace bfs
