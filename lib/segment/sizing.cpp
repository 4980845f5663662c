#include "hiway/segment/sizing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

namespace hiway::segment {
namespace {

constexpr std::int64_t most_bytes = std::int64_t{1} << 50;  // of one queue: a double holds such numbers exactly
constexpr std::size_t most_nodes = 256;                     // 64 bits hold the sum over all nodes
constexpr std::int64_t most_item_bytes = 65536;             // so that the last bytes are shared out in few steps
constexpr std::int64_t most_lanes = 1024;
constexpr int bisections = 200;
constexpr double pessimistic_ratio = 4;

std::int64_t capped(double value) {
  return value < static_cast<double>(most_bytes) ? static_cast<std::int64_t>(value) : most_bytes;
}
std::int64_t product(std::int64_t a, std::int64_t b) { return capped(static_cast<double>(a) * static_cast<double>(b)); }

// ---- checks of the nodes
class Checker {
 public:
  explicit Checker(SizedNodes const& nodes) : nodes_(nodes) {}

  void whole() {
    if (nodes_.empty() || nodes_.size() > most_nodes)
      throw ConfigError{"a segment has 1 to " + std::to_string(most_nodes) + " nodes, not " +
                        std::to_string(nodes_.size())};
    std::vector<int> bodies(nodes_.size(), 0);
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      check(n);
      if (nodes_[n].loop == LoopPlace::body && is_child(n) && ++bodies[static_cast<std::size_t>(nodes_[n].parent)] == 2)
        say(quoted(nodes_[static_cast<std::size_t>(nodes_[n].parent)]) + ": two loops overlap");
    }
    if (!problems_.empty()) throw ConfigError{problems_};
  }

 private:
  static std::string quoted(SizedNode const& node) { return "'" + node.name + "'"; }
  void say(std::string const& problem) { problems_ += (problems_.empty() ? "" : "; ") + problem; }
  [[nodiscard]] bool is_child(std::size_t n) const {
    return nodes_[n].parent >= 0 && static_cast<std::size_t>(nodes_[n].parent) < n;
  }

  void check(std::size_t n) {
    SizedNode const& node = nodes_[n];
    auto const expect = [&](bool holds, std::string const& problem) {
      if (!holds) say(quoted(node) + ": " + problem);
    };
    expect(n == 0 ? node.parent == -1 : is_child(n),
           n == 0 ? "the first node is the root, its parent is -1"
                  : "its parent must stand before it, not " + std::to_string(node.parent));
    expect(node.item_bytes >= 1 && node.item_bytes <= most_item_bytes,
           "an item has 1 to " + std::to_string(most_item_bytes) + " bytes, not " + std::to_string(node.item_bytes));
    expect(node.max_gain >= 1, "max_gain is at least 1, not " + std::to_string(node.max_gain));
    expect(node.gain >= 0 && node.gain <= static_cast<double>(node.max_gain),
           "its gain lies between 0 and max_gain " + std::to_string(node.max_gain) + ", not at " +
               std::to_string(node.gain));
    expect(node.cursor_bytes >= 0 && node.cursor_bytes <= most_item_bytes,
           "a cursor has 0 to " + std::to_string(most_item_bytes) + " bytes, not " + std::to_string(node.cursor_bytes));
    expect(node.service_ns >= 0 && std::isfinite(node.service_ns), "service_ns is a time, or 0");
    expect(node.loop_gain >= 0 && node.loop_gain < 1, "fewer items come back through a loop than go in");
    expect(node.loop_gain == 0 || node.loop == LoopPlace::head, "only a loop's head has a loop_gain");
    expect(node.has_queue || (n == 0 && node.loop == LoopPlace::outside), "only a root outside loops has no queue");
    expect(node.loop != LoopPlace::body ||
               (is_child(n) && nodes_[static_cast<std::size_t>(node.parent)].loop != LoopPlace::outside),
           "in a loop's body, but its parent is in no loop");
  }

  SizedNodes const& nodes_;
  std::string problems_;
};

std::vector<double> gains_of(SizedNodes const& nodes) {
  std::vector<double> gains;
  for (SizedNode const& node : nodes) {
    double const of_parent = node.parent < 0 ? 1 : gains[static_cast<std::size_t>(node.parent)];
    gains.push_back(of_parent * node.gain / (1 - node.loop_gain));
  }
  return gains;
}

void check(SizedNodes const& nodes) {
  Checker(nodes).whole();
  std::vector<double> const gains = gains_of(nodes);
  for (std::size_t n = 0; n < nodes.size(); ++n)
    if (!std::isfinite(gains[n])) throw ConfigError{"'" + nodes[n].name + "': no number holds the gains down to it"};
}
void check(SizedNodes const& nodes, std::int64_t lanes) {
  check(nodes);
  if (lanes < 1 || lanes > most_lanes)
    throw ConfigError{"a node has 1 to " + std::to_string(most_lanes) + " lanes, not " + std::to_string(lanes)};
}
void check(SizedNodes const& nodes, std::int64_t lanes, std::int64_t budget_bytes) {
  check(nodes, lanes);
  if (budget_bytes < 0 || budget_bytes >= most_bytes)
    throw ConfigError{"a budget has 0 to " + std::to_string(most_bytes - 1) + " bytes, not " +
                      std::to_string(budget_bytes)};
}

// ---- figures of checked nodes
std::int64_t safe_of(SizedNodes const& nodes, std::size_t n, std::int64_t lanes) {
  SizedNode const& node = nodes[n];
  if (!node.has_queue) return 0;
  bool const suspends = node.parent >= 0 && nodes[static_cast<std::size_t>(node.parent)].interruptible;
  auto const v = static_cast<double>(lanes);
  auto const width = [v](SizedNode const& some) { return some.width != 0 ? static_cast<double>(some.width) : v; };
  double const pushed = node.parent < 0 || suspends
                            ? v
                            : static_cast<double>(node.max_gain) * width(nodes[static_cast<std::size_t>(node.parent)]);
  double const safe = pushed + width(node) - 1;
  switch (node.loop) {
    case LoopPlace::outside: break;
    case LoopPlace::head: return capped(safe + v);  // at least 3v-1
    case LoopPlace::body: return capped(std::max(safe, 2 * v));
  }
  return capped(safe);
}
std::vector<std::int64_t> all_safe(SizedNodes const& nodes, std::int64_t lanes) {
  std::vector<std::int64_t> safe;
  for (std::size_t n = 0; n < nodes.size(); ++n) safe.push_back(safe_of(nodes, n, lanes));
  return safe;
}

std::int64_t cursor_bytes_of(SizedNodes const& nodes, std::int64_t lanes) {
  std::int64_t bytes = 0;
  for (SizedNode const& node : nodes) bytes += node.interruptible ? node.cursor_bytes * lanes : 0;
  return bytes;
}
std::int64_t bytes_of(SizedNodes const& nodes, std::vector<std::int64_t> const& slots) {
  std::int64_t bytes = 0;
  for (std::size_t n = 0; n < nodes.size(); ++n) bytes += product(slots[n], nodes[n].item_bytes);
  return bytes;
}
std::int64_t minimum_of(SizedNodes const& nodes, std::int64_t lanes) {
  return bytes_of(nodes, all_safe(nodes, lanes)) + cursor_bytes_of(nodes, lanes);
}

// ---- the law
/// Shares bytes out among queues whose least capacities fit into these bytes.
class Law {
 public:
  Law(SizedNodes const& nodes, std::vector<std::int64_t> least, std::int64_t bytes)
      : nodes_(nodes), gains_(gains_of(nodes)), least_(std::move(least)), bytes_(bytes) {
    for (std::size_t n = 0; n < nodes.size(); ++n)
      if (!nodes[n].has_queue) gains_[n] = 0;
  }

  std::vector<std::int64_t> slots() {
    slots_ = least_;
    bisect();
    left_ = bytes_ - bytes_of(nodes_, slots_);
    do {
      while (add_one()) {
      }
    } while (move_one());
    return slots_;
  }

 private:
  [[nodiscard]] double weight(std::size_t n) const {
    return std::sqrt(gains_[n] / static_cast<double>(nodes_[n].item_bytes));
  }
  [[nodiscard]] std::vector<std::int64_t> at(double c) const {
    std::vector<std::int64_t> slots = least_;
    for (std::size_t n = 0; n < slots.size(); ++n)
      slots[n] = std::max(slots[n], static_cast<std::int64_t>(c * weight(n)));
    return slots;
  }
  void bisect() {
    double high = std::numeric_limits<double>::infinity();  // at which one queue alone would take all bytes
    for (std::size_t n = 0; n < slots_.size(); ++n) {
      if (gains_[n] > 0) high = std::min(high, static_cast<double>(bytes_ / nodes_[n].item_bytes + 1) / weight(n));
    }
    if (std::isinf(high)) return;  // no queue gains from more than its least
    double low = 0;
    for (int i = 0; i < bisections; ++i) {
      double const c = low + (high - low) / 2;
      (bytes_of(nodes_, at(c)) <= bytes_ ? low : high) = c;
    }
    slots_ = at(low);
  }

  /// By how much the sum of G/q falls with the queue's slot number q, counted from 1. Adding and removing the same slot
  /// give the same number, to the last bit, so moves cannot go in circles.
  [[nodiscard]] double worth(std::size_t n, std::int64_t q) const {
    return gains_[n] == 0 ? 0 : gains_[n] / (static_cast<double>(q) * static_cast<double>(q - 1));
  }
  [[nodiscard]] double worth_of_next(std::size_t n) const { return worth(n, slots_[n] + 1); }

  /// Adds the slot that is worth the most per byte, of those that fit. Returns false if none is worth anything or fits.
  bool add_one() {
    std::optional<std::size_t> best;
    double most = 0;
    for (std::size_t n = 0; n < slots_.size(); ++n) {
      double const worth_a_byte = worth_of_next(n) / static_cast<double>(nodes_[n].item_bytes);
      if (nodes_[n].item_bytes > left_ || worth_a_byte <= most) continue;
      best = n;
      most = worth_a_byte;
    }
    if (!best) return false;
    ++slots_[*best];
    left_ -= nodes_[*best].item_bytes;
    return true;
  }
  /// Moves one slot between queues if that gains.
  bool move_one() {
    for (std::size_t from = 0; from < slots_.size(); ++from) {
      if (slots_[from] == least_[from]) continue;
      for (std::size_t to = 0; to < slots_.size(); ++to) {
        if (to == from || nodes_[to].item_bytes > left_ + nodes_[from].item_bytes) continue;
        if (!(worth_of_next(to) > worth(from, slots_[from]))) continue;
        --slots_[from];
        ++slots_[to];
        left_ += nodes_[from].item_bytes - nodes_[to].item_bytes;
        return true;
      }
    }
    return false;
  }

  SizedNodes const& nodes_;
  std::vector<double> gains_;
  std::vector<std::int64_t> const least_;
  std::int64_t const bytes_;
  std::vector<std::int64_t> slots_;
  std::int64_t left_ = 0;
};

/// Sizes for a target: the law's shares, or the safe minima if these are more.
Sizes target_sizes(SizedNodes const& nodes, std::int64_t lanes, std::int64_t budget_bytes) {
  Sizes sizes;
  sizes.cursor_bytes = cursor_bytes_of(nodes, lanes);
  sizes.safe_slots = all_safe(nodes, lanes);
  std::int64_t const bytes = std::max<std::int64_t>(0, budget_bytes - sizes.cursor_bytes);
  sizes.queue_slots = Law(nodes, std::vector<std::int64_t>(nodes.size(), 0), bytes).slots();
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    std::int64_t const beyond = std::max<std::int64_t>(0, sizes.safe_slots[n] - sizes.queue_slots[n]);
    sizes.bloat_bytes.push_back(product(beyond, nodes[n].item_bytes));
    sizes.queue_slots[n] += beyond;
  }
  return sizes;
}

// ---- advice
/// Makes nodes interruptible, always the one that lowers `cost` the most, until the cost is at most `enough` or nothing
/// lowers it. Returns these nodes, and by how much each lowers the cost.
template <class Cost>
std::vector<InterruptProposal> make_interruptible(SizedNodes& nodes, Cost const& cost, std::int64_t enough) {
  std::vector<InterruptProposal> made;
  for (std::int64_t now = cost(nodes); now > enough;) {
    InterruptProposal best;
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      if (nodes[n].interruptible || !nodes[n].may_suspend) continue;
      nodes[n].interruptible = true;
      std::int64_t const freed = now - cost(nodes);
      nodes[n].interruptible = false;
      if (freed > best.freed_bytes) best = {n, freed};
    }
    if (best.freed_bytes == 0) break;
    nodes[best.node].interruptible = true;
    now -= best.freed_bytes;
    made.push_back(best);
  }
  return made;
}

[[noreturn]] void refuse(SizedNodes nodes, std::int64_t lanes, std::int64_t budget_bytes) {
  auto const minimum = [lanes](SizedNodes const& some) { return minimum_of(some, lanes); };
  auto const bytes = [](std::int64_t count) {
    return (count < most_bytes ? "" : "at least ") + std::to_string(std::min(most_bytes, count));
  };
  std::string text = "queues need " + bytes(minimum(nodes)) + " bytes, " + std::to_string(budget_bytes) + " are given";
  std::vector<InterruptProposal> const made = make_interruptible(nodes, minimum, budget_bytes);
  for (std::size_t i = 0; i < made.size(); ++i)
    text += (i > 0             ? ", "
             : made.size() > 1 ? "; interruptible nodes "
                               : "; interruptible node ") +
            nodes[made[i].node].name;
  if (!made.empty()) text += " would lower it to " + bytes(minimum(nodes));
  throw ConfigError{text};
}

bool is_pessimistic(SizedNodes const& nodes, Sizes const& sizes, std::size_t n) {
  SizedNode const& node = nodes[n];
  if (node.parent >= 0 && nodes[static_cast<std::size_t>(node.parent)].interruptible) return false;
  return static_cast<double>(node.max_gain) >= pessimistic_ratio * std::max(1.0, node.gain) &&
         2 * sizes.bloat_bytes[n] > product(sizes.queue_slots[n], node.item_bytes);
}

bool may_merge(SizedNodes const& nodes, std::size_t child) {
  return nodes[child].parent >= 0 && nodes[child].loop == LoopPlace::outside &&
         nodes[static_cast<std::size_t>(nodes[child].parent)].loop == LoopPlace::outside;
}
/// Upper bound on how often a merged child runs in each firing of its parent.
double rounds(SizedNode const& child, std::int64_t lanes) {
  return std::min(static_cast<double>(child.max_gain), static_cast<double>(lanes) * child.gain);
}
SizedNodes merge(SizedNodes nodes, std::size_t child, std::int64_t lanes) {
  SizedNode const gone = nodes[child];
  SizedNode& parent = nodes[static_cast<std::size_t>(gone.parent)];
  parent.name += "+" + gone.name;
  parent.service_ns =
      parent.service_ns > 0 && gone.service_ns > 0 ? parent.service_ns + rounds(gone, lanes) * gone.service_ns : 0;
  parent.cursor_bytes += gone.cursor_bytes;
  parent.interruptible = parent.interruptible && gone.interruptible;
  nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(child));
  for (SizedNode& node : nodes) {
    if (node.parent == static_cast<std::int32_t>(child)) {
      node.parent = gone.parent;
      node.gain *= gone.gain;
      node.max_gain = product(node.max_gain, gone.max_gain);
    } else if (node.parent > static_cast<std::int32_t>(child)) {
      --node.parent;
    }
  }
  return nodes;
}

}  // namespace

std::vector<double> cumulative_gains(SizedNodes const& nodes) {
  check(nodes);
  return gains_of(nodes);
}

std::vector<std::int64_t> safe_slots(SizedNodes const& nodes, std::int64_t lanes) {
  check(nodes, lanes);
  return all_safe(nodes, lanes);
}

std::int64_t minimum_bytes(SizedNodes const& nodes, std::int64_t lanes) {
  check(nodes, lanes);
  return std::min(most_bytes, minimum_of(nodes, lanes));
}

std::int64_t Sizes::all_bloat_bytes() const {
  return std::accumulate(bloat_bytes.begin(), bloat_bytes.end(), std::int64_t{0});
}

Sizes distribute(SizedNodes const& nodes, std::int64_t lanes, std::int64_t budget_bytes, Budget budget) {
  check(nodes, lanes, budget_bytes);
  std::int64_t const minimum = minimum_of(nodes, lanes);
  if (minimum >= most_bytes || (budget == Budget::hard && minimum > budget_bytes)) refuse(nodes, lanes, budget_bytes);
  Sizes sizes = target_sizes(nodes, lanes, budget_bytes);
  if (budget == Budget::hard)
    sizes.queue_slots = Law(nodes, sizes.safe_slots, budget_bytes - sizes.cursor_bytes).slots();
  sizes.bytes = bytes_of(nodes, sizes.queue_slots) + sizes.cursor_bytes;
  return sizes;
}

SizedNodes merged(SizedNodes const& nodes, std::size_t child, std::int64_t lanes) {
  check(nodes, lanes);
  if (child >= nodes.size()) throw ConfigError{"no node " + std::to_string(child) + " to merge"};
  if (!may_merge(nodes, child))
    throw ConfigError{"'" + nodes[child].name +
                      "' and its parent do not merge: the root has none, a loop's edges stay"};
  return merge(nodes, child, lanes);
}

Advice advise(SizedNodes const& nodes, std::int64_t lanes, std::int64_t budget_bytes, double queue_ns) {
  check(nodes, lanes, budget_bytes);
  if (!(queue_ns >= 0)) throw ConfigError{"queue_ns is a time"};
  Advice advice;
  Sizes const sizes = target_sizes(nodes, lanes, budget_bytes);
  for (std::size_t n = 0; n < nodes.size(); ++n)
    if (is_pessimistic(nodes, sizes, n)) advice.pessimistic.push_back(n);

  SizedNodes better = nodes;
  auto const beyond_law = [&](SizedNodes const& some) {
    Sizes const of_some = target_sizes(some, lanes, budget_bytes);
    return of_some.all_bloat_bytes() + of_some.cursor_bytes;
  };
  advice.interrupt = make_interruptible(better, beyond_law, 0);
  advice.left_bytes = target_sizes(better, lanes, budget_bytes).all_bloat_bytes();

  std::vector<double> const gains = gains_of(nodes);
  for (std::size_t child = 0; child < nodes.size(); ++child) {
    SizedNode const& node = nodes[child];
    if (!may_merge(nodes, child) || node.service_ns == 0) continue;
    double const apart = node.gain * (node.service_ns + queue_ns);
    double const together = rounds(node, lanes) * node.service_ns;
    double const saved = gains[static_cast<std::size_t>(node.parent)] * (apart - together);
    std::int64_t const minimum = minimum_of(merge(nodes, child, lanes), lanes);
    if (saved > 0 && minimum <= budget_bytes) advice.merge.push_back({child, saved, minimum});
  }
  std::ranges::stable_sort(advice.merge, std::ranges::greater{}, &MergeProposal::saved_ns);
  return advice;
}

}  // namespace hiway::segment
