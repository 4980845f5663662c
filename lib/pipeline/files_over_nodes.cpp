#include "files_over_nodes.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "hiway/log.hpp"
#include "lib/run_trace.hpp"
#include "report_files.hpp"

namespace hiway {
namespace {

/// At node 0: of each node what it did, or why that is not known.
struct Gathered {
  std::vector<std::optional<NodePart>> parts;
  std::vector<std::string> missing;
};

Gathered gather(EndedRun const& run) {
  Gathered all;
  for (detail::nodes::Part& part : detail::nodes::gather_parts(run.nodes, run.began_ns, run.lost)) {
    std::size_t const node = all.parts.size();
    all.parts.push_back(node == 0 ? run.part(run.began_ns) : unpacked(part.text));
    all.missing.push_back(std::move(part.missing));
    if (!all.parts.back() && all.missing.back().empty()) all.missing.back() = "it has given something else";
    if (!all.missing.back().empty())
      log(LogLevel::warning,
          "what node " + std::to_string(node) + " did is missing in the run's files: " + all.missing.back());
  }
  return all;
}

std::string trace_of(EndedRun const& run, Gathered const& all, RunReport const& report) {
  std::vector<TraceOfNode> nodes(all.parts.size());
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    nodes[node].missing = all.missing[node];
    if (all.parts[node]) nodes[node] = {all.parts[node]->events, all.parts[node]->clock_error_ns, {}};
  }
  return chrome_trace(nodes, report, run.error);
}

std::string graph_of(Gathered const& all) {
  std::vector<DotOfNode> nodes(all.parts.size());
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    nodes[node].missing = all.missing[node];
    if (all.parts[node]) nodes[node].part = all.parts[node]->graph;
  }
  return dot_of_nodes(nodes);
}

void write_gathered(EndedRun const& run) {
  FilesAskedFor const& asked = run.layout.over_nodes.asked;
  Gathered const all = gather(run);
  std::vector<RunReport const*> reports;
  for (auto const& part : all.parts) reports.push_back(part ? &part->report : nullptr);
  RunReport const report = merged(reports);
  if (run.error.empty()) {
    if (asked.graph) write_graph_where_asked([&] { return graph_of(all); });
    if (asked.numbers) write_stats_where_asked(report, [&] { return prometheus_of_nodes(reports); });
  }
  if (asked.trace) write_or_throw(run.layout.config.trace, trace_of(run, all, report), "trace");
}

}  // namespace

FilesAskedFor files_asked_for(PipelineConfig const& config) {
  return {.trace = !config.trace.empty(), .numbers = names_a_file("HIWAY_STATS"), .graph = names_a_file("HIWAY_GRAPH")};
}

bool leave_files_together(EndedRun const& run) {
  if (run.layout.over_nodes.node != 0) {
    return detail::nodes::give_part(run.nodes, [&](detail::nodes::Origin const& origin) {
      NodePart part = run.part(origin.ns);
      part.clock_error_ns = origin.error_ns;
      return packed(part);
    });
  }
  write_gathered(run);
  return true;
}

}  // namespace hiway
