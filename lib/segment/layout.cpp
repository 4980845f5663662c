#include "lib/segment/layout.hpp"

#include <algorithm>
#include <string>

#include "hiway/error.hpp"
#include "hiway/machine/machine.hpp"
#include "hiway/segment/lanes.hpp"
#include "hiway/segment/marks.hpp"
#include "hiway/segment/region.hpp"

namespace hiway::segment {

std::uint32_t Layout::Room::place(std::uint64_t bytes, std::uint64_t align) {
  std::uint64_t const at = align_up(end, align);
  end = at + bytes;
  return static_cast<std::uint32_t>(at);
}

Layout::Layout(NodePlan const& plan, std::vector<double> const& region_items, std::size_t sinks, std::size_t near_limit,
               std::vector<std::uint32_t> const& slots)
    : plan_(plan), near_limit_(near_limit), rows_(plan.size()), queues_(plan.size()) {
  Contexts const contexts(plan, region_items);
  place_fixed(sinks);
  describe_nodes(slots, contexts);
  choose_contexts(contexts);
  place_queues(slots, contexts);
  if (plan_.has_regions()) place_regions();
  if (std::uint64_t const most = std::max(near_.end, far_.end); most > UINT32_MAX - near_align)
    throw ConfigError(plan_.who() + ": the queues of one replica take " + std::to_string(most) +
                      " bytes, 4 GiB are the most");
  placed_.near_bytes = static_cast<std::uint32_t>(align_up(near_.end, near_align));
  placed_.far_bytes = align_up(far_.end, 256);
}

void Layout::fill(Placement& placement) const {
  placement.openers = placed_.openers;
  placement.states_at = placed_.states_at;
  placement.sinks_at = placed_.sinks_at;
  placement.marks_at = placed_.marks_at;
  placement.sums_at = placed_.sums_at;
  placement.scratch_at = placed_.scratch_at;
  placement.block_bytes = placed_.block_bytes;
  placement.near_bytes = placed_.near_bytes;
  placement.far_bytes = placed_.far_bytes;
}

/// Places what is in the near room in any case, and the tables in the block's shared memory before it.
void Layout::place_fixed(std::size_t sinks) {
  std::size_t const n = plan_.size();
  std::uint64_t const sum_bytes = plan_.lanes() * sizeof(std::uint32_t);
  Room block{n * sizeof(NodeRow)};
  for (std::size_t i = 0; i != n; ++i)
    row(i).in_block_at = block.place(plan_[i].in_block_bytes, plan_[i].in_block_align);
  placed_.block_bytes = static_cast<std::uint32_t>(align_up(block.end, near_align));
  placed_.states_at = near_.place(n * sizeof(QueueState), 16);
  placed_.sinks_at = near_.place(sinks * sizeof(std::uint64_t), 8);
  placed_.marks_at = near_.place(plan_.has_marks() ? n * sizeof(MarkState) : 0, 16);
  bool const sums_up = std::ranges::any_of(plan_.nodes(), [](NodeDescription const& d) { return d.facts.sums_up; });
  placed_.sums_at = near_.place(sums_up ? sum_bytes : 0, 4);
  for (std::size_t i = 0; i != n; ++i) row(i).sums_at = near_.place(plan_[i].facts.opens ? sum_bytes : 0, 4);
  for (std::size_t i = 0; i != n; ++i)
    row(i).state_at = near_.place(plan_[i].state_bytes, std::max(1u, plan_[i].state_align));
  bool const of_block = plan_.shape().replica == ReplicaOf::block;
  placed_.scratch_at = near_.place(of_block ? BlockLanes<ThreadMachine>::scratch_words * sizeof(std::uint32_t) : 0, 4);
}

void Layout::describe_nodes(std::vector<std::uint32_t> const& slots, Contexts const& contexts) {
  std::vector<std::uint8_t> of_module(plan_.size(), 0);  // nodes of each module so far
  for (std::size_t i = 0; i != plan_.size(); ++i) {
    NodeDescription const& d = plan_[i];
    NodeRow& r = row(i);
    r.queue_slots = slots[i];
    r.width = plan_.width_of(i);
    r.room = plan_.room_of(i);
    r.mark_slots = static_cast<std::uint16_t>(plan_.mark_slots());
    r.mark_room = static_cast<std::uint16_t>(plan_.mark_room_of(i));
    r.item_bytes = d.item_bytes;
    r.module = static_cast<std::uint8_t>(d.module);
    r.index = of_module[d.module]++;
    r.suspends = NodePlan::suspends(d);
    r.spreads = d.facts.spreads;
    link(i);
    QueueSize& q = queues_[i];
    q.node = d.name;
    q.queue_slots = slots[i];
    q.least = plan_.has_queue(i) ? plan_.least_slots(i) : 0;
    q.item_bytes = d.item_bytes;
    q.bytes = std::uint64_t{slots[i]} * d.item_bytes + std::uint64_t{plan_.lanes()} * d.cursor_bytes +
              plan_.mark_bytes(i) + contexts.tag_bytes(i, slots[i]);
    q.in_shared_memory = true;
  }
}
/// Where the node's channels lead, and the nodes of its loop.
void Layout::link(std::size_t node) {
  NodeDescription const& d = plan_[node];
  NodeRow& r = row(node);
  for (std::size_t other = 0; other != plan_.size(); ++other) {
    if (d.loop != 0 && plan_[other].loop == d.loop) r.loop |= 1u << plan_.number_of(other);
  }
  for (std::size_t c = 0; c != d.to.size(); ++c) {
    int const to = d.to[c];
    r.to[c] =
        static_cast<std::uint8_t>(to < 0 ? first_sink + (-1 - to) : plan_.number_of(static_cast<std::size_t>(to)));
    if (to >= 0 && (r.loop >> r.to[c] & 1u) == 0) r.children |= 1u << r.to[c];
  }
}

void Layout::choose_contexts(Contexts const& contexts) {
  for (std::size_t i = 0; i != plan_.size(); ++i) {
    NodeRow& r = row(i);
    Context const context = contexts.of(i);
    r.stops_at_marks = context == Context::sparse;
    r.is_dense = context == Context::dense;
    r.is_mixed = contexts.gets_mixed(i);
    r.keeps_lanes = plan_[i].facts.refills_lanes && plan_.shape().refill == Refill::lanes && context != Context::dense;
    queues_[i].context = context;
  }
}

// The leaves' queues come first: if a segment expands, most items go through them.
void Layout::place_queues(std::vector<std::uint32_t> const& slots, Contexts const& contexts) {
  for (std::size_t i = plan_.size(); i-- != 0;) {
    std::uint64_t const tags = contexts.tag_bytes(i, slots[i]);
    place_part(i, Part::cursors, tags);
    place_part(i, Part::queue, tags);
  }
}
void Layout::place_part(std::size_t node, Part part, std::uint64_t tag_bytes) {
  NodeDescription const& d = plan_[node];
  NodeRow& r = row(node);
  std::uint64_t const marks = plan_.mark_bytes(node);
  std::uint64_t const items = align_up(std::uint64_t{r.queue_slots} * d.item_bytes, marks != 0 ? 16 : 1);
  bool const is_queue = part == Part::queue;
  std::uint64_t const bytes = is_queue ? items + marks + tag_bytes : std::uint64_t{plan_.lanes()} * d.cursor_bytes;
  if (bytes == 0) return;
  std::uint64_t const align = is_queue ? std::max<std::uint64_t>(16, d.item_align) : 16;
  bool const far = is_far(bytes, align);
  place_guard(node, align);
  std::uint32_t const at = (far ? far_ : near_).place(bytes, align);
  place_guard(node, 1);
  if (!is_queue) {
    r.cursors_at = at;
    r.cursors_are_far = far;
    return;
  }
  r.queue_at = at;
  r.marks_at = static_cast<std::uint32_t>(at + items);
  r.tags_at = static_cast<std::uint32_t>(r.marks_at + marks);
  r.queue_is_far = far;
  queues_[node].in_shared_memory = !far;
}
/// A guard's end is aligned for what follows.
void Layout::place_guard(std::size_t node, std::uint64_t align) {
  std::uint64_t const bytes = plan_.config().guard_bytes;
  if (bytes == 0) return;
  far_.end = align_up(far_.end + bytes, align);
  guards_.emplace_back(node, far_.end - bytes);
}
bool Layout::is_far(std::uint64_t bytes, std::uint64_t align) const {
  return plan_.config().guard_bytes != 0 || align_up(near_.end, align) + bytes > near_limit_;
}

void Layout::place_regions() {
  for (std::size_t i = 0; i != plan_.size(); ++i) {
    NodeDescription const& d = plan_[i];
    NodeRow& r = row(i);
    if (!d.opened.empty())
      r.opener = static_cast<std::uint8_t>(plan_.number_of(static_cast<std::size_t>(d.opened.front())));
    r.poisons = plan_.config().guard_bytes != 0;
    if (d.facts.opens) place_arena(i);
    if (d.facts.closes) place_values(i);
  }
}
void Layout::place_arena(std::size_t opener) {
  NodeDescription const& d = plan_[opener];
  NodeRow& r = row(opener);
  std::uint64_t const slots = plan_.arena_slots(opener);
  std::uint64_t const align = std::max<std::uint64_t>(16, d.item_align);
  std::uint64_t const heads = align_up(slots * sizeof(RegionHead), align);
  std::uint64_t const bytes = heads + slots * d.item_bytes;
  r.arena_is_far = is_far(bytes, align);
  r.arena_at = (r.arena_is_far ? far_ : near_).place(bytes, align);
  r.parents_at = static_cast<std::uint32_t>(r.arena_at + heads);
  r.arena_slots = static_cast<std::uint16_t>(slots);
  r.leaves = plan_.ends_of(opener);
  placed_.openers |= 1u << plan_.number_of(opener);
  for (std::size_t other = 0; other != plan_.size(); ++other) {
    if (plan_.is_inside(other, opener)) r.inside |= 1u << plan_.number_of(other);
  }
}
void Layout::place_values(std::size_t closer) {
  NodeDescription const& d = plan_[closer];
  NodeRow& r = row(closer);
  std::uint64_t const bytes =
      std::uint64_t{plan_.arena_slots(static_cast<std::size_t>(d.opened.front()))} * d.value_bytes;
  std::uint64_t const align = std::max<std::uint64_t>(16, d.item_align);
  r.arena_is_far = is_far(bytes, align);
  r.values_at = (r.arena_is_far ? far_ : near_).place(bytes, align);
}

}  // namespace hiway::segment
