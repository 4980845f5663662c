#pragma once
#include <string>

namespace hiway::detail::nodes {

/// As it begins a message: "node 3".
[[nodiscard]] inline std::string name_of_node(int node) { return "node " + std::to_string(node); }

}  // namespace hiway::detail::nodes
