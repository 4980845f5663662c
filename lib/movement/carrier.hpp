// Carrier: one way to move a tunnel's items between its ends' homes. A movement is one file here and one line in
// carriers(); the rest of the library asks through this interface.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "hiway/config.hpp"
#include "lib/pipeline/homes.hpp"
#include "lib/pipeline/placed_tunnel.hpp"
#include "monitors/transfer.hpp"

namespace hiway {

class Carrier {
 public:
  virtual ~Carrier() = default;
  [[nodiscard]] virtual Movement movement() const = 0;
  /// As reports and tables say it.
  [[nodiscard]] virtual char const* name() const = 0;
  /// Whether a row of a movement table may name it.
  [[nodiscard]] virtual bool is_in_tables() const { return false; }
  /// Whether items may carry tags (low_latency): kernels and CPU threads then poll the items themselves.
  [[nodiscard]] virtual bool may_carry_tags() const { return false; }
  /// Why it cannot lead from one device to another; empty if it can.
  [[nodiscard]] virtual std::string problem_between_devices() const { return {}; }

  /// Memory for the items of both half-rings. Null: each side gets its own from settle().
  [[nodiscard]] virtual std::byte* place(Homes& homes, PlacedTunnel const& tunnel, std::size_t slots) const = 0;
  /// Called once the tunnel has its rings and words, or when the movement is chosen later than that.
  virtual void settle(Homes& homes, PlacedTunnel& tunnel) const;
  /// Whether only the other side polls `published`, so that it may lie in that side's memory.
  [[nodiscard]] virtual bool is_polled_by_reader() const { return false; }

  /// Whether a copy engine reads what the producers write: then the tunnel has a line.
  [[nodiscard]] virtual bool copies() const { return false; }
  /// The device whose transfer line carries the items, and the way on it. Called only if it copies.
  [[nodiscard]] virtual Home line_home(Homes const& homes, PlacedTunnel const& tunnel) const;
  [[nodiscard]] virtual TransferLine::Route route(Homes const& homes, PlacedTunnel const& tunnel) const;
};

/// All movements. A further one is added here; a test adds its own. *Threads*: changed while no pipeline is there.
[[nodiscard]] std::vector<Carrier const*>& carriers();
/// The carrier of this movement; null for automatic.
[[nodiscard]] Carrier const* find_carrier(Movement movement);

/// Memory for items that both sides reach: at the consumers' device if the producers' device reaches it, else where the
/// tunnel has its slots, mostly at the host. A stencil tunnel's references are always at the host, because its transfer
/// line reads them.
[[nodiscard]] std::byte* place_shared(Homes& homes, PlacedTunnel const& tunnel, std::size_t slots);
/// Memory for `slots` items of the tunnel in `arena`; `what` names it in an error.
[[nodiscard]] std::byte* place_items(Arena& arena, PlacedTunnel const& tunnel, std::size_t slots,
                                     std::string const& what);
/// Makes `arrived` a word of its own, since copied items arrive later than they are published. It lies at the
/// consumers' home.
void tell_arrivals(Homes& homes, PlacedTunnel& tunnel);

// One for each file here.
[[nodiscard]] Carrier const& direct_carrier();
[[nodiscard]] Carrier const& dma_carrier();
[[nodiscard]] Carrier const& managed_carrier();

}  // namespace hiway
