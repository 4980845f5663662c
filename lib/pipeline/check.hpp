// What cannot run, said before anything is allocated: pure functions of what was declared.
#pragma once
#include <string>
#include <vector>

#include "graph.hpp"

namespace hiway {

/// *Throws* ConfigError if the tunnel's configuration is refused.
void check_config(TunnelBase const& tunnel);

/// What is wrong with the graph, a sentence each.
[[nodiscard]] std::vector<std::string> find_problems(Graph const& graph, std::vector<Stage> const& stages);

/// Names the first CPU stage with more threads than there are `cpus`; empty if there is none, or if their number is not
/// known (0).
[[nodiscard]] std::string too_many_threads(std::vector<Stage> const& stages, unsigned cpus);

/// Says that `end` of the tunnel, in the user's own kernel, does not share claims in blocks; empty if nobody asked for
/// it.
[[nodiscard]] std::string blocks_not_grouped(TunnelBase const& tunnel, std::string const& end);
/// The same of all stages that are kernels of the user's own, which do not empty the places where warps of a block
/// meet.
[[nodiscard]] std::vector<std::string> blocks_not_grouped(std::vector<Stage> const& stages);

/// *Throws* ConfigError with all of them in one message; returns if there are none.
void refuse_problems(std::vector<std::string> const& problems);

/// True if one warp or one CPU thread is the only reader of the tunnel. `grids`: one for each kernel.
[[nodiscard]] bool is_read_alone(Graph const& graph, std::vector<Stage> const& stages,
                                 std::vector<simt::Grid> const& grids, DeclaredTunnel const& tunnel);

}  // namespace hiway
