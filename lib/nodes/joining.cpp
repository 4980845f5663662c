#include "lib/nodes/joining.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "hiway/error.hpp"
#include "lib/nodes/hello.hpp"

namespace hiway::detail::nodes {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

enum class Answer : std::uint8_t { complete, closed, not_hiway, late };

/// Sends the Hello, for which there always is room, and reads the answer.
Answer greet(int socket, Hello const& hello, Deadline until, HelloBytes& answer) {
  HelloBytes const bytes = bytes_of(hello);
  if (send_some(socket, bytes) != static_cast<std::ptrdiff_t>(bytes.size())) return Answer::closed;
  for (std::size_t got = 0; got < answer.size();) {
    pollfd ready{socket, POLLIN, 0};
    wait_for({&ready, 1}, until);
    if (ready.revents == 0) return Answer::late;
    std::ptrdiff_t const now = receive_some(socket, std::span(answer).subspan(got));
    if (now < 0 && must_wait(errno)) continue;
    if (now <= 0) return Answer::closed;
    got += static_cast<std::size_t>(now);
    if (!may_be_hello(std::span(answer).first(got))) return Answer::not_hiway;
  }
  return Answer::complete;
}

/// The connection to node 0, which has let this node in.
Descriptor let_in(Launch const& launch, Deadline until) {
  Hello const hello{.node = static_cast<std::uint32_t>(launch.node), .size = static_cast<std::uint32_t>(launch.size)};
  milliseconds pause{5};
  std::string why;
  do {
    auto [socket, refusal] = connect_to(launch.place, until);
    why = std::move(refusal);
    if (socket) {
      HelloBytes bytes{};
      Answer const answer = greet(socket.number(), hello, until, bytes);
      if (answer == Answer::not_hiway)
        throw ConfigError("nodes: what listens at " + launch.place.text() + " is no node 0 of hiway");
      if (answer == Answer::complete) {
        Hello const verdict = hello_of(bytes).value_or(Hello{});
        if (verdict.verdict == Verdict::welcome) return std::move(socket);
        throw ConfigError("nodes: " + launch.place.text() + " refuses: " + refusal_of(hello, verdict));
      }
      why = answer == Answer::late ? "it accepts connections and does not answer" : "it closes the connection";
    }
    std::this_thread::sleep_for(std::min<steady_clock::duration>(pause, until - steady_clock::now()));
    pause = std::min(2 * pause, milliseconds(200));
  } while (steady_clock::now() < until);
  throw Error("nodes: node " + std::to_string(launch.node) + " does not reach node 0 at " + launch.place.text() +
              launch.patience_text() + ": " + why);
}

}  // namespace

Channels join(Launch const& launch) {
  Deadline const until = steady_clock::now() + launch.patience;
  Channels channels;
  channels.push_back(std::make_unique<Channel>(let_in(launch, until)));
  channels.resize(static_cast<std::size_t>(launch.size));
  Channel& node_0 = *channels.front();
  // Node 0 may have begun to wait only now, and says itself when it has waited for too long.
  Deadline const node_0_until = steady_clock::now() + launch.patience + std::chrono::seconds(2);
  for (;;) {
    if (auto const message = node_0.take()) {
      if (message->kind == Kind::welcome) return channels;
      throw_failure(*message);
    }
    if (!node_0.broken().empty()) throw Error(gone(0, node_0));
    if (steady_clock::now() >= node_0_until)
      throw Error("nodes: node 0 at " + launch.place.text() + " has stopped answering");
    step_all(channels, node_0_until);
  }
}

}  // namespace hiway::detail::nodes
