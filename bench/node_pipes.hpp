// The pipelines of bench nodes. All nodes make them and call them in the same order; what they return counts on node 0.
#pragma once
#include <cstddef>
#include <cstdint>
#include <hiway/cluster.hpp>
#include <memory>
#include <string>
#include <vector>

#include "bench/echo.hpp"
#include "bench/mover.hpp"

namespace bench {

struct NodeWork {
  hiway::Cluster* cluster = nullptr;  ///< null: this process alone
  std::string device;
  std::size_t item_bytes = 16;  ///< 16, or the largest
  std::size_t capacity_items = 65536;
  Plant plant = Plant::none;
  bool looked_at = true;  ///< of large items each word is checked, else the first alone
};

/// One CPU thread of node 0 puts, one of node `to` gets, item by item.
[[nodiscard]] std::unique_ptr<Mover> make_node_stream(NodeWork const& work, int to);

/// CPU threads of all nodes put, GPU stages of the first two answer, a thread of node 0 counts.
[[nodiscard]] std::unique_ptr<Mover> make_node_traffic(NodeWork const& work);

/// One item to node 1 and back. *Threads*: one.
class NodeTrips {
 public:
  NodeTrips() = default;
  NodeTrips(NodeTrips const&) = delete;
  NodeTrips& operator=(NodeTrips const&) = delete;
  virtual ~NodeTrips() = default;

  /// As Echo::run. On other nodes than 0 there are no times.
  [[nodiscard]] virtual RoundTrips run(unsigned trips) = 0;
};
[[nodiscard]] std::unique_ptr<NodeTrips> make_node_trips(NodeWork const& work);

/// What a run with one item took, in us.
struct OneItemRun {
  double all = 0;            ///< run()
  double end_detection = 0;  ///< RunReport::end_detection_us
  std::string wrong{};
};
/// A pipeline that one item passes: node 0, a CPU stage on all nodes, node 0. *Threads*: one.
class OneItemRuns {
 public:
  OneItemRuns() = default;
  OneItemRuns(OneItemRuns const&) = delete;
  OneItemRuns& operator=(OneItemRuns const&) = delete;
  virtual ~OneItemRuns() = default;

  [[nodiscard]] virtual OneItemRun run() = 0;
  /// The medians of so many.
  [[nodiscard]] OneItemRun median_of(unsigned runs);
};
[[nodiscard]] std::unique_ptr<OneItemRuns> make_one_item_runs(NodeWork const& work);

}  // namespace bench
