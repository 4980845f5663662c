#include "carrier.hpp"

#include <algorithm>

#include "lib/sizes.hpp"

namespace hiway {

std::vector<Carrier const*>& carriers() {
  static std::vector<Carrier const*> all{&direct_carrier(), &dma_carrier(), &managed_carrier()};
  return all;
}

Carrier const* find_carrier(Movement movement) {
  auto const found = std::ranges::find(carriers(), movement, &Carrier::movement);
  return found == carriers().end() ? nullptr : *found;
}

void Carrier::settle(Homes&, PlacedTunnel&) const {}
Home Carrier::line_home(Homes const&, PlacedTunnel const&) const { return at_host; }
TransferLine::Route Carrier::route(Homes const&, PlacedTunnel const&) const { return {}; }

std::byte* place_items(Arena& arena, PlacedTunnel const& tunnel, std::size_t slots, std::string const& what) {
  if (tunnel.base->config().low_latency)
    return reinterpret_cast<std::byte*>(arena.place_zeros<TaggedSlot>(slots, what));
  return arena.place_raw(bytes_of(what, {slots, tunnel.base->item_bytes()}), what);
}

std::byte* place_shared(Homes& homes, PlacedTunnel const& tunnel, std::size_t slots) {
  bool const with_the_reader = tunnel.stencil_base == nullptr && homes.is_reached(tunnel.get.home, tunnel.put.home);
  return place_items(homes.words(with_the_reader ? tunnel.get.home : tunnel.slots_on), tunnel, slots, tunnel.title());
}

void tell_arrivals(Homes& homes, PlacedTunnel& tunnel) {
  bool const to_host = tunnel.get.home == at_host;
  tunnel.bus.arrived = to_host ? ToldWord{&tunnel.bus.words->arrived}
                               : ToldWord{homes.words(tunnel.get.home).place<Word<std::uint64_t>>(), tunnel.get.home};
  if (to_host) homes.host().words->image(tunnel.bus.get_relays).hears.link = {tunnel.bus.arrived.word};
}

}  // namespace hiway
