// Nodes that die while others connect to them. No timing: each waits until the other has come so far.
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <string>
#include <utility>

#include "tests/nodes/ucx/processes.hpp"

namespace {

using hiway_tests::in_processes;
using hiway_tests::Node;
using hiway_tests::shared_memory;
using hiway_tests::tcp;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using NodesDying = hiway_tests::OverUcx;

INSTANTIATE_TEST_SUITE_P(Over, NodesDying, testing::Values(tcp, shared_memory), hiway_tests::name_of_way);

class Signal {
 public:
  Signal() {
    if (pipe(ends_.data()) != 0) throw std::runtime_error("no pipe");
  }
  void tell() const {
    if (write(ends_[1], "1", 1) != 1) throw std::runtime_error("a pipe is closed");
  }
  void hear() const {
    char one = 0;
    if (read(ends_[0], &one, 1) != 1) throw std::runtime_error("a pipe is closed");
  }

 private:
  std::array<int, 2> ends_{};
};

// Node 0 has an endpoint, and does nothing until node 1 has sent what it sends when it connects, and is gone. UCX 1.16
// then ended node 0, too (port.hpp N7).
TEST_P(NodesDying, WhatADeadNodeHasSentDoesNoHarm) {
  Signal const has_endpoint;
  Signal const has_sent;
  auto const said = in_processes(GetParam(), 2, [&](Node& node) {
    auto const all = node.meeting.exchange(node.port.introduction());
    auto const until = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
    int looks = 0;
    node.port.connect(all, Node::soon(), [&] {
      bool const has_all = ++looks == 2;  // the endpoint and its keys, and nothing is sent yet
      if (node.number() == 1) {
        if (has_all) has_endpoint.hear();
        if (looks < 5) return;
        has_sent.tell();
        raise(SIGKILL);
      }
      if (has_all) {
        has_endpoint.tell();
        has_sent.hear();
        usleep(20'000);
      }
      if (std::chrono::steady_clock::now() > until) throw std::runtime_error("node 1 is gone");
    });
  });
  EXPECT_THAT(said, ElementsAre(HasSubstr("node 1"), "killed"));
}

}  // namespace
