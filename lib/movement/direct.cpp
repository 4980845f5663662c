// direct: kernels and CPU threads read and write the items where they lie, across the bus if need be.
#include "carrier.hpp"

namespace hiway {
namespace {

class Direct final : public Carrier {
 public:
  [[nodiscard]] Movement movement() const override { return Movement::direct; }
  [[nodiscard]] char const* name() const override { return "direct"; }
  [[nodiscard]] bool is_in_tables() const override { return true; }
  [[nodiscard]] bool may_carry_tags() const override { return true; }
  [[nodiscard]] bool is_polled_by_reader() const override { return true; }
  [[nodiscard]] std::byte* place(Homes& homes, PlacedTunnel const& tunnel, std::size_t slots) const override {
    return place_shared(homes, tunnel, slots);
  }
};

}  // namespace

Carrier const& direct_carrier() {
  static Direct const the_carrier;
  return the_carrier;
}

}  // namespace hiway
