// Channels: the connections of one node, and how it tells the others that the meeting has failed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/nodes/channel.hpp"
#include "lib/nodes/sockets.hpp"

namespace hiway::detail::nodes {

/// By number; null: this node itself, and all that it has no connection to.
using Channels = std::vector<std::unique_ptr<Channel>>;

/// Sends and receives on all channels what can be. *Waits*: until there is something, or the deadline.
void step_all(Channels const& channels, Deadline until);
/// Sends what is queued. *Waits*: for what is not broken, until the deadline.
void send_all(Channels const& channels, Deadline until);

/// "nodes: node 3 is gone: WHY", of a broken channel to it.
[[nodiscard]] std::string gone(std::size_t node, Channel const& channel);

/// What has failed: it becomes an Error or a ConfigError at the others.
enum class Blame : std::uint32_t { run, description };
/// Tells the others that it is over, and why. *Waits*: for a second at most.
void tell_failure(Channels const& channels, std::string const& why, Blame blame);
/// Throws what another node has told.
[[noreturn]] void throw_failure(Message const& failed);

}  // namespace hiway::detail::nodes
