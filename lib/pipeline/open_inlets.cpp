#include "open_inlets.hpp"

#include "hiway/inlet/close.hpp"
#include "layout.hpp"

namespace hiway {
namespace {

/// Workers' inlets are inside.
template <class F>
void for_each_inlet(Layout const& layout, F&& f) {
  for (PlacedTunnel const& t : layout.placement.tunnels()) {
    if (inlets_to_close(layout.graph, t.base->id()) == 0) continue;
    for (InletView const& inlet : t.open.inlets) f(inlet);
  }
}
template <class F>
void for_each_stripe(Layout const& layout, F&& f) {
  for_each_inlet(layout, [&](InletView const& inlet) {
    for (std::uint32_t i = 0; i < inlet.ports->stripe_count; ++i) f(inlet.ports->stripes[i].puts);
  });
}

}  // namespace

void drain_open_inlets(Layout const& layout) {
  for_each_inlet(layout, [](InletView const& inlet) { detail::drain_inlet(StageThread{}, inlet); });
}
void pause_open_inlets(Layout const& layout) {
  for_each_stripe(layout, [](Word<std::uint32_t>& puts) {
    StageThread{}.fetch_or(puts, detail::inlet_paused, MemoryOrder::acq_rel);
  });
}
void resume_open_inlets(Layout const& layout) {
  for_each_stripe(layout, [](Word<std::uint32_t>& puts) {
    StageThread const m;
    if ((m.load(puts, MemoryOrder::relaxed) & detail::inlet_paused) != 0)
      m.fetch_xor(puts, detail::inlet_paused, MemoryOrder::acq_rel);
  });
}

}  // namespace hiway
