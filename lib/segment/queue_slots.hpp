// The slots of a segment's queues, by the user's settings.
#pragma once
#include <cstdint>
#include <vector>

#include "lib/segment/node_plan.hpp"

namespace hiway::segment {

struct QueueSlots {
  std::vector<std::uint32_t> of_node;
  std::uint64_t bloat_bytes = 0;  ///< of all replicas: what safe minima take beyond the shares (sizing.hpp)
};

/// *Throws* ConfigError where queues get less than they need.
[[nodiscard]] QueueSlots choose_slots(NodePlan const& plan, unsigned replicas);

}  // namespace hiway::segment
