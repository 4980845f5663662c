// RunFiles: the files that a run leaves where they were asked for: trace, numbers, picture.
#pragma once
#include <chrono>
#include <functional>
#include <string>

#include "layout.hpp"
#include "lib/dot_text.hpp"
#include "lib/node_reports.hpp"
#include "reports.hpp"
#include "run_errors.hpp"
#include "run_over_nodes.hpp"
#include "run_state.hpp"

namespace hiway {

/// *Threads*: the one that waits for the run. *Lifetime*: what it is made of outlives it.
class RunFiles {
 public:
  using Time = std::chrono::steady_clock::time_point;
  /// The pipeline's graph; the prefix is of its stages' names.
  using Graph = std::function<DotPart(std::string const& prefix)>;

  RunFiles(Layout const& layout, RunState const& state, RunErrors& errors, Reports& reports,
           RunOverNodes const& over_nodes, Graph graph)
      : layout_(layout),
        state_(state),
        errors_(errors),
        reports_(reports),
        over_nodes_(over_nodes),
        graph_(std::move(graph)) {}

  /// Of a run that has ended. *Waits*: for other nodes, if node 0 was asked for files. *Throws* std::bad_alloc; what
  /// else fails is logged.
  void leave(Time end, RunReport const& report) const;

 private:
  [[nodiscard]] bool leave_over_nodes(Time end, RunReport const& report) const;
  [[nodiscard]] NodePart part(Time end, RunReport const& report, std::int64_t origin_ns) const;

  Layout const& layout_;
  RunState const& state_;
  RunErrors& errors_;
  Reports& reports_;
  RunOverNodes const& over_nodes_;
  Graph graph_;
};

}  // namespace hiway
