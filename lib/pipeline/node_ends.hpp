// What of a pipeline is on this node, and the ends that its line to other nodes has (lib/nodes/node_line.hpp).
#pragma once
#include <string>
#include <vector>

#include "layout.hpp"

namespace hiway {

/// Splits the tunnels that lead to other nodes, and leaves out those that this node does not use. What the nodes must
/// have declared alike comes into `layout.over_nodes`. To be called before anything is placed; may be called again.
/// *Throws* ConfigError.
void split_over_nodes(Layout& layout);
/// Gives the tunnels that lead to other nodes their open ends, once. After split_over_nodes().
void open_node_ends(Layout& layout);

/// The nodes of the options `node` and `nodes`, sorted; `title` names their stage or open end in an error. *Throws*
/// ConfigError.
[[nodiscard]] std::vector<int> nodes_of(std::string const& title, int node, std::vector<int> const& nodes, int count);

}  // namespace hiway
