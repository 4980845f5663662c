// Processes: one program started several times on this machine, as the nodes of a cluster (docs/nodes.md).
#pragma once
#include <string>
#include <vector>

namespace cli {

/// Starts the program `nodes` times and waits until all have ended. `words`: the program and its arguments.
///
/// Returns 0 if all have ended with 0, else the status of the first that did not; of one that a signal ended, 128 and
/// the signal's number. The others get SIGTERM then, and SIGKILL two seconds later. If the program cannot be started,
/// stderr says why in one line, and the status is 127. SIGINT and SIGTERM are passed on. If this process is killed, so
/// are they. *Threads*: one, and the process has no other children.
[[nodiscard]] int run_nodes(int nodes, std::vector<std::string> const& words);

}  // namespace cli
