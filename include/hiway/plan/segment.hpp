// What queue space a segment needs: safe minima, how to distribute a budget, and changes that would need less. This is
// the planner's front end to hiway/segment/sizing.hpp, for a chain of nodes that a file describes.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hiway/plan/plan.hpp"
#include "hiway/segment/sizing.hpp"

namespace hiway::plan {

/// One replica of a chain of nodes. Node i puts into queue i, from which node i + 1 takes.
struct SegmentProgram {
  struct Node {
    std::string name{};
    std::int64_t gain_max = 1;      ///< the most items that it puts per item that it takes
    double gain_mean = 1;           ///< the items that it puts per item on average
    std::int64_t item_bytes = 1;    ///< size of an item that it puts
    bool interruptible = false;     ///< it can suspend between two items that it puts
    std::int64_t cursor_bytes = 0;  ///< if interruptible: bytes saved for each lane
    double service_ns = 0;          ///< measured time per item of full vectors; 0: unknown, and no merge is proposed
  };
  std::int64_t lanes = 1;
  double queue_ns = 0;  ///< time that an item costs in a queue
  std::vector<Node> nodes{};
};

/// Reads "segment" from the file; no value if the file has none. *Throws* ConfigError, whose text is one line with the
/// place in `json`.
[[nodiscard]] std::optional<SegmentProgram> read_segment(std::string_view json);

struct SegmentPlan {
  struct Interrupt {
    std::string node{};
    std::int64_t freed_bytes = 0;
  };
  struct Merge {
    std::string node{};
    double saved_ns = 0;  ///< per item of the first node
  };
  Verdict verdict = Verdict::fits;  ///< or needs_more
  std::vector<std::string> nodes{};
  Capacities min{};            ///< safe minima of the queues
  std::int64_t min_bytes = 0;  ///< bytes of the minima, and of what suspended nodes save
  /// Capacities with the given memory distributed; the minima if no memory is given. Empty if the memory is too little.
  Capacities best{};
  std::int64_t best_bytes = 0;
  std::vector<Interrupt> interrupt{};  ///< nodes to make interruptible, in order; each frees the most at its turn
  std::vector<Merge> merge{};          ///< nodes to merge into the node before; each considered alone
  std::string why{};
};

/// *Throws* ConfigError if the nodes are described wrongly.
[[nodiscard]] SegmentPlan plan_segment(SegmentProgram const& program,
                                       std::optional<std::int64_t> memory_bytes = std::nullopt);

}  // namespace hiway::plan
