#include "lib/nodes/channels.hpp"

#include <algorithm>
#include <chrono>

#include "hiway/error.hpp"

namespace hiway::detail::nodes {

void step_all(Channels const& channels, Deadline until) {
  std::vector<pollfd> sockets;
  for (auto const& channel : channels) {
    if (channel == nullptr || !channel->broken().empty()) continue;
    short const also = channel->has_to_send() ? POLLOUT : 0;
    sockets.push_back({channel->descriptor(), static_cast<short>(POLLIN | also), 0});
  }
  wait_for(sockets, until);
  auto ready = sockets.begin();
  for (auto const& channel : channels) {
    if (channel == nullptr || !channel->broken().empty()) continue;
    if ((ready++)->revents != 0) channel->step();
  }
}

void send_all(Channels const& channels, Deadline until) {
  auto const has_to_send = [](auto const& channel) { return channel != nullptr && channel->has_to_send(); };
  for (auto const& channel : channels) {
    if (has_to_send(channel)) channel->step();  // most of it needs no waiting
  }
  while (std::ranges::any_of(channels, has_to_send) && std::chrono::steady_clock::now() < until)
    step_all(channels, until);
}

std::string gone(std::size_t node, Channel const& channel) {
  return "nodes: node " + std::to_string(node) + " is gone: " + channel.broken();
}

void tell_failure(Channels const& channels, std::string const& why, Blame blame) {
  auto const bytes = std::make_shared<Bytes>();
  for (char const c : why) bytes->push_back(static_cast<std::byte>(c));
  for (auto const& channel : channels) {
    if (channel != nullptr && channel->broken().empty())
      channel->send({Kind::failed, static_cast<std::uint32_t>(blame), bytes});
  }
  send_all(channels, std::chrono::steady_clock::now() + std::chrono::seconds(1));
  for (auto const& channel : channels) {
    if (channel != nullptr) channel->finish();
  }
}

void throw_failure(Message const& failed) {
  std::string const why(text_of(*failed.bytes));
  if (failed.node == static_cast<std::uint32_t>(Blame::description)) throw ConfigError(why);
  throw Error(why);
}

}  // namespace hiway::detail::nodes
