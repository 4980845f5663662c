// The files of a run over several nodes: node 0 leaves them, with what all nodes did, if its environment or its
// configuration asks for them (docs/adr/0050). The other nodes leave none then, unless node 0 has not taken their part.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "layout.hpp"
#include "lib/node_reports.hpp"
#include "lib/nodes/run_parts.hpp"

namespace hiway {

/// What node 0 is asked for, by itself. *Threads*: the caller's.
[[nodiscard]] FilesAskedFor files_asked_for(PipelineConfig const& config);

struct EndedRun {
  Layout const& layout;
  detail::nodes::RunOfNodes nodes;
  std::int64_t began_ns = 0;
  int lost = -1;           ///< a node that is gone
  std::string error = {};  ///< why the run has failed
  /// This node's part; the trace's time begins at `origin_ns`, of its own clock.
  std::function<NodePart(std::int64_t origin_ns)> part;
};

/// All nodes do so with a run that has ended. False: this node leaves files of its own. *Waits*: for the patience at
/// most for a message of another. *Throws* Error; ConfigError if a file cannot be written.
[[nodiscard]] bool leave_files_together(EndedRun const& run);

}  // namespace hiway
