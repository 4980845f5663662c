// Activity: which nodes of a replica are active, and which drain to 0 because no further items are to be waited for.
// Sets of nodes are words with a bit for each node. All lanes hold the same words in registers.
#pragma once
#include <cstdint>
#include <type_traits>

#include "hiway/config.hpp"

namespace hiway::segment {

/// Nodes that drain because an arena is full (firing/enumerate.hpp R3).
struct Drains {
  std::uint32_t nodes = 0;  ///< bits of the nodes that drain now
  std::uint32_t scope = 0;  ///< bits of the nodes to which draining is passed on

  HIWAY_DEVICE void begin(std::uint32_t children, std::uint32_t inside) {
    scope = (nodes != 0 ? scope : 0) | inside;
    nodes |= children & inside;
  }
  /// Returns the nodes that drain in turn.
  HIWAY_DEVICE std::uint32_t pass(std::uint32_t from, std::uint32_t children) {
    if ((nodes & from) == 0) return 0;
    nodes = (nodes & ~from) | (children & scope);
    return children & scope;
  }
};
/// In a segment without regions no arena is full.
struct NoDrains {
  static constexpr std::uint32_t nodes = 0;
  HIWAY_DEVICE std::uint32_t pass(std::uint32_t, std::uint32_t) { return 0; }
};

template <bool has_regions>
class Activity {
 public:
  [[nodiscard]] HIWAY_DEVICE std::uint32_t active() const { return active_; }
  [[nodiscard]] HIWAY_DEVICE bool any(std::uint32_t nodes) const { return (nodes & active_) != 0; }
  HIWAY_DEVICE void add(std::uint32_t nodes) { active_ |= nodes; }
  HIWAY_DEVICE void remove(std::uint32_t nodes) { active_ &= ~nodes; }

  /// Whether the node drains: it fires with the items that it has.
  [[nodiscard]] HIWAY_DEVICE bool is_flushed(unsigned node) const {
    return ((flush_ | drains_.nodes) >> node & 1u) != 0;
  }
  /// Whether the last items of the source flush any of the nodes (scheduler.hpp S3).
  [[nodiscard]] HIWAY_DEVICE bool flushes(std::uint32_t nodes) const { return (flush_ & nodes) != 0; }
  HIWAY_DEVICE void flush(std::uint32_t nodes) {
    flush_ |= nodes;
    active_ |= nodes;
  }
  HIWAY_DEVICE void pass_flush(std::uint32_t from, std::uint32_t to) {
    flush_ = (flush_ & ~from) | to;
    active_ |= to;
  }
  /// An opener found its arena full: its children drain, and what is inside its regions after them.
  HIWAY_DEVICE void drain(std::uint32_t children, std::uint32_t inside) {
    drains_.begin(children, inside);
    active_ |= children & inside;
  }
  HIWAY_DEVICE void pass_drain(std::uint32_t from, std::uint32_t children) { active_ |= drains_.pass(from, children); }

  /// Word by word: a copy as a whole makes nvcc keep several words in one register, and costs seven others.
  HIWAY_DEVICE void set_to(Activity const& other) {
    active_ = other.active_;
    flush_ = other.flush_;
    if constexpr (has_regions) {
      drains_.nodes = other.drains_.nodes;
      drains_.scope = other.drains_.scope;
    }
  }

 private:
  std::uint32_t active_ = 0;
  std::uint32_t flush_ = 0;
  [[no_unique_address]] std::conditional_t<has_regions, Drains, NoDrains> drains_;
};

}  // namespace hiway::segment
