// Naps end when something comes.
#include <random>

#include "lib/nodes/line/arrived_words.hpp"
#include "lib/nodes/ucx/remote_copies.hpp"
#include "tests/nodes/ucx/processes.hpp"

namespace {

using hiway::MemoryOrder;
using hiway::ThreadMachine;
using hiway::Word;
using hiway::WordCopy;
using hiway::detail::nodes::OwnMemory;
using hiway::detail::nodes::RemoteCopies;
using hiway_tests::expect;
using hiway_tests::in_processes;
using hiway_tests::Node;
using hiway_tests::shared_memory;
using hiway_tests::steady_clock;
using hiway_tests::tcp;
using testing::Each;
using testing::IsEmpty;
using NodesUcxNap = hiway_tests::OverUcx;

INSTANTIATE_TEST_SUITE_P(Over, NodesUcxNap, testing::Values(tcp, shared_memory), hiway_tests::name_of_way);

Word<std::uint64_t>& word_at(std::byte* address) { return *reinterpret_cast<Word<std::uint64_t>*>(address); }
std::uint64_t value_at(std::byte* address) { return ThreadMachine{}.load(word_at(address), MemoryOrder::acquire); }

/// Naps until the word at `address` is `value`. How many naps nothing ended in 2 s.
unsigned nap_until(Node& node, RemoteCopies& copies, std::byte* address, std::uint64_t value) {
  unsigned missed = 0;
  auto const until = Node::soon();
  while (copies.completed(), value_at(address) != value) {
    if (node.port.begin_nap() && value_at(address) != value) {
      pollfd wait{node.port.descriptor(), POLLIN, 0};
      missed += poll(&wait, 1, 2000) == 0;
    }
    node.port.end_nap();
    expect(steady_clock::now() < until, "in time: word " + std::to_string(value));
  }
  return missed;
}

// Two nodes answer each other, each after a while of its own, so that a word comes at any moment of a nap's beginning.
TEST_P(NodesUcxNap, EndsWhenAWordComes) {
  EXPECT_THAT(in_processes(GetParam(), 2,
                           [](Node& node) {
                             OwnMemory& memory = node.port.allocate(64);
                             node.connect();
                             int const other = 1 - node.number();
                             std::byte* const target = node.exchange(memory.address())[static_cast<std::size_t>(other)];
                             RemoteCopies copies(node.port, other);
                             std::mt19937 random(static_cast<unsigned>(node.number()));
                             for (std::uint64_t n = 1; n <= 6000; ++n) {
                               if (node.number() == 1)
                                 expect(nap_until(node, copies, memory.address(), n) == 0, "no nap is missed");
                               auto const later = steady_clock::now() +
                                                  std::chrono::nanoseconds(random() % (n % 2 == 0 ? 3000 : 100000));
                               while (steady_clock::now() < later) copies.completed();
                               WordCopy const word[] = {{&word_at(target), n}};
                               copies.submit({}, word);
                               if (node.number() == 0)
                                 expect(nap_until(node, copies, memory.address(), n) == 0, "no nap is missed");
                             }
                             node.leave_together();
                           }),
              Each(IsEmpty()));
}

// A nap lasts while nothing comes: the descriptor is not readable by itself.
TEST_P(NodesUcxNap, LastsWhileNothingComes) {
  EXPECT_THAT(in_processes(GetParam(), 2,
                           [](Node& node) {
                             node.connect();
                             if (node.number() == 0) {
                               // What connecting leaves behind comes first.
                               unsigned wakes = 0;
                               for (unsigned n = 0; n != 10; ++n) {
                                 if (node.port.begin_nap()) {
                                   pollfd wait{node.port.descriptor(), POLLIN, 0};
                                   wakes += poll(&wait, 1, 50) != 0;
                                 }
                                 node.port.end_nap();
                               }
                               expect(wakes < 5, std::to_string(wakes) + " naps of 10 ended by themselves");
                             }
                             node.leave_together();
                           }),
              Each(IsEmpty()));
}

}  // namespace
