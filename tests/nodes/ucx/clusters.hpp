// Programs of several nodes, a process each, as a launcher would start them.
#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "hiway/cluster.hpp"
#include "hiway/pipeline.hpp"
#include "tests/nodes/ucx/processes.hpp"

namespace hiway_tests {

/// On a machine that has much else to do a node may be silent for a while.
inline hiway::PipelineConfig over(hiway::Cluster& nodes, std::chrono::seconds silence = std::chrono::seconds(20)) {
  return {.device = "simt", .cluster = &nodes, .node_silence = silence};
}

/// Runs body(cluster) in a process for each node: what each says, or "error: " and what it throws; "killed" if it was.
inline std::vector<std::string> on_nodes(Way way, int size, std::function<std::string(hiway::Cluster&)> const& body) {
  std::string const meet = fresh_name().text();
  return in_forked(size, [&](int node) -> std::string {
    setenv("UCX_TLS", way.transports, 1);
    setenv("UCX_NET_DEVICES", "lo", 1);
    setenv("HIWAY_NODES", std::to_string(size).c_str(), 1);
    setenv("HIWAY_NODE", std::to_string(node).c_str(), 1);
    setenv("HIWAY_MEET", meet.c_str(), 1);
    try {
      hiway::Cluster cluster;
      return body(cluster);
    } catch (std::exception const& error) {
      return std::string("error: ") + error.what();
    }
  });
}

}  // namespace hiway_tests
