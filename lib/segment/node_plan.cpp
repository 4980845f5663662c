#include "lib/segment/node_plan.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

#include "hiway/error.hpp"
#include "hiway/item.hpp"

namespace hiway::segment {

bool opens_large(NodeDescription const& n) { return n.facts.opens && n.item_bytes > copied_bytes; }

NodePlan::NodePlan(std::string const& name, SegmentConfig const& config, Shape shape,
                   std::vector<NodeDescription> nodes, RootTakes root_takes)
    : who_("segment '" + name + "'"),
      config_(config),
      shape_(shape),
      nodes_(std::move(nodes)),
      root_takes_(root_takes),
      has_regions_(std::ranges::any_of(nodes_, [](NodeDescription const& d) { return d.facts.opens; })) {
  check();
  number_nodes();
}

void NodePlan::check() const {
  if (nodes_.size() > most_nodes)
    throw ConfigError(who_ + " has " + std::to_string(nodes_.size()) + " nodes, of " + std::to_string(most_nodes) +
                      " at most");
  for (NodeDescription const& n : nodes_) {
    if (n.facts.expands && !n.options.interruptible && n.max_gain == 0)
      throw ConfigError(who_ + ": node '" + n.name + "' may not be interrupted, so its function must say max_gain");
    if (n.options.gain <= 0) throw ConfigError(who_ + ": node '" + n.name + "': gain must be above 0");
  }
  constexpr unsigned most_signals = 1u << 15;
  if (config_.signal_slots > most_signals)
    throw ConfigError(who_ + ": signal_slots must be 0 to " + std::to_string(most_signals) + ": " +
                      std::to_string(config_.signal_slots));
  auto const require_region_slots = [](std::string const& who, unsigned slots) {
    if (slots >= Boundary::none)
      throw ConfigError(who + ": region_slots must be 0 to " + std::to_string(Boundary::none - 1) + ": " +
                        std::to_string(slots));
  };
  require_region_slots(who_, config_.region_slots);
  for (NodeDescription const& n : nodes_)
    require_region_slots(who_ + ": node '" + n.name + "'", n.options.region_slots);
}

// A node's number is below its parent's. The numbers of a loop's nodes are above those of the nodes that items leave
// the loop to.
void NodePlan::number_nodes() {
  std::vector<std::size_t> order;
  auto const visit = [&](auto const& self, std::size_t node) -> void {
    std::vector<std::size_t> const together = loop_from(node);
    order.insert(order.end(), together.begin(), together.end());
    for (std::size_t const at : together) {
      for (int const child : nodes_[at].to) {
        if (child < 0 || std::ranges::find(together, static_cast<std::size_t>(child)) != together.end()) continue;
        self(self, static_cast<std::size_t>(child));
      }
    }
  };
  visit(visit, 0);
  numbers_.resize(nodes_.size());
  for (std::size_t i = 0; i != order.size(); ++i) numbers_[order[i]] = static_cast<unsigned>(nodes_.size() - 1 - i);
}
/// The nodes of the loop that begins with `head`, in order; only `head` if it begins none.
std::vector<std::size_t> NodePlan::loop_from(std::size_t head) const {
  std::vector<std::size_t> loop{head};
  NodeDescription const& own = nodes_[head];
  if (own.loop == 0 || !own.loop_head) return loop;
  for (std::size_t at = head;;) {
    auto const next = std::ranges::find_if(nodes_[at].to, [&](int child) {
      return child > static_cast<int>(at) && nodes_[static_cast<std::size_t>(child)].loop == own.loop;
    });
    if (next == nodes_[at].to.end()) return loop;
    at = static_cast<std::size_t>(*next);
    loop.push_back(at);
  }
}

bool NodePlan::suspends(NodeDescription const& n) {
  return n.facts.can_suspend && (!n.facts.expands || n.options.interruptible);
}

std::uint32_t NodePlan::room_of(std::size_t node) const {
  NodeDescription const& n = nodes_[node];
  std::uint32_t room = n.parent < 0 && opens_large(n) ? 1 : lanes_;
  if (n.parent >= 0) {
    auto const parent = static_cast<std::size_t>(n.parent);
    NodeDescription const& p = nodes_[parent];
    if (!suspends(p)) room = std::max(1u, p.max_gain) * width_of(parent);
    if (p.facts.opens) room = lanes_ * p.items_per_lane;
  }
  return n.loop_head ? room + lanes_ : room;  // scheduler.hpp S5
}

std::uint32_t NodePlan::width_of(std::size_t node) const {
  NodeDescription const& n = nodes_[node];
  if (opens_large(n)) return 1;
  return n.loop != 0 || n.facts.opens ? lanes_ : lanes_ * n.items_per_lane / n.lanes_per_item;
}

std::uint32_t NodePlan::least_slots(std::size_t node) const {
  return std::max(room_of(node) + width_of(node) - 1, nodes_[node].loop != 0 ? 2 * lanes_ : 0);
}

std::uint32_t NodePlan::mark_slots() const { return config_.signal_slots != 0 ? config_.signal_slots : 2 * lanes_; }

std::uint32_t NodePlan::mark_room_of(std::size_t node) const {
  int const parent = nodes_[node].parent;
  bool const many = has_regions_ || (parent >= 0 && nodes_[static_cast<std::size_t>(parent)].raises);
  return many ? std::min(lanes_, mark_slots()) : 1;
}

std::uint64_t NodePlan::mark_bytes(std::size_t node) const {
  return node == 0 ? 0 : align_up(std::uint64_t{mark_slots()} * nodes_[node].mark_bytes, 16);
}

std::uint32_t NodePlan::arena_slots(std::size_t opener) const {
  if (unsigned const own = nodes_[opener].options.region_slots; own != 0) return own;
  if (config_.region_slots != 0) return config_.region_slots;
  std::uint32_t inside = 0;
  for (std::size_t i = 0; i != nodes_.size(); ++i) inside += is_inside(i, opener) ? 1 : 0;
  return std::min<std::uint32_t>(Boundary::none - 1u, lanes_ + mark_slots() * inside);
}

bool NodePlan::is_inside(std::size_t node, std::size_t opener) const {
  auto const& opened = nodes_[node].opened;
  return std::ranges::find(opened, static_cast<int>(opener)) != opened.end();
}

std::uint16_t NodePlan::ends_of(std::size_t opener) const {
  unsigned ends = 0;
  for (std::size_t i = 0; i != nodes_.size(); ++i) {
    NodeDescription const& d = nodes_[i];
    bool const is_in = is_inside(i, opener);
    bool const closes = d.facts.closes && is_in && d.opened.front() == static_cast<int>(opener);
    if (closes) ++ends;
    if (closes || (!is_in && i != opener)) continue;
    ends += static_cast<unsigned>(std::ranges::count_if(d.to, [](int to) { return to < 0; }));
  }
  return static_cast<std::uint16_t>(ends);
}

SizedNodes NodePlan::sized() const {
  SizedNodes all;
  for (std::size_t i = 0; i != nodes_.size(); ++i) {
    NodeDescription const& d = nodes_[i];
    SizedNode s;
    s.name = d.name;
    s.parent = d.parent;
    s.item_bytes = d.item_bytes;
    if (d.parent >= 0) {
      NodeDescription const& parent = nodes_[static_cast<std::size_t>(d.parent)];
      s.gain = parent.options.gain;
      s.max_gain = parent.max_gain != 0 ? parent.max_gain : std::max<std::int64_t>(1, std::llround(std::ceil(s.gain)));
    }
    s.width = width_of(i);
    s.interruptible = suspends(d);
    s.may_suspend = d.facts.can_suspend && !d.facts.opens;
    s.cursor_bytes = d.cursor_bytes;
    s.loop = d.loop_head ? LoopPlace::head : d.loop != 0 ? LoopPlace::body : LoopPlace::outside;
    s.has_queue = has_queue(i);
    all.push_back(std::move(s));
  }
  return all;
}

void NodePlan::set_function(std::string_view node, unsigned module, void const* function, std::size_t bytes) {
  for (NodeDescription& d : nodes_) {
    if (d.name != node) continue;
    if (d.module != module) throw ConfigError(who_ + ": node '" + d.name + "' has another function");
    std::memcpy(d.function.data(), function, bytes);
    return;
  }
  throw ConfigError(who_ + " has no node '" + std::string(node) + "'");
}

}  // namespace hiway::segment
