#include "lib/nodes/node_line.hpp"

#include <utility>

#include "lib/nodes/ucx/line.hpp"

namespace hiway::detail::nodes {

MakeNodeLine ucx_node_line() noexcept {
  return [](Meeting& meeting, std::vector<Departure> departures, std::vector<Arrival> arrivals,
            std::chrono::steady_clock::time_point until) -> std::unique_ptr<NodeLine> {
    return std::make_unique<UcxLine>(meeting, std::move(departures), std::move(arrivals), until);
  };
}

}  // namespace hiway::detail::nodes
