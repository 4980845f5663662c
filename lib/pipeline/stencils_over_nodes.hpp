// Stencil tunnels between nodes. The producers' node and the consumers' have a stencil tunnel each, and two stages of
// the library's carry complete regions from one to the other, as items of an ordinary tunnel:
//
//   at node 0   producers -> NAME -> stage "NAME (to node 1)" -> tunnel "NAME (regions)"
//   at node 1   tunnel "NAME (regions)" -> stage "NAME (from node 0)" -> NAME -> consumers
//
// So a region crosses once, and what crosses ends, aborts, waits and is reported as in any other pipeline.
#pragma once
#include "layout.hpp"

namespace hiway {

/// Adds what carries the stencil tunnels that lead from one node to another, once for each. To be called before the
/// tunnels are split over the nodes. *Throws* ConfigError.
void carry_stencils_over_nodes(Layout& layout);

}  // namespace hiway
