#include "lib/nodes/line/line_lane.hpp"

#include <string>

#include "hiway/error.hpp"
#include "lib/nodes/node_name.hpp"

namespace hiway::detail::nodes {

LaneAddress other_end_of(LaneAddress const& own, int node, std::vector<LaneAddress> const& there) {
  auto const here = static_cast<std::uint32_t>(node);
  std::string const where = name_of_node(static_cast<int>(own.node)) + ": tunnel number " + std::to_string(own.tunnel);
  for (LaneAddress const& other : there) {
    if (other.tunnel != own.tunnel || other.node != here || other.end == own.end) continue;
    if (other.item_bytes != own.item_bytes || other.places != own.places)
      throw Error(where + " has other items, or another capacity, than at node " + std::to_string(node));
    return other;
  }
  throw Error(where + " does not lead " + (own.end == LaneEnd::out ? "from" : "to") + " node " + std::to_string(node));
}

}  // namespace hiway::detail::nodes
