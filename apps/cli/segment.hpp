// What a run says of its segment.
#pragma once
#include <cstdint>
#include <hiway/segment/segment.hpp>
#include <string>
#include <vector>

#include "cli/app.hpp"

namespace cli {

/// A node's queue, and what it did in all replicas together, where that was counted.
struct NodeNumbers {
  std::string name;
  std::uint32_t slots = 0;  ///< of its queue in one replica; 0: it has none
  hiway::segment::NodeCounters counters;
};

struct SegmentNumbers {
  double kernel_seconds = 0;  ///< from the first replica's begin to the last one's end; all data lies on the device
  unsigned replicas = 0;
  unsigned lanes = 0;  ///< of a replica
  std::uint64_t queue_bytes = 0;
  std::uint64_t bloat_bytes = 0;
  double imbalance = 0;
  bool counted = false;
  std::vector<NodeNumbers> nodes;
};

[[nodiscard]] SegmentNumbers numbers_of(hiway::segment::SegmentBase const& segment);

/// Adds the keys of `numbers` to an application's result.
void add_to(Json& result, SegmentNumbers const& numbers);

}  // namespace cli
