// ClusterAccess: what the library needs of a Cluster besides what users do.
#pragma once
#include "hiway/cluster.hpp"
#include "lib/nodes/meeting.hpp"

namespace hiway {

struct ClusterAccess {
  /// Null: there is one node. *Lifetime*: the Cluster's.
  [[nodiscard]] static detail::nodes::Meeting* meeting(Cluster& cluster) noexcept { return cluster.meeting_.get(); }
};

}  // namespace hiway
