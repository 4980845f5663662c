#include "cli/segment.hpp"

#include <algorithm>

namespace cli {

SegmentNumbers numbers_of(hiway::segment::SegmentBase const& segment) {
  SegmentNumbers n;
  n.kernel_seconds = segment.kernel_seconds();
  n.replicas = segment.replicas();
  n.lanes = segment.lanes();
  n.queue_bytes = segment.queue_bytes();
  n.bloat_bytes = segment.bloat_bytes();
  n.imbalance = segment.imbalance();
  for (hiway::segment::QueueSize const& queue : segment.queues()) n.nodes.push_back({queue.node, queue.slots, {}});
  for (hiway::segment::CountersOf const& of : segment.counters()) {
    n.counted = true;
    hiway::segment::NodeCounters const& c = of.counters;
    hiway::segment::NodeCounters& sum = std::ranges::find(n.nodes, of.node, &NodeNumbers::name)->counters;
    sum.firings += c.firings;
    sum.ensembles += c.ensembles;
    sum.full += c.full;
    sum.items += c.items;
    sum.suspensions += c.suspensions;
    sum.shared += c.shared;
    sum.steps += c.steps;
    sum.outputs += c.outputs;
    sum.cycles += c.cycles;
    sum.most_outputs.bits = std::max(sum.most_outputs.bits, c.most_outputs.bits);
  }
  return n;
}

void add_to(Json& result, SegmentNumbers const& n) {
  result["kernel_seconds"] = n.kernel_seconds;
  result["copies_included"] = false;
  result["replicas"] = n.replicas;
  result["lanes"] = n.lanes;
  result["queue_bytes"] = n.queue_bytes;
  result["bloat_bytes"] = n.bloat_bytes;
  result["imbalance"] = n.imbalance;
  if (!n.counted) return;
  Json nodes = Json::array();
  for (NodeNumbers const& node : n.nodes) {
    hiway::segment::NodeCounters const& c = node.counters;
    double const places = static_cast<double>(c.steps) * n.lanes;
    nodes.push_back({{"name", node.name},
                     {"slots", node.slots},
                     {"items", c.items},
                     {"outputs", c.outputs},
                     {"gain", c.items != 0 ? static_cast<double>(c.outputs) / static_cast<double>(c.items) : 0},
                     {"most_gain", c.most_outputs.bits},
                     {"firings", c.firings},
                     {"ensembles", c.ensembles},
                     {"full", c.full},
                     {"shared", c.shared},
                     {"suspensions", c.suspensions},
                     {"steps", c.steps},
                     {"lanes_with_output", places > 0 ? static_cast<double>(c.outputs) / places : 0}});
  }
  result["nodes"] = std::move(nodes);
}

}  // namespace cli
