// dma: copy engines carry batches of items from one side's memory to the other's (monitors/transfer.hpp).
#include <bit>

#include "carrier.hpp"
#include "hiway/durations.hpp"
#include "lib/sizes.hpp"

namespace hiway {
namespace {

class Dma final : public Carrier {
 public:
  [[nodiscard]] Movement movement() const override { return Movement::dma; }
  [[nodiscard]] char const* name() const override { return "dma"; }
  [[nodiscard]] bool is_in_tables() const override { return true; }
  [[nodiscard]] bool copies() const override { return true; }

  /// The host's side of a tunnel has this memory for good.
  [[nodiscard]] std::byte* place(Homes& homes, PlacedTunnel const& tunnel, std::size_t slots) const override {
    return tunnel.is_between_devices() ? nullptr : place_shared(homes, tunnel, slots);
  }

  /// Gives each device's side memory of its own. The host's side stays as it is, because it may have handed out its
  /// memory.
  void settle(Homes& homes, PlacedTunnel& tunnel) const override {
    std::string const who = tunnel.title();
    std::size_t const slots = std::bit_ceil(tunnel.base->config().capacity_items);
    std::size_t const bytes = bytes_of(who, {slots, tunnel.base->item_bytes()});
    for (PlacedEnd* const end : {&tunnel.put, &tunnel.get}) {
      if (end->home != at_host) end->ring.items = homes.words(end->home).place_raw(bytes, who);
    }
    tell_arrivals(homes, tunnel);
  }

  // Between devices that reach each other, the device that has the items sends them: that is faster than fetching them.
  [[nodiscard]] Home line_home(Homes const& homes, PlacedTunnel const& tunnel) const override {
    bool const peers = homes.is_reached(tunnel.get.home, tunnel.put.home);
    return peers || tunnel.get.home == at_host ? tunnel.put.home : tunnel.get.home;
  }

  [[nodiscard]] TransferLine::Route route(Homes const& homes, PlacedTunnel const& tunnel) const override {
    TunnelConfig const& c = tunnel.base->config();
    bool const peers = homes.is_reached(tunnel.get.home, tunnel.put.home);
    return {.from_items = tunnel.put.ring.items,
            .to_items = tunnel.get.ring.items,
            .outbox = tunnel.put.ring,
            .published = tunnel.bus.published.word,
            .arrived = tunnel.bus.arrived.word,
            .closing = tunnel.bus.closing,
            .capacity_items = c.capacity_items,
            .batch_items = c.batch_items,
            .flush_after = at_most_for_ever(c.flush_after),
            .bounds = peers ? TransferLine::between_devices : TransferLine::over_the_bus,
            .regions = tunnel.stencil.copies};
  }
};

}  // namespace

Carrier const& dma_carrier() {
  static Dma const the_carrier;
  return the_carrier;
}

}  // namespace hiway
