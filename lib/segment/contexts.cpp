#include "lib/segment/contexts.hpp"

namespace hiway::segment {
namespace {

/// Whether a node's lanes may hold items of several regions, each with its tag.
bool may_be_dense(NodeDescription const& n) { return n.facts.may_be_dense && n.items_per_lane == 1; }
/// Whether each lane may find the region of its item by itself: if the node keeps the items' order.
bool may_be_lane(NodeDescription const& n) { return may_be_dense(n) && !n.facts.expands; }

}  // namespace

/// Items of one region that come to the node, on average.
double Contexts::items_of_a_region(std::size_t node) const {
  if (!items_.empty() && items_[node] >= 0) return items_[node];
  auto const opener = static_cast<std::size_t>(plan_[node].opened.front());
  double items = 1;
  for (std::size_t at = node; at != opener;) {
    at = static_cast<std::size_t>(plan_[at].parent);
    items *= plan_[at].options.gain;
    if (!plan_[at].facts.closes) continue;
    // Of an inner region: each of its parents gives one item, so go on from its opener.
    at = static_cast<std::size_t>(plan_[at].opened.front());
  }
  return items;
}

/// The context that the user or the kind of node asks for.
Context Contexts::wanted(std::size_t node, Lengths lengths) const {
  NodeDescription const& d = plan_[node];
  Context const set = d.options.context != Context::automatic ? d.options.context : plan_.config().context;
  if (set != Context::automatic) return set;
  if (!d.facts.expands) return Context::lane;
  // Dense costs tags of two bytes an item. Sparse costs idle lanes, because an ensemble ends with each region.
  bool const are_short = lengths == Lengths::shortest || items_of_a_region(node) < static_cast<double>(plan_.lanes());
  return are_short ? Context::dense : Context::sparse;
}

Context Contexts::of(std::size_t node, Lengths lengths) const {
  NodeDescription const& d = plan_[node];
  if (d.opened.empty()) return Context::sparse;
  // Behind a node that mixes regions, only dense is possible.
  if (gets_mixed(node, lengths)) return Context::dense;
  Context const wants = wanted(node, lengths);
  if (wants == Context::lane) return may_be_lane(d) ? Context::lane : Context::sparse;
  if (wants == Context::sparse || !may_be_dense(d)) return Context::sparse;
  return !d.facts.expands || may_all_be_dense_after(node) ? Context::dense : Context::sparse;
}

/// Whether all nodes after this one in the same region may be dense.
bool Contexts::may_all_be_dense_after(std::size_t node) const {
  auto const own = static_cast<int>(node);
  for (std::size_t other = node + 1; other != plan_.size(); ++other) {
    for (int at = static_cast<int>(other); at > own;) {
      at = plan_[static_cast<std::size_t>(at)].parent;
      if (at != own && plan_[static_cast<std::size_t>(at)].facts.closes) break;
      if (at == own && !may_be_dense(plan_[other])) return false;
    }
  }
  return true;
}

/// Whether the node's outputs mix regions: it is an expander that works on items of several regions, or its input is
/// mixed.
bool Contexts::is_mixed(std::size_t node, Lengths lengths) const {
  NodeDescription const& d = plan_[node];
  if (d.opened.empty() || d.facts.opens) return false;
  return (d.facts.expands && of(node, lengths) == Context::dense) || gets_mixed(node, lengths);
}

bool Contexts::gets_mixed(std::size_t node, Lengths lengths) const {
  int const parent = plan_[node].parent;
  return parent >= 0 && !plan_[static_cast<std::size_t>(parent)].facts.closes &&
         is_mixed(static_cast<std::size_t>(parent), lengths);
}

std::uint64_t Contexts::tag_bytes(std::size_t node, std::uint32_t slots) const {
  bool const may_need = plan_.has_regions() && of(node, Lengths::shortest) == Context::dense;
  return may_need ? slots * sizeof(std::uint16_t) : 0;
}

}  // namespace hiway::segment
