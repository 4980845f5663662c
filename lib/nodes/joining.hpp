// How nodes meet: node 0 listens until all others have come, the others connect until it has let them in.
//
//   node k                                  node 0
//   Hello: protocol, number, how many  ->
//                                      <-   Hello with the verdict
//                                      <-   welcome, when all are here; or failed, with why
//
// A connection whose first bytes are no Hello is closed, and one that says nothing is left alone: neither disturbs the
// others. A node that may not come in, as one that is there already, ends the meeting for all: the job is started
// wrongly.
#pragma once
#include "lib/nodes/channels.hpp"
#include "lib/nodes/launcher.hpp"
#include "lib/nodes/sockets.hpp"

namespace hiway::detail::nodes {

/// At node 0. *Waits*: for all others, as long as `launch` says. *Throws* ConfigError or Error; the others that are
/// here then know why.
[[nodiscard]] Channels gather(Launch const& launch, Listener const& listener);
/// At the others. *Waits* likewise. *Throws* ConfigError or Error.
[[nodiscard]] Channels join(Launch const& launch);

}  // namespace hiway::detail::nodes
