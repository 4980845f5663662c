// Contexts: how the lanes of each node in a region know the parents of their items (region.hpp).
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "hiway/segment/region.hpp"
#include "lib/segment/node_plan.hpp"

namespace hiway::segment {

/// Chooses contexts by the lengths of regions.
class Contexts {
 public:
  /// `items`: for each node, average items of a region that came to it in the last run; negative: no region. Empty
  /// before any run: then lengths are as declared.
  Contexts(NodePlan const& plan, std::vector<double> const& items) : plan_(plan), items_(items) {}

  /// Lengths of regions. known: as in the last run or as declared. shortest: as short as possible.
  enum class Lengths : std::uint8_t { known, shortest };
  [[nodiscard]] Context of(std::size_t node, Lengths lengths = Lengths::known) const;
  /// Whether the node's input mixes regions. An aggregate's outputs do not: it gives the outer regions' items in order.
  [[nodiscard]] bool gets_mixed(std::size_t node, Lengths lengths = Lengths::known) const;
  /// Bytes of a queue's tags. There is room for tags if a later run may need them.
  [[nodiscard]] std::uint64_t tag_bytes(std::size_t node, std::uint32_t slots) const;

 private:
  [[nodiscard]] Context wanted(std::size_t node, Lengths lengths) const;
  [[nodiscard]] bool may_all_be_dense_after(std::size_t node) const;
  [[nodiscard]] bool is_mixed(std::size_t node, Lengths lengths) const;
  [[nodiscard]] double items_of_a_region(std::size_t node) const;

  NodePlan const& plan_;
  std::vector<double> const& items_;
};

}  // namespace hiway::segment
