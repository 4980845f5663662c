#include "cli/segment.hpp"

#include <algorithm>
#include <hiway/segment/segment_base.hpp>
#include <utility>

#include "cli/bad_input.hpp"

namespace cli {
namespace {

/// 0 or 1: which of the two.
int one_of(std::string const& option, std::string const& text, char const* first, char const* second) {
  if (text != first && text != second) throw BadInput{option + ": " + first + " or " + second + ", not " + text};
  return text == first ? 0 : 1;
}

constexpr std::pair<char const*, hiway::segment::Context> contexts[] = {
    {"automatic", hiway::segment::Context::automatic},
    {"sparse", hiway::segment::Context::sparse},
    {"dense", hiway::segment::Context::dense},
    {"lane", hiway::segment::Context::lane},
};
std::string name_of(hiway::segment::Context context) {
  auto const* const found = std::ranges::find(contexts, context, [](auto const& c) { return c.second; });
  return found->first;
}

}  // namespace

void SegmentChoices::add_replicas(Options& command) {
  command.add_option("--replicas", replica_, "method hiway: what has its own queues (warp)").type_name("warp|block");
}
void SegmentChoices::add_feed(Options& command, std::string const& description) {
  command.add_option("--feed", feed_, "method hiway: " + description + " (buffer)").type_name("buffer|tunnel");
}
void SegmentChoices::add_context(Options& command) {
  command
      .add_option("--context", context_, "method hiway: how lanes know the region that their items are of (automatic)")
      .type_name("sparse|dense|lane|automatic");
}
hiway::segment::Context SegmentChoices::context() const {
  for (auto const& [name, context] : contexts) {
    if (context_ == name) return context;
  }
  throw BadInput{"--context: sparse, dense, lane or automatic, not " + context_};
}
Replica SegmentChoices::replica() const {
  return one_of("--replicas", replica_, "warp", "block") == 0 ? Replica::warp : Replica::block;
}
Feed SegmentChoices::feed() const {
  return one_of("--feed", feed_, "buffer", "tunnel") == 0 ? Feed::buffer : Feed::tunnel;
}

namespace {

/// Bytes of all replicas, nodes by their names.
Json advice_of(SegmentNumbers const& n) {
  auto const of_all = [&](std::int64_t bytes) { return static_cast<std::uint64_t>(bytes) * n.replicas; };
  Json pessimistic = Json::array();
  for (std::size_t const node : n.advice.pessimistic) pessimistic.push_back(n.nodes[node].name);
  Json interrupt = Json::array();
  for (hiway::segment::InterruptProposal const& i : n.advice.interrupt)
    interrupt.push_back({{"node", n.nodes[i.node].name}, {"freed_bytes", of_all(i.freed_bytes)}});
  Json merge = Json::array();
  for (hiway::segment::MergeProposal const& m : n.advice.merge) {
    NodeNumbers const& child = n.nodes[m.child];
    merge.push_back({{"node", child.name},
                     {"into", n.nodes[static_cast<std::size_t>(child.parent)].name},
                     {"saved_ns", m.saved_ns},
                     {"minimum_bytes", of_all(m.minimum_bytes)}});
  }
  return {{"budget_bytes", n.asked_bytes},
          {"pessimistic", std::move(pessimistic)},
          {"interrupt", std::move(interrupt)},
          {"merge", std::move(merge)},
          {"bloat_bytes_left", of_all(n.advice.left_bytes)}};
}

/// Of the lanes of all steps, those that put.
double lanes_with_output(hiway::segment::NodeCounters const& c, unsigned lanes) {
  return c.steps != 0 ? static_cast<double>(c.outputs) / (static_cast<double>(c.steps) * lanes) : 0;
}

/// The least, the quartiles and the most of some values, in their order.
std::vector<double> quartiles(std::vector<double> values) {
  std::ranges::sort(values);
  std::vector<double> five;
  for (std::size_t quarter = 0; quarter != 5 && !values.empty(); ++quarter)
    five.push_back(values[quarter * (values.size() - 1) / 4]);
  return five;
}

}  // namespace

SegmentNumbers numbers_of(hiway::segment::SegmentBase const& segment) {
  SegmentNumbers n;
  n.kernel_seconds = segment.kernel_seconds();
  n.replicas = segment.replicas();
  n.lanes = segment.lanes();
  n.queue_bytes = segment.queue_bytes();
  n.bloat_bytes = segment.bloat_bytes();
  n.imbalance = segment.imbalance();
  for (std::size_t i = 0; i != segment.nodes().size(); ++i) {
    hiway::segment::NodeDescription const& node = segment.nodes()[i];
    hiway::segment::QueueSize const& queue = segment.queues()[i];
    n.nodes.push_back(
        {node.name, node.parent, queue.queue_slots, node.opened.empty() ? "" : name_of(queue.context), {}, {}});
  }
  std::vector<hiway::segment::CountersOfNode> const counted = segment.node_counters();
  n.counted = !counted.empty();
  std::vector<hiway::segment::CountersOf> const of_each = segment.counters();
  for (std::size_t i = 0; i != counted.size(); ++i) {
    n.nodes[i].counters = counted[i].counters;
    std::vector<double> shares;
    for (unsigned replica = 0; replica != n.replicas; ++replica) {
      hiway::segment::NodeCounters const& c = of_each[i * n.replicas + replica].counters;
      if (c.steps != 0) shares.push_back(lanes_with_output(c, n.lanes));
    }
    n.nodes[i].lanes_of_replicas = quartiles(std::move(shares));
  }
  n.asked_bytes = segment.asked_bytes();
  if (n.counted) n.advice = segment.advice(n.asked_bytes);
  return n;
}

void add_to(Json& result, SegmentNumbers const& n) {
  result["kernel_seconds"] = n.kernel_seconds;
  result["copies_included"] = false;
  result["replicas"] = n.replicas;
  result["lanes"] = n.lanes;
  result["queue_bytes"] = n.queue_bytes;
  result["bloat_bytes"] = n.bloat_bytes;
  result["imbalance"] = n.imbalance;
  Json contexts_of = Json::object();
  for (NodeNumbers const& node : n.nodes) {
    if (!node.context.empty()) contexts_of[node.name] = node.context;
  }
  if (!contexts_of.empty()) result["contexts"] = std::move(contexts_of);
  if (!n.counted) return;
  Json nodes = Json::array();
  for (NodeNumbers const& node : n.nodes) {
    hiway::segment::NodeCounters const& c = node.counters;
    nodes.push_back({{"name", node.name},
                     {"slots", node.slots},
                     {"items", c.items},
                     {"outputs", c.outputs},
                     {"gain", c.items != 0 ? static_cast<double>(c.outputs) / static_cast<double>(c.items) : 0},
                     {"most_gain", c.most_outputs.bits},
                     {"firings", c.firings},
                     {"ensembles", c.ensembles},
                     {"full", c.full},
                     {"shared", c.shared},
                     {"suspensions", c.suspensions},
                     {"steps", c.steps},
                     {"cycles", c.cycles},
                     {"lanes_with_output", lanes_with_output(c, n.lanes)},
                     {"lanes_of_replicas", node.lanes_of_replicas}});
  }
  result["nodes"] = std::move(nodes);
  result["advice"] = advice_of(n);
}

}  // namespace cli
