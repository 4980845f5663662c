// The serial way: a key after another, each down to a link that is free.
#include <chrono>
#include <vector>

#include "bst/methods.hpp"

namespace bst {
namespace {

void hang(std::vector<Node>& nodes, std::uint32_t node, Key key) {
  nodes[node].key = key;
  if (node == 0) return;
  std::uint32_t parent = 0;
  bool is_less = key < nodes[0].key;
  while (nodes[parent].child[is_less ? 0 : 1].bits != none) {
    parent = nodes[parent].child[is_less ? 0 : 1].bits;
    is_less = key < nodes[parent].key;
  }
  nodes[parent].child[is_less ? 0 : 1].bits = node;
}

}  // namespace

std::vector<Node> initial_tree(Problem const& problem) {
  std::vector<Node> nodes(problem.nodes());
  for (std::uint32_t node = 0; node < problem.initial; ++node) hang(nodes, node, problem.keys[node]);
  return nodes;
}

std::vector<Measurement> run_reference(Problem const& problem, Job const& job) {
  return cli::repeated(job, [&] {
    Measurement run;
    std::vector<Node> nodes = initial_tree(problem);
    auto const begin = std::chrono::steady_clock::now();
    for (std::uint32_t node = problem.initial; node < problem.nodes(); ++node) hang(nodes, node, problem.keys[node]);
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    run.summary = summarize(nodes);
    run.items = problem.nodes() - problem.initial;
    return run;
  });
}

}  // namespace bst
