#include "hiway/cluster.hpp"

#include "lib/nodes/launcher.hpp"
#include "lib/nodes/meeting.hpp"

namespace hiway {

Cluster::Cluster() {
  detail::nodes::Launch const launch = detail::nodes::read_launch(detail::nodes::real_surroundings());
  node_ = launch.node;
  size_ = launch.size;
  if (size_ > 1) meeting_ = std::make_unique<detail::nodes::Meeting>(launch);
}

Cluster::~Cluster() = default;

}  // namespace hiway
