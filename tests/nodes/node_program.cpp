// node_program [--kill N]: meets the other nodes and says in one line what all have said, or what went wrong. Node N
// is killed when they have met.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <string>

#include "hiway/cluster.hpp"
#include "lib/nodes/cluster_access.hpp"

namespace {

std::string met(hiway::Cluster& cluster) {
  std::string text = "node " + std::to_string(cluster.node()) + " of " + std::to_string(cluster.size());
  hiway::detail::nodes::Meeting* const meeting = hiway::ClusterAccess::meeting(cluster);
  if (meeting == nullptr) return text + ", alone";
  std::string const mine = " " + std::to_string(cluster.node() * 10);
  text += ", heard";
  for (auto const& one : meeting->exchange(std::as_bytes(std::span(mine)))) {
    for (std::byte const b : one) text += static_cast<char>(b);
  }
  return text;
}

void say(std::string const& text) { std::fputs((text + "\n").c_str(), stdout); }  // in one piece

}  // namespace

int main(int argc, char** argv) {
  try {
    hiway::Cluster cluster;
    std::string const text = met(cluster);
    if (argc < 3) {
      say(text);
      return 0;
    }
    if (cluster.node() == std::atoi(argv[2])) raise(SIGKILL);
    met(cluster);
  } catch (std::exception const& error) {
    say(error.what());
    return 1;
  }
  return 0;
}
