#include "waits.hpp"

#include <algorithm>
#include <deque>

namespace hiway {

std::vector<std::size_t> Waits::writers(std::size_t tunnel) const {
  std::vector<std::size_t> all;
  for (std::size_t s = 0; s < p_.stages.size(); ++s) {
    for (auto const& into : p_.stages[s].into) {
      if (into.tunnel == tunnel && into.closed < p_.stages[s].executors) all.push_back(s);
    }
  }
  return all;
}

std::vector<std::size_t> Waits::readers(std::size_t tunnel) const {
  std::vector<std::size_t> all;
  for (std::size_t s = 0; s < p_.stages.size(); ++s) {
    for (auto const& from : p_.stages[s].from) {
      if (from.tunnel == tunnel && !has_returned(p_.stages[s])) all.push_back(s);
    }
  }
  return all;
}

std::vector<std::size_t> Waits::for_room(StageSnapshot const& s) const {
  std::vector<std::size_t> all;
  for (auto const& into : s.into) {
    TunnelSnapshot const& t = p_.tunnels[into.tunnel];
    bool const waits = !into.spills && !drops_or_fails(t.when_full);
    if (waits && into.closed < s.executors && known(t) && full(t)) all.push_back(into.tunnel);
  }
  return all;
}

std::vector<std::size_t> Waits::for_items(StageSnapshot const& s) const {
  std::vector<std::size_t> all;
  for (auto const& from : s.from) {
    TunnelSnapshot const& t = p_.tunnels[from.tunnel];
    if (!has_returned(s) && known(t) && empty(t) && !t.ended) all.push_back(from.tunnel);
  }
  return all;
}

bool Waits::idle(StageSnapshot const& s) const {
  return !s.from.empty() && held(s) == 0 &&
         std::all_of(s.from.begin(), s.from.end(), [&](auto const& from) { return empty(p_.tunnels[from.tunnel]); });
}

std::vector<Link> Waits::links() const {
  std::vector<Link> all;
  for (std::size_t s = 0; s < p_.stages.size(); ++s) {
    for (std::size_t t : for_room(p_.stages[s])) {
      for (std::size_t r : readers(t)) all.push_back({s, r, t, Link::Wait::room});
    }
    for (std::size_t t : for_items(p_.stages[s])) {
      for (std::size_t w : writers(t)) all.push_back({s, w, t, Link::Wait::items});
    }
  }
  return all;
}

std::vector<Link> Waits::shortest_circle() const {
  std::vector<Link> const all = links();
  std::vector<Link> shortest;
  for (Link const& first : all) {
    if (first.wait != Link::Wait::room) continue;
    std::vector<Link> const circle = circle_through(first, all);
    if (!circle.empty() && (shortest.empty() || circle.size() < shortest.size())) shortest = circle;
  }
  return shortest;
}

std::vector<Link> Waits::circle_through(Link const& first, std::vector<Link> const& all) const {
  std::vector<Link const*> reached_by(p_.stages.size(), nullptr);
  reached_by[first.to] = &first;
  std::deque<std::size_t> next{first.to};
  while (!next.empty() && reached_by[first.from] == nullptr) {
    for (Link const& link : all) {
      if (link.from != next.front() || reached_by[link.to] != nullptr) continue;
      reached_by[link.to] = &link;
      next.push_back(link.to);
    }
    next.pop_front();
  }
  std::vector<Link> circle;
  if (reached_by[first.from] == nullptr) return circle;
  for (std::size_t at = first.from; circle.empty() || at != first.from;) {
    circle.push_back(*reached_by[at]);
    at = reached_by[at]->from;
  }
  std::reverse(circle.begin(), circle.end());
  return circle;
}

std::optional<std::size_t> Waits::to_grow() const {
  std::vector<Link> const all = links();
  std::optional<std::size_t> smallest;
  for (Link const& link : all) {
    TunnelSnapshot const& t = p_.tunnels[link.tunnel];
    bool const may = link.wait == Link::Wait::room && t.capacity < t.may_grow_to;
    bool const smaller = !smallest || t.capacity < p_.tunnels[*smallest].capacity;
    if (may && smaller && !circle_through(link, all).empty()) smallest = link.tunnel;
  }
  return smallest;
}

}  // namespace hiway
