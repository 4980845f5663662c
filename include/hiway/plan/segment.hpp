// What queue space a segment needs: safe minima, a budget's distribution, and what would need less. A plan's front to
// hiway/segment/sizing.hpp, for the chain of nodes that a file describes.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hiway/plan/plan.hpp"
#include "hiway/segment/sizing.hpp"

namespace hiway::plan {

/// A chain of nodes, in one replica. The node at i puts into the queue at i, from which the node at i + 1 takes.
struct SegmentProgram {
  struct Node {
    std::string name{};
    std::int64_t gain_max = 1;      ///< the most items that it puts for one that it takes
    double gain_mean = 1;           ///< on average
    std::int64_t item_bytes = 1;    ///< of what it puts
    bool interruptible = false;     ///< it suspends between two items that it puts
    std::int64_t cursor_bytes = 0;  ///< saved for each lane where it is interruptible
    double service_ns = 0;          ///< measured, per item of full vectors; 0: unknown, and no merge is proposed
  };
  std::int64_t lanes = 1;
  double queue_ns = 0;  ///< what an item costs in a queue
  std::vector<Node> nodes{};
};

/// Reads "segment" from a file that has one; nothing from others. *Throws* ConfigError, one line with the place in `json`.
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
  std::int64_t min_bytes = 0;  ///< of these, and of what suspended nodes save
  /// With the memory given shared out; the minima where none is given. Empty where it is too little.
  Capacities best{};
  std::int64_t best_bytes = 0;
  std::vector<Interrupt> interrupt{};  ///< one after the other, each the one that frees most
  std::vector<Merge> merge{};          ///< into the node before, each for itself
  std::string why{};
};

/// *Throws* ConfigError where the nodes are described wrongly.
[[nodiscard]] SegmentPlan plan_segment(SegmentProgram const& program,
                                       std::optional<std::int64_t> memory_bytes = std::nullopt);

}  // namespace hiway::plan
