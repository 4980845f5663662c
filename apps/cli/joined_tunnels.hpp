// A run over several nodes has a part of each tunnel in every node's report: `node 0: numbers`, `node 1: numbers`; and
// `node 0: numbers (arriving)`, if that node puts and gets; `node 1: numbers (between nodes)` beside `node 1: numbers`,
// if several of its devices do.
#pragma once
#include <hiway/report.hpp>

namespace cli {

/// The report, in which the parts of a tunnel that leads from one node to others are one, `numbers`. What writers wait
/// for is of their parts, what readers wait for of theirs. A part that has both stays as it is.
[[nodiscard]] hiway::RunReport joined_tunnels(hiway::RunReport report);

}  // namespace cli
