#include "lib/nodes/node_line.hpp"

#include <utility>

#include "lib/nodes/line/line.hpp"
#include "lib/nodes/ucx/network.hpp"

namespace hiway::detail::nodes {

MakeNodeLine ucx_node_line() noexcept {
  return [](Meeting& meeting, std::vector<Departure> departures, std::vector<Arrival> arrivals,
            std::chrono::steady_clock::time_point until) -> std::unique_ptr<NodeLine> {
    auto network = std::make_unique<UcxNetwork>(meeting.node(), meeting.size());
    return std::make_unique<Line>(std::move(network), meeting, std::move(departures), std::move(arrivals), until);
  };
}

}  // namespace hiway::detail::nodes
