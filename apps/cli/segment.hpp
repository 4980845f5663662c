// What applications choose of a segment alike, and what a run says of it.
#pragma once
#include <cstdint>
#include <hiway/segment/queue.hpp>
#include <hiway/segment/segment_config.hpp>
#include <hiway/segment/sizing.hpp>
#include <string>
#include <vector>

#include "cli/app.hpp"

namespace hiway::segment {
class SegmentBase;
}

namespace cli {

/// What runs a copy of the nodes, with queues of its own, and takes part in the work by itself.
enum class Replica : std::uint8_t { warp, block };
/// How items reach the device and leave it: they lie there, or go through tunnels while the kernel runs.
enum class Feed : std::uint8_t { buffer, tunnel };

/// The options --replicas, --feed and --context.
class SegmentChoices {
 public:
  void add_replicas(Options& command);
  void add_feed(Options& command, std::string const& description);
  void add_context(Options& command);
  /// *Throws* BadInput, like feed() and context().
  [[nodiscard]] Replica replica() const;
  [[nodiscard]] Feed feed() const;
  [[nodiscard]] hiway::segment::Context context() const;

 private:
  std::string replica_ = "warp";
  std::string feed_ = "buffer";
  std::string context_ = "automatic";
};

/// A segment's shape, as an argument.
template <hiway::segment::Shape shape>
struct ShapeOf {};

/// Calls `add` with the shape of a warp or a block, counted or not. Kernels of all four are compiled.
template <class Add>
void with_shape(Replica replica, bool counters, Add const& add) {
  using hiway::segment::Refill;
  using hiway::segment::ReplicaOf;
  using hiway::segment::Shape;
  if (replica == Replica::warp) {
    counters ? add(ShapeOf<Shape{ReplicaOf::warp, Refill::lanes, true}>{}) : add(ShapeOf<Shape{ReplicaOf::warp}>{});
  } else {
    counters ? add(ShapeOf<Shape{ReplicaOf::block, Refill::lanes, true}>{}) : add(ShapeOf<Shape{ReplicaOf::block}>{});
  }
}

/// A node's queue, and what it did in all replicas together, where that was counted.
struct NodeNumbers {
  std::string name;
  int parent = -1;
  std::uint32_t slots = 0;  ///< of its queue in one replica; 0: it has none
  std::string context{};    ///< of a node in a region
  hiway::segment::NodeCounters counters;
  /// Of lanes_with_output of each replica in which the node has put: the least, the quartiles, the most. Empty: in none.
  std::vector<double> lanes_of_replicas{};
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
  std::uint64_t asked_bytes = 0;    ///< what the advice is for
  hiway::segment::Advice advice{};  ///< of one replica, where it was counted
};

[[nodiscard]] SegmentNumbers numbers_of(hiway::segment::SegmentBase const& segment);

/// Adds the keys of `numbers` to an application's result.
void add_to(Json& result, SegmentNumbers const& numbers);

}  // namespace cli
