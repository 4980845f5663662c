#include "order_check.hpp"

#include <cstddef>

namespace hiway {
namespace {

class OrderCheck {
 public:
  OrderCheck(Graph const& graph, std::vector<Stage> const& stages, FlowPlan const& flow)
      : graph_(graph), stages_(stages), flow_(flow) {}

  void look_at(DeclaredTunnel const& made) {
    std::string const title = made.title() + ": Order::restored ";
    if (made.ends == EndsHere::none) return;
    if (made.ends != EndsHere::both) found.push_back(title + "is not for tunnels between nodes");
    if (!made.branches.empty()) found.push_back(title + "is not for stages on several devices");
    if (spills(made)) found.push_back(title + "is not for tunnels in a cycle, where a put may have to spill");
    std::vector<std::size_t> const writers = stages_at(stages_, *made.base, EndOf::writers);
    if (writers.empty() && made.open_inlets == 0) return;  // which is said already
    if (writers.size() != 1 || made.open_inlets != 0 || !stages_[writers.front()].description.by_ticket) {
      found.push_back(title +
                      "needs one writer: a stage in value form, O work(I const&), with into(tunnel), where the tunnel "
                      "is the RestoredTunnel<O>& that create_tunnel returns");
      return;
    }
    Stage const& writer = stages_[writers.front()];
    look_at_source(graph_.tunnels()[writer.description.from.front()->id()], title + "needs ");
  }

  std::vector<std::string> found{};

 private:
  /// The tunnel whose tickets the results get.
  void look_at_source(DeclaredTunnel const& source, std::string const& needs) {
    TunnelConfig const& config = source.base->config();
    std::string const is_read = ", which its writer reads, ";
    if (source.open_outlets != 0 || stages_at(stages_, *source.base, EndOf::readers).size() != 1)
      found.push_back(needs + source.title() + is_read + "to have no other reader");
    if (config.shards > 1)
      found.push_back(needs + source.title() + is_read + "to have one shard: each has an order of its own");
    if (config.keyed)
      found.push_back(needs + source.title() + is_read + "to be without keys: each has an order of its own");
    if (config.low_latency) found.push_back(needs + source.title() + is_read + "to be without low_latency");
    if (config.when_full == WhenFull::drop_oldest)
      found.push_back(needs + source.title() + is_read +
                      "to drop nothing that it has taken: use WhenFull::drop_newest");
    if (spills(source))
      found.push_back(needs + source.title() + is_read + "to spill nothing, as what spills loses its order");
    if (source.ends != EndsHere::both || !source.branches.empty())
      found.push_back(needs + source.title() + is_read + "to be on one node, and on one device");
  }
  [[nodiscard]] bool spills(DeclaredTunnel const& tunnel) const { return flow_.tunnels[tunnel.base->id()].spills; }

  Graph const& graph_;
  std::vector<Stage> const& stages_;
  FlowPlan const& flow_;
};

}  // namespace

std::vector<std::string> find_order_problems(Graph const& graph, std::vector<Stage> const& stages,
                                             FlowPlan const& flow) {
  OrderCheck check(graph, stages, flow);
  for (DeclaredTunnel const& tunnel : graph.tunnels()) {
    if (tunnel.base->is_restored()) check.look_at(tunnel);
  }
  return check.found;
}

}  // namespace hiway
