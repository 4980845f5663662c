#include "run_files.hpp"

#include "files_over_nodes.hpp"
#include "report_files.hpp"

namespace hiway {

void RunFiles::leave(Time end, RunReport const& report) const {
  if (leave_over_nodes(end, report)) return;
  if (!errors_.get()) {
    write_graph_where_asked([this] { return dot_of(graph_({})); });
    write_stats_where_asked(report, [&] { return to_prometheus(report); });
  }
  std::string const& trace = layout_.config.trace;
  if (trace.empty()) return;
  at_the_end([&] { write_or_throw(trace, chrome_trace(reports_.trace_parts(end, report, errors_.get())), "trace"); });
}

/// False: this node leaves its own.
bool RunFiles::leave_over_nodes(Time end, RunReport const& report) const {
  OverNodes const& here = layout_.over_nodes;
  if (errors_.get() ? !here.asked.trace : !here.asked.any()) return false;
  bool left = here.node == 0;  // also if it fails
  at_the_end([&] {
    left = leave_files_together({.layout = layout_,
                                 .nodes = over_nodes_.run(),
                                 .began_ns = ns_of(state_.started),
                                 .lost = over_nodes_.lost(),
                                 .error = what_of(errors_.get()),
                                 .part = [&](std::int64_t origin_ns) { return part(end, report, origin_ns); }});
  });
  return left;
}

NodePart RunFiles::part(Time end, RunReport const& report, std::int64_t origin_ns) const {
  OverNodes const& here = layout_.over_nodes;
  NodePart own{.report = report};
  if (here.asked.graph) own.graph = graph_(prefix_of_node(here.node));
  if (!reports_.is_traced()) return own;
  TraceParts parts = reports_.trace_parts(end, of_node(report, here.node), errors_.get());
  parts.node = here.node;
  parts.origin_ns = origin_ns;
  own.events = trace_events(parts);
  return own;
}

}  // namespace hiway
