// ClusterAccess: what the library needs of a Cluster besides what users do.
#pragma once
#include <memory>

#include "hiway/cluster.hpp"
#include "lib/nodes/meeting.hpp"

namespace hiway {

struct ClusterAccess {
  /// Null: there is one node. *Lifetime*: the Cluster's.
  [[nodiscard]] static detail::nodes::Meeting* meeting(Cluster& cluster) noexcept { return cluster.meeting_.get(); }
  /// Makes a cluster of one node one of several, whatever the environment says: a process may be several nodes then.
  /// *Waits*: for the others. *Throws* as Cluster().
  static void join(Cluster& cluster, detail::nodes::Launch const& launch) {
    cluster.meeting_ = std::make_unique<detail::nodes::Meeting>(launch);
    cluster.node_ = launch.node;
    cluster.size_ = launch.size;
  }
};

}  // namespace hiway
