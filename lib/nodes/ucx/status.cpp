#include "lib/nodes/ucx/status.hpp"

#include <string>

#include "hiway/error.hpp"

namespace hiway::detail::nodes {

void check(ucs_status_t status, std::string_view where, std::string_view what) {
  if (status == UCS_OK) return;
  throw Error(std::string(where) + ": " + std::string(what) + " failed: " + ucs_status_string(status));
}

}  // namespace hiway::detail::nodes
