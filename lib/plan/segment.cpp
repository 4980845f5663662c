// Converts the file's chain to the tree of sizing.hpp, and back. In the tree a queue belongs to the node that takes
// from it, so the tree has one node more, which takes what the file's last node puts.
#include "hiway/plan/segment.hpp"

#include <algorithm>

#include "lib/json.hpp"

namespace hiway::plan {
namespace {

using segment::SizedNodes;

SegmentProgram::Node read_node(Json const& value, std::string const& pointer) {
  JsonObject const object(
      value, pointer, {"name", "gain_max", "gain_mean", "item_bytes", "interruptible", "cursor_bytes", "service_ns"});
  SegmentProgram::Node node;
  node.name = object.text("name");
  node.gain_max = object.integer("gain_max");
  node.gain_mean = object.number("gain_mean");
  node.item_bytes = object.integer("item_bytes");
  if (object.find("interruptible")) node.interruptible = object.boolean("interruptible");
  if (object.find("cursor_bytes")) node.cursor_bytes = object.integer("cursor_bytes");
  if (object.find("service_ns")) node.service_ns = object.number("service_ns");
  return node;
}

SizedNodes sized(SegmentProgram const& program) {
  SizedNodes all;
  for (SegmentProgram::Node const& node : program.nodes) {
    segment::SizedNode one;
    one.name = node.name;
    one.interruptible = node.interruptible;
    one.cursor_bytes = node.cursor_bytes;
    one.service_ns = node.service_ns;
    all.push_back(one);
  }
  all.push_back({.name = "what follows '" + (all.empty() ? "" : all.back().name) + "'"});
  all.front().has_queue = false;
  for (std::size_t n = 1; n < all.size(); ++n) {
    all[n].parent = static_cast<std::int32_t>(n) - 1;
    all[n].item_bytes = program.nodes[n - 1].item_bytes;
    all[n].gain = program.nodes[n - 1].gain_mean;
    all[n].max_gain = program.nodes[n - 1].gain_max;
  }
  return all;
}

/// The queues' slots: without those of the first node, which has no queue.
Capacities of_queues(std::vector<std::int64_t> const& slots) { return {slots.begin() + 1, slots.end()}; }

}  // namespace

std::optional<SegmentProgram> read_segment(std::string_view json) {
  Json const root = parse_json(json);
  require(root, Json::Kind::object, "");
  if (std::ranges::find(root.members, "segment", &JsonMember::key) == root.members.end()) return std::nullopt;
  JsonObject const file(root, "", {"name", "segment"});
  JsonObject const object(file.get("segment"), "/segment", {"v", "nodes", "queue_ns"});
  SegmentProgram program;
  program.lanes = object.integer("v");
  if (object.find("queue_ns")) program.queue_ns = object.number("queue_ns");
  Json const& nodes = object.get("nodes");
  program.nodes = read_list(nodes, "/segment/nodes", read_node);
  if (program.nodes.empty()) fail_at(nodes.place, "/segment/nodes", "a segment has 1 node at least");
  for (std::size_t n = 0; n < program.nodes.size(); ++n) {
    auto const same = std::ranges::find(program.nodes, program.nodes[n].name, &SegmentProgram::Node::name);
    if (same != program.nodes.begin() + static_cast<std::ptrdiff_t>(n))
      fail_at(nodes.items[n].place, "/segment/nodes/" + std::to_string(n),
              "there are two nodes '" + program.nodes[n].name + "'");
  }
  return program;
}

SegmentPlan plan_segment(SegmentProgram const& program, std::optional<std::int64_t> memory_bytes) {
  SizedNodes const nodes = sized(program);
  SegmentPlan plan;
  for (SegmentProgram::Node const& node : program.nodes) plan.nodes.push_back(node.name);
  plan.min = of_queues(segment::safe_slots(nodes, program.lanes));
  plan.min_bytes = segment::minimum_bytes(nodes, program.lanes);
  constexpr std::int64_t most = (std::int64_t{1} << 50) - 1;  // the largest budget
  std::int64_t const budget = std::min(memory_bytes.value_or(plan.min_bytes), most);
  segment::Advice const advice = segment::advise(nodes, program.lanes, budget, program.queue_ns);
  for (segment::InterruptProposal const& one : advice.interrupt)
    plan.interrupt.push_back({nodes[one.node].name, one.freed_bytes});
  for (segment::MergeProposal const& one : advice.merge) plan.merge.push_back({nodes[one.child].name, one.saved_ns});
  if (budget < plan.min_bytes) {
    plan.verdict = Verdict::needs_more;
    try {
      (void)segment::distribute(nodes, program.lanes, budget);
    } catch (ConfigError const& error) {
      plan.why = error.what();  // with the bytes, and what would lower them
    }
    return plan;
  }
  segment::Sizes const sizes = segment::distribute(nodes, program.lanes, budget);
  plan.best = of_queues(sizes.queue_slots);
  plan.best_bytes = sizes.bytes;
  plan.why = std::to_string(plan.min_bytes) + " bytes are safe";
  if (memory_bytes)
    plan.why += "; what is left of " + std::to_string(*memory_bytes) + " goes to queues by sqrt(items / item bytes)";
  return plan;
}

}  // namespace hiway::plan
