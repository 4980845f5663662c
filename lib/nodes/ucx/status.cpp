#include "lib/nodes/ucx/status.hpp"

#include "hiway/error.hpp"

namespace hiway::detail::nodes {

std::string name_of_node(int node) { return "node " + std::to_string(node); }

void check(ucs_status_t status, std::string_view where, std::string_view what) {
  if (status == UCS_OK) return;
  throw Error(std::string(where) + ": " + std::string(what) + " failed: " + ucs_status_string(status));
}

}  // namespace hiway::detail::nodes
