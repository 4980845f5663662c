#include "dot_text.hpp"

#include "text.hpp"

namespace hiway {
namespace {

std::string whole(std::string const& lines) { return "digraph pipeline {\n  rankdir=LR;\n" + lines + "}\n"; }

}  // namespace

std::string dot_of(DotPart const& part) { return whole(part.stages + part.edges); }

std::string dot_of_nodes(std::vector<DotOfNode> const& nodes) {
  std::string frames;
  std::string edges;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    std::string const name = numbered("node ", node);
    std::string const& missing = nodes[node].missing;
    // Graphviz draws a frame only if something is in it.
    std::string const inside = missing.empty() ? nodes[node].part.stages
                                               : "  " + quoted_text(name) + " [label=" + quoted_text(missing) + "];\n";
    frames.append("  subgraph ").append(quoted_text("cluster " + name)).append(" {\n  label=");
    frames.append(quoted_text(name)).append(";\n").append(inside).append("  }\n");
    edges += nodes[node].part.edges;
  }
  return whole(frames + edges);
}

}  // namespace hiway
