// Layout: where the data of one replica lies in its rooms, and the rows that tell its lanes (queue.hpp).
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "hiway/segment/placement.hpp"
#include "hiway/segment/queue.hpp"
#include "hiway/segment/segment_base.hpp"
#include "lib/segment/contexts.hpp"
#include "lib/segment/node_plan.hpp"

namespace hiway::segment {

/// The near rooms of a block's replicas begin at multiples of this.
inline constexpr std::uint64_t near_align = 128;

class Layout {
 public:
  /// Places all data of one replica, with so many slots for each node's queue. Queues lie in the near room while they
  /// fit into `near_limit` bytes. *Throws* ConfigError if a room is larger than 4 GiB.
  Layout(NodePlan const& plan, std::vector<double> const& region_items, std::size_t sinks, std::size_t near_limit,
         std::vector<std::uint32_t> const& queue_slots);

  /// Sets the contexts, by the lengths of regions that are known now.
  void choose_contexts(Contexts const& contexts);

  /// By the nodes' numbers.
  [[nodiscard]] std::vector<NodeRow> const& rows() const { return rows_; }
  [[nodiscard]] std::vector<QueueSize> const& queues() const { return queues_; }
  /// Of each guard: its node, and its place in a replica's far room.
  [[nodiscard]] std::vector<std::pair<std::size_t, std::uint64_t>> const& guards() const { return guards_; }
  /// Sets the places in the rooms, and the rooms' sizes.
  void fill(Placement& placement) const;

 private:
  /// A room that is filled from its start.
  struct Room {
    std::uint64_t end = 0;
    std::uint32_t place(std::uint64_t bytes, std::uint64_t align);
  };
  enum class Part : std::uint8_t { cursors, queue };

  [[nodiscard]] NodeRow& row(std::size_t node) { return rows_[plan_.number_of(node)]; }
  void place_fixed(std::size_t sinks);
  void describe_nodes(std::vector<std::uint32_t> const& slots, Contexts const& contexts);
  void link(std::size_t node);
  void place_queues(std::vector<std::uint32_t> const& slots, Contexts const& contexts);
  void place_part(std::size_t node, Part part, std::uint64_t tag_bytes);
  void place_guard(std::size_t node, std::uint64_t align);
  [[nodiscard]] bool is_far(std::uint64_t bytes, std::uint64_t align) const;
  void place_regions();
  void place_arena(std::size_t opener);
  void place_values(std::size_t closer);

  NodePlan const& plan_;
  std::size_t near_limit_;
  std::vector<NodeRow> rows_;
  std::vector<QueueSize> queues_;
  std::vector<std::pair<std::size_t, std::uint64_t>> guards_;
  Placement placed_;
  Room near_;
  Room far_;
};

}  // namespace hiway::segment
