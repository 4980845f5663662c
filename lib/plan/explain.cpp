#include "lib/plan/explain.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "lib/text.hpp"

namespace hiway::plan {
namespace {

std::string quoted(std::string const& name) { return std::string{"'"} + name + "'"; }

std::string elements(std::int64_t first, std::int64_t last) {
  return first == last ? std::string{"element "} + std::to_string(first)
                       : std::string{"elements "} + std::to_string(first) + " to " + std::to_string(last);
}

std::string explain_wait(Tasks const& tasks, Wait const& wait) {
  std::string const later = quoted(tasks.label(wait.later));
  std::string const earlier = quoted(tasks.label(wait.earlier));
  auto const name = [&] { return quoted(tasks.channels[wait.channel].name); };
  switch (wait.cause) {
    case Cause::flow: {
      auto const write = std::ranges::lower_bound(tasks.channels[wait.channel].writes, wait.earlier, {}, &Write::task);
      return later + " waits for " + elements(write->first, write->last()) + " of " + name() + " from " + earlier;
    }
    case Cause::room: {
      auto const write = std::ranges::lower_bound(tasks.channels[wait.channel].writes, wait.later, {}, &Write::task);
      return later + " waits for room in " + name() + " for " + elements(write->first, write->last()) + ", held for " +
             earlier;
    }
    case Cause::process:
      return later + " runs after " + earlier + " in process " + quoted(tasks.processes[wait.channel]);
    case Cause::writers_order: return later + " writes " + name() + " after " + earlier + " (fifo)";
    case Cause::readers_order: return later + " reads " + name() + " after " + earlier + " (fifo)";
  }
  return "";
}

/// What breaks a cycle: for each stream, the least capacity that ends one of its waits.
std::string remedy(Tasks const& tasks, std::vector<std::string> const& streams, std::vector<Wait> const& cycle) {
  std::map<std::uint32_t, std::int64_t> enough;
  for (Wait const& wait : cycle) {
    if (wait.cause != Cause::room) continue;
    auto const [at, is_new] = enough.emplace(tasks.channels[wait.channel].stream, wait.enough);
    if (!is_new) at->second = std::min(at->second, wait.enough);
  }
  if (enough.empty()) return "no capacity helps";
  std::string text;
  for (auto const& [stream, capacity] : enough)
    text += (text.empty() ? "raise " : " or ") + quoted(streams[stream]) + " to " + std::to_string(capacity);
  return text;
}

/// The text as it stands inside quotes of the dot language.
std::string escaped(std::string const& text) {
  std::string const quoted = quoted_text(text);
  return quoted.substr(1, quoted.size() - 2);
}

}  // namespace

std::string explain_cycle(Tasks const& tasks, std::vector<std::string> const& streams, std::vector<Wait> const& cycle) {
  constexpr std::size_t shown = 6;
  // Begins with a wait for room; each task waits for the next one.
  std::vector<Wait> told(cycle.rbegin(), cycle.rend());
  auto const room = std::ranges::find(told, Cause::room, &Wait::cause);
  std::ranges::rotate(told, room == told.end() ? told.begin() : room);
  std::string text;
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < told.size(); ++i) {
    // Of a long cycle only the ends are told, and all waits for room.
    bool const middle = told.size() > shown && i >= shown / 2 && i + shown / 2 < told.size();
    if (middle && told[i].cause != Cause::room) {
      ++left_out;
      continue;
    }
    if (left_out > 0) text += "; and so on, " + std::to_string(left_out) + " more";
    left_out = 0;
    text += (text.empty() ? "" : "; ") + explain_wait(tasks, told[i]);
  }
  return text + ": " + remedy(tasks, streams, cycle);
}

std::string explain_starved(Tasks const& tasks) {
  for (Channel const& channel : tasks.channels) {
    for (Read const& read : channel.reads) {
      if (read.last() < channel.written) continue;
      return quoted(tasks.label(read.task)) + " needs " + elements(read.first, read.last()) + " of " +
             quoted(channel.name) + ", and only " + std::to_string(channel.written) + " are ever written";
    }
  }
  return "";
}

std::string list_of(std::vector<std::string> const& streams, Capacities const& capacities) {
  std::string text;
  for (std::size_t s = 0; s < streams.size(); ++s)
    text += (s == 0 ? "" : ", ") + streams[s] + " " + std::to_string(capacities[s]);
  return text;
}

std::string dot_of(Tasks const& tasks, std::vector<std::string> const& streams, Capacities const& capacities) {
  std::string text = "digraph plan {\n  rankdir=LR;\n";
  for (std::size_t d = 0; d < tasks.definitions.size(); ++d) {
    std::int64_t const count = std::ranges::count(tasks.definition, d);
    text += "  t" + std::to_string(d) + " [shape=box, label=\"" + escaped(tasks.definitions[d].name) + "\\n" +
            std::to_string(count) + " tasks\"];\n";
  }
  for (std::size_t s = 0; s < streams.size(); ++s) {
    text += "  s" + std::to_string(s) + " [shape=ellipse, label=\"" + escaped(streams[s]);
    if (!capacities.empty()) text += "\\ncapacity " + std::to_string(capacities[s]);
    if (tasks.channels_of[s] != 1) text += "\\nin each of " + std::to_string(tasks.channels_of[s]);
    text += "\"];\n";
  }
  enum Kind { writes, reads, peeks };
  std::set<std::tuple<std::uint32_t, std::uint32_t, Kind>> edges;
  for (Channel const& channel : tasks.channels) {
    for (Write const& write : channel.writes) edges.emplace(tasks.definition[write.task], channel.stream, writes);
    for (Read const& read : channel.reads)
      edges.emplace(tasks.definition[read.task], channel.stream, read.count > 0 ? reads : peeks);
  }
  for (auto const& [definition, stream, kind] : edges) {
    std::string const task = std::string{"t"} + std::to_string(definition);
    std::string const own = std::string{"s"} + std::to_string(stream);
    text += "  " + (kind == writes ? task + " -> " + own : own + " -> " + task) +
            (kind == peeks ? " [style=dashed]" : "") + ";\n";
  }
  return text + "}\n";
}

}  // namespace hiway::plan
