#include "cli/joined_tunnels.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cli {

using hiway::RunReport;
using hiway::StageReport;
using hiway::TunnelReport;
using hiway::WaitReport;

namespace {

/// Of "node 12: numbers" "numbers"; and of what the library has made of it there: "node 12: numbers (arriving)", where
/// a node has both ends, "node 12: numbers (between nodes)", where several devices have one. Empty for what does not
/// begin so.
std::string without_node(std::string_view name) {
  constexpr std::string_view word = "node ";
  if (!name.starts_with(word)) return {};
  std::size_t const end = std::min(name.size(), name.find_first_not_of("0123456789", word.size()));
  if (end == word.size() || !name.substr(end).starts_with(": ")) return {};
  name.remove_prefix(end + 2);
  for (std::string_view const made : {" (arriving)", " (between nodes)"}) {
    if (name.ends_with(made)) name.remove_suffix(made.size());
  }
  return std::string(name);
}

struct Part {
  TunnelReport const* tunnel;
  bool written = false;  ///< by a stage
  bool read = false;
};

bool names(std::vector<WaitReport> const& waits, std::string const& tunnel) {
  return std::ranges::any_of(waits, [&](WaitReport const& wait) { return wait.tunnel == tunnel; });
}

Part part_of(RunReport const& report, TunnelReport const& tunnel) {
  Part part{&tunnel};
  for (StageReport const& stage : report.stages) {
    part.written = part.written || names(stage.room_in, tunnel.name);
    part.read = part.read || names(stage.items_of, tunnel.name);
  }
  return part;
}

/// What leads to other nodes or comes from them has one of its ends there. The rest stays within a node.
bool is_of_one_end(Part const& part) { return !part.written || !part.read; }

bool is_between_nodes(std::vector<Part> const& parts) {
  return std::ranges::any_of(parts, &Part::written) && std::ranges::any_of(parts, &Part::read);
}

/// -1 where one of them is not known.
void add(double& sum, double more) { sum = sum < 0 || more < 0 ? -1 : sum + more; }

TunnelReport joined(std::string const& name, std::vector<Part> const& parts) {
  TunnelReport all = *parts.front().tunnel;
  all.name = name;
  all.items = all.finished = all.spilled = all.dropped = all.throttled = all.batches = all.holds = all.put_groups =
      all.get_groups = 0;
  all.capacity_items = 0;
  all.most_items = all.mean_items = 0;
  all.full = all.empty = -1;
  for (Part const& part : parts) {
    TunnelReport const& one = *part.tunnel;
    if (part.written) {
      all.items += one.items;
      all.put_groups += one.put_groups;
      all.full = std::max(all.full, one.full);
    }
    if (part.read) {
      all.finished += one.finished;
      all.get_groups += one.get_groups;
      all.empty = std::max(all.empty, one.empty);
    }
    all.spilled += one.spilled;
    all.dropped += one.dropped;
    all.throttled += one.throttled;
    all.batches += one.batches;
    all.holds += one.holds;
    all.capacity_items += one.capacity_items;
    add(all.most_items, one.most_items);
    add(all.mean_items, one.mean_items);
  }
  return all;
}

}  // namespace

RunReport joined_tunnels(RunReport report) {
  std::map<std::string, std::vector<Part>> parts;  // by the name without a node
  for (TunnelReport const& tunnel : report.tunnels) {
    std::string const name = without_node(tunnel.name);
    if (name.empty()) continue;
    if (Part const part = part_of(report, tunnel); is_of_one_end(part)) parts[name].push_back(part);
  }
  std::vector<TunnelReport> tunnels;
  std::map<std::string, std::string> renamed;
  for (TunnelReport const& tunnel : report.tunnels) {
    auto const found = parts.find(without_node(tunnel.name));
    bool const is_part =
        found != parts.end() && std::ranges::find(found->second, &tunnel, &Part::tunnel) != found->second.end();
    if (!is_part || !is_between_nodes(found->second)) {
      tunnels.push_back(tunnel);
      continue;
    }
    if (found->second.front().tunnel == &tunnel) tunnels.push_back(joined(found->first, found->second));
    renamed[tunnel.name] = found->first;
  }
  report.tunnels = std::move(tunnels);
  for (StageReport& stage : report.stages) {
    for (std::vector<WaitReport>* const waits : {&stage.items_of, &stage.room_in}) {
      for (WaitReport& wait : *waits) {
        if (auto const found = renamed.find(wait.tunnel); found != renamed.end()) wait.tunnel = found->second;
      }
    }
  }
  return report;
}

}  // namespace cli
