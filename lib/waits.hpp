// Waits: which stage may wait for which, as far as a snapshot tells.
//
// Which thread or lane waits cannot be read. It follows from what is full, what is empty, and which stages hold tasks.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "snapshot.hpp"

namespace hiway {

/// A possible wait of one stage for another.
struct Link {
  enum class Wait : std::uint8_t { room, items };
  std::size_t from = 0;  ///< the stage that waits
  std::size_t to = 0;
  std::size_t tunnel = 0;
  Wait wait = Wait::room;
};

/// *Lifetime*: the snapshot stays while this is used.
class Waits {
 public:
  explicit Waits(PipelineSnapshot const& snapshot) : p_(snapshot) {}

  /// Whether its words could be read.
  [[nodiscard]] bool known(StageSnapshot const& s) const { return !s.gpu || p_.device_seen; }
  [[nodiscard]] bool known(TunnelSnapshot const& t) const { return !t.on_device || p_.device_seen; }

  /// The stages that may still put into a tunnel, or get from it.
  [[nodiscard]] std::vector<std::size_t> writers(std::size_t tunnel) const;
  [[nodiscard]] std::vector<std::size_t> readers(std::size_t tunnel) const;

  /// The tunnels in which the stage may wait for room, or for items.
  [[nodiscard]] std::vector<std::size_t> for_room(StageSnapshot const& s) const;
  [[nodiscard]] std::vector<std::size_t> for_items(StageSnapshot const& s) const;
  /// True if the stage reads, holds nothing and has nothing to get: it only passes a wait on.
  [[nodiscard]] bool idle(StageSnapshot const& s) const;

  /// The shortest circle of waits with a full tunnel in it. A circle without one is a cycle whose items come from
  /// elsewhere.
  [[nodiscard]] std::vector<Link> shortest_circle() const;
  /// The smallest of the full tunnels that are part of a circle of waits and may grow.
  [[nodiscard]] std::optional<std::size_t> to_grow() const;

 private:
  [[nodiscard]] std::vector<Link> links() const;
  /// A shortest circle that begins with `first`; empty if there is none.
  [[nodiscard]] std::vector<Link> circle_through(Link const& first, std::vector<Link> const& all) const;

  PipelineSnapshot const& p_;
};

}  // namespace hiway
