#include "lib/nodes/node_line.hpp"

namespace hiway::detail::nodes {
namespace {

MakeNodeLine& registered() noexcept {
  static MakeNodeLine make = nullptr;
  return make;
}

}  // namespace

bool register_node_line(MakeNodeLine make) noexcept {
  registered() = make;
  return true;
}

MakeNodeLine registered_node_line() noexcept { return registered(); }

}  // namespace hiway::detail::nodes
