// TunnelsOverNodes: which tunnels lead from one node to another, and between which nodes they have lanes. A pure
// function of what was declared; all nodes declare the same, so all come to the same result.
//
// W are the nodes whose stages put into a tunnel, R those whose stages get from it. If they are the same, items stay on
// the node where they were put. Else:
//
//   node     sends to                            receives from
//   in W     all of R, if it is not in R;
//            else the nodes of R without W,
//            and itself
//   in R                                         all of W, if it is not in W;
//                                                else the nodes of W without R, and itself
//
// So no item goes in a circle, and one that may be worked on where it was put competes with the way to other nodes.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace hiway {

/// What the user declared, as numbers: a stage or tunnel is its index. Nodes are sorted.
struct GraphOverNodes {
  struct Stage {
    std::vector<std::uint32_t> from{};
    std::vector<std::uint32_t> into{};
    std::vector<int> nodes{};
  };
  std::vector<Stage> stages{};
  std::vector<std::string> tunnels{};  ///< their names
};

struct TunnelOverNodes {
  std::vector<int> writers{};  ///< nodes, sorted
  std::vector<int> readers{};

  [[nodiscard]] bool is_put_at(int node) const;
  [[nodiscard]] bool is_got_at(int node) const;
  /// Items may go from one node to another. Not if it has no writer or no reader, which is another problem.
  [[nodiscard]] bool crosses() const { return writers != readers && !writers.empty() && !readers.empty(); }
  /// If it crosses: where a node's items go, and where they come from; sorted, perhaps with the node itself.
  [[nodiscard]] std::vector<int> to(int node) const;
  [[nodiscard]] std::vector<int> from(int node) const;
};

struct TunnelsOverNodes {
  std::vector<TunnelOverNodes> tunnels{};
  std::vector<std::string> problems{};  ///< a sentence each
};

[[nodiscard]] TunnelsOverNodes tunnels_over_nodes(GraphOverNodes const& graph);

}  // namespace hiway
