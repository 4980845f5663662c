// NodePlan: the nodes of a segment with what the user set for them, and what they need in a replica of so many lanes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "hiway/segment/segment_base.hpp"

namespace hiway::segment {

/// `at`, or the next place after it that is a multiple of `to`.
constexpr std::uint64_t align_up(std::uint64_t at, std::uint64_t to) { return (at + to - 1) / to * to; }

/// Whether an opener's parents are too large to copy: they are worked on where they lie.
[[nodiscard]] bool opens_large(NodeDescription const& node);

class NodePlan {
 public:
  /// *Throws* ConfigError for settings that no replica can have.
  NodePlan(std::string const& name, SegmentConfig const& config, Shape shape, std::vector<NodeDescription> nodes,
           RootTakes root_takes);

  [[nodiscard]] std::string const& who() const { return who_; }  ///< "segment 'name'"
  [[nodiscard]] SegmentConfig const& config() const { return config_; }
  [[nodiscard]] Shape shape() const { return shape_; }
  [[nodiscard]] std::vector<NodeDescription> const& nodes() const { return nodes_; }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  [[nodiscard]] NodeDescription const& operator[](std::size_t node) const { return nodes_[node]; }
  [[nodiscard]] bool has_regions() const { return has_regions_; }
  [[nodiscard]] bool has_marks() const { return nodes_.front().mark_bytes != 0; }
  /// Each node's number on the device.
  [[nodiscard]] unsigned number_of(std::size_t node) const { return numbers_[node]; }
  [[nodiscard]] bool has_queue(std::size_t node) const { return node != 0 || root_takes_ != RootTakes::range; }
  void set_function(std::string_view node, unsigned module, void const* function, std::size_t bytes);

  void set_lanes(unsigned lanes) { lanes_ = lanes; }
  [[nodiscard]] unsigned lanes() const { return lanes_; }
  /// Whether the node may be left between two pushes: then its children need room for one push of all lanes only.
  [[nodiscard]] static bool suspends(NodeDescription const& node);
  /// Items of a full ensemble. A loop's node fires with the items there are. An opener of large parents fires with each
  /// parent: one has elements for all lanes.
  [[nodiscard]] std::uint32_t width_of(std::size_t node) const;
  /// With fewer free slots than this in its queue the node is active: the most that its parent puts before it looks
  /// again.
  [[nodiscard]] std::uint32_t room_of(std::size_t node) const;
  [[nodiscard]] std::uint32_t least_slots(std::size_t node) const;
  [[nodiscard]] std::uint32_t mark_slots() const;
  /// With fewer free mark slots than this the node is active.
  [[nodiscard]] std::uint32_t mark_room_of(std::size_t node) const;
  /// Bytes of the marks in a node's queue. The root has none.
  [[nodiscard]] std::uint64_t mark_bytes(std::size_t node) const;
  /// Parents that an arena holds: by default as many as an ensemble has, and as the queues inside have slots for marks.
  [[nodiscard]] std::uint32_t arena_slots(std::size_t opener) const;
  /// Whether the node is inside the regions of the opener.
  [[nodiscard]] bool is_inside(std::size_t node, std::size_t opener) const;
  /// Number of channels at whose ends an opener's regions are closed.
  [[nodiscard]] std::uint16_t ends_of(std::size_t opener) const;
  /// The nodes as sizing.hpp takes them.
  [[nodiscard]] SizedNodes sized() const;

 private:
  void check() const;
  void number_nodes();
  [[nodiscard]] std::vector<std::size_t> loop_from(std::size_t head) const;

  std::string who_;
  SegmentConfig config_;
  Shape shape_;
  std::vector<NodeDescription> nodes_;
  RootTakes root_takes_;
  bool has_regions_;
  std::vector<unsigned> numbers_;
  unsigned lanes_ = 0;
};

}  // namespace hiway::segment
