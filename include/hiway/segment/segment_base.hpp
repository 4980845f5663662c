// SegmentBase: a segment as the host sees it, whatever the types of its nodes are.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hiway/memory.hpp"
#include "hiway/persistent.hpp"
#include "hiway/segment/node.hpp"
#include "hiway/segment/placement.hpp"
#include "hiway/segment/queue.hpp"
#include "hiway/segment/region.hpp"
#include "hiway/segment/segment_config.hpp"
#include "hiway/segment/sizing.hpp"
#include "hiway/stage.hpp"

namespace hiway::segment {

/// A node as the host knows it. Nodes are listed in the order of declaration.
struct NodeDescription {
  std::string name;
  int parent = -1;
  unsigned channel = 0;  ///< the parent's channel that leads to it
  unsigned module = 0;
  NodeOptions options;
  Kind kind = Kind::unknown;
  KindFacts facts;
  unsigned max_gain = 0;
  std::uint32_t item_bytes = 0;
  std::uint32_t item_align = 1;
  std::uint32_t cursor_bytes = 0;  ///< 0: it cannot suspend
  std::uint32_t mark_bytes = 0;    ///< of one mark in its queue; 0: the segment has no signals
  bool raises = false;
  unsigned items_per_lane = 1;
  unsigned lanes_per_item = 1;
  std::uint32_t state_bytes = 0;  ///< 0: it keeps no state
  std::uint32_t state_align = 1;
  std::uint32_t in_block_bytes = 0;  ///< 0: it has no table
  std::uint32_t in_block_align = 1;
  std::uint32_t value_bytes = 0;  ///< of an aggregate: of one region's value
  std::uint32_t value_align = 1;
  std::vector<int> opened{};  ///< the openers of the regions that it is in, the innermost first
  std::vector<std::byte> function;
  std::vector<int> to;     ///< where each channel leads: a node of this list, or -1 - a sink's number
  std::uint32_t loop = 0;  ///< 1 + the number of its loop; 0: it is in none
  bool loop_head = false;
};

/// The size and place chosen for a node's input queue.
struct QueueSize {
  std::string node;
  std::uint32_t queue_slots = 0;
  std::uint32_t least = 0;
  std::uint32_t item_bytes = 0;
  std::uint64_t bytes = 0;  ///< of one replica, with cursors
  bool in_shared_memory = false;
  Context context = Context::sparse;  ///< the context chosen for a node in a region
};

/// Counters of one node in one replica.
struct CountersOf {
  std::string node;
  unsigned replica = 0;
  NodeCounters counters;
};

/// Counters of one node, over all replicas together.
struct CountersOfNode {
  std::string node;
  NodeCounters counters;
};

/// Where the root's items come from. A range's items need a queue only if items of a loop come to the root, too.
enum class RootTakes : std::uint8_t { range, range_and_loop, tunnel };

class NodePlan;  // lib/segment
class Layout;

/// A segment that a pipeline runs, whatever its nodes are. Made by Pipeline::add_segment. *Lifetime*: the pipeline's.
class SegmentBase : public KernelData {
 public:
  SegmentBase(std::string name, SegmentConfig config, Shape shape, std::vector<NodeDescription> nodes,
              std::vector<std::string> sinks, unsigned modules, RootTakes root_takes);
  ~SegmentBase() override;

  /// Items that the last run has put into a sink. *Throws* ConfigError if there is no sink of that name.
  [[nodiscard]] std::uint64_t items(std::string_view sink) const;
  /// Valid after prepare(). Contexts are those of the last run; before any run, those of the first.
  [[nodiscard]] std::vector<QueueSize> const& queues() const { return queues_; }
  /// Bytes of queues and cursors that the device keeps for all replicas.
  [[nodiscard]] std::uint64_t queue_bytes() const { return queue_bytes_; }
  /// The part of queue_bytes() that safe minima take beyond the shares of the target or budget (sizing.hpp).
  [[nodiscard]] std::uint64_t bloat_bytes() const { return bloat_bytes_; }
  [[nodiscard]] unsigned replicas() const { return replicas_; }
  /// Lanes of a replica.
  [[nodiscard]] unsigned lanes() const;
  /// Counters of the last run, node by node. Empty unless Shape::counters is set.
  [[nodiscard]] std::vector<CountersOf> counters() const;
  /// The same, summed over the replicas, in the order of nodes().
  [[nodiscard]] std::vector<CountersOfNode> node_counters() const;
  /// Times of each replica in the last run.
  [[nodiscard]] std::vector<ReplicaTimes> const& times() const { return times_; }
  /// From the start of the first replica to the end of the last one.
  [[nodiscard]] double kernel_seconds() const;
  /// The fraction of kernel_seconds() in which an average replica had no work: not started, ended, or waiting for work.
  [[nodiscard]] double imbalance() const;
  [[nodiscard]] std::vector<NodeDescription> const& nodes() const;
  /// The tree as sizing.hpp takes it. If the last run counted (Shape::counters), gains and service times are measured;
  /// else gains are as declared, and there are no times. Valid after prepare().
  [[nodiscard]] SizedNodes measured_nodes() const;
  /// Bytes that were asked for all queues and cursors of all replicas: SegmentConfig's target, else its budget, else
  /// the bytes that they take.
  [[nodiscard]] std::uint64_t asked_bytes() const;
  /// Proposes what brings the queues nearer to the law, and what saves time (sizing.hpp). `budget_bytes` is for all
  /// replicas; the bytes in the result are of one replica. `queue_ns`: the cost of an item in a queue; the default was
  /// measured on an H200. *Throws* ConfigError.
  [[nodiscard]] Advice advice(std::uint64_t budget_bytes, double queue_ns = 2) const;

  simt::Grid choose_grid(Backend& backend, DeviceKernel const& kernel, GpuStageOptions options,
                         unsigned sharers) override;
  void place(Backend& backend, simt::Grid grid, Control* control, std::uint32_t stage, Slice const& slice) override;
  void start(Backend& backend) override;
  void finish(Backend& backend) override;

 protected:
  /// Where the functions of one module are, and bits of its nodes.
  struct ModulePlace {
    void const* functions = nullptr;
    std::uint32_t nodes = 0;
  };
  /// The typed part completes its program with the placement, and uploads it.
  virtual void upload_program(Backend& backend, Placement const& placement,
                              std::vector<ModulePlace> const& modules) = 0;
  /// Sets the function of a node for the next runs.
  void set_function(std::string_view node, unsigned module, void const* function, std::size_t bytes);

 private:
  struct Memory;
  void place_queues(std::size_t near_limit, std::vector<std::uint32_t> const& queue_slots);
  void place_parked();
  void place_lending();
  void place_functions();
  void check_guards(Backend& backend) const;
  void measure_regions(Backend& backend);

  std::unique_ptr<NodePlan> plan_;
  std::vector<std::string> sinks_;
  RootTakes root_takes_;
  std::vector<ModulePlace> places_;
  std::vector<QueueSize> queues_;
  std::uint64_t queue_bytes_ = 0;
  std::uint64_t bloat_bytes_ = 0;
  unsigned replicas_ = 0;
  std::unique_ptr<Layout> layout_;
  Placement placement_;
  std::unique_ptr<Memory> memory_;
  std::vector<std::uint64_t> sink_items_;
  std::vector<NodeCounters> counters_;
  std::vector<ReplicaTimes> times_;
  std::vector<double> region_items_;  ///< for each node, average items of a region in the last run; negative: no region
};

}  // namespace hiway::segment
