#include "lib/segment/queue_slots.hpp"

#include <algorithm>
#include <string>

#include "hiway/error.hpp"
#include "hiway/segment/sizing.hpp"

namespace hiway::segment {
namespace {

/// Default for slots of a queue. Large enough for a node to fire several times before its child must.
constexpr std::uint32_t slots_a_lane = 8;

/// Bytes of a replica that distribute() does not count: marks, and cursors of nodes that do not suspend, whose lanes
/// are kept.
std::uint64_t kept_bytes(NodePlan const& plan) {
  std::uint64_t kept = 0;
  for (NodeDescription const& d : plan.nodes())
    kept += NodePlan::suspends(d) ? 0 : std::uint64_t{plan.lanes()} * d.cursor_bytes;
  for (std::size_t i = 0; i != plan.size(); ++i) kept += plan.mark_bytes(i);
  return kept;
}

/// Slots for so many bytes of all replicas together.
QueueSlots slots_by_bytes(NodePlan const& plan, unsigned replicas, std::uint64_t given, Budget budget) {
  SizedNodes const nodes = plan.sized();
  std::uint64_t const kept = kept_bytes(plan);
  std::uint64_t const each = given / replicas;
  std::uint64_t const least = static_cast<std::uint64_t>(minimum_bytes(nodes, plan.lanes())) + kept;
  auto const too_few = [&](std::string const& why) {
    return ConfigError(plan.who() + ": " + std::to_string(replicas) + " replicas need " +
                       std::to_string(least * replicas) + " bytes for queues, " + std::to_string(given) +
                       " are given, enough for " + std::to_string(given / least) + " replicas" + why);
  };
  if (budget == Budget::hard && each < kept) throw too_few("");
  Sizes sizes;
  try {
    sizes = distribute(nodes, plan.lanes(), static_cast<std::int64_t>(each > kept ? each - kept : 0), budget);
  } catch (ConfigError const& e) {
    throw too_few(std::string("; of each: ") + e.what());
  }
  QueueSlots slots;
  for (std::size_t i = 0; i != plan.size(); ++i) {
    auto const own = static_cast<std::uint32_t>(std::min<std::int64_t>(sizes.queue_slots[i], 1 << 30));
    // The law does not know that a lane may open several elements at once.
    bool const may_be_few = plan.has_regions() && plan.has_queue(i);
    slots.of_node.push_back(may_be_few ? std::max(own, plan.least_slots(i)) : own);
  }
  slots.bloat_bytes = static_cast<std::uint64_t>(sizes.all_bloat_bytes()) * replicas;
  return slots;
}

QueueSlots default_slots(NodePlan const& plan) {
  QueueSlots slots;
  for (std::size_t i = 0; i != plan.size(); ++i)
    slots.of_node.push_back(plan.has_queue(i) ? std::max(plan.least_slots(i), slots_a_lane * plan.lanes()) : 0);
  return slots;
}

/// The slots that the user has set for single nodes.
void set_own(NodePlan const& plan, std::vector<std::uint32_t>& slots) {
  for (std::size_t i = 0; i != plan.size(); ++i) {
    std::uint32_t const wanted = plan[i].options.queue_slots;
    if (wanted == 0 || !plan.has_queue(i)) continue;
    if (wanted < plan.least_slots(i))
      throw ConfigError(plan.who() + ": the queue of node '" + plan[i].name + "' needs at least " +
                        std::to_string(plan.least_slots(i)) + " slots, " + std::to_string(wanted) + " are given");
    slots[i] = wanted;
  }
}

}  // namespace

QueueSlots choose_slots(NodePlan const& plan, unsigned replicas) {
  SegmentConfig const& config = plan.config();
  QueueSlots slots;
  if (config.queue_target_bytes != 0) {
    slots = slots_by_bytes(plan, replicas, config.queue_target_bytes, Budget::target);
  } else if (config.queue_bytes != 0) {
    slots = slots_by_bytes(plan, replicas, config.queue_bytes, Budget::hard);
  } else {
    slots = default_slots(plan);
  }
  set_own(plan, slots.of_node);
  return slots;
}

}  // namespace hiway::segment
