#include "open_inlets.hpp"

#include "graph.hpp"
#include "hiway/inlet/close.hpp"

namespace hiway {

/// Workers' inlets are inside.
template <class F>
void OpenInlets::for_each(Graph const& graph, F&& f) const {
  for (InletView const& inlet : inlets_)
    if (inlets_to_close(graph, inlet.tunnel) != 0) f(inlet);
}

void OpenInlets::drain(Graph const& graph) const {
  for_each(graph, [](InletView const& inlet) { detail::drain_inlet(StageThread{}, inlet); });
}

void OpenInlets::pause(Graph const& graph) const {
  for_each(graph, [](InletView const& inlet) {
    StageThread{}.fetch_or(inlet.ports->offers, detail::inlet_paused, Order::acq_rel);
  });
}
void OpenInlets::resume(Graph const& graph) const {
  for_each(graph, [](InletView const& inlet) {
    StageThread const m;
    Word<std::uint32_t>& word = inlet.ports->offers;
    if ((m.load(word, Order::relaxed) & detail::inlet_paused) != 0)
      m.fetch_xor(word, detail::inlet_paused, Order::acq_rel);
  });
}

}  // namespace hiway
