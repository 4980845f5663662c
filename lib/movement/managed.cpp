// managed: the items lie in memory that the driver moves to the side that touches it, or keeps at the host as it is
// advised (Backend::allocate).
#include "carrier.hpp"

namespace hiway {
namespace {

class Managed final : public Carrier {
 public:
  [[nodiscard]] Movement movement() const override { return Movement::managed; }
  [[nodiscard]] char const* name() const override { return "managed"; }
  [[nodiscard]] std::string problem_between_devices() const override {
    return "Movement::managed does not lead from one device to another; use dma or direct";
  }
  [[nodiscard]] std::byte* place(Homes& homes, PlacedTunnel const& tunnel, std::size_t slots) const override {
    return place_items(*homes.host().managed, tunnel, slots, tunnel.title() + ": Movement::managed");
  }
};

}  // namespace

Carrier const& managed_carrier() {
  static Managed const the_carrier;
  return the_carrier;
}

}  // namespace hiway
