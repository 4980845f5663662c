// What tunnels with Order::restored need of their writer, and of the tunnel that it gets from (docs/adr/0062).
#pragma once
#include <string>
#include <vector>

#include "flow_plan.hpp"
#include "graph.hpp"

namespace hiway {

/// Every problem found; empty when there is none.
[[nodiscard]] std::vector<std::string> find_order_problems(Graph const& graph, std::vector<Stage> const& stages,
                                                           FlowPlan const& flow);

}  // namespace hiway
