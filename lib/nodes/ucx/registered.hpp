// What of the network the library itself is given: lib/nodes/node_line.hpp says what that is.
#pragma once
#include "lib/nodes/node_line.hpp"

namespace hiway::detail::nodes {

/// Makes lines by UCX.
[[nodiscard]] MakeNodeLine ucx_node_line() noexcept;

}  // namespace hiway::detail::nodes
